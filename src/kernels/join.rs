//! Joining, reordering and generating elements.

use crate::dtype::Element;
use crate::dtype::{DType, Scalar};
use crate::shape::Dims;
use crate::{Array, Result, bail, ensure, with_element};

/// Joins arrays along a dimension; sizes elsewhere must agree. Empty vectors are left out.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn cat(arrays: &[&Array], dim: usize, dtype: DType) -> Result<Array> {
    let parts: Vec<&&Array> = arrays.iter().filter(|a| a.dims() != [0]).collect();
    let Some(first) = parts.first() else { return Array::zeros(&[0], dtype) };
    let mut dims = Dims::from_slice(first.dims());
    dims[dim] = parts.iter().map(|a| a.dims()[dim]).sum();
    let out = Array::uninit(&dims, dtype)?;
    let mut at = 0;
    for a in parts {
        let n = a.dims()[dim];
        out.slice(dim, at, n, 1).copy_from(a)?;
        at += n;
    }
    Ok(out)
}

/// Order of elements reversed along dimensions.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn flip(a: &Array, dims: &[usize]) -> Result<Array> {
    let mut v = a.clone();
    for &d in dims {
        let n = v.dims()[d];
        if n > 0 {
            v = v.slice(d, n - 1, n, -1);
        }
    }
    v.copied()
}

/// Elements shifted along dimensions; what leaves one end enters at the other.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn roll(a: &Array, shifts: &[isize], dims: &[usize]) -> Result<Array> {
    let mut v = a.copied()?;
    for (&s, &d) in shifts.iter().zip(dims) {
        let n = v.dims()[d];
        if n == 0 {
            continue;
        }
        let s = s.rem_euclid(n as isize) as usize;
        v = cat(&[&v.slice(d, n - s, s, 1), &v.slice(d, 0, n - s, 1)], d, a.dtype())?;
    }
    Ok(v)
}

fn triangle(a: &Array, diagonal: isize, lower: bool) -> Result<Array> {
    let out = a.copied()?;
    let n = out.ndim();
    let (rows, cols) = (out.dims()[n - 2], out.dims()[n - 1]);
    for r in 0..rows {
        let edge = (r as isize).saturating_add(diagonal);
        let row = out.select(n - 2, r);
        let (start, len) = if lower {
            let keep = (edge.saturating_add(1)).clamp(0, cols as isize) as usize;
            (keep, cols - keep)
        } else {
            (0, edge.clamp(0, cols as isize) as usize)
        };
        if len > 0 {
            row.slice(n - 2, start, len, 1).fill(Scalar::Int(0));
        }
    }
    Ok(out)
}

/// Lower triangle of the last two dimensions, from `diagonal` down; zero elsewhere.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn tril(a: &Array, diagonal: isize) -> Result<Array> {
    triangle(a, diagonal, true)
}

/// Upper triangle of the last two dimensions, from `diagonal` up; zero elsewhere.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn triu(a: &Array, diagonal: isize) -> Result<Array> {
    triangle(a, diagonal, false)
}

/// `start`, `start + step`, … up to but without `end`.
///
/// # Errors
/// [`crate::Kind::Value`] for a step of zero or of the wrong sign, or bounds that are not finite.
pub fn arange(start: Scalar, end: Scalar, step: Scalar, dtype: DType) -> Result<Array> {
    // Bounds are cast to an integer dtype before anything is counted.
    let cast = |v: Scalar| if dtype.is_float() { v } else { Scalar::Int(v.as_i64()) };
    let (start, end, step) = (cast(start), cast(end), cast(step));
    let (s, e, k) = (start.as_f64(), end.as_f64(), step.as_f64());
    ensure!(k != 0.0, Value, "arange", "step must be nonzero");
    ensure!(s.is_finite() && e.is_finite() && !k.is_nan(), Value, "arange", "unsupported range: {s} -> {e}");
    ensure!(
        (k > 0.0) == (e >= s) || s == e,
        Value,
        "arange",
        "upper bound and lower bound are inconsistent with the sign of the step: {s} -> {e} by {k}"
    );
    let whole = [start, end, step].iter().all(|v| !matches!(v, Scalar::Float(_)));
    let n = if whole {
        let (s, e, k) = (start.as_i64() as i128, end.as_i64() as i128, step.as_i64() as i128);
        ((e - s + k - k.signum()) / k).max(0) as f64
    } else {
        ((e - s) / k).ceil().max(0.0)
    };
    ensure!(n < 1e15, Memory, "arange", "a range of {n} elements cannot be allocated");
    let n = n as usize;
    let out = Array::uninit(&[n], dtype)?;
    with_element!(dtype, T => {
        let p = out.ptr().cast::<T>();
        for i in 0..n {
            let v = if whole {
                Scalar::Int(start.as_i64().wrapping_add((i as i64).wrapping_mul(step.as_i64())))
            } else {
                Scalar::Float(s + i as f64 * k)
            };
            // SAFETY: the array is new and holds n elements of T.
            unsafe { p.add(i).write(T::from_scalar(v)) };
        }
    });
    Ok(out)
}

/// `steps` numbers at equal distances from `start` to `end`, both included. Symmetric: computed from the nearer end.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn linspace(start: f64, end: f64, steps: usize, dtype: DType) -> Result<Array> {
    let out = Array::uninit(&[steps], dtype)?;
    let step = if steps > 1 { (end - start) / (steps - 1) as f64 } else { 0.0 };
    with_element!(dtype, T => {
        let p = out.ptr().cast::<T>();
        for i in 0..steps {
            let v = if i < steps.div_ceil(2) { start + step * i as f64 } else { end - step * (steps - 1 - i) as f64 };
            // SAFETY: the array is new and holds `steps` elements of T.
            unsafe { p.add(i).write(T::from_scalar(Scalar::Float(v))) };
        }
    });
    Ok(out)
}

/// A matrix with ones on the diagonal.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn eye(n: usize, m: usize, dtype: DType) -> Result<Array> {
    let out = Array::zeros(&[n, m], dtype)?;
    if n.min(m) > 0 {
        match out.layout().diagonal(0, 0, 1) {
            Ok(l) => out.with_layout(l).fill(Scalar::Int(1)),
            Err(e) => bail!(Internal, "eye", "{e}"),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_and_joins() {
        let a = arange(Scalar::Int(0), Scalar::Int(6), Scalar::Int(1), DType::I64)
            .unwrap()
            .reshape(&[2, 3])
            .unwrap();
        assert_eq!(roll(&a, &[1], &[1]).unwrap().to_vec::<i64>().unwrap(), [2, 0, 1, 5, 3, 4]);
        assert_eq!(flip(&a, &[0, 1]).unwrap().to_vec::<i64>().unwrap(), [5, 4, 3, 2, 1, 0]);
        assert_eq!(tril(&a, 0).unwrap().to_vec::<i64>().unwrap(), [0, 0, 0, 3, 4, 0]);
        assert_eq!(triu(&a, 1).unwrap().to_vec::<i64>().unwrap(), [0, 1, 2, 0, 0, 5]);
        assert_eq!(arange(Scalar::Int(5), Scalar::Int(0), Scalar::Int(-2), DType::I64).unwrap().numel(), 3);
        assert_eq!(cat(&[&a, &a], 1, DType::F32).unwrap().dims(), [2, 6]);
        let l = linspace(0.0, 1.0, 5, DType::F64).unwrap();
        assert_eq!(l.to_vec::<f64>().unwrap(), [0.0, 0.25, 0.5, 0.75, 1.0]);
    }
}
