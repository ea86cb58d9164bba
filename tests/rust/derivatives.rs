//! Every row against finite differences, in both modes, at first and second order.

use rgrad::graph::{Tensor, mode};
use rgrad::ops::{self, Operand};
use rgrad::{Array, DType, engine};

fn leaf(v: &[f64], dims: &[usize]) -> Tensor {
    let t = ops::from_slice(v, dims).unwrap();
    t.set_requires_grad(true).unwrap();
    t
}

fn values(t: &Tensor) -> Vec<f64> {
    t.array().unwrap().to_vec::<f64>().unwrap()
}

fn constant(v: &[f64], dims: &[usize]) -> Tensor {
    Tensor::new(Array::from_slice(v, dims).unwrap())
}

/// Checks gradient, tangent and the gradient of the gradient of `f` at `x` along directions.
pub fn check(name: &str, f: &dyn Fn(&[Tensor]) -> Tensor, xs: &[(Vec<f64>, Vec<usize>)]) {
    check_order(name, f, xs, 2);
}

fn check_order(name: &str, f: &dyn Fn(&[Tensor]) -> Tensor, xs: &[(Vec<f64>, Vec<usize>)], order: usize) {
    let leaves: Vec<Tensor> = xs.iter().map(|(v, d)| leaf(v, d)).collect();
    let y = f(&leaves);
    let u: Vec<f64> = (0..y.numel()).map(|i| 0.7 - 0.3 * (i % 5) as f64).collect();
    let u = constant(&u, &y.dims());
    let directions: Vec<Vec<f64>> =
        xs.iter().map(|(v, _)| (0..v.len()).map(|i| 0.4 + 0.25 * (i % 3) as f64).collect()).collect();
    let options = engine::Options { allow_unused: true, retain_graph: true, ..Default::default() };
    let fused = engine::run(std::slice::from_ref(&y), &[Some(u.clone())], &leaves, &options).unwrap();
    let recorded = engine::run(
        std::slice::from_ref(&y),
        &[Some(u.clone())],
        &leaves,
        &engine::Options { create_graph: true, ..options },
    )
    .unwrap();
    for (a, b) in fused.iter().zip(&recorded) {
        let bits = |t: &Option<Tensor>| {
            t.as_ref().map(|t| values(t).iter().map(|v| v.to_bits()).collect::<Vec<_>>())
        };
        assert_eq!(bits(a), bits(b), "{name}: fused and recorded gradients differ");
    }
    // ⟨u, f(x + h·d)⟩ by central differences.
    let h = 1e-6;
    let at = |s: f64| -> f64 {
        let moved: Vec<Tensor> = xs
            .iter()
            .zip(&directions)
            .map(|((v, dims), d)| {
                constant(&v.iter().zip(d).map(|(a, b)| a + s * b).collect::<Vec<_>>(), dims)
            })
            .collect();
        values(&f(&moved)).iter().zip(values(&u)).map(|(a, b)| a * b).sum()
    };
    let numeric = (at(h) - at(-h)) / (2.0 * h);
    let dot = |gs: &[Option<Tensor>]| -> f64 {
        gs.iter()
            .zip(&directions)
            .flat_map(|(g, d)| {
                let g = g.as_ref().map_or(vec![0.0; d.len()], values);
                g.into_iter().zip(d.clone()).map(|(a, b)| a * b).collect::<Vec<_>>()
            })
            .sum()
    };
    let analytic = dot(&fused);
    assert!(
        (numeric - analytic).abs() <= 1e-5 * (1.0 + numeric.abs()),
        "{name}: {analytic} against {numeric}"
    );
    // The tangent along the same directions.
    let level = mode::enter_level();
    let duals: Vec<Tensor> = leaves
        .iter()
        .zip(&directions)
        .map(|(x, d)| Tensor::make_dual(&x.detach().unwrap(), &constant(d, &x.dims()), level).unwrap())
        .collect();
    let (_, t) = f(&duals).unpack_dual(level);
    mode::exit_level(level);
    let tangent: f64 = t.map_or(0.0, |t| values(&t).iter().zip(values(&u)).map(|(a, b)| a * b).sum());
    assert!(
        (tangent - analytic).abs() <= 1e-10 * (1.0 + analytic.abs()),
        "{name}: tangent {tangent}, {analytic}"
    );
    if order > 1 && recorded.iter().flatten().any(Tensor::requires_grad) {
        let g = |x: &[Tensor]| {
            let x: Vec<Tensor> = x
                .iter()
                .map(|t| {
                    if t.requires_grad() || t.dual().is_some() {
                        return t.clone();
                    }
                    let l = t.detach().unwrap();
                    l.set_requires_grad(true).unwrap();
                    l
                })
                .collect();
            let mut sum: Option<Tensor> = None;
            let inner: Vec<Tensor> = x
                .iter()
                .map(|t| {
                    if t.dual().is_some() && !t.requires_grad() {
                        t.set_requires_grad(true).unwrap();
                    }
                    t.clone()
                })
                .collect();
            let y = f(&inner);
            let o = engine::Options {
                create_graph: true,
                retain_graph: true,
                allow_unused: true,
                ..Default::default()
            };
            for g in engine::run(&[y], &[Some(u.clone())], &inner, &o).unwrap().into_iter().flatten() {
                let s = ops::sum(&ops::mul(&g, 0.9).unwrap(), &[], false, None).unwrap();
                sum = Some(match sum {
                    Some(t) => ops::add(&t, &s).unwrap(),
                    None => s,
                });
            }
            sum.unwrap()
        };
        check_order(&format!("{name}, second order"), &g, xs, order - 1);
    }
}

