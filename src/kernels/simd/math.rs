//! Functions of lanes, written once for all tiers.
//!
//! exp, expm1, log, log1p, tanh and sigmoid are polynomials without branches, at most 2 ulp from the true value.
//! The rest goes lane by lane through the scalar functions of the platform and of `libm`.

use super::Lanes;

/// Declares the functions in the trait, or implements them through one of the modules below.
macro_rules! functions {
    (declare) => { $crate::kernels::simd::math::functions!(@all declare); };
    (single) => { $crate::kernels::simd::math::functions!(@all single); };
    (double) => { $crate::kernels::simd::math::functions!(@all double); };
    (@all $how:ident) => { $crate::kernels::simd::math::functions!(@each $how
        "Exponential." exp, "Power of two." exp2, "`e^x - 1`." expm1, "Natural logarithm." log,
        "Logarithm to base 2." log2, "Logarithm to base 10." log10, "`ln(1 + x)`." log1p, "Sine." sin,
        "Cosine." cos, "Tangent." tan, "Inverse sine." asin, "Inverse cosine." acos, "Inverse tangent." atan,
        "Hyperbolic sine." sinh, "Hyperbolic cosine." cosh, "Hyperbolic tangent." tanh,
        "Inverse hyperbolic sine." asinh, "Inverse hyperbolic cosine." acosh, "Inverse hyperbolic tangent." atanh,
        "Error function." erf, "Complementary error function." erfc, "Logistic function, `1/(1 + e^-x)`." sigmoid;
        "`self` to the power of `o`." pow, "Angle of the point `(o, self)`." atan2,
        "`√(self² + o²)` without overflow." hypot, "Remainder of the truncated division, exact." fmod); };
    (@each declare $($doc:literal $f:ident),*; $($doc2:literal $f2:ident),*) => {
        $( #[doc = $doc] fn $f(self) -> Self; )*
        $( #[doc = $doc2] fn $f2(self, o: Self) -> Self; )*
    };
    (@each $how:ident $($doc:literal $f:ident),*; $($doc2:literal $f2:ident),*) => {
        $( #[inline(always)] fn $f(self) -> Self { $crate::kernels::simd::math::$how::$f(self) } )*
        $( #[inline(always)] fn $f2(self, o: Self) -> Self { $crate::kernels::simd::math::$how::$f2(self, o) } )*
    };
}
pub(super) use functions;

/// Evaluates a polynomial, highest coefficient first.
#[inline(always)]
fn poly<L: Lanes>(x: L, c: &[f64]) -> L {
    let mut p = L::from_f64(c[0]);
    for &k in &c[1..] {
        p = p.mul_add(x, L::from_f64(k));
    }
    p
}

/// What differs between the precisions.
struct Format {
    /// Above this, `e^x` overflows.
    high: f64,
    /// Below this, `e^x` rounds to zero.
    low: f64,
    /// ln 2 in two parts; products of the first with an exponent are exact.
    ln2: [f64; 2],
    /// `(e^r - 1 - r)/r²` for `|r| ≤ ln 2 / 2`: Taylor coefficients, highest first.
    exp: &'static [f64],
    /// `(ln((1 + s)/(1 - s)) - 2s)/s` in `s²`: 2/3, 2/5, …, highest first.
    log: &'static [f64],
    /// `(tanh x - x)/x³` in `x²` for `|x| < 0.63`: Chebyshev fit, highest first.
    tanh: &'static [f64],
    /// Least normal number.
    least: f64,
    /// Exponent by which subnormal numbers are scaled to normal ones.
    lift: f64,
}

const SINGLE: Format = Format {
    high: 88.8,
    low: -104.0,
    ln2: [0.693_359_375, -2.121_944_400_546_905_8e-4],
    exp: &[1.0 / 40320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5],
    log: &[2.0 / 11.0, 2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0],
    tanh: &[
        2.269_501_684_162_354e-3,
        -8.323_187_058_278_775e-3,
        2.176_250_290_735_926_4e-2,
        -5.395_846_162_745_22e-2,
        1.333_330_014_618_891_4e-1,
        -3.333_333_314_937_450_6e-1,
    ],
    least: f32::MIN_POSITIVE as f64,
    lift: 24.0,
};

const DOUBLE: Format = Format {
    high: 709.9,
    low: -746.0,
    ln2: [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10],
    exp: &[
        1.0 / 1_307_674_368_000.0,
        1.0 / 87_178_291_200.0,
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40320.0,
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
    ],
    log: &[
        2.0 / 21.0,
        2.0 / 19.0,
        2.0 / 17.0,
        2.0 / 15.0,
        2.0 / 13.0,
        2.0 / 11.0,
        2.0 / 9.0,
        2.0 / 7.0,
        2.0 / 5.0,
        2.0 / 3.0,
    ],
    tanh: &[
        6.354_340_814_859_719e-6,
        -3.092_912_547_386_467e-5,
        9.232_749_708_085_37e-5,
        -2.374_675_659_822_325e-4,
        5.896_221_486_872_06e-4,
        -1.455_767_694_065_945_5e-3,
        3.592_120_760_870_841e-3,
        -8.863_235_024_306_106e-3,
        2.186_948_851_535_234_7e-2,
        -5.396_825_396_781_054e-2,
        1.333_333_333_333_296e-1,
        -3.333_333_333_333_333e-1,
    ],
    least: f64::MIN_POSITIVE,
    lift: 54.0,
};

/// Exponent `n` and rest `r` with `x = n·ln 2 + r`.
#[inline(always)]
fn reduce<L: Lanes>(x: L, f: &Format) -> (L, L) {
    let n = (x * L::from_f64(std::f64::consts::LOG2_E)).round_ties_even();
    let r = (-n).mul_add(L::from_f64(f.ln2[0]), x);
    (n, (-n).mul_add(L::from_f64(f.ln2[1]), r))
}

/// `y·2^n` in two steps, so that results that overflow or are subnormal are right.
#[inline(always)]
fn scale<L: Lanes>(y: L, n: L) -> L {
    let half = (n * L::from_f64(0.5)).floor();
    y * half.pow2() * (n - half).pow2()
}

#[inline(always)]
fn clamp<L: Lanes>(x: L, f: &Format) -> L {
    let (low, high) = (L::from_f64(f.low), L::from_f64(f.high));
    let x = L::select(x.lt(low), low, x);
    L::select(x.gt(high), high, x)
}

#[inline(always)]
fn exp<L: Lanes>(x: L, f: &Format) -> L {
    let (n, r) = reduce(clamp(x, f), f);
    let y = (poly(r, f.exp) * r).mul_add(r, r) + L::from_f64(1.0);
    scale(y, n)
}

#[inline(always)]
fn expm1<L: Lanes>(x: L, f: &Format) -> L {
    let one = L::from_f64(1.0);
    let c = clamp(x, f);
    let (n, r) = reduce(c, f);
    let p = (poly(r, f.exp) * r).mul_add(r, r);
    // 2^n·(1 + p) - 1, with 2^n - 1 kept apart so that nothing cancels.
    let half = (n * L::from_f64(0.5)).floor();
    let (a, b) = (half.pow2(), (n - half).pow2());
    let y = L::select(n.eq(L::from_f64(0.0)), p, (p * a).mul_add(b, a.mul_add(b, -one)));
    // Near the top both parts overflow and the 1 no longer counts; -0 and the tiny stay as they are.
    let y = L::select(n.gt(L::from_f64(60.0)), (p + one) * a * b, y);
    L::select(x.abs().lt(L::from_f64(1e-17)), x, y)
}

#[inline(always)]
fn log<L: Lanes>(x: L, f: &Format) -> L {
    let (zero, one) = (L::from_f64(0.0), L::from_f64(1.0));
    let small = x.lt(L::from_f64(f.least));
    let up = L::select(small, x * L::from_f64(f.lift.exp2()), x);
    let (m, e) = up.split();
    let e = L::select(small, e - L::from_f64(f.lift), e);
    // Mantissa in [√½, √2).
    let big = m.gt(L::from_f64(std::f64::consts::SQRT_2));
    let m = L::select(big, m * L::from_f64(0.5), m);
    let e = L::select(big, e + one, e);
    let t = m - one;
    let s = t / (t + L::from_f64(2.0));
    let z = s * s;
    let half = t * t * L::from_f64(0.5);
    let r = z * poly(z, f.log);
    // fdlibm's arrangement: e·ln2 - ((t²/2 - (s·(t²/2 + R) + e·ln2')) - t).
    let y = e.mul_add(L::from_f64(f.ln2[0]), t - (half - s.mul_add(half + r, e * L::from_f64(f.ln2[1]))));
    let y = L::select(x.eq(L::from_f64(f64::INFINITY)), x, y);
    let y = L::select(x.eq(zero), L::from_f64(f64::NEG_INFINITY), y);
    L::select(x.lt(zero) | x.is_nan(), L::from_f64(f64::NAN), y)
}

#[inline(always)]
fn log1p<L: Lanes>(x: L, f: &Format) -> L {
    let one = L::from_f64(1.0);
    let u = x + one;
    // The rounding of 1 + x is put back to first order.
    let lost = L::select(u.gt(L::from_f64(2.0)), one - (u - x), x - (u - one));
    let y = log(u, f) + lost / u;
    let special = u.eq(L::from_f64(0.0)) | x.eq(L::from_f64(f64::INFINITY)) | u.is_nan();
    let y = L::select(special, log(u, f), y);
    L::select(x.abs().lt(L::from_f64(1e-17)), x, y)
}

#[inline(always)]
fn tanh<L: Lanes>(x: L, f: &Format) -> L {
    let (one, two) = (L::from_f64(1.0), L::from_f64(2.0));
    let a = x.abs();
    let z = x * x;
    let near = (poly(z, f.tanh) * z).mul_add(x, x);
    let far = one - two / (exp(a + a, f) + one);
    L::select(a.lt(L::from_f64(0.625)), near, L::select(x.is_nan(), x, far.copysign(x)))
}

#[inline(always)]
fn sigmoid<L: Lanes>(x: L, f: &Format) -> L {
    let one = L::from_f64(1.0);
    let t = exp(-x.abs(), f);
    let d = one + t;
    let y = L::select(x.lt(L::from_f64(0.0)), t, one) / d;
    // What the sum lost is put back to first order.
    y - y * ((t - (d - one)) / d)
}

macro_rules! precision {
    ($name:ident, $t:ident, $format:ident, [$($std:ident => $f:ident),*], [$($c:ident => $g:ident),*], $acosh:ident, $fmod:expr) => {
        pub(super) mod $name {
            use super::{Lanes, $format as FORMAT};
            use super::super::MathLanes;

            #[inline(always)]
            pub fn exp<L: MathLanes<T = $t>>(x: L) -> L { super::exp(x, &FORMAT) }
            #[inline(always)]
            pub fn expm1<L: MathLanes<T = $t>>(x: L) -> L { super::expm1(x, &FORMAT) }
            #[inline(always)]
            pub fn log<L: MathLanes<T = $t>>(x: L) -> L { super::log(x, &FORMAT) }
            #[inline(always)]
            pub fn log1p<L: MathLanes<T = $t>>(x: L) -> L { super::log1p(x, &FORMAT) }
            #[inline(always)]
            pub fn tanh<L: MathLanes<T = $t>>(x: L) -> L { super::tanh(x, &FORMAT) }
            #[inline(always)]
            pub fn sigmoid<L: MathLanes<T = $t>>(x: L) -> L { super::sigmoid(x, &FORMAT) }
            $(
                #[inline(always)]
                pub fn $f<L: Lanes<T = $t>>(x: L) -> L { x.map($t::$std) }
            )*
            $(
                #[inline(always)]
                pub fn $g<L: Lanes<T = $t>>(x: L) -> L { x.map(libm::$c) }
            )*
            #[inline(always)]
            pub fn acosh<L: Lanes<T = $t>>(x: L) -> L {
                x.map(|v| if v < 1.0 { $t::NAN } else { libm::$acosh(v) })
            }
            #[inline(always)]
            pub fn pow<L: Lanes<T = $t>>(x: L, o: L) -> L { x.map2(o, $t::powf) }
            #[inline(always)]
            pub fn atan2<L: Lanes<T = $t>>(x: L, o: L) -> L { x.map2(o, $t::atan2) }
            #[inline(always)]
            pub fn hypot<L: Lanes<T = $t>>(x: L, o: L) -> L { x.map2(o, $t::hypot) }
            #[inline(always)]
            pub fn fmod<L: Lanes<T = $t>>(x: L, o: L) -> L { x.map2(o, $fmod) }
        }
    };
}

precision!(single, f32, SINGLE,
    [exp2 => exp2, log2 => log2, log10 => log10, sin => sin, cos => cos, tan => tan, asin => asin, acos => acos,
     atan => atan, sinh => sinh, cosh => cosh],
    [asinhf => asinh, atanhf => atanh, erff => erf, erfcf => erfc], acoshf, |a, b| a % b);
precision!(double, f64, DOUBLE,
    [exp2 => exp2, log2 => log2, log10 => log10, sin => sin, cos => cos, tan => tan, asin => asin, acos => acos,
     atan => atan, sinh => sinh, cosh => cosh],
    [asinh => asinh, atanh => atanh, erf => erf, erfc => erfc], acosh, |a, b| a % b);
