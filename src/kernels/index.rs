//! Reading and writing at indexes. Index arrays are int64; every index is checked before it is used.

use crate::dtype::{DType, Element, Scalar};
use crate::shape::{self, Dims, Nest, Strides};
use crate::{Array, Result, bail, ensure, with_element};

/// What happens to the old value at an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scatter {
    /// It is replaced; of several values for one place the last stays.
    Set,
    /// The new one is added; several are added in order.
    Add,
}

/// Addition with wrap-around for integers, "or" for bool.
trait Plus: Element {
    fn plus(self, o: Self) -> Self;
}

macro_rules! plus {
    ($($t:ty: |$a:ident, $b:ident| $e:expr;)*) => { $(
        impl Plus for $t {
            #[inline(always)]
            fn plus(self, o: Self) -> Self { let ($a, $b) = (self, o); $e }
        }
    )* };
}
plus! {
    bool: |a, b| a | b;
    u8: |a, b| a.wrapping_add(b);
    i32: |a, b| a.wrapping_add(b);
    i64: |a, b| a.wrapping_add(b);
    half::f16: |a, b| half::f16::from_f32(a.to_f32() + b.to_f32());
    half::bf16: |a, b| half::bf16::from_f32(a.to_f32() + b.to_f32());
    f32: |a, b| a + b;
    f64: |a, b| a + b;
}

/// Checks one index against a dimension; negative ones count from the end.
#[inline(always)]
fn resolve(i: i64, size: usize, dim: usize) -> Result<isize> {
    let n = size as i64;
    let k = if i < 0 { i + n } else { i };
    if k < 0 || k >= n {
        bail!(Index, "", "index {i} is out of bounds for dimension {dim} with size {size}");
    }
    Ok(k as isize)
}

/// Checks one index that may not be negative, as gather and scatter want it.
#[inline(always)]
fn resolve_plain(i: i64, size: usize, dim: usize) -> Result<isize> {
    if i < 0 || i >= size as i64 {
        bail!(Index, "", "index {i} is out of bounds for dimension {dim} with size {size}");
    }
    Ok(i as isize)
}

fn same_rank(a: &Array, index: &Array, what: &str) -> Result<()> {
    ensure!(
        a.ndim() == index.ndim() || a.ndim().max(index.ndim()) <= 1,
        Shape,
        "",
        "index and {what} must have the same number of dimensions, got shapes {:?} and {:?}",
        index.dims(),
        a.dims()
    );
    Ok(())
}

/// 0-d arrays count as vectors of one element.
fn at_least_1d(a: &Array) -> Array {
    if a.ndim() == 0 { a.unsqueeze(0) } else { a.clone() }
}

/// Walks `index` with one array read or written at the same positions and one at the indexed ones.
fn walk(at: &Array, index: &Array, other: &Array, dim: usize, mut f: impl FnMut(isize, isize)) -> Result<()> {
    let size = at.dims()[dim];
    let mut place: Strides = at.strides().into();
    let along = std::mem::replace(&mut place[dim], 0);
    let nest = Nest::<3>::new(index.dims(), [index.strides(), &place, other.strides()]);
    let ip = index.ptr().cast::<i64>();
    let mut error = None;
    nest.for_each(0, nest.runs(), |[i, p, o]| {
        for k in 0..nest.len as isize {
            // SAFETY: the nest stays inside the index's layout.
            let raw = unsafe { ip.offset(i + k * nest.steps[0]).read() };
            match resolve_plain(raw, size, dim) {
                Ok(r) if error.is_none() => f(p + k * nest.steps[1] + r * along, o + k * nest.steps[2]),
                Ok(_) => {}
                Err(e) => error = error.take().or(Some(e)),
            }
        }
    });
    error.map_or(Ok(()), Err)
}

