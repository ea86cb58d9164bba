//! In-place operations: they write to the tensor's memory, count the write, and give the tensor a new history.

use super::row::{self, check_target};
use super::rule;
use super::{Expr, Operand, Real, binary};
use crate::dtype::Scalar;
use crate::graph::{self, Dual, Edge, Meta, Tensor};
use crate::shape::{Dims, Layout};
use crate::{Array, Result, bail, ensure};
use smallvec::SmallVec;
use std::sync::Once;

crate::define_rules! {
    /// A base with the region of a view replaced by the value written to it.
    Linear write_region(a, b; base: Layout, part: Layout) => y {
        kernel = |a, b| Ok::<_, crate::Error>(a.clone());
        d(a, g) = g.cut(base, part);
        d(b, g) = g.part(base, part);
    }
    /// A value that no longer depends on what it was.
    Linear erase(a) => y {
        kernel = |a| Array::zeros(a.dims(), a.dtype());
        d(a, g) = g.lit(0.0);
    }
}

impl<'c> Expr<'c> {
    fn cut(self, base: &Layout, part: &Layout) -> Self {
        self.map(|t| super::cut_region::op(t, base.clone(), part.clone()))
    }

    fn part(self, base: &Layout, part: &Layout) -> Self {
        self.map(|t| super::region::op(t, base.clone(), part.clone()))
    }
}

/// Records "the base with the view's region replaced by the written value".
pub(super) fn record_region(old: Edge, written: Edge, base: &Array, view: &Array) -> Result<Edge> {
    let rule = write_region::Rule { base: base.layout().clone(), part: view.layout().clone() };
    let dims = SmallVec::from_iter([Dims::from_slice(base.dims()), Dims::from_slice(view.dims())]);
    let node = rule::bare_node(rule, dims, SmallVec::from_iter([old, written]), Meta::of(base));
    Ok(Edge::Node(node, 0))
}

/// Gives a tensor written in place the history of what was written, through its base when it is a view.
pub(super) fn rewrite(target: &Tensor, written: Edge) -> Result<()> {
    static READY: Once = Once::new();
    READY.call_once(|| {
        graph::set_region_node(|base, part| {
            let rule = super::region::Rule { base: base.clone(), part: part.clone() };
            let dims = SmallVec::from_elem(base.dims.clone(), 1);
            Box::new(move |edges, meta| rule::bare_node(rule, dims, edges, meta))
        });
    });
    graph::rewrite_history(target, written, record_region)
}

/// Gives a tensor whose memory was changed outside of the table the history of `result`, and counts the write.
///
/// # Errors
/// [`crate::Kind::TensorClosed`].
pub fn rewrite_to(target: &Tensor, result: &Tensor) -> Result<()> {
    target.array()?.storage().bump();
    rewrite(target, result.edge())
}

/// Writes the value and the history of `value`, which has the target's shape, over `target`.
///
/// # Errors
/// [`crate::Kind::Shape`], [`crate::Kind::Type`] or [`crate::Kind::Graph`] when the tensor may not be written so.
pub fn assign(target: &Tensor, value: &Tensor) -> Result<()> {
    assign_as("copy_", target, value)
}

/// As [`assign`], for the operation that messages are to name.
///
/// # Errors
/// As [`assign`].
pub fn assign_as(op: &'static str, target: &Tensor, value: &Tensor) -> Result<()> {
    let v = value.input()?;
    let tracked = v.edge.is_some() || (graph::mode::grad_enabled() && target.requires_grad());
    let array = target.check_inplace(op, tracked)?;
    check_target(op, &array, v.array.dims(), v.array.dtype())?;
    array.copy_from(&v.array)?;
    array.storage().bump();
    if tracked && array.dtype().is_float() {
        let value = super::cast(value, array.dtype())?;
        rewrite(target, value.edge())?;
    }
    write_tangent(target, value)
}

/// Writes the tangent of a value over that of the tensor. The tangent of a view is a view of its base's tangent, so
/// this reaches the base.
fn write_tangent(target: &Tensor, value: &Tensor) -> Result<()> {
    match (target.dual(), value.dual()) {
        (Some(t), Some(v)) if t.level == v.level => copy_(&t.tangent, &v.tangent),
        (Some(t), None) => zero_(&t.tangent),
        (None, None) => Ok(()),
        (Some(_), Some(_)) => bail!(
            NotImplemented,
            "copy_",
            "in-place writes between tangents of different forward-mode levels are not implemented; write out of place"
        ),
        (None, Some(v)) => {
            let root = target.base().unwrap_or_else(|| target.clone());
            let (whole, part) = (root.array()?, target.array()?);
            let zeros = Tensor::internal(Array::zeros(whole.dims(), whole.dtype())?);
            let plain = root.detach()?;
            if root.same(target) {
                copy_(&zeros, &v.tangent)?;
                target.set_dual(Some(Dual { level: v.level, primal: plain, tangent: zeros }));
                return Ok(());
            }
            ensure!(
                whole.is_contiguous(),
                NotImplemented,
                "copy_",
                "writing a value with a tangent through a view of a tensor that is not contiguous is not implemented; \
                 make it contiguous first"
            );
            let at = Layout { offset: part.layout().offset - whole.layout().offset, ..part.layout().clone() };
            let window = Tensor::internal(zeros.array()?.with_layout(at));
            graph::views_of(&zeros, std::slice::from_ref(&window));
            copy_(&window, &v.tangent)?;
            root.set_dual(Some(Dual { level: v.level, primal: plain, tangent: zeros }));
            target.set_dual(Some(Dual { level: v.level, primal: target.detach()?, tangent: window }));
            Ok(())
        }
    }
}