fn points(domain: (f64, f64), n: usize) -> Vec<f64> {
    (0..n).map(|i| domain.0 + (domain.1 - domain.0) * (i as f64 + 0.37) / n as f64).collect()
}

#[test]
fn unary_rows() {
    for row in ops::UNARY {
        let domain = match row.name {
            "log" | "log2" | "log10" | "sqrt" | "rsqrt" | "reciprocal" => (0.3, 3.0),
            "asin" | "acos" | "atanh" => (-0.8, 0.8),
            "acosh" => (1.2, 3.0),
            "log1p" => (-0.6, 2.0),
            "tan" => (-1.1, 1.1),
            _ => (-1.9, 2.1),
        };
        let f = |x: &[Tensor]| ops::row::apply(row, &[Operand::Tensor(&x[0])], &[]).unwrap();
        check(row.name, &f, &[(points(domain, 7), vec![7])]);
    }
}

#[test]
fn binary_rows_broadcast() {
    for row in ops::BINARY.iter().filter(|r| r.operands.len() == 2 && r.params.is_empty()) {
        let f = |x: &[Tensor]| {
            ops::row::apply(row, &[Operand::Tensor(&x[0]), Operand::Tensor(&x[1])], &[]).unwrap()
        };
        check(row.name, &f, &[(points((0.4, 2.9), 6), vec![2, 3]), (points((1.13, 1.7), 3), vec![3])]);
        let left = |x: &[Tensor]| ops::row::apply(row, &[Operand::Tensor(&x[0]), 1.7.into()], &[]).unwrap();
        check(row.name, &left, &[(points((0.4, 2.9), 6), vec![2, 3])]);
        let right = |x: &[Tensor]| ops::row::apply(row, &[1.3.into(), Operand::Tensor(&x[0])], &[]).unwrap();
        check(row.name, &right, &[(points((0.4, 2.9), 6), vec![2, 3])]);
    }
}

