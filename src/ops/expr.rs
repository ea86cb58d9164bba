//! The number types that derivative formulas are written over.
//!
//! [`Expr`] is a `Copy` handle of a value in the arena of one backward step, so that formulas hold no `clone`, `&`
//! or `?`; [`V`] is a pack of vector lanes. A formula generic over [`super::Real`] runs on both.

use crate::dtype::{DType, Scalar};
use crate::graph::Tensor;
use crate::kernels::simd::MathLanes;
use crate::shape::Dims;
use crate::{Error, Kind, Result};
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A value of an arena.
#[derive(Clone)]
pub(crate) enum Slot {
    Tensor(Tensor),
    /// A number, such as a literal or a parameter.
    Number(f64),
    /// A value that was not saved: only its shape is known.
    Ghost(Dims),
}

/// The arena of one backward step. The first error of a formula is kept here and ends the step.
pub struct Cx {
    /// Numbers are folded in this precision, as the fused loops do.
    single: bool,
    slots: RefCell<Vec<Slot>>,
    error: RefCell<Option<Error>>,
}

/// A handle of a value in a [`Cx`].
#[derive(Clone, Copy)]
pub struct Expr<'c> {
    cx: &'c Cx,
    slot: u32,
}

impl Cx {
    /// An empty arena for formulas computed in `dtype`.
    pub fn new(dtype: DType) -> Cx {
        Cx {
            single: dtype != DType::F64,
            slots: RefCell::new(Vec::with_capacity(8)),
            error: RefCell::new(None),
        }
    }

    fn round(&self, v: f64) -> f64 {
        if self.single { v as f32 as f64 } else { v }
    }

    fn push(&self, s: Slot) -> Expr<'_> {
        let mut slots = self.slots.borrow_mut();
        slots.push(s);
        Expr { cx: self, slot: (slots.len() - 1) as u32 }
    }

    /// A tensor as a value of this arena.
    pub fn tensor(&self, t: Tensor) -> Expr<'_> {
        self.push(Slot::Tensor(t))
    }

    /// A number as a value of this arena.
    pub fn number(&self, v: f64) -> Expr<'_> {
        self.push(Slot::Number(v))
    }

    /// A value of which only the shape is known.
    pub fn ghost(&self, dims: Dims) -> Expr<'_> {
        self.push(Slot::Ghost(dims))
    }

    /// The value of an operation; its error is kept and ends the step.
    pub fn run(&self, f: impl FnOnce() -> Result<Tensor>) -> Expr<'_> {
        if self.error.borrow().is_some() {
            return self.number(f64::NAN);
        }
        match f() {
            Ok(t) => self.tensor(t),
            Err(e) => {
                *self.error.borrow_mut() = Some(e);
                self.number(f64::NAN)
            }
        }
    }

    /// The tensor behind a handle; a number becomes a tensor of `dims`.
    ///
    /// # Errors
    /// The first error of the formula.
    pub fn finish(&self, e: Expr<'_>, dims: &[usize], dtype: DType) -> Result<Tensor> {
        if let Some(e) = self.error.borrow_mut().take() {
            return Err(e);
        }
        match e.get() {
            Slot::Tensor(t) => Ok(t),
            Slot::Number(v) => Ok(Tensor::internal(crate::Array::full(dims, Scalar::Float(v), dtype)?)),
            Slot::Ghost(_) => {
                Err(Error::new(Kind::Internal, "", "a derivative formula returned an unsaved value"))
            }
        }
    }
}

impl<'c> Expr<'c> {
    pub(crate) fn get(self) -> Slot {
        self.cx.slots.borrow()[self.slot as usize].clone()
    }

