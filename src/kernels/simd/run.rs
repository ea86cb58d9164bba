//! Loops over contiguous runs, one a tier and dtype, into which a formula is inlined.

use super::{MathLanes, Tier, baseline, tier};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

/// A formula of `I` values with `O` results.
pub trait Formula<const I: usize, const O: usize>: 'static {
    /// Computes the results of one pack of lanes.
    fn eval<L: MathLanes>(x: [L; I]) -> [L; O];
}

/// A test of `I` values.
pub trait Predicate<const I: usize>: 'static {
    /// Tests one pack of lanes.
    fn eval<L: MathLanes>(x: [L; I]) -> L::Mask;
}

/// An untyped loop over `n` elements: input pointers, input steps (1 moves on, 0 repeats one value), output pointers.
pub type RunFn = unsafe fn(n: usize, ins: *const *const u8, steps: *const u8, outs: *const *mut u8);

/// The loops of one formula, by tier.
pub struct Kernel {
    f32: [RunFn; 3],
    f64: [RunFn; 3],
}

impl Kernel {
    /// The loops of a formula.
    pub const fn of<F: Formula<I, O>, const I: usize, const O: usize>() -> Kernel {
        #[cfg(target_arch = "x86_64")]
        return Kernel {
            f32: [
                base::<Values<F>, baseline::F32, I, O>,
                run2::<Values<F>, avx2::F32, I, O>,
                run512::<Values<F>, avx512::F32, I, O>,
            ],
            f64: [
                base::<Values<F>, baseline::F64, I, O>,
                run2::<Values<F>, avx2::F64, I, O>,
                run512::<Values<F>, avx512::F64, I, O>,
            ],
        };
        #[cfg(not(target_arch = "x86_64"))]
        Kernel {
            f32: [base::<Values<F>, baseline::F32, I, O>; 3],
            f64: [base::<Values<F>, baseline::F64, I, O>; 3],
        }
    }

    /// The loops of a test; its output is one byte an element.
    pub const fn predicate<F: Predicate<I>, const I: usize>() -> Kernel {
        #[cfg(target_arch = "x86_64")]
        return Kernel {
            f32: [
                base::<Test<F>, baseline::F32, I, 1>,
                run2::<Test<F>, avx2::F32, I, 1>,
                run512::<Test<F>, avx512::F32, I, 1>,
            ],
            f64: [
                base::<Test<F>, baseline::F64, I, 1>,
                run2::<Test<F>, avx2::F64, I, 1>,
                run512::<Test<F>, avx512::F64, I, 1>,
            ],
        };
        #[cfg(not(target_arch = "x86_64"))]
        Kernel {
            f32: [base::<Test<F>, baseline::F32, I, 1>; 3],
            f64: [base::<Test<F>, baseline::F64, I, 1>; 3],
        }
    }

    /// The float32 loop of the tier in use.
    #[inline]
    pub fn f32(&self) -> RunFn {
        self.f32[tier() as usize]
    }

    /// The float64 loop of the tier in use.
    #[inline]
    pub fn f64(&self) -> RunFn {
        self.f64[tier() as usize]
    }

    /// The float32 loop of a tier; only for one of [`super::available`].
    pub fn f32_on(&self, t: Tier) -> RunFn {
        self.f32[t as usize]
    }

    /// The float64 loop of a tier; only for one of [`super::available`].
    pub fn f64_on(&self, t: Tier) -> RunFn {
        self.f64[t as usize]
    }
}

/// One step of a loop: computes a pack of lanes and writes the results.
trait Step<const I: usize, const O: usize> {
    /// Bytes of one element of the output, given those of the input.
    fn size(input: usize) -> usize;
    /// # Safety
    /// Each output must be valid for writing `L::N` elements.
    unsafe fn step<L: MathLanes>(x: [L; I], outs: [*mut u8; O]);
}

struct Values<F>(std::marker::PhantomData<F>);

impl<F: Formula<I, O>, const I: usize, const O: usize> Step<I, O> for Values<F> {
    #[inline(always)]
    fn size(input: usize) -> usize {
        input
    }
    #[inline(always)]
    unsafe fn step<L: MathLanes>(x: [L; I], outs: [*mut u8; O]) {
        let r = F::eval(x);
        for k in 0..O {
            // SAFETY: the caller promises room for N elements.
            unsafe { r[k].store(outs[k].cast()) };
        }
    }
}

