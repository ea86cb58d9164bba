//! The backward pass.

use rgrad::graph::{self, Edge, Grads, Op, Tensor, Vjp};
use rgrad::kernels::threads;
use rgrad::{Array, Kind, Result, engine, ops};
use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn leaf(v: &[f64]) -> Tensor {
    let t = ops::from_slice(v, &[v.len()]).unwrap();
    t.set_requires_grad(true).unwrap();
    t
}

fn values(t: &Tensor) -> Vec<f64> {
    t.array().unwrap().to_vec::<f64>().unwrap()
}

fn total(t: &Tensor) -> Tensor {
    ops::sum(t, &[], false, None).unwrap()
}

#[test]
fn a_chain_of_a_million_nodes_runs_and_is_freed_on_a_small_stack() {
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(|| {
            let x = leaf(&[1.0]);
            let mut y = x.clone();
            for _ in 0..1_000_000 {
                y = ops::add(&y, 1e-6).unwrap();
            }
            engine::backward(&total(&y)).unwrap();
            assert_eq!(values(&x.grad().unwrap()), [1.0]);
        })
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn work_is_by_node_not_by_path() {
    let x = leaf(&[1.0]);
    let mut y = x.clone();
    for _ in 0..60 {
        y = ops::add(&y, &y).unwrap();
    }
    engine::backward(&total(&y)).unwrap();
    assert_eq!(values(&x.grad().unwrap()), [2f64.powi(60)]);
}

#[test]
fn a_second_pass_fails_and_changes_no_gradient() {
    let x = leaf(&[2.0]);
    let y = total(&ops::exp(&ops::mul(&x, &x).unwrap()).unwrap());
    engine::backward(&y).unwrap();
    let before = values(&x.grad().unwrap());
    let e = engine::backward(&y).unwrap_err();
    assert!(e.to_string().contains("retain_graph") && e.kind() == Kind::Graph, "{e}");
    assert_eq!(values(&x.grad().unwrap()), before);
    // What saved nothing can run again.
    let z = total(&ops::add(&x, 1.0).unwrap());
    engine::backward(&z).unwrap();
    engine::backward(&z).unwrap();
}

#[test]
fn gradients_add_up_in_the_users_object_and_alias_nothing() {
    let (x, y) = (leaf(&[1.0, 2.0]), leaf(&[3.0, 4.0]));
    engine::backward(&total(&ops::add(&x, &y).unwrap())).unwrap();
    let (gx, gy) = (x.grad().unwrap(), y.grad().unwrap());
    assert!(!gx.array().unwrap().storage().same(gy.array().unwrap().storage()));
    engine::backward(&total(&x)).unwrap();
    assert!(x.grad().unwrap().same(&gx));
    assert_eq!((values(&gx), values(&gy)), (vec![2.0; 2], vec![1.0; 2]));
}

#[test]
fn third_derivatives() {
    let x = leaf(&[1.5]);
    let mut y = total(&ops::pow(&x, 4.0).unwrap());
    for want in [4.0 * 1.5f64.powi(3), 12.0 * 1.5f64.powi(2), 24.0 * 1.5] {
        y = total(&engine::grad(&[y], std::slice::from_ref(&x), true).unwrap()[0]);
        assert!((values(&y)[0] - want).abs() < 1e-12);
    }
}

#[test]
fn hooks_run_in_order_and_replace_gradients() {
    let x = leaf(&[1.0, 2.0]);
    let y = ops::mul(&x, 3.0).unwrap();
    y.register_hook(Arc::new(|g| ops::mul(g, 2.0).map(Some))).unwrap();
    let second = y.register_hook(Arc::new(|g| ops::add(g, 1.0).map(Some))).unwrap();
    y.retain_grad().unwrap();
    let seen = Arc::new(AtomicUsize::new(0));
    let s = seen.clone();
    x.register_post_accumulate_grad_hook(Arc::new(move |t| {
        assert!(t.grad().is_some());
        s.fetch_add(1, Ordering::Relaxed);
        Ok(None)
    }))
    .unwrap();
    let z = total(&y);
    let keep = engine::Options { retain_graph: true, accumulate: true, ..Default::default() };
    engine::run(std::slice::from_ref(&z), &[None], &[], &keep).unwrap();
    assert_eq!((values(&y.grad().unwrap()), values(&x.grad().unwrap())), (vec![3.0; 2], vec![9.0; 2]));
    y.remove_hook(second);
    x.set_grad(None);
    engine::backward(&z).unwrap();
    assert_eq!(values(&x.grad().unwrap()), [6.0; 2]);
    assert_eq!(seen.load(Ordering::Relaxed), 2);
    let bad = y.register_hook(Arc::new(|_| Ok(Some(leaf(&[1.0])))));
    assert!(bad.is_ok() && engine::backward(&total(&y)).is_err());
}

#[test]
fn passes_nest() {
    let x = leaf(&[2.0]);
    let y = ops::mul(&x, &x).unwrap();
    y.register_hook(Arc::new(|g| {
        let _on = graph::mode::Scoped::grad(true);
        let w = leaf(&[5.0]);
        let inner = engine::grad(&[total(&ops::mul(&w, &w).unwrap())], &[w], false)?;
        ops::mul(g, &inner[0]).map(Some)
    }))
    .unwrap();
    engine::backward(&total(&y)).unwrap();
    assert_eq!(values(&x.grad().unwrap()), [40.0]);
}

/// Independent towers of matrix products that meet in one sum.
fn towers() -> (Vec<Tensor>, Tensor) {
    let n = 96;
    let mut leaves = Vec::new();
    let mut sum: Option<Tensor> = None;
    let x = ops::from_slice(&(0..n * n).map(|i| ((i * 13) % 29) as f32 * 0.01).collect::<Vec<_>>(), &[n, n])
        .unwrap();
    x.set_requires_grad(true).unwrap();
    for t in 0..6 {
        let mut h = x.clone();
        for l in 0..4 {
            let v: Vec<f32> =
                (0..n * n).map(|i| (((i + t * 7 + l) * 31) % 17) as f32 * 0.01 - 0.05).collect();
            let w = ops::from_slice(&v, &[n, n]).unwrap();
            w.set_requires_grad(true).unwrap();
            h = ops::tanh(&ops::matmul(&h, &w).unwrap()).unwrap();
            leaves.push(w);
        }
        sum = Some(match sum {
            Some(s) => ops::add(&s, &h).unwrap(),
            None => h,
        });
    }
    leaves.push(x);
    (leaves, total(&sum.unwrap()))
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let run = |n: usize| {
        threads::set_num_threads(n);
        let (leaves, y) = towers();
        engine::backward(&y).unwrap();
        leaves
            .iter()
            .flat_map(|l| l.grad().unwrap().array().unwrap().to_vec::<f32>().unwrap())
            .collect::<Vec<_>>()
    };
    let one = run(1);
    for _ in 0..3 {
        assert!(run(2) == one);
    }
}

#[test]
fn threads_may_run_passes_over_shared_parameters() {
    let w = leaf(&[1.0, 2.0, 3.0]);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for _ in 0..200 {
                    engine::grad(&[total(&ops::mul(&w, &w).unwrap())], std::slice::from_ref(&w), false)
                        .unwrap();
                }
            });
        }
    });
}