    /// The arena.
    pub fn cx(self) -> &'c Cx {
        self.cx
    }

    /// Sizes of the value.
    pub fn dims(self) -> Dims {
        match self.get() {
            Slot::Tensor(t) => t.dims(),
            Slot::Number(_) => Dims::new(),
            Slot::Ghost(d) => d,
        }
    }

    /// Number of dimensions.
    pub fn ndim(self) -> usize {
        self.dims().len()
    }

    /// Number of elements.
    pub fn numel(self) -> usize {
        crate::shape::numel(&self.dims())
    }

    /// Element type; float64 for a number.
    pub fn dtype(self) -> DType {
        match self.get() {
            Slot::Tensor(t) => t.dtype(),
            _ => DType::F64,
        }
    }

    /// Applies an operation to the tensor behind this handle.
    pub fn map(self, f: impl FnOnce(&Tensor) -> Result<Tensor>) -> Expr<'c> {
        match self.get() {
            Slot::Tensor(t) => self.cx.run(|| f(&t)),
            Slot::Number(v) => {
                self.cx.run(|| f(&Tensor::internal(crate::Array::scalar(Scalar::Float(v), DType::F64)?)))
            }
            Slot::Ghost(_) => self.cx.run(|| {
                Err(Error::new(Kind::Internal, "", "a derivative formula used a value that was not saved"))
            }),
        }
    }

    /// Both values when they are numbers, in the precision of the arena.
    pub(crate) fn numbers(self, other: Expr<'c>) -> Option<(f64, f64)> {
        let slots = self.cx.slots.borrow();
        match (&slots[self.slot as usize], &slots[other.slot as usize]) {
            (Slot::Number(a), Slot::Number(b)) => Some((self.cx.round(*a), self.cx.round(*b))),
            _ => None,
        }
    }

    /// Applies an operation to two handles, either of which may be a number.
    pub fn zip(
        self,
        other: Expr<'c>,
        f: impl FnOnce(super::Operand<'_>, super::Operand<'_>) -> Result<Tensor>,
    ) -> Expr<'c> {
        let (a, b) = (self.get(), other.get());
        self.cx.run(|| f(operand(&a)?, operand(&b)?))
    }

    /// Applies an operation of two tensors.
    pub fn with(self, other: Expr<'c>, f: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor>) -> Expr<'c> {
        self.map(|a| {
            let mut out = None;
            other.map(|b| {
                out = Some(f(a, b));
                Ok(b.clone())
            });
            out.unwrap_or_else(|| {
                Err(Error::new(Kind::Internal, "", "a derivative formula used an unsaved value"))
            })
        })
    }
}

fn operand(s: &Slot) -> Result<super::Operand<'_>> {
    match s {
        Slot::Tensor(t) => Ok(super::Operand::Tensor(t)),
        Slot::Number(v) => Ok(super::Operand::Number(Scalar::Float(*v))),
        Slot::Ghost(_) => {
            Err(Error::new(Kind::Internal, "", "a derivative formula used a value that was not saved"))
        }
    }
}

/// Lanes of a vector register as a number of formulas, so that literals mix with it.
#[derive(Clone, Copy)]
pub struct V<L>(pub L);

macro_rules! arithmetic {
    ($($Trait:ident $f:ident $op:tt),*) => { $(
        impl<L: MathLanes> $Trait for V<L> {
            type Output = V<L>;
            #[inline(always)]
            fn $f(self, o: V<L>) -> V<L> { V(self.0 $op o.0) }
        }
        impl<L: MathLanes> $Trait<f64> for V<L> {
            type Output = V<L>;
            #[inline(always)]
            fn $f(self, o: f64) -> V<L> { V(self.0 $op L::from_f64(o)) }
        }
        impl<L: MathLanes> $Trait<V<L>> for f64 {
            type Output = V<L>;
            #[inline(always)]
            fn $f(self, o: V<L>) -> V<L> { V(L::from_f64(self) $op o.0) }
        }
        impl<'c> $Trait for Expr<'c> {
            type Output = Expr<'c>;
            fn $f(self, o: Expr<'c>) -> Expr<'c> {
                match self.numbers(o) {
                    // Each operation on two float32 values is exact to the last bit when rounded from float64.
                    Some((a, b)) => self.cx.number(self.cx.round(a $op b)),
                    None => self.zip(o, |a, b| super::$f(a, b)),
                }
            }
        }
        impl<'c> $Trait<f64> for Expr<'c> {
            type Output = Expr<'c>;
            fn $f(self, o: f64) -> Expr<'c> { self $op self.cx.number(o) }
        }
        impl<'c> $Trait<Expr<'c>> for f64 {
            type Output = Expr<'c>;
            fn $f(self, o: Expr<'c>) -> Expr<'c> { o.cx.number(self) $op o }
        }
    )* };
}

arithmetic!(Add add +, Sub sub -, Mul mul *, Div div /);

impl<L: MathLanes> Neg for V<L> {
    type Output = V<L>;
    #[inline(always)]
    fn neg(self) -> V<L> {
        V(-self.0)
    }
}

impl<'c> Neg for Expr<'c> {
    type Output = Expr<'c>;
    fn neg(self) -> Expr<'c> {
        match self.get() {
            Slot::Number(v) => self.cx.number(-v),
            _ => self.map(super::neg),
        }
    }
}