/// `out[i][j] = a[index[i][j]][j]` for `dim` 0, and so on; `index` may be smaller than `a` elsewhere.
///
/// # Errors
/// [`crate::Kind::Index`] for an index out of range; [`crate::Kind::Shape`].
pub fn gather(a: &Array, dim: usize, index: &Array) -> Result<Array> {
    if index.numel() == 0 {
        return Array::uninit(index.dims(), a.dtype());
    }
    same_rank(a, index, "input")?;
    let (a1, i1) = (at_least_1d(a), at_least_1d(index));
    let out = Array::uninit(i1.dims(), a.dtype())?;
    if i1.numel() > 0 {
        for (k, (&i, &s)) in i1.dims().iter().zip(a1.dims()).enumerate() {
            ensure!(
                k == dim || i <= s,
                Shape,
                "",
                "size {i} of the index does not fit size {s} of the input at dimension {k} (they may differ only \
                 along dimension {dim}); shapes are {:?} and {:?}",
                index.dims(),
                a.dims()
            );
        }
        with_element!(a.dtype(), T => {
            let (src, dst) = (a1.ptr().cast::<T>(), out.ptr().cast::<T>());
            // SAFETY: walk gives offsets inside both layouts.
            walk(&a1, &i1, &out, dim, |p, o| unsafe { dst.offset(o).write(src.offset(p).read()) })?;
        });
    }
    out.reshape(index.dims())
}

/// As [`scatter_into`], on a copy.
///
/// # Errors
/// As [`scatter_into`].
pub fn scatter(a: &Array, dim: usize, index: &Array, src: &Array, mode: Scatter) -> Result<Array> {
    let out = a.copied()?;
    scatter_into(&out, dim, index, src, mode)?;
    Ok(out)
}

/// `out[index[i][j]][j] = src[i][j]` for `dim` 0, and so on, in row-major order of the index.
///
/// # Errors
/// [`crate::Kind::Index`] for an index out of range, with earlier ones already written; [`crate::Kind::Shape`].
pub fn scatter_into(out: &Array, dim: usize, index: &Array, src: &Array, mode: Scatter) -> Result<()> {
    same_rank(out, index, "input")?;
    same_rank(src, index, "src")?;
    let (o1, i1, s1) = (at_least_1d(out), at_least_1d(index), at_least_1d(src));
    if i1.numel() == 0 {
        return Ok(());
    }
    for (k, &i) in i1.dims().iter().enumerate() {
        ensure!(
            i <= s1.dims()[k] && (k == dim || i <= o1.dims()[k]),
            Shape,
            "",
            "expected an index no larger than src and, apart from dimension {dim}, than the input: got shapes {:?}, \
             {:?} and {:?}",
            index.dims(),
            src.dims(),
            out.dims()
        );
    }
    let src = s1.cast(out.dtype())?;
    with_element!(out.dtype(), T => {
        let (from, to) = (src.ptr().cast::<T>(), o1.ptr().cast::<T>());
        walk(&o1, &i1, &src, dim, |p, o| {
            // SAFETY: walk gives offsets inside both layouts.
            unsafe {
                let v = from.offset(o).read();
                let d = to.offset(p);
                d.write(if mode == Scatter::Add { d.read().plus(v) } else { v });
            }
        })
    })
}

/// Slices of `a` at a vector of indexes along a dimension.
///
/// # Errors
/// [`crate::Kind::Index`] for an index out of range.
pub fn index_select(a: &Array, dim: usize, index: &Array) -> Result<Array> {
    let mut indices: Vec<Option<Array>> = vec![None; dim];
    // A vector index keeps its place, so this is advanced indexing; but negative indexes are not allowed.
    let list = index.to_vec::<i64>()?;
    for &i in &list {
        resolve_plain(i, a.dims()[dim], dim)?;
    }
    indices.push(Some(index.clone()));
    take_indices(a, &indices)
}

