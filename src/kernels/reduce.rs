//! Reductions and scans over any dimensions of any layout.
//!
//! The bits of a result depend on shape, strides and values: never on alignment or the number of threads.

use super::threads;
use crate::dtype::{DType, Element, Scalar};
use crate::shape::{self, Dims, Nest};
use crate::{Array, Result, bail};
use std::ops::Range;

/// Elements of work below which a thread does not pay.
const GRAIN: usize = 32 << 10;
/// Independent partial results of a run, enough to fill the widest registers twice.
const LANES: usize = 32;
/// Length of a run that is summed with these partial results alone; longer ones are cut in halves.
const BLOCK: usize = 1024;

/// The kinds of number that are added up.
trait Real: Element + PartialOrd + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self> {
    const ZERO: Self;
    const ONE: Self;
    fn nan(self) -> bool;
}

macro_rules! reals {
    ($($t:ty, $zero:expr, $one:expr, |$v:ident| $nan:expr;)*) => { $(
        impl Real for $t {
            const ZERO: $t = $zero;
            const ONE: $t = $one;
            #[inline(always)]
            fn nan(self) -> bool { let $v = self; $nan }
        }
    )* };
}
reals! {
    f32, 0.0, 1.0, |v| v.is_nan();
    f64, 0.0, 1.0, |v| v.is_nan();
    i64, 0, 1, |v| { let _ = v; false };
}

/// A way to combine elements: commutative and associative but for rounding.
trait Fold<T> {
    fn identity() -> T;
    fn join(a: T, b: T) -> T;
}

struct Sum;
struct Prod;
struct Max;
struct Min;

impl<T: Real> Fold<T> for Sum {
    #[inline(always)]
    fn identity() -> T {
        T::ZERO
    }
    #[inline(always)]
    fn join(a: T, b: T) -> T {
        a + b
    }
}

impl<T: Real> Fold<T> for Prod {
    #[inline(always)]
    fn identity() -> T {
        T::ONE
    }
    #[inline(always)]
    fn join(a: T, b: T) -> T {
        a * b
    }
}

macro_rules! extreme {
    ($name:ident, $op:tt, $f:expr, $i:expr) => {
        impl Fold<f32> for $name {
            #[inline(always)]
            fn identity() -> f32 { $f as f32 }
            #[inline(always)]
            fn join(a: f32, b: f32) -> f32 { if a $op b || a.is_nan() { a } else { b } }
        }
        impl Fold<f64> for $name {
            #[inline(always)]
            fn identity() -> f64 { $f }
            #[inline(always)]
            fn join(a: f64, b: f64) -> f64 { if a $op b || a.is_nan() { a } else { b } }
        }
        impl Fold<i64> for $name {
            #[inline(always)]
            fn identity() -> i64 { $i }
            #[inline(always)]
            fn join(a: i64, b: i64) -> i64 { if a $op b { a } else { b } }
        }
    };
}
extreme!(Max, >, f64::NEG_INFINITY, i64::MIN);
extreme!(Min, <, f64::INFINITY, i64::MAX);

/// Folds a run with [`LANES`] partial results; long runs are cut in halves, so that rounding errors grow slowly.
///
/// # Safety
/// `p` must be valid for reading `n` elements at `stride`.
unsafe fn fold_run<T: Copy, F: Fold<T>>(p: *const T, stride: isize, n: usize) -> T {
    if n > BLOCK {
        let half = (n / 2).next_multiple_of(BLOCK).min(n - 1);
        // SAFETY: both parts lie inside the run.
        return unsafe {
            let a = fold_run::<T, F>(p, stride, half);
            F::join(a, fold_run::<T, F>(p.offset(half as isize * stride), stride, n - half))
        };
    }
    let mut acc = [F::identity(); LANES];
    let mut i = 0;
    // SAFETY: i stays below n.
    unsafe {
        if stride == 1 {
            while i + LANES <= n {
                for (k, a) in acc.iter_mut().enumerate() {
                    *a = F::join(*a, p.add(i + k).read());
                }
                i += LANES;
            }
        } else {
            while i + LANES <= n {
                for (k, a) in acc.iter_mut().enumerate() {
                    *a = F::join(*a, p.offset((i + k) as isize * stride).read());
                }
                i += LANES;
            }
        }
        for k in 0..n - i {
            acc[k] = F::join(acc[k], p.offset((i + k) as isize * stride).read());
        }
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for k in 0..width {
            acc[k] = F::join(acc[k], acc[k + width]);
        }
    }
    acc[0]
}

