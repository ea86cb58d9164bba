//! Vector lanes in three tiers (baseline, AVX2 with FMA, AVX-512), chosen at run time, and the loops over them.
//!
//! A formula is generic over [`MathLanes`]; a [`Kernel`] holds one loop a tier and dtype into which it is inlined.
//! `a * b + c` in a formula is never contracted: only [`Lanes::mul_add`] fuses, and only the functions of [`math`]
//! call it.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod baseline;
pub mod math;
mod run;
#[cfg(test)]
mod tests;

pub use run::{Formula, Kernel, Predicate, RunFn};

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Sub};
use std::sync::OnceLock;

/// A set of instructions that loops are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// What every processor of the architecture has.
    Baseline,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, VL, DQ and BW.
    Avx512,
}

/// The tiers that this processor can run, lowest first.
pub fn available() -> &'static [Tier] {
    const ALL: [Tier; 3] = [Tier::Baseline, Tier::Avx2, Tier::Avx512];
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = avx2
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw");
        &ALL[..1 + avx2 as usize + avx512 as usize]
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        &ALL[..1]
    }
}

/// The tier in use: the highest that the processor has, or the one that `RGRAD_SIMD` names (`baseline`, `avx2` or
/// `avx512`) where the processor has it.
#[inline]
pub fn tier() -> Tier {
    static TIER: OnceLock<Tier> = OnceLock::new();
    *TIER.get_or_init(|| {
        let wanted = match std::env::var("RGRAD_SIMD").as_deref() {
            Ok("baseline") => Tier::Baseline,
            Ok("avx2") => Tier::Avx2,
            _ => Tier::Avx512,
        };
        available().iter().copied().rfind(|&t| t <= wanted).unwrap_or(Tier::Baseline)
    })
}

/// The outcome of comparing lanes.
pub trait Mask:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + std::ops::Not<Output = Self>
{
    /// Whether any lane holds.
    fn any(self) -> bool;
}

/// A pack of floats in one vector register.
pub trait Lanes:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// The element type.
    type T: Copy + Default;
    /// The outcome of comparisons.
    type Mask: Mask;
    /// Number of lanes.
    const N: usize;

    /// Reads `N` elements.
    ///
    /// # Safety
    /// `p` must be valid for reading `N` elements; the processor must have the tier.
    unsafe fn load(p: *const Self::T) -> Self;
    /// Writes `N` elements.
    ///
    /// # Safety
    /// `p` must be valid for writing `N` elements; the processor must have the tier.
    unsafe fn store(self, p: *mut Self::T);
    /// Writes a mask as `N` bytes of 0 and 1.
    ///
    /// # Safety
    /// `p` must be valid for writing `N` bytes; the processor must have the tier.
    unsafe fn store_mask(m: Self::Mask, p: *mut u8);
    /// All lanes the same.
    fn splat(v: Self::T) -> Self;
    /// All lanes the same, rounded from float64.
    fn from_f64(v: f64) -> Self;
    /// `self * a + b`, rounded once where the tier can.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// The magnitude of `self` with the sign of `s`.
    fn copysign(self, s: Self) -> Self;
    /// Largest integer not above.
    fn floor(self) -> Self;
    /// Smallest integer not below.
    fn ceil(self) -> Self;
    /// Integer part.
    fn trunc(self) -> Self;
    /// Nearest integer, halves to even.
    fn round_ties_even(self) -> Self;
    /// `self < o`.
    fn lt(self, o: Self) -> Self::Mask;
    /// `self <= o`.
    fn le(self, o: Self) -> Self::Mask;
    /// `self > o`.
    #[inline(always)]
    fn gt(self, o: Self) -> Self::Mask {
        o.lt(self)
    }
    /// `self >= o`.
    #[inline(always)]
    fn ge(self, o: Self) -> Self::Mask {
        o.le(self)
    }
    /// `self == o`.
    fn eq(self, o: Self) -> Self::Mask;
    /// `self != o`, true for NaN.
    #[inline(always)]
    fn ne(self, o: Self) -> Self::Mask {
        !self.eq(o)
    }
    /// Whether a lane is NaN.
    #[inline(always)]
    fn is_nan(self) -> Self::Mask {
        self.ne(self)
    }
    /// `a` where the mask holds, else `b`.
    fn select(m: Self::Mask, a: Self, b: Self) -> Self;
    /// `self` where less than or equal to `o`, else `o`; a NaN in either gives `o`.
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        Self::select(self.lt(o), self, o)
    }
    /// `self` where greater than `o`, else `o`; a NaN in either gives `o`.
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        Self::select(self.gt(o), self, o)
    }
    /// `2^self` for integers in the range of normal exponents.
    fn pow2(self) -> Self;
    /// Mantissa in `[1, 2)` and exponent of positive normal numbers.
    fn split(self) -> (Self, Self);
    /// A scalar function by lane.
    fn map(self, f: impl Fn(Self::T) -> Self::T) -> Self;
    /// A scalar function of two by lane.
    fn map2(self, o: Self, f: impl Fn(Self::T, Self::T) -> Self::T) -> Self;
}

/// Lanes with the functions of the table.
pub trait MathLanes: Lanes {
    math::functions!(declare);
}