#[test]
fn structural_rules() {
    let a = || (points((-1.3, 1.9), 24), vec![2, 3, 4]);
    let one: Vec<(&str, Box<dyn Fn(&Tensor) -> Tensor>)> = vec![
        ("sum", Box::new(|t| ops::sum(t, &[1], false, None).unwrap())),
        ("mean", Box::new(|t| ops::mean(t, &[0, 2], true, None).unwrap())),
        ("var", Box::new(|t| ops::var(t, &[1, 2], false, 1.0).unwrap())),
        ("std", Box::new(|t| ops::std(t, &[2], true, 0.0).unwrap())),
        ("amax", Box::new(|t| ops::amax(t, &[1], false).unwrap())),
        ("max", Box::new(|t| ops::max_min_dim(t, 2, false, true).unwrap().0)),
        ("logsumexp", Box::new(|t| ops::logsumexp(t, &[0, 1], false).unwrap())),
        ("prod", Box::new(|t| ops::prod(t, Some(1), false, None).unwrap())),
        ("cumsum", Box::new(|t| ops::cumsum(t, 1, None).unwrap())),
        ("cumprod", Box::new(|t| ops::cumprod(t, 2, None).unwrap())),
        ("softmax", Box::new(|t| ops::softmax(t, 1, None).unwrap())),
        ("log_softmax", Box::new(|t| ops::log_softmax(t, 2, None).unwrap())),
        ("permute", Box::new(|t| ops::permute(t, &[2, 0, 1]).unwrap())),
        ("slice", Box::new(|t| ops::slice(t, 2, 3, 2, -2).unwrap())),
        ("select", Box::new(|t| ops::select(t, 1, -1).unwrap())),
        ("expand", Box::new(|t| ops::expand(&ops::unsqueeze(t, 0).unwrap(), &[3, 2, 3, 4]).unwrap())),
        ("reshape", Box::new(|t| ops::reshape(&ops::transpose(t, 0, 2).unwrap(), &[6, 4]).unwrap())),
        ("diagonal", Box::new(|t| ops::diagonal(t, 1, 1, 2).unwrap())),
        ("flip", Box::new(|t| ops::flip(t, &[0, 2]).unwrap())),
        ("roll", Box::new(|t| ops::roll(t, &[1, -2], &[0, 2]).unwrap())),
        ("tril", Box::new(|t| ops::tril(t, 0).unwrap())),
        ("repeat", Box::new(|t| ops::repeat(t, &[2, 1, 2, 1]).unwrap())),
        ("clamp", Box::new(|t| ops::clamp(t, Some((-0.5).into()), Some(1.1.into())).unwrap())),
        ("softplus", Box::new(|t| ops::softplus(t, 1.5, 20.0).unwrap())),
        ("elu", Box::new(|t| ops::elu_scaled(t, 1.3, 1.1, 0.9).unwrap())),
        ("cat", Box::new(|t| ops::cat(&[t, &ops::exp(t).unwrap()], 1).unwrap())),
        ("square", Box::new(|t| ops::mul(t, t).unwrap())),
    ];
    for (name, f) in one {
        check(name, &|x: &[Tensor]| f(&x[0]), &[a()]);
    }
    let index = Tensor::new(Array::from_slice(&[2i64, 0, 2, 1], &[4]).unwrap());
    let i = index.clone();
    check("index_select", &move |x: &[Tensor]| ops::index_select(&x[0], 1, &i).unwrap(), &[a()]);
    let i = index.clone();
    check("index", &move |x: &[Tensor]| ops::index(&x[0], &[None, Some(i.clone())]).unwrap(), &[a()]);
    let i = index;
    check(
        "index_put",
        &move |x: &[Tensor]| ops::index_put(&x[0], &[None, Some(i.clone())], &x[1], false).unwrap(),
        &[a(), (points((-1.0, 1.0), 4), vec![4])],
    );
    check(
        "matmul",
        &|x: &[Tensor]| ops::matmul(&x[0], &x[1]).unwrap(),
        &[a(), (points((-1.0, 2.0), 40), vec![2, 4, 5])],
    );
    check(
        "mv",
        &|x: &[Tensor]| ops::matmul(&x[0], &x[1]).unwrap(),
        &[a(), (points((-1.0, 2.0), 4), vec![4])],
    );
    check(
        "prod of zeros",
        &|x: &[Tensor]| ops::cumprod(&x[0], 0, None).unwrap(),
        &[(vec![0.5, 0.0, 2.0, 0.0], vec![4])],
    );
}

#[test]
fn writes_through_views_reach_the_base() {
    check(
        "setitem",
        &|x: &[Tensor]| {
            let b = ops::mul(&x[0], 2.0).unwrap();
            let row = ops::select(&b, 0, 1).unwrap();
            ops::copy_(&row, &ops::exp(&x[1]).unwrap()).unwrap();
            let part = ops::slice(&row, 0, 1, 2, 1).unwrap();
            ops::mul_(&part, &x[1].clone().detach().map(|_| ops::slice(&x[1], 0, 0, 2, 1).unwrap()).unwrap())
                .unwrap();
            ops::mul(&b, &b).unwrap()
        },
        &[(points((-1.0, 1.0), 6), vec![2, 3]), (points((0.1, 0.9), 3), vec![3])],
    );
}

#[test]
fn masked_cotangents_stay_masked() {
    let x = leaf(&[0.0, 4.0], &[2]);
    let y = ops::sqrt(&x).unwrap();
    let keep = ops::gt(&x, 1.0).unwrap();
    let z = ops::sum(&ops::where_(&keep, &y, 0.0).unwrap(), &[], false, None).unwrap();
    assert_eq!(
        values(&engine::grad(std::slice::from_ref(&z), std::slice::from_ref(&x), true).unwrap()[0]),
        [0.0, 0.25]
    );
    assert_eq!(values(&engine::grad(&[z], &[x], false).unwrap()[0]), [0.0, 0.25]);
}

#[test]
fn halves_get_gradients_of_their_own_dtype() {
    let x = ops::cast(&constant(&[0.5, 2.0], &[2]), DType::BF16).unwrap();
    x.set_requires_grad(true).unwrap();
    let y = ops::mul(&x, &constant(&[3.0, 4.0], &[2])).unwrap();
    assert_eq!(y.dtype(), DType::F64);
    let s = ops::sum(&y, &[], false, None).unwrap();
    let g = &engine::grad(&[s], &[x], false).unwrap()[0];
    assert_eq!((g.dtype(), values(g)), (DType::BF16, vec![3.0, 4.0]));
}
