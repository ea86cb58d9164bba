//! Scopes as Rust users see them.

use rgrad::scope::{Guard, Scope};
use rgrad::{DType, Kind, engine, ops, storage};

#[test]
fn the_end_of_a_scope_frees_what_it_owns_and_use_after_it_is_an_error() {
    let outer = Guard::new(Scope::root("train")).unwrap();
    let kept;
    let lost;
    {
        let step = Guard::new(outer.scope().child("step").unwrap()).unwrap();
        kept = ops::zeros(&[1000], DType::F64).unwrap();
        lost = ops::zeros(&[1000], DType::F64).unwrap();
        kept.move_to_scope(Some(outer.scope())).unwrap();
        assert_eq!(step.scope().counts().live_tensors, 1);
    }
    assert!(kept.array().is_ok());
    let e = ops::add(&lost, 1.0).unwrap_err();
    assert_eq!(e.kind(), Kind::TensorClosed);
    assert!(e.to_string().contains("train/step") && e.to_string().contains("[1000]"), "{e}");
    assert_eq!(lost.dims().as_slice(), [1000]);
}

#[test]
fn a_dropped_tensor_is_freed_before_its_scope_ends() {
    let s = Guard::new(Scope::root("s")).unwrap();
    let before = storage::stats().live_bytes;
    let t = ops::zeros(&[100_000], DType::F32).unwrap();
    assert_eq!(s.scope().counts().live_tensors, 1);
    drop(t);
    assert_eq!(s.scope().counts().live_tensors, 0);
    assert!(storage::stats().live_bytes < before + 400_000);
}

#[test]
fn gradients_of_parameters_survive_an_inner_scope() {
    let outer = Guard::new(Scope::root("outer")).unwrap();
    let p = ops::ones(&[3], DType::F64).unwrap();
    p.set_requires_grad(true).unwrap();
    for n in 1..3 {
        let _step = Guard::new(outer.scope().child("step").unwrap()).unwrap();
        let y = ops::sum(&ops::mul(&p, &p).unwrap(), &[], false, None).unwrap();
        engine::backward(&y).unwrap();
        assert!(p.grad().unwrap().scope().unwrap().same(outer.scope()));
        drop(_step);
        let g = p.grad().unwrap().array().unwrap().to_vec::<f64>().unwrap();
        assert_eq!(g, [2.0 * n as f64; 3]);
    }
}

#[test]
fn a_graph_keeps_what_it_saved_after_the_scope_ends() {
    let p = ops::ones(&[3], DType::F64).unwrap();
    p.set_requires_grad(true).unwrap();
    let root = Scope::root("root");
    let loss = {
        let s = Guard::new(root.child("forward").unwrap()).unwrap();
        let hidden = ops::exp(&p).unwrap();
        let loss = ops::sum(&ops::mul(&hidden, &hidden).unwrap(), &[], false, None).unwrap();
        loss.move_to_scope(s.scope().parent()).unwrap();
        loss
    };
    engine::backward(&loss).unwrap();
    let g = p.grad().unwrap().array().unwrap().to_vec::<f64>().unwrap();
    assert!((g[0] - 2.0 * 1f64.exp().powi(2)).abs() < 1e-12);
}