/// Adds `alpha·src` to the slices of `out` at a vector of indexes along a dimension, in order.
///
/// # Errors
/// [`crate::Kind::Index`] for an index out of range; [`crate::Kind::Shape`].
pub fn index_add_into(out: &Array, dim: usize, index: &Array, src: &Array, alpha: Scalar) -> Result<()> {
    let list = index.to_vec::<i64>()?;
    let (o1, s1) = (at_least_1d(out), at_least_1d(src));
    let fits = o1.ndim() == s1.ndim()
        && (0..o1.ndim())
            .all(|k| if k == dim { s1.dims()[k] == list.len() } else { s1.dims()[k] == o1.dims()[k] });
    ensure!(
        fits,
        Shape,
        "",
        "expected a source of the shape of the input but with {} slices along dimension {dim}, got {:?} for input {:?}",
        list.len(),
        src.dims(),
        out.dims()
    );
    for &i in &list {
        resolve_plain(i, o1.dims()[dim], dim)?;
    }
    let one = alpha.as_f64() == 1.0;
    let s1 = if one { s1.cast(out.dtype())? } else { scaled(&s1, alpha, out.dtype())? };
    for (k, &i) in list.iter().enumerate() {
        accumulate(&o1.select(dim, i as usize), &s1.select(dim, k))?;
    }
    Ok(())
}

fn scaled(a: &Array, alpha: Scalar, dtype: DType) -> Result<Array> {
    let out = a.cast(dtype)?.copied()?;
    with_element!(dtype, T => {
        let p = out.ptr().cast::<T>();
        for i in 0..out.numel() {
            // SAFETY: the copy is contiguous.
            unsafe {
                let v = p.add(i).read().to_scalar();
                let r = match (v, alpha) {
                    (Scalar::Int(x), Scalar::Int(k)) => Scalar::Int(x.wrapping_mul(k)),
                    (x, k) => Scalar::Float(x.as_f64() * k.as_f64()),
                };
                p.add(i).write(T::from_scalar(r));
            }
        }
    });
    Ok(out)
}

/// Adds `src`, of the same shape, to `out`; elements that several indexes of `out` share are added one by one.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn accumulate(out: &Array, src: &Array) -> Result<()> {
    let src = src.cast(out.dtype())?.expand(out.dims())?;
    let nest = Nest::<2>::new(out.dims(), [out.strides(), src.strides()]);
    with_element!(out.dtype(), T => {
        let (d, s) = (out.ptr().cast::<T>(), src.ptr().cast::<T>());
        nest.for_each(0, nest.runs(), |[a, b]| {
            for k in 0..nest.len as isize {
                // SAFETY: the nest stays inside both layouts.
                unsafe {
                    let p = d.offset(a + k * nest.steps[0]);
                    p.write(p.read().plus(s.offset(b + k * nest.steps[1]).read()));
                }
            }
        });
    });
    Ok(())
}

/// Where the elements of an advanced index lie.
struct Advanced {
    /// Shape of the result.
    dims: Dims,
    /// Dimensions of the result before and after those of the indexes.
    before: usize,
    /// Offset of each position of the broadcast index.
    offsets: Vec<isize>,
    /// Layout of what is taken whole at each position: shape and strides.
    rest: Dims,
    rest_strides: Strides,
}

fn advanced(a: &Array, indices: &[Option<Array>]) -> Result<Advanced> {
    ensure!(
        indices.len() <= a.ndim(),
        Index,
        "",
        "too many indices for tensor of dimension {}: got {}",
        a.ndim(),
        indices.len()
    );
    let mut common = Dims::new();
    for i in indices.iter().flatten() {
        common = match shape::broadcast(&common, i.dims()) {
            Ok(c) => c,
            Err(_) => {
                let shapes: Vec<&[usize]> = indices.iter().flatten().map(|i| i.dims()).collect();
                bail!(
                    Index,
                    "",
                    "shape mismatch: indexing tensors could not be broadcast together with shapes {shapes:?}"
                )
            }
        };
    }
    let n = shape::numel(&common);
    let mut offsets = vec![0isize; n];
    let (mut rest, mut rest_strides) = (Dims::new(), Strides::new());
    let used: Vec<usize> = (0..a.ndim()).filter(|&d| indices.get(d).is_some_and(Option::is_some)).collect();
    for d in 0..a.ndim() {
        match indices.get(d) {
            Some(Some(i)) => {
                let list = i.expand(&common)?.to_vec::<i64>()?;
                for (o, v) in offsets.iter_mut().zip(list) {
                    *o += resolve(v, a.dims()[d], d)? * a.strides()[d];
                }
            }
            _ => {
                rest.push(a.dims()[d]);
                rest_strides.push(a.strides()[d]);
            }
        }
    }
    // Indexes of neighbouring dimensions stay in their place; others put their dimensions first.
    let together = used.windows(2).all(|w| w[1] == w[0] + 1);
    let before = if together { used.first().copied().unwrap_or(0) } else { 0 };
    let mut dims = Dims::from_slice(&rest[..before]);
    dims.extend_from_slice(&common);
    dims.extend_from_slice(&rest[before..]);
    Ok(Advanced { dims, before, offsets, rest, rest_strides })
}

