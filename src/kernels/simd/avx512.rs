//! Lanes of 512 bits.

use super::{Lanes, Mask, MathLanes, math};
use std::arch::x86_64::*;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

macro_rules! lanes {
    ($name:ident, $mask:ident, $t:ty, $reg:ty, $k:ty, $n:literal, $math:ident,
     [$add:ident $sub:ident $mul:ident $div:ident $and:ident $andnot:ident $or:ident $xor:ident],
     [$set:ident $load:ident $store:ident $fma:ident $sqrt:ident $round:ident $cmp:ident $blend:ident],
     [$scale:ident $mant:ident $exp:ident]) => {
        /// Lanes of the AVX-512 tier.
        #[derive(Clone, Copy)]
        pub struct $name($reg);
        /// A mask of the AVX-512 tier: one bit a lane.
        #[derive(Clone, Copy)]
        pub struct $mask($k);

        lanes!(@op $name, Add add $add, Sub sub $sub, Mul mul $mul, Div div $div);

        impl BitAnd for $mask {
            type Output = $mask;
            #[inline(always)]
            fn bitand(self, o: $mask) -> $mask {
                $mask(self.0 & o.0)
            }
        }
        impl BitOr for $mask {
            type Output = $mask;
            #[inline(always)]
            fn bitor(self, o: $mask) -> $mask {
                $mask(self.0 | o.0)
            }
        }
        impl BitXor for $mask {
            type Output = $mask;
            #[inline(always)]
            fn bitxor(self, o: $mask) -> $mask {
                $mask(self.0 ^ o.0)
            }
        }
        impl Not for $mask {
            type Output = $mask;
            #[inline(always)]
            fn not(self) -> $mask {
                $mask(!self.0)
            }
        }
        impl Mask for $mask {
            #[inline(always)]
            fn any(self) -> bool {
                self.0 != 0
            }
        }
        impl Neg for $name {
            type Output = $name;
            #[inline(always)]
            fn neg(self) -> $name {
                // SAFETY: lanes of this type exist only in code that runs where the tier is available.
                unsafe { $name($xor(self.0, $set(-0.0))) }
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
                    for i in 0..$n {
                        p.add(i).write((m.0 >> i & 1) as u8);
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
                // SAFETY: as above; the low bits choose the direction, the high ones keep no fraction bits.
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
                unsafe { $name($blend(m.0, b.0, a.0)) }
            }
            #[inline(always)]
            fn pow2(self) -> $name {
                // SAFETY: as above.
                unsafe { $name($scale($set(1.0), self.0)) }
            }
            #[inline(always)]
            fn split(self) -> ($name, $name) {
                // SAFETY: as above.
                unsafe { ($name($mant::<_MM_MANT_NORM_1_2, _MM_MANT_SIGN_SRC>(self.0)), $name($exp(self.0))) }
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
    F32, M32, f32, __m512, __mmask16, 16, single,
    [_mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_div_ps _mm512_and_ps _mm512_andnot_ps _mm512_or_ps _mm512_xor_ps],
    [_mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_fmadd_ps _mm512_sqrt_ps _mm512_roundscale_ps
     _mm512_cmp_ps_mask _mm512_mask_blend_ps],
    [_mm512_scalef_ps _mm512_getmant_ps _mm512_getexp_ps]
);
lanes!(
    F64, M64, f64, __m512d, __mmask8, 8, double,
    [_mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_div_pd _mm512_and_pd _mm512_andnot_pd _mm512_or_pd _mm512_xor_pd],
    [_mm512_set1_pd _mm512_loadu_pd _mm512_storeu_pd _mm512_fmadd_pd _mm512_sqrt_pd _mm512_roundscale_pd
     _mm512_cmp_pd_mask _mm512_mask_blend_pd],
    [_mm512_scalef_pd _mm512_getmant_pd _mm512_getexp_pd]
);