/// A user's own operation: the cube, with a recorded backward step.
struct Cube(Tensor);

impl Op for Cube {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed("cube")
    }
    fn vjp(&self, step: Vjp<'_>) -> Result<Grads> {
        let g = step.grads[0].as_ref().unwrap();
        let x = if step.create_graph { self.0.clone() } else { self.0.detach()? };
        Ok(smallvec::smallvec![Some(ops::mul(g, &ops::mul(&ops::mul(&x, &x)?, 3.0)?)?)])
    }
    fn release(&self) {}
    fn is_released(&self) -> bool {
        false
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[test]
fn users_record_operations_of_their_own_and_differentiate_them_twice() {
    let x = leaf(&[2.0]);
    let i = x.input().unwrap();
    let v = i.array.to_vec::<f64>().unwrap()[0];
    let out = Array::from_slice(&[v * v * v], &[1]).unwrap();
    let edges = smallvec::SmallVec::from_iter([i.edge]);
    let y = graph::attach(|| Cube(x.clone()), edges, smallvec::smallvec![out], |_| true).swap_remove(0);
    assert_eq!(y.grad_fn().unwrap().0.name(), "CubeBackward0");
    let g = &engine::grad(&[total(&y)], std::slice::from_ref(&x), true).unwrap()[0];
    let gg = &engine::grad(&[total(g)], &[x], false).unwrap()[0];
    assert_eq!((values(g), values(gg)), (vec![12.0], vec![12.0]));
    assert!(matches!(y.edge(), Edge::Node(..)));
}

#[test]
fn a_changed_saved_value_is_refused() {
    let x = leaf(&[1.0]);
    let y = ops::exp(&x).unwrap();
    ops::add_(&y.detach().unwrap(), 1.0).unwrap();
    let e = engine::backward(&total(&y)).unwrap_err();
    assert!(
        e.to_string().contains("modified by an inplace operation") && e.to_string().contains("Exp"),
        "{e}"
    );
}