/// Pairs of offsets: the element of the indexed array, and the element of a contiguous result.
fn for_each_pair(v: &Advanced, mut f: impl FnMut(isize, isize, usize, isize, isize)) {
    let n = v.offsets.len() as isize;
    let (b, t) = (v.before, v.rest.len());
    let after: isize = v.rest[b..].iter().product::<usize>() as isize;
    // Strides of the taken dimensions within the result.
    let mut out: Strides = shape::contiguous_strides(&v.rest[b..]);
    let outer: Strides = shape::contiguous_strides(&v.rest[..b]).iter().map(|s| s * n * after).collect();
    out.insert_many(0, outer);
    debug_assert_eq!(out.len(), t);
    let nest = Nest::<2>::new(&v.rest, [&v.rest_strides, &out]);
    for (k, &at) in v.offsets.iter().enumerate() {
        nest.for_each(0, nest.runs(), |[p, o]| {
            f(at + p, k as isize * after + o, nest.len, nest.steps[0], nest.steps[1])
        });
    }
}

/// Elements at index arrays, one a dimension, broadcast together; `None` takes the whole dimension.
///
/// # Errors
/// [`crate::Kind::Index`] for an index out of range or shapes that cannot be broadcast.
pub fn take_indices(a: &Array, indices: &[Option<Array>]) -> Result<Array> {
    let v = advanced(a, indices)?;
    let out = Array::uninit(&v.dims, a.dtype())?;
    macro_rules! go {
        ($t:ty) => {{
            let (src, dst) = (a.ptr().cast::<$t>(), out.ptr().cast::<$t>());
            for_each_pair(&v, |p, o, n, sp, so| {
                // SAFETY: the offsets lie inside both layouts.
                unsafe {
                    if sp == 1 && so == 1 {
                        dst.offset(o).copy_from_nonoverlapping(src.offset(p), n);
                    } else {
                        for k in 0..n as isize {
                            dst.offset(o + k * so).write(src.offset(p + k * sp).read());
                        }
                    }
                }
            });
        }};
    }
    match a.dtype().size() {
        1 => go!(u8),
        2 => go!(u16),
        4 => go!(u32),
        _ => go!(u64),
    }
    Ok(out)
}

/// Writes `values`, broadcast, at index arrays: the inverse of [`take_indices`]. In order: of several values for one
/// place the last stays, or all are added.
///
/// # Errors
/// [`crate::Kind::Index`]; [`crate::Kind::Shape`] when the values cannot be broadcast. Nothing is written then.
pub fn put_indices(out: &Array, indices: &[Option<Array>], values: &Array, add: bool) -> Result<()> {
    let v = advanced(out, indices)?;
    let values = values.cast(out.dtype())?;
    // Leading dimensions of size 1 beyond the result's do not count.
    let extra = values.ndim().saturating_sub(v.dims.len());
    let lead: Vec<usize> = (0..extra).collect();
    let values = values.with_layout(values.layout().squeeze(&lead));
    ensure!(
        shape::can_expand(values.dims(), &v.dims),
        Shape,
        "",
        "shape mismatch: value tensor of shape {:?} cannot be broadcast to indexing result of shape {:?}",
        values.dims(),
        v.dims.as_slice()
    );
    let values = values.expand(&v.dims)?.contiguous()?;
    let values = if values.storage().same(out.storage()) { values.copied()? } else { values };
    with_element!(out.dtype(), T => {
        let (dst, src) = (out.ptr().cast::<T>(), values.ptr().cast::<T>());
        for_each_pair(&v, |p, o, n, sp, so| {
            for k in 0..n as isize {
                // SAFETY: the offsets lie inside both layouts.
                unsafe {
                    let d = dst.offset(p + k * sp);
                    let s = src.offset(o + k * so).read();
                    d.write(if add { d.read().plus(s) } else { s });
                }
            }
        });
    });
    Ok(())
}