/// Splits dimensions into kept and reduced ones.
struct Plan {
    kept: Dims,
    kept_strides: crate::shape::Strides,
    over: Dims,
    over_strides: crate::shape::Strides,
}

fn plan(a: &Array, dims: &[usize]) -> Plan {
    let mut p = Plan {
        kept: Dims::new(),
        kept_strides: Default::default(),
        over: Dims::new(),
        over_strides: Default::default(),
    };
    for (i, (&d, &s)) in a.dims().iter().zip(a.strides()).enumerate() {
        if dims.contains(&i) {
            p.over.push(d);
            p.over_strides.push(s);
        } else {
            p.kept.push(d);
            p.kept_strides.push(s);
        }
    }
    p
}

#[derive(Clone, Copy)]
struct Raw<T>(*mut T);
// SAFETY: workers write disjoint elements of the output and only read the input.
unsafe impl<T> Send for Raw<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Raw<T> {}
impl<T> Raw<T> {
    fn get(&self) -> *mut T {
        self.0
    }
}

/// Folds `a`, whose elements are of type `T`, over dimensions into a contiguous array of the kept ones.
fn fold<T: Element, F: Fold<T>>(a: &Array, dims: &[usize], out_dims: &[usize]) -> Result<Array> {
    let out = Array::uninit(out_dims, T::DTYPE)?;
    let p = plan(a, dims);
    let (n_out, n_over) = (shape::numel(&p.kept), shape::numel(&p.over));
    let dst = Raw(out.ptr().cast::<T>());
    let src = Raw(a.ptr().cast::<T>());
    if n_out == 0 {
        return Ok(out);
    }
    if n_over == 0 {
        for i in 0..n_out {
            // SAFETY: the output holds n_out elements.
            unsafe { dst.get().add(i).write(F::identity()) };
        }
        return Ok(out);
    }
    let over = Nest::<1>::new(&p.over, [&p.over_strides]);
    let kept = Nest::<1>::new(&p.kept, [&p.kept_strides]);
    // When neighbours in memory are kept and the reduced elements lie far apart, whole rows are folded at once.
    let rows = kept.steps[0] == 1 && kept.len >= 8 && over.steps[0] != 1;
    if rows {
        let tile = 256usize;
        let tiles = kept.len.div_ceil(tile);
        let grain = (GRAIN / (n_over * tile.min(kept.len))).max(1);
        threads::for_each_chunk(kept.runs() * tiles, grain, |range| {
            for t in range {
                let (run, part) = (t / tiles, t % tiles);
                let from = part * tile;
                let width = tile.min(kept.len - from);
                kept.for_each(run, run + 1, |[at]| {
                    // SAFETY: the tile lies inside input and output; tiles do not overlap.
                    unsafe {
                        let base = src.get().offset(at + from as isize);
                        let to = dst.get().add(run * kept.len + from);
                        fold_rows::<T, F>(base, &over, width, to);
                    }
                });
            }
        });
        return Ok(out);
    }
    let whole = over.runs() == 1;
    let grain = (GRAIN / n_over).max(1);
    if n_out == 1 && whole && n_over > 4 * GRAIN {
        return single::<T, F>(src, &over, dst, out);
    }
    let body = |range: Range<usize>| {
        for i in range {
            let (run, inner) = (i / kept.len, i % kept.len);
            kept.for_each(run, run + 1, |[at]| {
                // SAFETY: nests stay inside the layout; element i of the output is this thread's.
                unsafe {
                    let base = src.get().offset(at + inner as isize * kept.steps[0]);
                    let mut acc: Option<T> = None;
                    over.for_each(0, over.runs(), |[o]| {
                        let v = fold_run::<T, F>(base.offset(o), over.steps[0], over.len);
                        acc = Some(acc.map_or(v, |a| F::join(a, v)));
                    });
                    dst.get().add(i).write(acc.unwrap_or(F::identity()));
                }
            });
        }
    };
    threads::for_each_chunk(n_out, grain, body);
    Ok(out)
}

