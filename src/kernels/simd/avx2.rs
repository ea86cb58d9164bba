//! Lanes of 256 bits.

use super::{Lanes, Mask, MathLanes, math};
use std::arch::x86_64::*;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

macro_rules! lanes {
    ($name:ident, $mask:ident, $t:ty, $reg:ty, $n:literal, $math:ident,
     [$add:ident $sub:ident $mul:ident $div:ident $and:ident $andnot:ident $or:ident $xor:ident],
     [$set:ident $load:ident $store:ident $fma:ident $sqrt:ident $round:ident $cmp:ident $blend:ident $movemask:ident],
     |$pow:ident| $pow2:expr, |$sp:ident| $split:expr) => {
        /// Lanes of the AVX2 tier.
        #[derive(Clone, Copy)]
        pub struct $name($reg);
        /// A mask of the AVX2 tier: all bits of a lane alike.
        #[derive(Clone, Copy)]
        pub struct $mask($reg);

        lanes!(@op $name, Add add $add, Sub sub $sub, Mul mul $mul, Div div $div);
        lanes!(@op $mask, BitAnd bitand $and, BitOr bitor $or, BitXor bitxor $xor);

        impl Neg for $name {
            type Output = $name;
            #[inline(always)]
            fn neg(self) -> $name {
                // SAFETY: lanes of this type exist only in code that runs where the tier is available.
                unsafe { $name($xor(self.0, $set(-0.0))) }
            }
        }
        impl Not for $mask {
            type Output = $mask;
            #[inline(always)]
            fn not(self) -> $mask {
                // SAFETY: as above; comparing a register with itself being unordered or not gives all ones.
                unsafe { $mask($xor(self.0, $cmp::<_CMP_TRUE_UQ>(self.0, self.0))) }
            }
        }
        impl Mask for $mask {
            #[inline(always)]
            fn any(self) -> bool {
                // SAFETY: as above.
                unsafe { $movemask(self.0) != 0 }
            }
        }
        impl Lanes for $name {
            type T = $t;
            type Mask = $mask;
            const N: usize = $n;
            #[inline(always)]
            unsafe fn load(p: *const $t) -> $name {
                // SAFETY: the caller promises N readable elements and the tier.
                unsafe { $name($load(p)) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t) {
                // SAFETY: the caller promises N writable elements and the tier.
                unsafe { $store(p, self.0) }
            }
            #[inline(always)]
            unsafe fn store_mask(m: $mask, p: *mut u8) {
                // SAFETY: the caller promises N writable bytes and the tier.
                unsafe {
                    let bits = $movemask(m.0);
                    for i in 0..$n {
                        p.add(i).write((bits >> i & 1) as u8);
                    }
                }
            }
            #[inline(always)]
            fn splat(v: $t) -> $name {
                // SAFETY: as above.
                unsafe { $name($set(v)) }
            }
            #[inline(always)]
            fn from_f64(v: f64) -> $name {
                $name::splat(v as $t)
            }
            #[inline(always)]
            fn mul_add(self, a: $name, b: $name) -> $name {
                // SAFETY: as above.
                unsafe { $name($fma(self.0, a.0, b.0)) }
            }
            #[inline(always)]
            fn sqrt(self) -> $name {
                // SAFETY: as above.
                unsafe { $name($sqrt(self.0)) }
            }
            #[inline(always)]
            fn abs(self) -> $name {
                // SAFETY: as above.
                unsafe { $name($andnot($set(-0.0), self.0)) }
            }
            #[inline(always)]
            fn copysign(self, s: $name) -> $name {
                // SAFETY: as above.
                unsafe { $name($or($and($set(-0.0), s.0), $andnot($set(-0.0), self.0))) }
            }
            #[inline(always)]
            fn floor(self) -> $name {
                // SAFETY: as above.
                unsafe { $name($round::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(self.0)) }
            }
            #[inline(always)]
            fn ceil(self) -> $name {
                // SAFETY: as above.
                unsafe { $name($round::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(self.0)) }
            }
            #[inline(always)]
            fn trunc(self) -> $name {
                // SAFETY: as above.
                unsafe { $name($round::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(self.0)) }
            }
            #[inline(always)]
            fn round_ties_even(self) -> $name {
                // SAFETY: as above.
                unsafe { $name($round::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0)) }
            }
            #[inline(always)]
            fn lt(self, o: $name) -> $mask {
                // SAFETY: as above.
                unsafe { $mask($cmp::<_CMP_LT_OQ>(self.0, o.0)) }
            }
            #[inline(always)]
            fn le(self, o: $name) -> $mask {
                // SAFETY: as above.
                unsafe { $mask($cmp::<_CMP_LE_OQ>(self.0, o.0)) }
            }
            #[inline(always)]
            fn eq(self, o: $name) -> $mask {
                // SAFETY: as above.
                unsafe { $mask($cmp::<_CMP_EQ_OQ>(self.0, o.0)) }
            }
            #[inline(always)]
            fn select(m: $mask, a: $name, b: $name) -> $name {
                // SAFETY: as above.
                unsafe { $name($blend(b.0, a.0, m.0)) }
            }
            #[inline(always)]
            fn pow2(self) -> $name {
                let $pow = self.0;
                // SAFETY: as above.
                unsafe { $name($pow2) }
            }
            #[inline(always)]
            fn split(self) -> ($name, $name) {
                let $sp = self.0;
                // SAFETY: as above.
                unsafe {
                    let (m, e) = $split;
                    ($name(m), $name(e))
                }
            }
            #[inline(always)]
            fn map(self, f: impl Fn($t) -> $t) -> $name {
                let mut v = [0 as $t; $n];
                // SAFETY: the array holds N elements; as above.
                unsafe {
                    self.store(v.as_mut_ptr());
                    v.iter_mut().for_each(|x| *x = f(*x));
                    $name::load(v.as_ptr())
                }
            }
            #[inline(always)]
            fn map2(self, o: $name, f: impl Fn($t, $t) -> $t) -> $name {
                let (mut v, mut w) = ([0 as $t; $n], [0 as $t; $n]);
                // SAFETY: the arrays hold N elements; as above.
                unsafe {
                    self.store(v.as_mut_ptr());
                    o.store(w.as_mut_ptr());
                    v.iter_mut().zip(w).for_each(|(x, y)| *x = f(*x, y));
                    $name::load(v.as_ptr())
                }
            }
        }
        impl MathLanes for $name {
            math::functions!($math);
        }
    };
    (@op $name:ident, $($Trait:ident $f:ident $intrinsic:ident),*) => { $(
        impl $Trait for $name {
            type Output = $name;
            #[inline(always)]
            fn $f(self, o: $name) -> $name {
                // SAFETY: lanes of this type exist only in code that runs where the tier is available.
                unsafe { $name($intrinsic(self.0, o.0)) }
            }
        }
    )* };
}