/// Indexes of the elements that are not zero: int64 of shape `(count, ndim)`, in row-major order.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn nonzero(a: &Array) -> Result<Array> {
    let flags = a.cast(DType::Bool)?.to_vec::<bool>()?;
    let n = flags.iter().filter(|&&f| f).count();
    let out = Array::uninit(&[n, a.ndim()], DType::I64)?;
    let steps = shape::contiguous_strides(a.dims());
    let p = out.ptr().cast::<i64>();
    let mut at = 0;
    for (i, _) in flags.iter().enumerate().filter(|(_, f)| **f) {
        let mut rest = i as isize;
        for &s in &steps {
            // SAFETY: the output holds n rows of ndim indexes.
            unsafe { p.add(at).write((rest / s) as i64) };
            rest %= s;
            at += 1;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Array {
        Array::from_slice(&(0..24).map(|v| v as f32).collect::<Vec<_>>(), &[2, 3, 4]).unwrap()
    }

    #[test]
    fn advanced_indexes_stand_where_numpy_puts_them() {
        let a = grid();
        let i = Some(Array::from_slice(&[1i64, 0, -1], &[3]).unwrap());
        let j = Some(Array::from_slice(&[0i64, 2, 1], &[3]).unwrap());
        let r = take_indices(&a, &[i.clone(), j.clone()]).unwrap();
        assert_eq!(r.dims(), [3, 4]);
        assert_eq!(r.at(&[0, 1]).as_f64(), 13.0);
        let apart = take_indices(&a, &[i.clone(), None, j.clone()]).unwrap();
        assert_eq!(apart.dims(), [3, 3]);
        assert_eq!(apart.at(&[0, 2]).as_f64(), 20.0);
        let inner = take_indices(&a, &[None, j, None]).unwrap();
        assert_eq!(inner.dims(), [2, 3, 4]);
        assert_eq!(inner.at(&[1, 1, 3]).as_f64(), 23.0);
        let bad = Some(Array::from_slice(&[2i64], &[1]).unwrap());
        assert!(take_indices(&a, &[bad]).is_err());
    }

    #[test]
    fn puts_add_up_or_the_last_stays() {
        let a = Array::zeros(&[3], DType::F32).unwrap();
        let i = [Some(Array::from_slice(&[1i64, 1, 2], &[3]).unwrap())];
        let v = Array::from_slice(&[1.0f32, 2.0, 3.0], &[3]).unwrap();
        put_indices(&a, &i, &v, true).unwrap();
        assert_eq!(a.to_vec::<f32>().unwrap(), [0.0, 3.0, 3.0]);
        put_indices(&a, &i, &v, false).unwrap();
        assert_eq!(a.to_vec::<f32>().unwrap(), [0.0, 2.0, 3.0]);
    }

    #[test]
    fn gather_and_scatter_are_inverse() {
        let a = grid().reshape(&[6, 4]).unwrap();
        let i = Array::from_slice(&[3i64, 0, 2, 2, 1, 1], &[6, 1]).unwrap();
        let g = gather(&a, 1, &i).unwrap();
        assert_eq!(g.to_vec::<f32>().unwrap(), [3.0, 4.0, 10.0, 14.0, 17.0, 21.0]);
        let z = Array::zeros(&[6, 4], DType::F32).unwrap();
        let s = scatter(&z, 1, &i, &g, Scatter::Set).unwrap();
        assert_eq!(s.at(&[2, 2]).as_f64(), 10.0);
        let bad = Array::from_slice(&[-1i64], &[1, 1]).unwrap();
        assert!(gather(&a, 1, &bad).is_err());
        assert_eq!(
            nonzero(&Array::from_slice(&[0i64, 5, 7], &[3]).unwrap()).unwrap().to_vec::<i64>().unwrap(),
            [1, 2]
        );
    }
}
