//! Operations on dual numbers. The innermost tangent is taken off, the operation runs on what is left (which may
//! carry tangents of outer levels), and the tangent of the result comes from the same formulas as the gradient.

use super::expr::{Cx, Expr};
use super::row::{self, MAX_OPERANDS, Row};
use super::rule::{self, Class, Rule};
use super::{Operand, guard};
use crate::graph::{self, Edge, Input, Tensor};
use crate::{DType, Result};
use smallvec::SmallVec;

/// The innermost level among the operands.
fn level<'a>(ins: impl Iterator<Item = &'a Tensor>) -> u64 {
    ins.filter_map(|t| t.dual().map(|d| d.level)).max().expect("a dual operand")
}

/// The parts of a tensor at a level.
fn split(t: &Tensor, level: u64) -> (Tensor, Option<Tensor>) {
    match t.dual() {
        Some(d) if d.level == level => (d.primal, Some(d.tangent)),
        Some(_) => (t.clone(), None),
        None => (t.clone(), None),
    }
}

/// A row on dual numbers.
pub(super) fn row(
    row: &'static Row,
    ins: &[Operand<'_>],
    params: &[f64],
    got: [Option<Input>; MAX_OPERANDS],
) -> Result<Tensor> {
    let level = level(ins.iter().filter_map(|o| match o {
        Operand::Tensor(t) => Some(*t),
        Operand::Number(_) => None,
    }));
    let mut primals: SmallVec<[Option<Tensor>; 3]> = SmallVec::new();
    let mut tangents: SmallVec<[Option<Tensor>; 3]> = SmallVec::new();
    for o in ins {
        let (p, t) = match o {
            Operand::Tensor(t) => {
                let (p, t) = split(t, level);
                (Some(p), t)
            }
            Operand::Number(_) => (None, None),
        };
        primals.push(p);
        tangents.push(t);
    }
    let plain: SmallVec<[Operand<'_>; 3]> = ins
        .iter()
        .zip(&primals)
        .map(|(o, p)| match p {
            Some(p) => Operand::Tensor(p),
            None => *o,
        })
        .collect();
    let mut y = row::apply(row, &plain, params)?;
    if !y.dtype().is_float() {
        return Ok(y);
    }
    // The node keeps the dual operands, so that its backward step, inside the level, carries tangents too.
    if got.iter().flatten().any(|g| g.edge.is_some()) {
        let edge = row::record(row, ins, got, params, &y.array()?, true);
        y = with_history(&y, edge)?;
    }
    let cx = Cx::new(y.dtype());
    let mut values: SmallVec<[Expr<'_>; 6]> = SmallVec::new();
    for o in &plain {
        values.push(match o {
            Operand::Tensor(t) => cx.tensor((*t).clone()),
            Operand::Number(s) => cx.number(s.as_f64()),
        });
    }
    values.extend(params.iter().map(|&p| cx.number(p)));
    values.push(cx.tensor(y.clone()));
    let dims = y.dims();
    let mut sum: Option<Tensor> = None;
    for (d, t) in row.derivatives.iter().zip(&tangents) {
        let Some(t) = t else { continue };
        let e = (d.record)(cx.tensor(t.clone()), &values);
        let r = guard(&cx.finish(e, &dims, y.dtype())?, t)?;
        sum = Some(match sum {
            Some(s) => super::add(&s, &r)?,
            None => r,
        });
    }
    finish(&y, sum, level)
}

/// `y` with the history of its value replaced; tangents of outer levels stay.
fn with_history(y: &Tensor, edge: Edge) -> Result<Tensor> {
    match y.dual() {
        Some(d) => Tensor::make_dual(&with_history(&d.primal, edge)?, &d.tangent, d.level),
        None => Ok(Tensor::with_edge(y.array()?, edge)),
    }
}

/// The dual number of a value and its tangent, brought to the value's shape and dtype.
fn finish(y: &Tensor, tangent: Option<Tensor>, level: u64) -> Result<Tensor> {
    let Some(t) = tangent else { return Ok(y.clone()) };
    let dims = y.dims();
    let t = if t.dims() != dims { super::expand(&t, &dims)? } else { t };
    let t = if t.dtype() != y.dtype() { super::cast(&t, y.dtype())? } else { t };
    Tensor::make_dual(y, &t, level)
}

/// A rule on dual numbers.
pub(super) fn rule<R: Rule>(
    rule: R,
    ins: &[&Tensor],
    got: SmallVec<[Input; 2]>,
) -> Result<SmallVec<[Tensor; 1]>> {
    let level = level(ins.iter().copied());
    let parts: SmallVec<[(Tensor, Option<Tensor>); 2]> = ins.iter().map(|t| split(t, level)).collect();
    let primals: SmallVec<[&Tensor; 2]> = parts.iter().map(|p| &p.0).collect();
    let mut ys = rule::apply(rule.clone(), &primals)?;
    if got.iter().any(|g| g.edge.is_some()) {
        let outs = ys.iter().map(Tensor::array).collect::<Result<_>>()?;
        let (arrays, edges) = got.into_iter().map(|g| (g.array, g.edge)).unzip();
        let made = rule::attach(rule.clone(), arrays, edges, outs, Some(ins));
        ys = ys.iter().zip(made).map(|(y, m)| with_history(y, m.edge())).collect::<Result<_>>()?;
    }
    if R::VIEW {
        graph::views_of(ins[0], &ys);
    }
    let tangents: SmallVec<[Option<Tensor>; 1]> = match R::CLASS {
        Class::Linear => {
            let zeros: SmallVec<[Tensor; 2]> = parts
                .iter()
                .map(|(p, t)| match t {
                    Some(t) => Ok(t.clone()),
                    None => Ok(Tensor::internal(crate::Array::zeros(&p.dims(), p.dtype())?)),
                })
                .collect::<Result<_>>()?;
            rule::apply(rule.clone(), &zeros.iter().collect::<SmallVec<[&Tensor; 2]>>())?
                .into_iter()
                .map(Some)
                .collect()
        }
        Class::Multilinear => {
            let mut sum: Option<Tensor> = None;
            for (i, (_, t)) in parts.iter().enumerate() {
                let Some(t) = t else { continue };
                let mut with: SmallVec<[&Tensor; 2]> = primals.clone();
                with[i] = t;
                let r = rule::apply_one(rule.clone(), &with)?;
                sum = Some(match sum {
                    Some(s) => super::add(&s, &r)?,
                    None => r,
                });
            }
            SmallVec::from_elem(sum, 1)
        }
        Class::General => {
            let cx = Cx::new(DType::F64);
            let xs: SmallVec<[Expr<'_>; 2]> = primals.iter().map(|&p| cx.tensor(p.clone())).collect();
            let os: SmallVec<[Expr<'_>; 2]> = ys.iter().map(|y| cx.tensor(y.clone())).collect();
            let ts: SmallVec<[Option<Expr<'_>>; 2]> =
                parts.iter().map(|p| p.1.as_ref().map(|t| cx.tensor(t.clone()))).collect();
            let out = rule.jvp(&ts, &xs, &os);
            ys.iter()
                .zip(out)
                .map(|(y, e)| e.map(|e| cx.finish(e, &y.dims(), y.dtype())).transpose())
                .collect::<Result<_>>()?
        }
    };
    ys.iter()
        .zip(tangents)
        .enumerate()
        .map(|(i, (y, t))| {
            let out = if rule.differentiable(i) { finish(y, t, level)? } else { y.clone() };
            if R::VIEW {
                graph::views_of(ins[0], std::slice::from_ref(&out));
            }
            Ok(out)
        })
        .collect()
}
