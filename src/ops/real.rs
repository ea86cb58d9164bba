//! What a derivative formula may call: arithmetic, comparison, selection, and every row of the unary table.

use super::expr::{Cx, Expr, Slot, V};
use super::{Operand, binary, compare, unary};
use crate::kernels::simd::{Formula, MathLanes};
use std::ops::{Add, Div, Mul, Neg, Sub};

macro_rules! real {
    ($( $(#[doc = $doc:literal])* $name:ident($($x:ident),+ $(; $($p:ident),+)?) => $y:ident = $kernel:expr
        $(, ints(|$($i:ident),+| $int:expr))? $(, d($wrt:ident, $g:ident) = $d:expr)* ; )*) => {
        /// A number of derivative formulas: vector lanes ([`V`]) or a recorded expression ([`Expr`]).
        pub trait Real: Copy
            + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
            + Add<f64, Output = Self> + Sub<f64, Output = Self> + Mul<f64, Output = Self> + Div<f64, Output = Self>
        {
            /// The outcome of a comparison.
            type Mask: Copy;
            /// A literal.
            fn lit(self, v: f64) -> Self;
            /// `self < o`.
            fn lt(self, o: Self) -> Self::Mask;
            /// `self <= o`.
            fn le(self, o: Self) -> Self::Mask;
            /// `self > o`.
            fn gt(self, o: Self) -> Self::Mask;
            /// `self >= o`.
            fn ge(self, o: Self) -> Self::Mask;
            /// `self == o`.
            fn equal(self, o: Self) -> Self::Mask;
            /// Both.
            fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask;
            /// Either.
            fn or(a: Self::Mask, b: Self::Mask) -> Self::Mask;
            /// `a` where the mask holds, else `b`, never mixing the two.
            fn select(m: Self::Mask, a: Self, b: Self) -> Self;
            /// `self` to the power of `o`.
            fn pow(self, o: Self) -> Self;
            /// `√(self² + o²)` without overflow.
            fn hypot(self, o: Self) -> Self;
            $( $(#[doc = $doc])* fn $name(self) -> Self; )*
        }

        impl<L: MathLanes> Real for V<L> {
            type Mask = L::Mask;
            #[inline(always)]
            fn lit(self, v: f64) -> Self { V(L::from_f64(v)) }
            #[inline(always)]
            fn lt(self, o: Self) -> L::Mask { self.0.lt(o.0) }
            #[inline(always)]
            fn le(self, o: Self) -> L::Mask { self.0.le(o.0) }
            #[inline(always)]
            fn gt(self, o: Self) -> L::Mask { self.0.gt(o.0) }
            #[inline(always)]
            fn ge(self, o: Self) -> L::Mask { self.0.ge(o.0) }
            #[inline(always)]
            fn equal(self, o: Self) -> L::Mask { self.0.eq(o.0) }
            #[inline(always)]
            fn and(a: L::Mask, b: L::Mask) -> L::Mask { a & b }
            #[inline(always)]
            fn or(a: L::Mask, b: L::Mask) -> L::Mask { a | b }
            #[inline(always)]
            fn select(m: L::Mask, a: Self, b: Self) -> Self { V(L::select(m, a.0, b.0)) }
            #[inline(always)]
            fn pow(self, o: Self) -> Self { V(binary::rows::pow::Value::eval([self.0, o.0])[0]) }
            #[inline(always)]
            fn hypot(self, o: Self) -> Self { V(binary::rows::hypot::Value::eval([self.0, o.0])[0]) }
            $(
                #[inline(always)]
                fn $name(self) -> Self { V(unary::rows::$name::Value::eval([self.0])[0]) }
            )*
        }

        impl<'c> Real for Expr<'c> {
            type Mask = Expr<'c>;
            fn lit(self, v: f64) -> Self { self.cx().number(v) }
            fn lt(self, o: Self) -> Self { compared(self, o, |a, b| a < b, |a, b| compare::lt(a, b)) }
            fn le(self, o: Self) -> Self { compared(self, o, |a, b| a <= b, |a, b| compare::le(a, b)) }
            fn gt(self, o: Self) -> Self { compared(self, o, |a, b| a > b, |a, b| compare::gt(a, b)) }
            fn ge(self, o: Self) -> Self { compared(self, o, |a, b| a >= b, |a, b| compare::ge(a, b)) }
            fn equal(self, o: Self) -> Self { compared(self, o, |a, b| a == b, |a, b| compare::eq(a, b)) }
            fn and(a: Self, b: Self) -> Self {
                match (constant(a), constant(b)) {
                    (Some(false), _) | (_, Some(false)) => a.cx().number(0.0),
                    (Some(true), _) => b,
                    (_, Some(true)) => a,
                    _ => a.with(b, |a, b| compare::logical_and(a, b)),
                }
            }
            fn or(a: Self, b: Self) -> Self {
                match (constant(a), constant(b)) {
                    (Some(true), _) | (_, Some(true)) => a.cx().number(1.0),
                    (Some(false), _) => b,
                    (_, Some(false)) => a,
                    _ => a.with(b, |a, b| compare::logical_or(a, b)),
                }
            }
            fn select(m: Self, a: Self, b: Self) -> Self {
                match constant(m) {
                    Some(true) => a,
                    Some(false) => b,
                    None => {
                        let Slot::Tensor(m) = m.get() else { return m };
                        a.zip(b, |a, b| compare::where_(&m, a, b))
                    }
                }
            }
            fn pow(self, o: Self) -> Self { self.zip(o, |a, b| binary::pow(a, b)) }
            fn hypot(self, o: Self) -> Self { self.zip(o, |a, b| binary::hypot(a, b)) }
            $( fn $name(self) -> Self { self.map(unary::$name) } )*
        }
    };
}

crate::unary_rows!(real);

fn constant(m: Expr<'_>) -> Option<bool> {
    match m.get() {
        Slot::Number(v) => Some(v != 0.0),
        _ => None,
    }
}

/// A comparison of two numbers is known at once; any other is an operation.
fn compared<'c>(
    a: Expr<'c>,
    b: Expr<'c>,
    known: impl FnOnce(f64, f64) -> bool,
    f: impl FnOnce(Operand<'_>, Operand<'_>) -> crate::Result<crate::graph::Tensor>,
) -> Expr<'c> {
    let cx: &'c Cx = a.cx();
    match a.numbers(b) {
        Some((x, y)) => cx.number(known(x, y) as u8 as f64),
        None => a.zip(b, f),
    }
}
