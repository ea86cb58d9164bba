//! Filling, copying and casting along runs.

use super::Array;
use crate::dtype::{DType, Element, Scalar};
use crate::shape::Nest;
use crate::with_element;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// How PyTorch casts one number to another type.
trait Cast<U> {
    fn cast(self) -> U;
}

macro_rules! casts {
    ($($from:ty => $($to:ty: |$v:ident| $e:expr),*;)*) => { $( $(
        impl Cast<$to> for $from {
            #[inline(always)]
            fn cast(self) -> $to { let $v = self; $e }
        }
    )* )* };
}

casts! {
    bool => bool: |v| v, u8: |v| v as u8, i32: |v| v as i32, i64: |v| v as i64, f32: |v| v as u8 as f32, f64: |v| v as u8 as f64;
    u8 => bool: |v| v != 0, u8: |v| v, i32: |v| v as i32, i64: |v| v as i64, f32: |v| v as f32, f64: |v| v as f64;
    i32 => bool: |v| v != 0, u8: |v| v as u8, i32: |v| v, i64: |v| v as i64, f32: |v| v as f32, f64: |v| v as f64;
    i64 => bool: |v| v != 0, u8: |v| v as u8, i32: |v| v as i32, i64: |v| v, f32: |v| v as f32, f64: |v| v as f64;
    f32 => bool: |v| v != 0.0, u8: |v| v as i64 as u8, i32: |v| v as i32, i64: |v| v as i64, f32: |v| v, f64: |v| v as f64;
    f64 => bool: |v| v != 0.0, u8: |v| v as i64 as u8, i32: |v| v as i32, i64: |v| v as i64, f32: |v| v as f32, f64: |v| v;
}

macro_rules! half_casts {
    ($h:ty, $other:ty) => {
        impl Cast<$h> for $h {
            #[inline(always)]
            fn cast(self) -> $h {
                self
            }
        }
        impl Cast<$other> for $h {
            #[inline(always)]
            fn cast(self) -> $other {
                <$other>::from_f32(self.to_f32())
            }
        }
        half_casts!(@ $h, bool, u8, i32, i64, f32);
        impl Cast<$h> for f64 {
            #[inline(always)]
            fn cast(self) -> $h {
                <$h>::from_f64(self)
            }
        }
        impl Cast<f64> for $h {
            #[inline(always)]
            fn cast(self) -> f64 {
                self.to_f64()
            }
        }
    };
    (@ $h:ty, $($t:ty),*) => { $(
        impl Cast<$h> for $t {
            #[inline(always)]
            fn cast(self) -> $h { <$h>::from_f32(Cast::<f32>::cast(self)) }
        }
        impl Cast<$t> for $h {
            #[inline(always)]
            fn cast(self) -> $t { Cast::<$t>::cast(self.to_f32()) }
        }
    )* };
}

half_casts!(f16, bf16);
half_casts!(bf16, f16);

/// Casts one run. A pair of dtypes is one instance; strides are free.
///
/// # Safety
/// Both pointers must be valid for `n` elements at their strides; the runs must not overlap.
unsafe fn run<A: Element + Cast<B>, B: Element>(src: *const u8, s: isize, dst: *mut u8, d: isize, n: usize) {
    let (src, dst) = (src.cast::<A>(), dst.cast::<B>());
    // SAFETY: as the caller promises; the contiguous case is split off so that it vectorises.
    unsafe {
        if s == 1 && d == 1 {
            for i in 0..n {
                dst.add(i).write(src.add(i).read().cast());
            }
        } else {
            for i in 0..n as isize {
                dst.offset(i * d).write(src.offset(i * s).read().cast());
            }
        }
    }
}

/// The half types convert through loops that use the processor's instructions where it has them.
///
/// # Safety
/// As [`run`], with both strides 1.
unsafe fn half_run(from: DType, src: *const u8, to: DType, dst: *mut u8, n: usize) -> bool {
    use std::slice::{from_raw_parts as ro, from_raw_parts_mut as rw};
    // SAFETY: as the caller promises.
    unsafe {
        match (from, to) {
            (DType::F16, DType::F32) => ro(src.cast::<f16>(), n).convert_to_f32_slice(rw(dst.cast(), n)),
            (DType::F32, DType::F16) => rw(dst.cast::<f16>(), n).convert_from_f32_slice(ro(src.cast(), n)),
            (DType::BF16, DType::F32) => ro(src.cast::<bf16>(), n).convert_to_f32_slice(rw(dst.cast(), n)),
            (DType::F32, DType::BF16) => rw(dst.cast::<bf16>(), n).convert_from_f32_slice(ro(src.cast(), n)),
            _ => return false,
        }
    }
    true
}

impl Array {
    /// Writes `src`, of the same shape, over this array; the two must not overlap.
    pub(super) fn write(&self, src: &Array) {
        debug_assert_eq!(self.dims(), src.dims());
        let (from, to) = (src.dtype, self.dtype);
        if from == to && src.is_contiguous() && self.is_contiguous() {
            // SAFETY: both are contiguous, equally long, and do not overlap.
            unsafe { self.ptr().copy_from_nonoverlapping(src.ptr(), self.nbytes()) };
            return;
        }
        let nest = Nest::sorted(self.dims(), [self.strides(), src.strides()]);
        let (dst_base, src_base) = (self.ptr(), src.ptr());
        let (dst_size, src_size) = (to.size() as isize, from.size() as isize);
        let [d, s] = nest.steps;
        with_element!(from, A => with_element!(to, B => {
            nest.for_each(0, nest.runs(), |[at, sat]| {
                // SAFETY: the nest stays inside both layouts.
                unsafe {
                    let (dp, sp) = (dst_base.offset(at * dst_size), src_base.offset(sat * src_size));
                    if !(d == 1 && s == 1 && half_run(from, sp, to, dp, nest.len)) {
                        run::<A, B>(sp, s, dp, d, nest.len);
                    }
                }
            });
        }));
    }

    /// Sets every element to a number.
    pub fn fill(&self, value: Scalar) {
        let nest = Nest::sorted(self.dims(), [self.strides()]);
        with_element!(self.dtype, T => {
            let v = T::from_scalar(value);
            let base = self.ptr().cast::<T>();
            nest.for_each(0, nest.runs(), |[at]| {
                for i in 0..nest.len as isize {
                    // SAFETY: the nest stays inside the layout.
                    unsafe { base.offset(at + i * nest.steps[0]).write(v) };
                }
            });
        });
    }
}
