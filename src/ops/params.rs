//! Elementwise functions of one tensor with numeric parameters.

use super::Operand;
use crate::Result;
use crate::graph::Tensor;
use crate::kernels::simd::MathLanes;

/// Gives all rows of this module to a macro.
#[macro_export]
macro_rules! param_rows {
    ($callback:ident) => {
        $callback! {
            /// `x` where positive, else `negative_slope·x`.
            leaky_relu(x; negative_slope) => y = L::select(x.gt(L::from_f64(0.0)), x, x * negative_slope),
                d(x, g) = R::select(x.gt(x.lit(0.0)), g, g * negative_slope);
            /// Exponential linear unit: `scale·x` where positive, else `scale·alpha·(e^(x·input_scale) - 1)`.
            elu_scaled(x; alpha, scale, input_scale) => y = L::select(x.gt(L::from_f64(0.0)), x * scale,
                (x * input_scale).expm1() * alpha * scale),
                d(x, g) = R::select(x.gt(x.lit(0.0)), g * scale,
                    g * ((x * input_scale).exp() * (alpha * scale * input_scale)));
            /// `ln(1 + e^(beta·x))/beta`; `x` itself where `beta·x > threshold`.
            softplus(x; beta, threshold) => y = {
                    let b = x * beta;
                    let soft = b.max(L::from_f64(0.0)) + (-b.abs()).exp().log1p();
                    L::select(b.gt(threshold), x, soft / beta)
                },
                d(x, g) = R::select((x * beta).gt(threshold), g, g * (x * beta).sigmoid());
            /// `x` limited to `[min, max]`; the derivative at a limit is 1.
            clamp(x; min, max) => y = {
                    let low = L::select(x.lt(min) | min.is_nan(), min, x);
                    L::select(low.gt(max) | max.is_nan(), max, low)
                },
                ints(|x, low, high| x.max(low).min(high)),
                d(x, g) = R::select(R::and(x.ge(min), x.le(max)), g, g.lit(0.0));
            /// `x` where greater than `threshold`, else `value`.
            threshold(x; threshold, value) => y = L::select(x.le(threshold), value, x),
                ints(|x, t, v| if x <= t { v } else { x }),
                d(x, g) = R::select(x.le(threshold), g.lit(0.0), g);
        }
    };
}

macro_rules! functions {
    ($( $(#[doc = $doc:literal])* $name:ident($x:ident; $($p:ident),+) => $y:ident = $kernel:expr
        $(, ints(|$($i:ident),+| $int:expr))? $(, d($wrt:ident, $g:ident) = $d:expr)* ; )*) => {
        #[allow(unused_imports)]
        pub(crate) mod rows {
            use super::MathLanes;
            use $crate::define_rows;
            $crate::param_rows!(define_rows);
        }
        $(
            $(#[doc = $doc])*
            ///
            /// # Errors
            /// Errors of reading the tensor; [`crate::Kind::Memory`].
            pub fn $name(x: &Tensor, $($p: f64),+) -> Result<Tensor> {
                super::row::apply(&rows::$name::ROW, &[Operand::Tensor(x)], &[$($p),+])
            }
        )*
        /// The rows of this module.
        pub static PARAMETRIC: &[&super::row::Row] = &[$(&rows::$name::ROW),*];
    };
}

param_rows!(functions);
