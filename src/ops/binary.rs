//! Elementwise functions of two and three operands. Either may be a number.

use super::Operand;
use crate::Result;
use crate::graph::Tensor;

/// Gives all rows of this module to a macro.
#[macro_export]
macro_rules! binary_rows {
    ($callback:ident) => { $callback! {
        /// Sum, `x + y`.
        add(x, y) => z = x + y, ints(|x, y| x.wrapping_add(y)), d(x, g) = g, d(y, g) = g;
        /// Difference, `x - y`.
        sub(x, y) => z = x - y, ints(|x, y| x.wrapping_sub(y)), d(x, g) = g, d(y, g) = -g;
        /// Product, `x·y`.
        mul(x, y) => z = x * y, ints(|x, y| x.wrapping_mul(y)), d(x, g) = g * y, d(y, g) = g * x;
        /// Quotient, `x/y`; integers are divided as floats.
        div(x, y) => z = x / y, d(x, g) = g / y, d(y, g) = -g * (z / y);
        /// Power, `x^y`; a zero base with exponent at least 0 has derivative 0 with respect to the exponent.
        pow(x, y) => z = x.pow(y), ints(|x, y| super::super::power(x, y)),
            d(x, g) = R::select(y.equal(y.lit(0.0)), g.lit(0.0), g * (y * x.pow(y - 1.0))),
            d(y, g) = R::select(R::and(x.equal(x.lit(0.0)), y.ge(y.lit(0.0))), g.lit(0.0), g * (z * x.log()));
        /// Greater of the two; NaN wins; equal operands share the gradient.
        maximum(x, y) => z = L::select(x.is_nan() | x.gt(y), x, L::select(y.is_nan(), y, L::select(x.eq(y), x, y))),
            ints(|x, y| x.max(y)),
            d(x, g) = R::select(x.equal(y), g * 0.5, R::select(x.lt(y), g.lit(0.0), g)),
            d(y, g) = R::select(x.equal(y), g * 0.5, R::select(x.lt(y), g, g.lit(0.0)));
        /// Lesser of the two; NaN wins; equal operands share the gradient.
        minimum(x, y) => z = L::select(x.is_nan() | x.lt(y), x, L::select(y.is_nan(), y, L::select(x.eq(y), x, y))),
            ints(|x, y| x.min(y)),
            d(x, g) = R::select(x.equal(y), g * 0.5, R::select(x.gt(y), g.lit(0.0), g)),
            d(y, g) = R::select(x.equal(y), g * 0.5, R::select(x.gt(y), g, g.lit(0.0)));
        /// `x` limited from below by `m`; at the limit the gradient goes to `x`.
        clamp_min(x, m) => z = L::select(x.lt(m) | m.is_nan(), m, x), ints(|x, m| x.max(m)),
            d(x, g) = R::select(x.ge(m), g, g.lit(0.0)), d(m, g) = R::select(x.lt(m), g, g.lit(0.0));
        /// `x` limited from above by `m`; at the limit the gradient goes to `x`.
        clamp_max(x, m) => z = L::select(x.gt(m) | m.is_nan(), m, x), ints(|x, m| x.min(m)),
            d(x, g) = R::select(x.le(m), g, g.lit(0.0)), d(m, g) = R::select(x.gt(m), g, g.lit(0.0));
        /// Angle of the point `(y, x)`, the operands in the order `atan2(x, y) = atan(x/y)` by quadrant.
        atan2(x, y) => z = x.atan2(y),
            d(x, g) = g * (y / (x * x + y * y)), d(y, g) = g * (-x / (x * x + y * y));
        /// Length of the hypotenuse, `√(x² + y²)`, without overflow.
        hypot(x, y) => z = x.hypot(y), d(x, g) = g * (x / z), d(y, g) = g * (y / z);
        /// Quotient rounded towards minus infinity; the derivative is 0.
        floor_divide(x, y) => z = super::super::floored(x, y), ints(|x, y| super::super::floor_div(x, y)),
            d(x, g) = g.lit(0.0), d(y, g) = g.lit(0.0);
        /// Remainder with the sign of the divisor, `x - y·⌊x/y⌋`.
        remainder(x, y) => z = super::super::modulo(x, y), ints(|x, y| super::super::floor_mod(x, y)),
            d(x, g) = g, d(y, g) = -g * (x / y).floor();
        /// Remainder with the sign of the dividend.
        fmod(x, y) => z = super::super::truncated(x, y), ints(|x, y| if y == 0 { 0 } else { x.wrapping_rem(y) }),
            d(x, g) = g, d(y, g) = -g * (x / y).trunc();
        /// `x + w·(y - x)`.
        lerp(x, y, w) => z = x + w * (y - x),
            d(x, g) = g * (1.0 - w), d(y, g) = g * w, d(w, g) = g * (y - x);
    } };
}