/// One long run: fixed blocks in parallel, joined in order.
fn single<T: Element, F: Fold<T>>(src: Raw<T>, over: &Nest<1>, dst: Raw<T>, out: Array) -> Result<Array> {
    const PART: usize = 16 << 10;
    let parts = over.len.div_ceil(PART);
    let mut partial = vec![F::identity(); parts];
    let slots = Raw(partial.as_mut_ptr());
    threads::for_each_chunk(parts, 2, |range| {
        for k in range {
            let n = PART.min(over.len - k * PART);
            // SAFETY: the part lies inside the run; slot k is this thread's.
            unsafe {
                let p = src.get().offset((k * PART) as isize * over.steps[0]);
                slots.get().add(k).write(fold_run::<T, F>(p, over.steps[0], n));
            }
        }
    });
    // SAFETY: the vector holds `parts` elements, the output one.
    unsafe { dst.get().write(fold_run::<T, F>(partial.as_ptr(), 1, parts)) };
    Ok(out)
}

/// Folds rows of `width` neighbours: pairs of halves for many rows, so that rounding errors grow slowly.
///
/// # Safety
/// `base` must be valid for `width` elements at every offset of `over`, `to` for writing `width` (at most 256).
unsafe fn fold_rows<T: Element, F: Fold<T>>(base: *const T, over: &Nest<1>, width: usize, to: *mut T) {
    let mut total = [F::identity(); 256];
    let mut part = [F::identity(); 256];
    let mut in_part = 0;
    let flush = |total: &mut [T; 256], part: &mut [T; 256]| {
        for k in 0..width {
            total[k] = F::join(total[k], part[k]);
            part[k] = F::identity();
        }
    };
    over.for_each(0, over.runs(), |[o]| {
        for i in 0..over.len as isize {
            // SAFETY: as the caller promises.
            let row = unsafe { base.offset(o + i * over.steps[0]) };
            for (k, p) in part[..width].iter_mut().enumerate() {
                // SAFETY: as above.
                *p = F::join(*p, unsafe { row.add(k).read() });
            }
            in_part += 1;
            if in_part == 64 {
                flush(&mut total, &mut part);
                in_part = 0;
            }
        }
    });
    flush(&mut total, &mut part);
    // SAFETY: as the caller promises.
    unsafe { to.copy_from_nonoverlapping(total.as_ptr(), width) };
}

/// The dtype in which elements of `d` are added up.
fn accumulator(d: DType) -> DType {
    match d {
        DType::F64 => DType::F64,
        d if d.is_float() => DType::F32,
        _ => DType::I64,
    }
}

macro_rules! by_accumulator {
    ($a:expr, $acc:expr, $fold:ident, $dims:expr, $out:expr) => {
        match $acc {
            DType::F64 => fold::<f64, $fold>(&$a.cast(DType::F64)?, $dims, $out),
            DType::F32 => fold::<f32, $fold>(&$a.cast(DType::F32)?, $dims, $out),
            _ => fold::<i64, $fold>(&$a.cast(DType::I64)?, $dims, $out),
        }
    };
}

/// Sum over dimensions, computed and returned in `dtype` (halves are added up in float32).
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn sum(a: &Array, dims: &[usize], keepdim: bool, dtype: DType) -> Result<Array> {
    let out = shape::reduced(a.dims(), dims, keepdim);
    by_accumulator!(a, accumulator(dtype), Sum, dims, &out)?.cast(dtype)
}

/// Product over dimensions, computed and returned in `dtype`.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn prod(a: &Array, dims: &[usize], keepdim: bool, dtype: DType) -> Result<Array> {
    let out = shape::reduced(a.dims(), dims, keepdim);
    by_accumulator!(a, accumulator(dtype), Prod, dims, &out)?.cast(dtype)
}

/// Mean over dimensions, in `dtype`.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn mean(a: &Array, dims: &[usize], keepdim: bool, dtype: DType) -> Result<Array> {
    let n: usize = dims.iter().map(|&d| a.dims()[d]).product();
    let acc = accumulator(dtype);
    let s = sum(a, dims, keepdim, acc)?;
    scale(&s, n as f64);
    s.cast(dtype)
}

/// Divides a fresh contiguous float array in place.
fn scale(a: &Array, by: f64) {
    if a.dtype() == DType::F64 {
        for i in 0..a.numel() {
            // SAFETY: the array is contiguous, fresh, and of this dtype.
            unsafe { *a.ptr().cast::<f64>().add(i) /= by };
        }
    } else {
        for i in 0..a.numel() {
            // SAFETY: as above.
            unsafe { *a.ptr().cast::<f32>().add(i) /= by as f32 };
        }
    }
}

