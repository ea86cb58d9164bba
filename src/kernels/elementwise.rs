//! Feeds strided, broadcast and mixed-dtype operands to the vector loops, which know contiguous runs only.

use super::simd::{Kernel, RunFn};
use super::threads;
use crate::dtype::{DType, Scalar};
use crate::shape::{Layout, Nest};
use crate::{Array, Result};
use half::{bf16, f16};
use std::mem::MaybeUninit;

/// The most operands of an elementwise loop, cotangent, parameters and result included.
pub const MAX_INPUTS: usize = 8;
/// Elements gathered at a time when an operand is neither contiguous nor repeated.
const CHUNK: usize = 256;
/// Elements below which threads do not pay for a cheap formula.
const GRAIN: usize = 32 << 10;

/// An operand of an elementwise loop.
#[derive(Clone, Copy)]
pub enum In<'a> {
    /// An array, broadcast to the shape of the result.
    Array(&'a Array),
    /// One number for all elements.
    Number(f64),
}

/// A loop of an integer formula: `n` elements, by operand a pointer and a stride in elements.
pub type IntRun =
    unsafe fn(n: usize, ins: *const *const i64, strides: *const isize, out: *mut i64, stride: isize);

/// The layout that a result should have: that of the operands when they all lie alike without gaps, else row-major.
pub fn result_layout(dims: &[usize], ins: &[In<'_>]) -> Layout {
    let mut common: Option<&Layout> = None;
    for i in ins {
        if let In::Array(a) = i {
            match common {
                _ if a.dims() != dims => return Layout::contiguous(dims),
                None => common = Some(a.layout()),
                Some(l) if l.strides == a.layout().strides => {}
                _ => return Layout::contiguous(dims),
            }
        }
    }
    match common {
        Some(l) if !l.is_contiguous() && is_dense(l) => {
            Layout { dims: l.dims.clone(), strides: l.strides.clone(), offset: 0 }
        }
        _ => Layout::contiguous(dims),
    }
}

/// Whether a layout is row-major without gaps after reordering its dimensions.
fn is_dense(l: &Layout) -> bool {
    l.strides.iter().all(|&s| s >= 0)
        && !l.may_overlap()
        && l.span().is_some_and(|(low, high)| low == l.offset && high - low + 1 == l.numel())
}

fn same_dense(out: &Array, a: &Array) -> bool {
    a.dims() == out.dims() && a.strides() == out.strides()
}

/// Raw operands of one flat loop.
#[derive(Clone, Copy)]
struct Flat {
    ptrs: [*const u8; MAX_INPUTS],
    steps: [u8; MAX_INPUTS],
    out: *mut u8,
}

// SAFETY: the pointers are into arrays that the caller of `run` holds for the whole loop; workers write disjoint
// ranges of the output.
unsafe impl Send for Flat {}
// SAFETY: as above.
unsafe impl Sync for Flat {}

/// Runs a float kernel over operands broadcast to `out`'s shape and writes `out`.
///
/// `compute` is the dtype of the formula: halves are computed in float32 and rounded once. Arrays of another dtype
/// are cast. `out` has dtype `compute`, or bool for a predicate. It may be the buffer of an operand with the same
/// layout, but must not overlap any operand otherwise.
///
/// # Errors
/// [`crate::Kind::Shape`] when an operand cannot be broadcast; [`crate::Kind::Memory`].
#[inline]
pub fn run(kernel: &Kernel, compute: DType, ins: &[In<'_>], out: &Array) -> Result<()> {
    let n = out.numel();
    if n == 0 {
        return Ok(());
    }
    let (f, size): (RunFn, usize) = if compute == DType::F64 { (kernel.f64(), 8) } else { (kernel.f32(), 4) };
    debug_assert!(ins.len() <= MAX_INPUTS);
    if compute.is_half() || !(out.is_contiguous() || is_dense(out.layout())) {
        return general(f, compute, ins, out);
    }
    let mut numbers = [0u64; MAX_INPUTS];
    let mut flat = Flat { ptrs: [std::ptr::null(); MAX_INPUTS], steps: [0; MAX_INPUTS], out: out.ptr() };
    for (k, i) in ins.iter().enumerate() {
        match i {
            In::Number(v) => {
                numbers[k] = if size == 8 { v.to_bits() } else { (*v as f32).to_bits() as u64 };
            }
            In::Array(a) if a.dtype() != compute => return general(f, compute, ins, out),
            In::Array(a) if same_dense(out, a) => {
                flat.ptrs[k] = a.ptr();
                flat.steps[k] = 1;
            }
            In::Array(a) if a.numel() == 1 => flat.ptrs[k] = a.ptr(),
            In::Array(_) => return general(f, compute, ins, out),
        }
    }
    for (k, i) in ins.iter().enumerate() {
        if let In::Number(_) = i {
            flat.ptrs[k] = (&raw const numbers[k]).cast();
        }
    }
    if n < GRAIN {
        // SAFETY: operands with step 1 have out's layout and dtype, those with step 0 hold one element.
        unsafe { f(n, flat.ptrs.as_ptr(), flat.steps.as_ptr(), &raw const flat.out) };
        return Ok(());
    }
    let out_size = out.dtype().size();
    let flat = &flat;
    threads::for_each_chunk(n, GRAIN, |range| {
        let mut ptrs = flat.ptrs;
        for (p, step) in ptrs.iter_mut().zip(flat.steps) {
            if step == 1 {
                *p = p.wrapping_add(range.start * size);
            }
        }
        let o = flat.out.wrapping_add(range.start * out_size);
        // SAFETY: as above, for one range of the elements; ranges do not overlap.
        unsafe { f(range.len(), ptrs.as_ptr(), flat.steps.as_ptr(), &raw const o) };
    });
    Ok(())
}

#[cold]
fn general(f: RunFn, compute: DType, ins: &[In<'_>], out: &Array) -> Result<()> {
    // The operands as arrays of the computing dtype, or of a half type that is widened run by run.
    let base = if compute == DType::F64 { DType::F64 } else { DType::F32 };
    let mut arrays: [Option<Array>; MAX_INPUTS] = [const { None }; MAX_INPUTS];
    let mut numbers = [0u64; MAX_INPUTS];
    for (k, i) in ins.iter().enumerate() {
        match i {
            In::Number(v) => {
                numbers[k] = if base == DType::F64 { v.to_bits() } else { (*v as f32).to_bits() as u64 };
            }
            In::Array(a) => {
                let keep = a.dtype() == base || (a.dtype().is_half() && base == DType::F32);
                let a = if keep { (*a).clone() } else { a.cast(base)? };
                arrays[k] = Some(a.expand(out.dims())?);
            }
        }
    }
    let used = arrays.iter().rposition(Option::is_some).map_or(0, |i| i + 1);
    match used {
        0..=1 => nest::<2>(f, base, &arrays, &numbers, ins.len(), out),
        2 => nest::<3>(f, base, &arrays, &numbers, ins.len(), out),
        3 => nest::<4>(f, base, &arrays, &numbers, ins.len(), out),
        4..=5 => nest::<6>(f, base, &arrays, &numbers, ins.len(), out),
        _ => nest::<9>(f, base, &arrays, &numbers, ins.len(), out),
    }
    Ok(())
}

/// Operands of a nest of loops: slot 0 is the result.
struct Operands<const N: usize> {
    ptrs: [*mut u8; N],
    dtypes: [Option<DType>; N],
}

// SAFETY: as for `Flat`.
unsafe impl<const N: usize> Send for Operands<N> {}
// SAFETY: as for `Flat`.
unsafe impl<const N: usize> Sync for Operands<N> {}

fn nest<const N: usize>(
    f: RunFn,
    base: DType,
    arrays: &[Option<Array>; MAX_INPUTS],
    numbers: &[u64; MAX_INPUTS],
    inputs: usize,
    out: &Array,
) {
    let zeros: crate::shape::Strides = smallvec::SmallVec::from_elem(0, out.ndim());
    let at = |k: usize| if k == 0 { Some(out) } else { arrays[k - 1].as_ref() };
    let nest =
        Nest::<N>::sorted(out.dims(), std::array::from_fn(|k| at(k).map_or(&zeros[..], |a| a.strides())));
    let ops = Operands::<N> {
        ptrs: std::array::from_fn(|k| at(k).map_or(std::ptr::null_mut(), |a| a.ptr())),
        dtypes: std::array::from_fn(|k| at(k).map(|a| a.dtype())),
    };
    let (ops, nest, numbers) = (&ops, &nest, &numbers);
    let grain = (GRAIN / nest.len.max(1)).max(1);
    threads::for_each_chunk(nest.runs(), grain, move |runs| {
        nest.for_each(runs.start, runs.end, |offsets| {
            run_one(f, base, ops, nest, offsets, numbers, inputs);
        });
    });
}

/// One run, in chunks when an operand must be gathered or widened, or the result scattered or narrowed.
fn run_one<const N: usize>(
    f: RunFn,
    base: DType,
    ops: &Operands<N>,
    nest: &Nest<N>,
    offsets: [isize; N],
    numbers: &[u64; MAX_INPUTS],
    inputs: usize,
) {
    let size = base.size();
    let out_dtype = ops.dtypes[0].expect("slot 0 is the result");
    let scatter = nest.steps[0] != 1 || out_dtype.is_half();
    let mut steps = [0u8; MAX_INPUTS];
    let mut gather = [false; MAX_INPUTS];
    for k in 0..(N - 1).min(inputs) {
        if let Some(d) = ops.dtypes[k + 1] {
            steps[k] = (nest.steps[k + 1] != 0) as u8;
            gather[k] = d != base || !(0..=1).contains(&nest.steps[k + 1]);
        }
    }
    let chunk = if scatter || gather.contains(&true) { CHUNK } else { nest.len };
    let mut scratch = [[const { MaybeUninit::<u64>::uninit() }; CHUNK]; N];
    let mut done = 0;
    while done < nest.len {
        let n = chunk.min(nest.len - done);
        let mut ptrs: [*const u8; MAX_INPUTS] = [std::ptr::null(); MAX_INPUTS];
        for k in 0..inputs {
            let Some(d) = ops.dtypes.get(k + 1).copied().flatten() else {
                ptrs[k] = (&raw const numbers[k]).cast();
                continue;
            };
            let stride = nest.steps[k + 1];
            // SAFETY: the nest stays inside the operand's layout; the scratch holds CHUNK elements of 8 bytes.
            unsafe {
                let src =
                    ops.ptrs[k + 1].offset((offsets[k + 1] + done as isize * stride) * d.size() as isize);
                if gather[k] {
                    let m = if stride == 0 { 1 } else { n };
                    let dst = scratch[k + 1].as_mut_ptr().cast::<u8>();
                    widen(d, src, stride, dst, m);
                    ptrs[k] = dst;
                } else {
                    ptrs[k] = src;
                }
            }
        }
        // SAFETY: as above for the result.
        unsafe {
            let dst =
                ops.ptrs[0].offset((offsets[0] + done as isize * nest.steps[0]) * out_dtype.size() as isize);
            let o = if scatter { scratch[0].as_mut_ptr().cast::<u8>() } else { dst };
            f(n, ptrs.as_ptr(), steps.as_ptr(), &raw const o);
            if scatter {
                narrow(out_dtype, size, o, dst, nest.steps[0], n);
            }
        }
        done += n;
    }
}

/// Gathers `n` strided elements into a contiguous run of float32 (from halves) or of the same dtype.
///
/// # Safety
/// `src` must be valid for `n` elements at `stride`, `dst` for `n` elements.
unsafe fn widen(d: DType, src: *const u8, stride: isize, dst: *mut u8, n: usize) {
    // SAFETY: as the caller promises.
    unsafe {
        macro_rules! go {
            ($s:ty => $t:ty, $f:expr) => {{
                let (s, t) = (src.cast::<$s>(), dst.cast::<$t>());
                for i in 0..n {
                    t.add(i).write($f(s.offset(i as isize * stride).read()));
                }
            }};
        }
        match d {
            DType::F16 => go!(f16 => f32, f16::to_f32),
            DType::BF16 => go!(bf16 => f32, bf16::to_f32),
            DType::F64 => go!(u64 => u64, |x| x),
            _ => go!(u32 => u32, |x| x),
        }
    }
}

/// Scatters a contiguous run of results; float32 is rounded to a half type where `d` is one.
///
/// # Safety
/// `src` must be valid for `n` elements, `dst` for `n` elements at `stride`.
unsafe fn narrow(d: DType, size: usize, src: *const u8, dst: *mut u8, stride: isize, n: usize) {
    // SAFETY: as the caller promises.
    unsafe {
        macro_rules! go {
            ($s:ty => $t:ty, $f:expr) => {{
                let (s, t) = (src.cast::<$s>(), dst.cast::<$t>());
                for i in 0..n {
                    t.offset(i as isize * stride).write($f(s.add(i).read()));
                }
            }};
        }
        match (d, size) {
            (DType::F16, _) => go!(f32 => f16, f16::from_f32),
            (DType::BF16, _) => go!(f32 => bf16, bf16::from_f32),
            (DType::Bool, _) => go!(u8 => u8, |x| x),
            (_, 8) => go!(u64 => u64, |x| x),
            _ => go!(u32 => u32, |x| x),
        }
    }
}

/// Runs an integer formula over operands broadcast to `dims`; the result has dtype `dtype`.
///
/// # Errors
/// [`crate::Kind::Shape`]; [`crate::Kind::Memory`].
pub fn run_int(f: IntRun, ins: &[(Option<&Array>, Scalar)], dims: &[usize], dtype: DType) -> Result<Array> {
    const N: usize = 4;
    let out = Array::uninit(dims, DType::I64)?;
    let mut arrays: [Option<Array>; N] = [const { None }; N];
    let mut numbers = [0i64; N];
    for (k, (a, s)) in ins.iter().enumerate() {
        match a {
            Some(a) => arrays[k] = Some(a.cast(DType::I64)?.expand(dims)?),
            None => numbers[k] = s.as_i64(),
        }
    }
    let zeros: crate::shape::Strides = smallvec::SmallVec::from_elem(0, dims.len());
    let at = |k: usize| if k == N { Some(&out) } else { arrays[k].as_ref() };
    let nest: Nest<{ N + 1 }> =
        Nest::sorted(dims, std::array::from_fn(|k| at(k).map_or(&zeros[..], |a| a.strides())));
    let base: [*const i64; N] = std::array::from_fn(|k| match &arrays[k] {
        Some(a) => a.ptr().cast_const().cast(),
        None => &raw const numbers[k],
    });
    nest.for_each(0, nest.runs(), |offsets| {
        // SAFETY: the nest stays inside the layouts; numbers are read with stride 0.
        unsafe {
            let ptrs: [*const i64; N] = std::array::from_fn(|k| base[k].offset(offsets[k]));
            let o = out.ptr().cast::<i64>().offset(offsets[N]);
            f(nest.len, ptrs.as_ptr(), nest.steps.as_ptr(), o, nest.steps[N]);
        }
    });
    out.cast(dtype)
}

/// Copies elements of `src` over `out` where the bool `mask` holds; all of one shape, `src` of `out`'s dtype.
pub fn copy_where(out: &Array, mask: &Array, src: &Array) {
    debug_assert!(out.dims() == mask.dims() && out.dims() == src.dims() && out.dtype() == src.dtype());
    let nest = Nest::<3>::sorted(out.dims(), [out.strides(), mask.strides(), src.strides()]);
    macro_rules! go {
        ($t:ty) => {{
            let (o, m, s) = (out.ptr().cast::<$t>(), mask.ptr(), src.ptr().cast::<$t>());
            let [so, sm, ss] = nest.steps;
            nest.for_each(0, nest.runs(), |[ao, am, ass]| {
                for i in 0..nest.len as isize {
                    // SAFETY: the nest stays inside the three layouts.
                    unsafe {
                        let (d, v) = (o.offset(ao + i * so), s.offset(ass + i * ss).read());
                        let keep = m.offset(am + i * sm).read() != 0;
                        d.write(if keep { v } else { d.read() });
                    }
                }
            });
        }};
    }
    match out.dtype().size() {
        1 => go!(u8),
        2 => go!(u16),
        4 => go!(u32),
        _ => go!(u64),
    }
}