/// Gives the rows with numeric parameters and two or three tensors to a macro.
#[macro_export]
macro_rules! scaled_rows {
    ($callback:ident) => { $callback! {
        /// `x + alpha·y`.
        add_scaled(x, y; alpha) => z = x + alpha * y, ints(|x, y, alpha| x.wrapping_add(alpha.wrapping_mul(y))),
            d(x, g) = g, d(y, g) = g * alpha;
        /// `x + value·y·w`.
        addcmul(x, y, w; value) => z = x + value * y * w,
            ints(|x, y, w, value| x.wrapping_add(value.wrapping_mul(y).wrapping_mul(w))),
            d(x, g) = g, d(y, g) = g * (w * value), d(w, g) = g * (y * value);
        /// `x + value·y/w`.
        addcdiv(x, y, w; value) => z = x + value * (y / w),
            d(x, g) = g, d(y, g) = g * (value / w), d(w, g) = -g * (value * (y / w) / w);
    } };
}

use crate::kernels::simd::MathLanes;

/// Remainder of the truncated division, exact: by lanes, as `fmod` of C.
#[inline(always)]
pub(crate) fn truncated<L: MathLanes>(x: L, y: L) -> L {
    x.fmod(y)
}

/// Remainder with the sign of the divisor.
#[inline(always)]
pub(crate) fn modulo<L: MathLanes>(x: L, y: L) -> L {
    let zero = L::from_f64(0.0);
    let m = x.fmod(y);
    L::select(m.ne(zero) & (m.lt(zero) ^ y.lt(zero)), m + y, m)
}

/// Quotient rounded towards minus infinity, consistent with [`modulo`], as Python divides.
#[inline(always)]
pub(crate) fn floored<L: MathLanes>(x: L, y: L) -> L {
    let zero = L::from_f64(0.0);
    let m = x.fmod(y);
    let d = (x - m) / y;
    let d = L::select(m.ne(zero) & (m.lt(zero) ^ y.lt(zero)), d - L::from_f64(1.0), d);
    let f = d.floor();
    let f = L::select((d - f).gt(L::from_f64(0.5)), f + L::from_f64(1.0), f);
    let f = L::select(d.eq(zero), zero.copysign(x / y), f);
    L::select(y.eq(zero), x / y, f)
}

/// Integer power; negative exponents give 0 except for bases 1 and -1.
pub(crate) fn power(x: i64, y: i64) -> i64 {
    match (x, y) {
        (_, y) if y >= 0 => {
            (0..64)
                .fold((1i64, x), |(acc, b), i| {
                    (if y >> i & 1 == 1 { acc.wrapping_mul(b) } else { acc }, b.wrapping_mul(b))
                })
                .0
        }
        (1, _) => 1,
        (-1, y) => {
            if y % 2 == 0 {
                1
            } else {
                -1
            }
        }
        _ => 0,
    }
}

/// Floor division of integers; division by zero is found before the loop.
pub(crate) fn floor_div(x: i64, y: i64) -> i64 {
    if y == 0 { 0 } else { x.wrapping_div(y) - ((x.wrapping_rem(y) != 0) & ((x < 0) != (y < 0))) as i64 }
}

/// Remainder of [`floor_div`].
pub(crate) fn floor_mod(x: i64, y: i64) -> i64 {
    if y == 0 {
        return 0;
    }
    let r = x.wrapping_rem(y);
    if r != 0 && (r < 0) != (y < 0) { r + y } else { r }
}

macro_rules! functions {
    ($( $(#[doc = $doc:literal])* $name:ident($($x:ident),+) => $y:ident = $kernel:expr
        $(, ints(|$($i:ident),+| $int:expr))? $(, d($wrt:ident, $g:ident) = $d:expr)* ; )*) => {
        #[allow(unused_imports)]
        pub(crate) mod rows {
            use $crate::define_rows;
            $crate::binary_rows!(define_rows);
            $crate::scaled_rows!(define_rows);
        }
        $(
            $(#[doc = $doc])*
            ///
            /// # Errors
            /// [`crate::Kind::Shape`] when the operands cannot be broadcast together; errors of reading them.
            #[inline]
            pub fn $name<'a>($($x: impl Into<Operand<'a>>),+) -> Result<Tensor> {
                super::row::apply(&rows::$name::ROW, &[$($x.into()),+], &[])
            }
        )*
        /// The rows of this module.
        pub static BINARY: &[&super::row::Row] = &[$(&rows::$name::ROW,)* &rows::add_scaled::ROW, &rows::addcmul::ROW,
            &rows::addcdiv::ROW];
    };
}

binary_rows!(functions);

macro_rules! scaled {
    ($( $(#[doc = $doc:literal])* $name:ident($($x:ident),+; $p:ident) => $y:ident = $kernel:expr
        $(, ints(|$($i:ident),+| $int:expr))? $(, d($wrt:ident, $g:ident) = $d:expr)* ; )*) => { $(
        $(#[doc = $doc])*
        ///
        /// # Errors
        /// [`crate::Kind::Shape`] when the operands cannot be broadcast together; errors of reading them.
        pub fn $name<'a>($($x: impl Into<Operand<'a>>,)+ $p: f64) -> Result<Tensor> {
            super::row::apply(&rows::$name::ROW, &[$($x.into()),+], &[$p])
        }
    )* };
}

scaled_rows!(scaled);