lanes!(
    F32, M32, f32, __m256, 8, single,
    [_mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps _mm256_and_ps _mm256_andnot_ps _mm256_or_ps _mm256_xor_ps],
    [_mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_fmadd_ps _mm256_sqrt_ps _mm256_round_ps _mm256_cmp_ps
     _mm256_blendv_ps _mm256_movemask_ps],
    |v| _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_add_epi32(_mm256_cvtps_epi32(v), _mm256_set1_epi32(127)))),
    |v| {
        let bits = _mm256_castps_si256(v);
        let m = _mm256_or_si256(_mm256_and_si256(bits, _mm256_set1_epi32(0x007f_ffff)), _mm256_set1_epi32(0x3f80_0000));
        let e = _mm256_sub_epi32(_mm256_srli_epi32::<23>(bits), _mm256_set1_epi32(127));
        (_mm256_castsi256_ps(m), _mm256_cvtepi32_ps(e))
    }
);
lanes!(
    F64, M64, f64, __m256d, 4, double,
    [_mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_div_pd _mm256_and_pd _mm256_andnot_pd _mm256_or_pd _mm256_xor_pd],
    [_mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd _mm256_fmadd_pd _mm256_sqrt_pd _mm256_round_pd _mm256_cmp_pd
     _mm256_blendv_pd _mm256_movemask_pd],
    |v| {
        // Adding 1.5·2^52 leaves the integer in the low bits.
        let i = _mm256_castpd_si256(_mm256_add_pd(v, _mm256_set1_pd(6_755_399_441_055_744.0 + 1023.0)));
        _mm256_castsi256_pd(_mm256_slli_epi64::<52>(i))
    },
    |v| {
        let bits = _mm256_castpd_si256(v);
        let low = _mm256_set1_epi64x(0x000f_ffff_ffff_ffff);
        let m = _mm256_or_si256(_mm256_and_si256(bits, low), _mm256_set1_epi64x(0x3ff0_0000_0000_0000));
        // The exponent as the low bits of 2^52, from which 2^52 and the bias are taken off.
        let e = _mm256_or_si256(_mm256_srli_epi64::<52>(bits), _mm256_set1_epi64x(0x4330_0000_0000_0000));
        let e = _mm256_sub_pd(_mm256_castsi256_pd(e), _mm256_set1_pd(4_503_599_627_370_496.0 + 1023.0));
        (_mm256_castsi256_pd(m), e)
    }
);
