//! Lanes as small arrays: correct everywhere, and what the compiler makes of them.

use super::{Lanes, Mask, MathLanes, math};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

macro_rules! lanes {
    ($name:ident, $mask:ident, $t:ty, $bits:ty, $int:ty, $n:literal, $mant:literal, $bias:literal, $math:ident) => {
        /// Lanes of the baseline tier.
        #[derive(Clone, Copy)]
        pub struct $name([$t; $n]);
        /// A mask of the baseline tier.
        #[derive(Clone, Copy)]
        pub struct $mask([bool; $n]);

        lanes!(@op $name, $n, Add add +, Sub sub -, Mul mul *, Div div /);
        lanes!(@mask $mask, $n, BitAnd bitand &, BitOr bitor |, BitXor bitxor ^);

        impl Neg for $name {
            type Output = $name;
            #[inline(always)]
            fn neg(self) -> $name {
                $name(self.0.map(|v| -v))
            }
        }
        impl Not for $mask {
            type Output = $mask;
            #[inline(always)]
            fn not(self) -> $mask {
                $mask(self.0.map(|v| !v))
            }
        }
        impl Mask for $mask {
            #[inline(always)]
            fn any(self) -> bool {
                self.0.iter().any(|&v| v)
            }
        }
        impl Lanes for $name {
            type T = $t;
            type Mask = $mask;
            const N: usize = $n;
            #[inline(always)]
            unsafe fn load(p: *const $t) -> $name {
                // SAFETY: the caller promises N readable elements.
                $name(unsafe { p.cast::<[$t; $n]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t) {
                // SAFETY: the caller promises N writable elements.
                unsafe { p.cast::<[$t; $n]>().write_unaligned(self.0) }
            }
            #[inline(always)]
            unsafe fn store_mask(m: $mask, p: *mut u8) {
                // SAFETY: the caller promises N writable bytes; a bool is the byte 0 or 1.
                unsafe { p.cast::<[bool; $n]>().write_unaligned(m.0) }
            }
            #[inline(always)]
            fn splat(v: $t) -> $name {
                $name([v; $n])
            }
            #[inline(always)]
            fn from_f64(v: f64) -> $name {
                $name([v as $t; $n])
            }
            #[inline(always)]
            fn mul_add(self, a: $name, b: $name) -> $name {
                self * a + b
            }
            #[inline(always)]
            fn sqrt(self) -> $name {
                $name(self.0.map(|v| v.sqrt()))
            }
            #[inline(always)]
            fn abs(self) -> $name {
                $name(self.0.map(|v| v.abs()))
            }
            #[inline(always)]
            fn copysign(self, s: $name) -> $name {
                $name(std::array::from_fn(|i| self.0[i].copysign(s.0[i])))
            }
            #[inline(always)]
            fn floor(self) -> $name {
                $name(self.0.map(|v| v.floor()))
            }
            #[inline(always)]
            fn ceil(self) -> $name {
                $name(self.0.map(|v| v.ceil()))
            }
            #[inline(always)]
            fn trunc(self) -> $name {
                $name(self.0.map(|v| v.trunc()))
            }
            #[inline(always)]
            fn round_ties_even(self) -> $name {
                $name(self.0.map(|v| v.round_ties_even()))
            }
            #[inline(always)]
            fn lt(self, o: $name) -> $mask {
                $mask(std::array::from_fn(|i| self.0[i] < o.0[i]))
            }
            #[inline(always)]
            fn le(self, o: $name) -> $mask {
                $mask(std::array::from_fn(|i| self.0[i] <= o.0[i]))
            }
            #[inline(always)]
            fn eq(self, o: $name) -> $mask {
                $mask(std::array::from_fn(|i| self.0[i] == o.0[i]))
            }
            #[inline(always)]
            fn select(m: $mask, a: $name, b: $name) -> $name {
                $name(std::array::from_fn(|i| if m.0[i] { a.0[i] } else { b.0[i] }))
            }
            #[inline(always)]
            fn pow2(self) -> $name {
                $name(self.0.map(|v| <$t>::from_bits(((v as $int).wrapping_add($bias) as $bits) << $mant)))
            }
            #[inline(always)]
            fn split(self) -> ($name, $name) {
                let low = ((1 as $bits) << $mant) - 1;
                let one = (1.0 as $t).to_bits();
                (
                    $name(self.0.map(|v| <$t>::from_bits(v.to_bits() & low | one))),
                    $name(self.0.map(|v| ((v.to_bits() >> $mant) as $int).wrapping_sub($bias) as $t)),
                )
            }
            #[inline(always)]
            fn map(self, f: impl Fn($t) -> $t) -> $name {
                $name(self.0.map(f))
            }
            #[inline(always)]
            fn map2(self, o: $name, f: impl Fn($t, $t) -> $t) -> $name {
                $name(std::array::from_fn(|i| f(self.0[i], o.0[i])))
            }
        }
        impl MathLanes for $name {
            math::functions!($math);
        }
    };
    (@op $name:ident, $n:literal, $($Trait:ident $f:ident $op:tt),*) => { $(
        impl $Trait for $name {
            type Output = $name;
            #[inline(always)]
            fn $f(self, o: $name) -> $name { $name(std::array::from_fn(|i| self.0[i] $op o.0[i])) }
        }
    )* };
    (@mask $name:ident, $n:literal, $($Trait:ident $f:ident $op:tt),*) => { $(
        impl $Trait for $name {
            type Output = $name;
            #[inline(always)]
            fn $f(self, o: $name) -> $name { $name(std::array::from_fn(|i| self.0[i] $op o.0[i])) }
        }
    )* };
}

lanes!(F32, M32, f32, u32, i32, 4, 23, 127, single);
lanes!(F64, M64, f64, u64, i64, 2, 52, 1023, double);
