//! Elementwise functions of one tensor: value and derivative on one line.
//!
//! `x` is the operand, `y` the result, `g` the cotangent. What a derivative mentions is saved, nothing else.

use super::Operand;
use crate::Result;
use crate::graph::Tensor;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LN_2, LN_10};

/// 1/√(2π), the peak of the normal density.
const INV_SQRT_2PI: f64 = FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * 0.5;
/// √(2/π), of the tanh approximation of the normal distribution.
const SQRT_2_PI: f64 = FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
/// The cubic coefficient of that approximation (Hendrycks and Gimpel, "Gaussian error linear units", 2016).
const CUBIC: f64 = 0.044715;
const THREE_CUBIC: f64 = 3.0 * CUBIC;

/// Gives all rows of this module to a macro.
#[macro_export]
macro_rules! unary_rows {
    ($callback:ident) => { $callback! {
        /// Negation, `-x`.
        neg(x) => y = -x, ints(|x| x.wrapping_neg()), d(x, g) = -g;
        /// Exponential, `e^x`.
        exp(x) => y = x.exp(), d(x, g) = g * y;
        /// Power of two, `2^x`.
        exp2(x) => y = x.exp2(), d(x, g) = g * y * LN_2;
        /// `e^x - 1`, accurate near zero.
        expm1(x) => y = x.expm1(), d(x, g) = g * (y + 1.0);
        /// Natural logarithm.
        log(x) => y = x.log(), d(x, g) = g / x;
        /// Logarithm to base 2.
        log2(x) => y = x.log2(), d(x, g) = g / (x * LN_2);
        /// Logarithm to base 10.
        log10(x) => y = x.log10(), d(x, g) = g / (x * LN_10);
        /// `ln(1 + x)`, accurate near zero.
        log1p(x) => y = x.log1p(), d(x, g) = g / (x + 1.0);
        /// Square root.
        sqrt(x) => y = x.sqrt(), d(x, g) = g / (y * 2.0);
        /// Reciprocal square root, `1/√x`.
        rsqrt(x) => y = L::from_f64(1.0) / x.sqrt(), d(x, g) = g * (y * y * y * -0.5);
        /// Square, `x²`.
        square(x) => y = x * x, ints(|x| x.wrapping_mul(x)), d(x, g) = g * (x * 2.0);
        /// Reciprocal, `1/x`.
        reciprocal(x) => y = L::from_f64(1.0) / x, d(x, g) = -g * (y * y);
        /// Absolute value; the derivative at 0 is 0.
        abs(x) => y = x.abs(), ints(|x| x.wrapping_abs()), d(x, g) = g * x.sign();
        /// Sign: -1, 0 or 1; the derivative is 0.
        sign(x) => y = L::select(x.is_nan(), L::from_f64(0.0), L::select(x.gt(L::from_f64(0.0)), L::from_f64(1.0),
            L::select(x.lt(L::from_f64(0.0)), L::from_f64(-1.0), L::from_f64(0.0)))),
            ints(|x| x.signum()), d(x, g) = g.lit(0.0);
        /// Sine.
        sin(x) => y = x.sin(), d(x, g) = g * x.cos();
        /// Cosine.
        cos(x) => y = x.cos(), d(x, g) = g * -x.sin();
        /// Tangent.
        tan(x) => y = x.tan(), d(x, g) = g * (y * y + 1.0);
        /// Inverse sine.
        asin(x) => y = x.asin(), d(x, g) = g * ((1.0 - x) * (x + 1.0)).rsqrt();
        /// Inverse cosine.
        acos(x) => y = x.acos(), d(x, g) = g * -((1.0 - x) * (x + 1.0)).rsqrt();
        /// Inverse tangent.
        atan(x) => y = x.atan(), d(x, g) = g / (x * x + 1.0);
        /// Hyperbolic sine.
        sinh(x) => y = x.sinh(), d(x, g) = g * x.cosh();
        /// Hyperbolic cosine.
        cosh(x) => y = x.cosh(), d(x, g) = g * x.sinh();
        /// Hyperbolic tangent.
        tanh(x) => y = x.tanh(), d(x, g) = g * (1.0 - y * y);
        /// Inverse hyperbolic sine; the derivative does not overflow for huge `x`.
        asinh(x) => y = x.asinh(), d(x, g) = g / x.hypot(x.lit(1.0));
        /// Inverse hyperbolic cosine.
        acosh(x) => y = x.acosh(), d(x, g) = g / ((x - 1.0).sqrt() * (x + 1.0).sqrt());
        /// Inverse hyperbolic tangent.
        atanh(x) => y = x.atanh(), d(x, g) = g / ((1.0 - x) * (x + 1.0));
        /// Error function.
        erf(x) => y = x.erf(), d(x, g) = g * ((-(x * x)).exp() * FRAC_2_SQRT_PI);
        /// Complementary error function, `1 - erf(x)`.
        erfc(x) => y = x.erfc(), d(x, g) = g * ((-(x * x)).exp() * -FRAC_2_SQRT_PI);
        /// Logistic function, `1/(1 + e^-x)`.
        sigmoid(x) => y = x.sigmoid(), d(x, g) = g * ((1.0 - y) * y);
        /// `ln(1/(1 + e^-x))` without overflow.
        logsigmoid(x) => y = x.min(L::from_f64(0.0)) - (-x.abs()).exp().log1p(), d(x, g) = g * (-x).sigmoid();
        /// Rectifier, `max(x, 0)`; the derivative at 0 is 0.
        relu(x) => y = L::select(x.le(L::from_f64(0.0)), L::from_f64(0.0), x), ints(|x| x.max(0)),
            d(x, g) = R::select(y.le(y.lit(0.0)), g.lit(0.0), g);
        /// Sigmoid-weighted linear unit, `x·sigmoid(x)`.
        silu(x) => y = x * x.sigmoid(),
            d(x, g) = { let s = x.sigmoid(); g * (s * (x * (1.0 - s) + 1.0)) };
        /// Gaussian error linear unit, `x·Φ(x)`.
        gelu_erf(x) => y = x * (L::from_f64(0.5) * (-(x * L::from_f64(FRAC_1_SQRT_2))).erfc()),
            d(x, g) = g * ((-(x * FRAC_1_SQRT_2)).erfc() * 0.5 + x * (((x * x) * -0.5).exp() * INV_SQRT_2PI));
        /// The tanh approximation of the Gaussian error linear unit.
        gelu_tanh(x) => y = L::from_f64(0.5) * x * (L::from_f64(1.0)
            + (L::from_f64(SQRT_2_PI) * (x + L::from_f64(CUBIC) * (x * x * x))).tanh()),
            d(x, g) = {
                let t = ((x + x * x * x * CUBIC) * SQRT_2_PI).tanh();
                let inner = (x * x * THREE_CUBIC + 1.0) * SQRT_2_PI;
                g * ((t + 1.0) * 0.5 + x * 0.5 * ((1.0 - t * t) * inner))
            };
        /// `x/(1 + |x|)`.
        softsign(x) => y = x / (x.abs() + L::from_f64(1.0)), d(x, g) = g / (x.abs() + 1.0).square();
        /// Largest integer not above `x`; the derivative is 0.
        floor(x) => y = x.floor(), ints(|x| x), d(x, g) = g.lit(0.0);
        /// Smallest integer not below `x`; the derivative is 0.
        ceil(x) => y = x.ceil(), ints(|x| x), d(x, g) = g.lit(0.0);
        /// Nearest integer, halves to even; the derivative is 0.
        round(x) => y = x.round_ties_even(), ints(|x| x), d(x, g) = g.lit(0.0);
        /// Integer part; the derivative is 0.
        trunc(x) => y = x.trunc(), ints(|x| x), d(x, g) = g.lit(0.0);
        /// Fractional part, with the sign of `x`.
        frac(x) => y = x - x.trunc(), d(x, g) = g;
    } };
}

macro_rules! functions {
    ($( $(#[doc = $doc:literal])* $name:ident($($x:ident),+ $(; $($p:ident),+)?) => $y:ident = $kernel:expr
        $(, ints(|$($i:ident),+| $int:expr))? $(, d($wrt:ident, $g:ident) = $d:expr)* ; )*) => {
        pub(crate) mod rows {
            use super::*;
            use $crate::define_rows;
            $crate::unary_rows!(define_rows);
        }
        $(
            $(#[doc = $doc])*
            ///
            /// # Errors
            /// Errors of reading the tensor; [`crate::Kind::Memory`].
            #[inline]
            pub fn $name(x: &Tensor) -> Result<Tensor> {
                super::row::apply(&rows::$name::ROW, &[Operand::Tensor(x)], &[])
            }
        )*
        /// The rows of this module.
        pub static UNARY: &[&super::row::Row] = &[$(&rows::$name::ROW),*];
    };
}

unary_rows!(functions);
