//! Structural rules: operations that are not elementwise. A rule has a kernel and a derivative formula an argument;
//! linear and multilinear rules get their forward mode from the kernel itself.

use super::expr::{Cx, Expr};
use crate::graph::{self, Edge, From, Input, Op, Saved, Tensor, Vjp};
use crate::shape::Dims;
use crate::{Array, Result};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::any::Any;
use std::borrow::Cow;

/// How a rule depends on its arguments, and so how tangents pass through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Linear in all arguments together: the tangent of the result is the rule applied to the tangents.
    Linear,
    /// Linear in each argument: the sum over arguments of the rule with that one replaced by its tangent.
    Multilinear,
    /// Neither: the rule gives its own tangent formula.
    General,
}

/// The operation's name of a rule that has a function beside it: `sum` for `sum_rule`.
pub const fn plain_name(name: &str) -> &str {
    let (b, end) = (name.as_bytes(), b"_rule");
    if b.len() <= end.len() {
        return name;
    }
    let at = b.len() - end.len();
    let mut i = 0;
    while i < end.len() {
        if b[at + i] != end[i] {
            return name;
        }
        i += 1;
    }
    name.split_at(at).0
}

/// Results of a kernel.
pub type Outs = SmallVec<[Array; 1]>;

/// An operation with its attributes. Formulas are written over [`Expr`]; what they mention is saved.
pub trait Rule: Clone + Send + Sync + 'static {
    /// Name in Rust and Python.
    const NAME: &'static str;
    /// How tangents pass through.
    const CLASS: Class;
    /// By argument, bit `i` tells whether its formula mentions input `i`; bit `n` is the first result, and so on.
    /// A rule with any number of inputs has one entry for all of them.
    const MENTIONS: &'static [u32];
    /// Whether the results are views of the first input.
    const VIEW: bool = false;

    /// Computes the results.
    ///
    /// # Errors
    /// Shapes, dtypes or values that the operation cannot take.
    fn forward(&self, ins: &[Array]) -> Result<Outs>;
    /// The gradient of argument `i` for cotangents `g`, one a result; `None` is no gradient.
    fn vjp<'c>(
        &self,
        i: usize,
        g: &[Option<Expr<'c>>],
        ins: &[Expr<'c>],
        outs: &[Expr<'c>],
    ) -> Option<Expr<'c>>;
    /// For [`Class::General`]: the tangents of the results.
    fn jvp<'c>(
        &self,
        _t: &[Option<Expr<'c>>],
        _ins: &[Expr<'c>],
        _outs: &[Expr<'c>],
    ) -> SmallVec<[Option<Expr<'c>>; 1]> {
        unreachable!("{} is linear", Self::NAME)
    }
    /// Whether result `i` carries gradients.
    fn differentiable(&self, _i: usize) -> bool {
        true
    }
    /// Rough number of elementary operations of the backward step.
    fn work(&self, ins: &[Array], outs: &Outs) -> usize {
        ins.iter().chain(outs).map(Array::numel).sum::<usize>() * 2
    }
}

/// Declares rules of one result: `Class name(arguments; attribute: Type, …) => result { kernel = …; d(a, g) = …; }`.
///
/// Attributes are references in kernel and formulas. `j(a, t) = …` gives the tangent for a `General` rule.
#[macro_export]
macro_rules! define_rules {
    ($( $(#[doc = $doc:literal])* $(@$view:ident)? $class:ident $name:ident($($a:ident),+ $(; $($attr:ident: $ty:ty),+)?) => $y:ident {
        kernel = |$($k:ident),+| $kernel:expr;
        $( d($wrt:ident, $g:ident) = $d:expr; )*
        $( j($jwrt:ident, $t:ident) = $j:expr; )*
    } )*) => { $(
        $(#[doc = $doc])*
        #[allow(unused_variables, unused_imports, unused_mut, unused_assignments, non_camel_case_types)]
        pub mod $name {
            use super::*;
            use $crate::ops::Expr;
            use $crate::ops::rule::{Class, Outs};

            /// The rule with its attributes.
            #[derive(Clone)]
            pub struct Rule { $($(#[allow(missing_docs)] pub $attr: $ty),+)? }

            const NAMES: &[&str] = &[$(stringify!($a),)+ stringify!($y)];

            impl $crate::ops::rule::Rule for Rule {
                const NAME: &'static str = $crate::ops::rule::plain_name(stringify!($name));
                const CLASS: Class = Class::$class;
                const MENTIONS: &'static [u32] = &[$($crate::ops::row::mention_bits(NAMES, stringify!($d))),*];
                const VIEW: bool = $crate::define_rules!(@view $($view)?);

                fn forward(&self, ins: &[Array]) -> $crate::Result<Outs> {
                    let Rule { $($($attr),+)? } = self;
                    let [$($k),+] = ins else { unreachable!("the number of inputs is fixed") };
                    let y: Array = $kernel?;
                    Ok(smallvec::smallvec![y])
                }

                fn vjp<'c>(
                    &self, i: usize, g: &[Option<Expr<'c>>], ins: &[Expr<'c>], outs: &[Expr<'c>],
                ) -> Option<Expr<'c>> {
                    let Rule { $($($attr),+)? } = self;
                    let [$($a),+] = *ins else { unreachable!("the number of inputs is fixed") };
                    let $y = outs[0];
                    let cotangent = g[0]?;
                    let mut at = 0usize;
                    $(
                        if i == at {
                            let $g = cotangent;
                            return Some($d);
                        }
                        at += 1;
                    )*
                    None
                }

                fn jvp<'c>(
                    &self, tangents: &[Option<Expr<'c>>], ins: &[Expr<'c>], outs: &[Expr<'c>],
                ) -> smallvec::SmallVec<[Option<Expr<'c>>; 1]> {
                    let Rule { $($($attr),+)? } = self;
                    let [$($a),+] = *ins else { unreachable!("the number of inputs is fixed") };
                    let $y = outs[0];
                    let mut sum: Option<Expr<'c>> = None;
                    let mut at = 0usize;
                    $(
                        if let Some($t) = tangents[at] {
                            let r = $j;
                            sum = Some(match sum { Some(s) => s + r, None => r });
                        }
                        at += 1;
                    )*
                    smallvec::smallvec![sum]
                }
            }

            /// Applies the rule.
            ///
            /// # Errors
            /// Shapes, dtypes or values that the operation cannot take; errors of reading the tensors.
            #[allow(clippy::too_many_arguments)]
            pub fn op($($a: &Tensor,)+ $($($attr: $ty),+)?) -> $crate::Result<Tensor> {
                $crate::ops::rule::apply_one(Rule { $($($attr),+)? }, &[$($a),+])
            }
        }
    )* };
    (@view) => { false };
    (@view view) => { true };
}

struct Recorded<R: Rule> {
    rule: R,
    /// Shapes of the inputs, for formulas that ask for no more.
    dims: SmallVec<[Dims; 2]>,
    outs: usize,
    work: usize,
    /// Saved inputs, then results; `None` where nothing mentions the value.
    saved: Mutex<Option<SmallVec<[Option<Saved>; 3]>>>,
    any_saved: bool,
    whole: bool,
}

impl<R: Rule> Op for Recorded<R> {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(R::NAME)
    }

    fn vjp(&self, step: Vjp<'_>) -> Result<SmallVec<[Option<Tensor>; 2]>> {
        let saved = {
            let mut s = self.saved.lock();
            let s = if step.retain || !self.any_saved { s.clone() } else { s.take() };
            s.ok_or_else(|| super::row::freed(R::NAME))?
        };
        let n = self.dims.len();
        let mut out: SmallVec<[Option<Tensor>; 2]> = SmallVec::from_elem(None, n);
        if step.grads.iter().all(Option::is_none) {
            return Ok(out);
        }
        let cx = Cx::new(crate::DType::F64);
        let mut ins: SmallVec<[Expr<'_>; 3]> = SmallVec::new();
        let mut outs: SmallVec<[Expr<'_>; 2]> = SmallVec::new();
        for (i, dims) in self.dims.iter().enumerate() {
            ins.push(match &saved[i] {
                Some(s) => cx.tensor(s.unpack(step.node, step.create_graph)?),
                None => cx.ghost(dims.clone()),
            });
        }
        let again = if self.whole && R::MENTIONS.iter().any(|m| m >> n != 0) {
            let held: SmallVec<[Tensor; 3]> =
                ins.iter().map(|&e| cx.finish(e, &[], crate::DType::F64)).collect::<Result<_>>()?;
            Some(apply(self.rule.clone(), &held.iter().collect::<SmallVec<[&Tensor; 3]>>())?)
        } else {
            None
        };
        for k in 0..self.outs {
            outs.push(match (&again, saved.get(n + k).and_then(Option::as_ref)) {
                (Some(a), _) => cx.tensor(a[k].clone()),
                (None, Some(s)) => cx.tensor(s.unpack(step.node, step.create_graph)?),
                (None, None) => cx.ghost(step.node.outputs[k].dims.clone()),
            });
        }
        let grads: SmallVec<[Option<Expr<'_>>; 2]> =
            step.grads.iter().map(|g| g.as_ref().map(|g| cx.tensor(g.clone()))).collect();
        for (i, slot) in out.iter_mut().enumerate() {
            if step.needed[i]
                && let Some(e) = self.rule.vjp(i, &grads, &ins, &outs)
            {
                *slot = Some(cx.finish(e, &self.dims[i], step.node.outputs[0].dtype)?);
            }
        }
        Ok(out)
    }

    fn release(&self) {
        if self.any_saved {
            let old = self.saved.lock().take();
            drop(old);
        }
    }

    fn is_released(&self) -> bool {
        self.any_saved && self.saved.lock().is_none()
    }

    fn work(&self) -> usize {
        self.work
    }

    fn saved_bytes(&self) -> usize {
        self.saved.lock().as_ref().map_or(0, |s| s.iter().flatten().map(Saved::bytes).sum())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Applies a rule of one result.
///
/// # Errors
/// As [`apply`].
#[inline]
pub fn apply_one<R: Rule>(rule: R, ins: &[&Tensor]) -> Result<Tensor> {
    let mut out = apply(rule, ins)?;
    Ok(out.swap_remove(0))
}

/// Applies a rule: computes the results and records them where a gradient is wanted.
///
/// # Errors
/// Shapes, dtypes or values that the operation cannot take; errors of reading the tensors.
pub fn apply<R: Rule>(rule: R, ins: &[&Tensor]) -> Result<SmallVec<[Tensor; 1]>> {
    let name = |e: crate::Error| e.in_op(R::NAME);
    let got: SmallVec<[Input; 2]> = ins.iter().map(|t| t.input()).collect::<Result<_>>().map_err(name)?;
    if got.iter().any(|g| g.dual) {
        return super::forward_mode::rule(rule, ins, got).map_err(name);
    }
    let (arrays, edges): (SmallVec<[Array; 2]>, SmallVec<[Edge; 2]>) =
        got.into_iter().map(|g| (g.array, g.edge)).unzip();
    let outs = rule.forward(&arrays).map_err(name)?;
    let results = attach(rule, arrays, edges, outs, None);
    if R::VIEW {
        graph::views_of(ins[0], &results);
    }
    Ok(results)
}

/// Makes the results, with a node that saves what the needed formulas mention. With `whole`, all inputs are kept
/// as they are, tangents included.
pub(super) fn attach<R: Rule>(
    rule: R,
    arrays: SmallVec<[Array; 2]>,
    edges: SmallVec<[Edge; 2]>,
    outs: Outs,
    whole: Option<&[&Tensor]>,
) -> SmallVec<[Tensor; 1]> {
    if !edges.iter().any(Edge::is_some) {
        return outs.into_iter().map(Tensor::new).collect();
    }
    let n = arrays.len();
    let mut bits = 0u32;
    for (i, e) in edges.iter().enumerate() {
        if e.is_some() {
            bits |= R::MENTIONS.get(i).or(R::MENTIONS.last()).copied().unwrap_or(0);
        }
    }
    let work = rule.work(&arrays, &outs);
    // Formulas of the cotangent alone keep nothing, tangents or not.
    let whole = whole.filter(|_| bits != 0);
    let mut saved: SmallVec<[Option<Saved>; 3]> = SmallVec::new();
    for (i, a) in arrays.iter().enumerate() {
        saved.push(match whole {
            Some(t) => Some(Saved::array(a.clone(), From::Whole(t[i].clone()))),
            None if bits >> i.min(30) & 1 != 0 => Some(Saved::array(a.clone(), From::Input(i as u8))),
            None => None,
        });
    }
    for (k, a) in outs.iter().enumerate() {
        let wanted = whole.is_none() && bits >> (n + k).min(30) & 1 != 0;
        saved.push(wanted.then(|| Saved::array(a.clone(), From::Output(k as u8))));
    }
    let op = || Recorded {
        dims: arrays.iter().map(|a| Dims::from_slice(a.dims())).collect(),
        outs: outs.len(),
        work,
        any_saved: saved.iter().any(Option::is_some),
        saved: Mutex::new(Some(saved)),
        whole: whole.is_some(),
        rule: rule.clone(),
    };
    let op = op();
    graph::attach(|| op, edges, outs.clone(), |i| rule.differentiable(i))
}

/// Whether any element of a contiguous bool array is true.
#[allow(unsafe_code)]
pub(crate) fn any_true(mask: &Array) -> bool {
    debug_assert!(mask.is_contiguous() && mask.dtype() == crate::DType::Bool);
    // SAFETY: the array is contiguous, one byte an element, and all elements are set.
    unsafe { std::slice::from_raw_parts(mask.ptr(), mask.numel()) }.iter().any(|&b| b != 0)
}

/// A node of a rule that saves nothing, for histories made without running the rule.
pub(super) fn bare_node<R: Rule>(
    rule: R,
    dims: SmallVec<[Dims; 2]>,
    edges: SmallVec<[Edge; 2]>,
    out: graph::Meta,
) -> std::sync::Arc<graph::Node> {
    let saved = SmallVec::from_elem(None, dims.len() + 1);
    let work = crate::shape::numel(&out.dims) * 4;
    let op = Recorded {
        rule,
        dims,
        outs: 1,
        work,
        saved: Mutex::new(Some(saved)),
        any_saved: false,
        whole: false,
    };
    graph::Node::new(op, edges, SmallVec::from_elem(out, 1))
}