struct Test<F>(std::marker::PhantomData<F>);

impl<F: Predicate<I>, const I: usize> Step<I, 1> for Test<F> {
    #[inline(always)]
    fn size(_: usize) -> usize {
        1
    }
    #[inline(always)]
    unsafe fn step<L: MathLanes>(x: [L; I], outs: [*mut u8; 1]) {
        // SAFETY: the caller promises room for N bytes.
        unsafe { L::store_mask(F::eval(x), outs[0]) };
    }
}

unsafe fn base<S: Step<I, O>, L: MathLanes, const I: usize, const O: usize>(
    n: usize,
    ins: *const *const u8,
    steps: *const u8,
    outs: *const *mut u8,
) {
    // SAFETY: as the caller promises.
    unsafe { run::<S, L, I, O>(n, ins, steps, outs) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn run2<S: Step<I, O>, L: MathLanes, const I: usize, const O: usize>(
    n: usize,
    ins: *const *const u8,
    steps: *const u8,
    outs: *const *mut u8,
) {
    // SAFETY: as the caller promises.
    unsafe { run::<S, L, I, O>(n, ins, steps, outs) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
unsafe fn run512<S: Step<I, O>, L: MathLanes, const I: usize, const O: usize>(
    n: usize,
    ins: *const *const u8,
    steps: *const u8,
    outs: *const *mut u8,
) {
    // SAFETY: as the caller promises.
    unsafe { run::<S, L, I, O>(n, ins, steps, outs) }
}

/// Room for one pack of any tier and dtype.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Pad([u8; 64]);

/// The loop. Full packs go straight; a tail is copied into pads that are filled up with its first element, so that
/// it runs through the same instructions and gives the same bits.
///
/// # Safety
/// Input `k` must be valid for reading `n` elements, or one where its step is 0; outputs for writing `n`; an output
/// may be an input with step 1, and overlaps nothing else. The processor must have the tier of `L`.
#[inline(always)]
unsafe fn run<S: Step<I, O>, L: MathLanes, const I: usize, const O: usize>(
    n: usize,
    ins: *const *const u8,
    steps: *const u8,
    outs: *const *mut u8,
) {
    let size = size_of::<L::T>();
    let out_size = S::size(size);
    // SAFETY: as the caller promises; pads hold one pack of any tier.
    unsafe {
        let mut x: [L; I] = [L::splat(L::T::default()); I];
        let mut ptr = [std::ptr::null::<u8>(); I];
        let mut moves = [false; I];
        for k in 0..I {
            ptr[k] = ins.add(k).read();
            moves[k] = steps.add(k).read() != 0;
            if !moves[k] {
                x[k] = L::splat(ptr[k].cast::<L::T>().read());
            }
        }
        let mut out = [std::ptr::null_mut::<u8>(); O];
        for k in 0..O {
            out[k] = outs.add(k).read();
        }
        let mut i = 0;
        while i + L::N <= n {
            for k in 0..I {
                if moves[k] {
                    x[k] = L::load(ptr[k].cast::<L::T>().add(i));
                }
            }
            S::step::<L>(x, std::array::from_fn(|k| out[k].add(i * out_size)));
            i += L::N;
        }
        if i < n {
            let left = n - i;
            for k in 0..I {
                if moves[k] {
                    let src = ptr[k].cast::<L::T>().add(i);
                    let mut pad = Pad([0; 64]);
                    let p = pad.0.as_mut_ptr().cast::<L::T>();
                    for j in 0..L::N {
                        p.add(j).write(src.add(if j < left { j } else { 0 }).read());
                    }
                    x[k] = L::load(p);
                }
            }
            let mut pads = [Pad([0; 64]); O];
            let mut to = [std::ptr::null_mut::<u8>(); O];
            for k in 0..O {
                to[k] = pads[k].0.as_mut_ptr();
            }
            S::step::<L>(x, to);
            for k in 0..O {
                std::ptr::copy_nonoverlapping(to[k], out[k].add(i * out_size), left * out_size);
            }
        }
    }
}