/// Variance over dimensions: two passes, so that a mean far from zero costs no accuracy.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn var(a: &Array, dims: &[usize], keepdim: bool, correction: f64) -> Result<Array> {
    use super::elementwise::{self, In};
    use super::simd::{Formula, Kernel, MathLanes};
    struct SquaredDistance;
    impl Formula<2, 1> for SquaredDistance {
        #[inline(always)]
        fn eval<L: MathLanes>([x, m]: [L; 2]) -> [L; 1] {
            let d = x - m;
            [d * d]
        }
    }
    static KERNEL: Kernel = Kernel::of::<SquaredDistance, 2, 1>();
    let dtype = a.dtype();
    let acc = accumulator(dtype);
    let a = a.cast(acc)?;
    let m = mean(&a, dims, true, acc)?;
    let d = Array::uninit(a.dims(), acc)?;
    elementwise::run(&KERNEL, acc, &[In::Array(&a), In::Array(&m)], &d)?;
    let s = sum(&d, dims, keepdim, acc)?;
    let n: usize = dims.iter().map(|&d| a.dims()[d]).product();
    scale(&s, (n as f64 - correction).max(0.0));
    s.cast(dtype)
}

fn not_empty(a: &Array, dims: &[usize], op: &str) -> Result<()> {
    for &d in dims {
        if a.dims()[d] == 0 {
            bail!(
                Index,
                "",
                "expected reduction dim {d} of {op} to have non-zero size, got shape {:?}; an empty slice has no \
                 greatest or least element",
                a.dims()
            );
        }
    }
    Ok(())
}

/// Greatest or least elements over dimensions; NaN wins.
///
/// # Errors
/// [`crate::Kind::Index`] when a reduced dimension is empty.
pub fn max_min(a: &Array, dims: &[usize], keepdim: bool, greatest: bool) -> Result<Array> {
    not_empty(a, dims, if greatest { "max" } else { "min" })?;
    let out = shape::reduced(a.dims(), dims, keepdim);
    let acc = accumulator(a.dtype());
    let r = if greatest {
        by_accumulator!(a, acc, Max, dims, &out)
    } else {
        by_accumulator!(a, acc, Min, dims, &out)
    };
    r?.cast(a.dtype())
}

/// Calls `f` for each slice along a dimension: pointers are to the first elements, in row-major order of the rest.
fn for_each_slice<const N: usize>(arrays: [&Array; N], dim: usize, mut f: impl FnMut([isize; N])) {
    let drop_dim = |s: &[isize]| -> shape::Strides {
        s.iter().enumerate().filter(|(i, _)| *i != dim).map(|(_, &s)| s).collect()
    };
    let dims = shape::reduced(arrays[0].dims(), &[dim], false);
    let strides: [shape::Strides; N] = std::array::from_fn(|k| drop_dim(arrays[k].strides()));
    let nest = Nest::<N>::new(&dims, std::array::from_fn(|k| &strides[k][..]));
    nest.for_each(0, nest.runs(), |at| {
        for i in 0..nest.len as isize {
            f(std::array::from_fn(|k| at[k] + i * nest.steps[k]));
        }
    });
}

/// Greatest or least elements and their indexes, along a dimension or of the flattened array. The first of equal
/// elements is taken; NaN counts as the extreme.
///
/// # Errors
/// [`crate::Kind::Index`] when there is none.
pub fn arg_max_min(a: &Array, dim: Option<usize>, keepdim: bool, greatest: bool) -> Result<(Array, Array)> {
    let op = if greatest { "argmax" } else { "argmin" };
    let (v, dim, out_dims) = match dim {
        Some(d) => (a.clone(), d, shape::reduced(a.dims(), &[d], keepdim)),
        None => {
            let kept = if keepdim { Dims::from_elem(1, a.ndim()) } else { Dims::new() };
            (a.reshape(&[a.numel()])?, 0, kept)
        }
    };
    not_empty(&v, &[dim], op)?;
    let acc = accumulator(a.dtype());
    let v = v.cast(acc)?;
    let kept = shape::reduced(v.dims(), &[dim], true);
    let (values, index) = (Array::uninit(&kept, acc)?, Array::uninit(&kept, DType::I64)?);
    let (n, step) = (v.dims()[dim], v.strides()[dim]);
    macro_rules! go {
        ($t:ty) => {
            for_each_slice([&v, &values, &index], dim, |[s, o, i]| {
                // SAFETY: the offsets lie inside the three layouts.
                unsafe {
                    let p = v.ptr().cast::<$t>().offset(s);
                    let (mut best, mut at) = (p.read(), 0usize);
                    for k in 1..n {
                        let x = p.offset(k as isize * step).read();
                        let better = if greatest { x > best } else { x < best };
                        if (better || x.nan()) && !best.nan() {
                            best = x;
                            at = k;
                        }
                    }
                    values.ptr().cast::<$t>().offset(o).write(best);
                    index.ptr().cast::<i64>().offset(i).write(at as i64);
                }
            })
        };
    }
    match acc {
        DType::F64 => go!(f64),
        DType::F32 => go!(f32),
        _ => go!(i64),
    }
    Ok((values.reshape(&out_dims)?.cast(a.dtype())?, index.reshape(&out_dims)?))
}