/// Writes the value of a function of the tensor over the tensor. What the function saves of the old value is a copy.
///
/// # Errors
/// As [`assign`]; errors of the function.
pub fn replace(op: &'static str, target: &Tensor, f: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<()> {
    let tracked = graph::mode::grad_enabled() && target.requires_grad();
    target.check_inplace(op, tracked)?;
    let old = if tracked || target.dual().is_some() { super::clone(target)? } else { target.clone() };
    assign_as(op, target, &f(&old)?)
}

/// Copies `src`, broadcast and cast, over the tensor.
///
/// # Errors
/// [`crate::Kind::Shape`] when it cannot be broadcast; [`crate::Kind::Graph`] when the tensor may not be written.
pub fn copy_(target: &Tensor, src: &Tensor) -> Result<()> {
    let tracked = graph::mode::grad_enabled() && (target.requires_grad() || src.requires_grad());
    let special = src.dual().is_some() || target.dual().is_some();
    let array = target.check_inplace("copy_", tracked)?;
    if !tracked && !special {
        array.copy_from(&src.array()?).map_err(|e| e.in_op("copy_"))?;
        array.storage().bump();
        return Ok(());
    }
    let value =
        super::expand(&super::cast(src, array.dtype())?, array.dims()).map_err(|e| e.in_op("copy_"))?;
    if !src.requires_grad() && !special {
        return overwrite(target, &array, &value);
    }
    if special || target.base().is_some() || !target.requires_grad() {
        return assign_as("copy_", target, &value);
    }
    // What was there before gets a zero gradient, as everything overwritten does.
    array.copy_from(&value.array()?)?;
    array.storage().bump();
    let edge = record_region(target.edge(), value.edge(), &array, &array)?;
    rewrite(target, edge)
}

/// Writes a value without history; a tensor with history then passes zero to it.
fn overwrite(target: &Tensor, array: &Array, value: &Tensor) -> Result<()> {
    array.copy_from(&value.array()?)?;
    array.storage().bump();
    erase_history(target)
}

fn erase_history(target: &Tensor) -> Result<()> {
    if !graph::mode::grad_enabled() || !target.requires_grad() {
        return Ok(());
    }
    let dims = SmallVec::from_elem(target.dims(), 1);
    let meta = Meta::of(&target.array()?);
    let node = rule::bare_node(erase::Rule {}, dims, SmallVec::from_elem(target.edge(), 1), meta);
    rewrite(target, Edge::Node(node, 0))
}

/// Sets every element to a number.
///
/// # Errors
/// [`crate::Kind::Graph`] when the tensor may not be written.
pub fn fill_(target: &Tensor, value: Scalar) -> Result<()> {
    let tracked = graph::mode::grad_enabled() && target.requires_grad();
    let array = target.check_inplace("fill_", tracked)?;
    array.fill(value);
    array.storage().bump();
    if let Some(d) = target.dual() {
        zero_(&d.tangent)?;
    }
    erase_history(target)
}

/// Sets every element to zero.
///
/// # Errors
/// As [`fill_`].
pub fn zero_(target: &Tensor) -> Result<()> {
    fill_(target, Scalar::Int(0))
}

macro_rules! binary_inplace {
    ($($(#[doc = $doc:literal])* $name:ident => $row:ident;)*) => { $(
        $(#[doc = $doc])*
        ///
        /// # Errors
        /// [`crate::Kind::Shape`], [`crate::Kind::Type`] or [`crate::Kind::Graph`] when the tensor may not be
        /// written so.
        pub fn $name<'a>(x: &Tensor, y: impl Into<Operand<'a>>) -> Result<()> {
            row::apply_inplace(&binary::rows::$row::ROW, x, &[y.into()], &[])
        }
    )* };
}

binary_inplace! {
    /// `x += y`.
    add_ => add;
    /// `x -= y`.
    sub_ => sub;
    /// `x *= y`.
    mul_ => mul;
    /// `x /= y`.
    div_ => div;
    /// `x **= y`.
    pow_ => pow;
    /// `x %= y`.
    remainder_ => remainder;
    /// `x //= y`.
    floor_divide_ => floor_divide;
}

/// `x += alpha·y`.
///
/// # Errors
/// As [`add_`].
pub fn add_scaled_<'a>(x: &Tensor, y: impl Into<Operand<'a>>, alpha: f64) -> Result<()> {
    row::apply_inplace(&binary::rows::add_scaled::ROW, x, &[y.into()], &[alpha])
}