/// Whether any element over dimensions is true.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn any(a: &Array, dims: &[usize], keepdim: bool) -> Result<Array> {
    let out = shape::reduced(a.dims(), dims, keepdim);
    fold::<i64, Sum>(&a.cast(DType::Bool)?.cast(DType::I64)?, dims, &out)?.cast(DType::Bool)
}

/// Whether all elements over dimensions are true.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn all(a: &Array, dims: &[usize], keepdim: bool) -> Result<Array> {
    let out = shape::reduced(a.dims(), dims, keepdim);
    fold::<i64, Prod>(&a.cast(DType::Bool)?.cast(DType::I64)?, dims, &out)?.cast(DType::Bool)
}

/// `ln Σ e^a` over dimensions; shifted by the greatest element, so that nothing overflows.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn logsumexp(a: &Array, dims: &[usize], keepdim: bool) -> Result<Array> {
    use super::elementwise::{self, In};
    use super::simd::{Formula, Kernel, Lanes, MathLanes};
    struct Shifted;
    impl Formula<2, 1> for Shifted {
        #[inline(always)]
        fn eval<L: MathLanes>([x, m]: [L; 2]) -> [L; 1] {
            [(x - finite(m)).exp()]
        }
    }
    struct Back;
    impl Formula<2, 1> for Back {
        #[inline(always)]
        fn eval<L: MathLanes>([s, m]: [L; 2]) -> [L; 1] {
            [s.log() + finite(m)]
        }
    }
    /// An infinite shift would make NaN of infinities.
    #[inline(always)]
    fn finite<L: Lanes>(m: L) -> L {
        L::select(m.abs().eq(L::from_f64(f64::INFINITY)), L::from_f64(0.0), m)
    }
    static SHIFTED: Kernel = Kernel::of::<Shifted, 2, 1>();
    static BACK: Kernel = Kernel::of::<Back, 2, 1>();
    let (dtype, acc) = (a.dtype(), accumulator(a.dtype()));
    let out = shape::reduced(a.dims(), dims, keepdim);
    if dims.iter().any(|&d| a.dims()[d] == 0) {
        return Array::full(&out, Scalar::Float(f64::NEG_INFINITY), dtype);
    }
    let a = a.cast(acc)?;
    let m = max_min(&a, dims, true, true)?;
    let e = Array::uninit(a.dims(), acc)?;
    elementwise::run(&SHIFTED, acc, &[In::Array(&a), In::Array(&m)], &e)?;
    let s = sum(&e, dims, true, acc)?;
    let y = Array::uninit(s.dims(), acc)?;
    elementwise::run(&BACK, acc, &[In::Array(&s), In::Array(&m)], &y)?;
    y.reshape(&out)?.cast(dtype)
}

fn scan<T: Element>(a: &Array, dim: usize, join: impl Fn(T, T) -> T) -> Result<Array> {
    let out = Array::uninit(a.dims(), T::DTYPE)?;
    let (n, s, d) = (a.dims()[dim], a.strides()[dim], out.strides()[dim]);
    if n == 0 {
        return Ok(out);
    }
    for_each_slice([a, &out], dim, |[from, to]| {
        // SAFETY: the offsets lie inside both layouts.
        unsafe {
            let (p, q) = (a.ptr().cast::<T>().offset(from), out.ptr().cast::<T>().offset(to));
            let mut acc = p.read();
            q.write(acc);
            for k in 1..n as isize {
                acc = join(acc, p.offset(k * s).read());
                q.offset(k * d).write(acc);
            }
        }
    });
    Ok(out)
}

/// Running sum along a dimension, in `dtype`.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn cumsum(a: &Array, dim: usize, dtype: DType) -> Result<Array> {
    match accumulator(dtype) {
        DType::F64 => scan::<f64>(&a.cast(DType::F64)?, dim, |a, b| a + b),
        DType::F32 => scan::<f32>(&a.cast(DType::F32)?, dim, |a, b| a + b),
        _ => scan::<i64>(&a.cast(DType::I64)?, dim, i64::wrapping_add),
    }?
    .cast(dtype)
}

/// Running product along a dimension, in `dtype`.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn cumprod(a: &Array, dim: usize, dtype: DType) -> Result<Array> {
    match accumulator(dtype) {
        DType::F64 => scan::<f64>(&a.cast(DType::F64)?, dim, |a, b| a * b),
        DType::F32 => scan::<f32>(&a.cast(DType::F32)?, dim, |a, b| a * b),
        _ => scan::<i64>(&a.cast(DType::I64)?, dim, i64::wrapping_mul),
    }?
    .cast(dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_over_any_dimensions_of_any_layout_agree_with_the_plain_loop() {
        let v: Vec<f64> = (0..2 * 3 * 40 * 5).map(|i| ((i * 37) % 101) as f64).collect();
        let a = Array::from_slice(&v, &[2, 3, 40, 5]).unwrap();
        for order in [[0usize, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]] {
            let p = a.permute(&order);
            for mask in 0..16usize {
                let dims: Vec<usize> = (0..4).filter(|d| mask >> d & 1 == 1).collect();
                let got = sum(&p, &dims, true, DType::F64).unwrap();
                let mut want = vec![0.0; got.numel()];
                let d = p.dims().to_vec();
                for i in 0..v.len() {
                    let (mut r, mut o, mut idx) = (i, 0, [0; 4]);
                    for k in (0..4).rev() {
                        idx[k] = r % d[k];
                        r /= d[k];
                    }
                    for k in 0..4 {
                        o = o * got.dims()[k] + if dims.contains(&k) { 0 } else { idx[k] };
                    }
                    want[o] += p.at(&idx).as_f64();
                }
                assert_eq!(got.to_vec::<f64>().unwrap(), want, "{order:?} {dims:?}");
            }
        }
    }

    #[test]
    fn a_long_float32_sum_is_accurate_and_the_same_for_any_number_of_threads() {
        let v: Vec<f32> = (0..1_000_003).map(|i| 0.1 + (i % 7) as f32 * 1e-3).collect();
        let a = Array::from_slice(&v, &[v.len()]).unwrap();
        let want: f64 = v.iter().map(|&x| x as f64).sum();
        let got = sum(&a, &[0], false, DType::F32).unwrap().item().unwrap().as_f64();
        assert!((got / want - 1.0).abs() < 1e-6);
        threads::set_num_threads(1);
        let one = sum(&a, &[0], false, DType::F32).unwrap().item().unwrap().as_f64();
        threads::set_num_threads(2);
        assert_eq!(got, one);
    }

    #[test]
    fn empty_reductions_give_identities_or_errors() {
        let a = Array::zeros(&[0, 3], DType::F32).unwrap();
        assert_eq!(sum(&a, &[0], false, DType::F32).unwrap().to_vec::<f32>().unwrap(), [0.0; 3]);
        assert_eq!(prod(&a, &[0], false, DType::F32).unwrap().to_vec::<f32>().unwrap(), [1.0; 3]);
        assert!(all(&a, &[0], false).unwrap().to_vec::<bool>().unwrap().iter().all(|&b| b));
        assert!(max_min(&a, &[0], false, true).is_err());
        assert_eq!(max_min(&a, &[1], false, true).unwrap().numel(), 0);
    }

    #[test]
    fn extremes_take_the_first_of_equals_and_nan() {
        let a = Array::from_slice(&[1.0f32, 3.0, 3.0, f32::NAN, 5.0, 0.0], &[2, 3]).unwrap();
        let (v, i) = arg_max_min(&a, Some(1), false, true).unwrap();
        assert_eq!(i.to_vec::<i64>().unwrap(), [1, 0]);
        assert!(v.at(&[1]).as_f64().is_nan());
        let m = max_min(&a, &[0, 1], false, true).unwrap();
        assert!(m.item().unwrap().as_f64().is_nan());
        let rows =
            logsumexp(&Array::from_slice(&[f64::NEG_INFINITY; 2], &[2]).unwrap(), &[0], false).unwrap();
        assert_eq!(rows.item().unwrap().as_f64(), f64::NEG_INFINITY);
    }
}
