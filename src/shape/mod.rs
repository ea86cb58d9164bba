//! Pure arithmetic on dimensions, strides and slices: no data, no `unsafe`.

mod layout;
mod nest;

pub use layout::Layout;
pub use nest::Nest;

use crate::{Result, bail, ensure};
use smallvec::SmallVec;

/// Sizes of the dimensions, inline up to four.
pub type Dims = SmallVec<[usize; 4]>;
/// Distances between neighbours along each dimension, in elements.
pub type Strides = SmallVec<[isize; 4]>;
/// The most dimensions a tensor may have, as in NumPy.
pub const MAX_DIMS: usize = 64;

/// Number of elements of a shape whose product is known to fit.
pub fn numel(dims: &[usize]) -> usize {
    dims.iter().product()
}

/// Number of elements, or an error when it, or its bytes, cannot be addressed.
pub fn checked_numel(dims: &[usize]) -> Result<usize> {
    ensure!(dims.len() <= MAX_DIMS, Value, "", "got {} dimensions, expected at most {MAX_DIMS}", dims.len());
    if dims.contains(&0) {
        return Ok(0);
    }
    match dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&n| n <= isize::MAX as usize / 8) {
        Some(n) => Ok(n),
        None => bail!(Memory, "", "a tensor of shape {dims:?} has more elements than can be addressed"),
    }
}

/// Row-major strides.
pub fn contiguous_strides(dims: &[usize]) -> Strides {
    let mut strides: Strides = SmallVec::from_elem(0, dims.len());
    let mut step = 1isize;
    for (s, &d) in strides.iter_mut().zip(dims).rev() {
        *s = step;
        step *= d.max(1) as isize;
    }
    strides
}

/// Resolves a possibly negative dimension; a 0-d tensor accepts 0 and -1.
pub fn dim(d: isize, ndim: usize) -> Result<usize> {
    let n = ndim.max(1) as isize;
    ensure!(
        -n <= d && d < n,
        Index,
        "",
        "dimension out of range: got {d}, expected one in [{}, {}] for a tensor of {ndim} dimensions",
        -n,
        n - 1
    );
    Ok(if d < 0 { d + n } else { d } as usize)
}

/// Resolves a list of dimensions; `None` or an empty list means all of them. Repeats are an error.
pub fn dim_list(list: Option<&[isize]>, ndim: usize) -> Result<SmallVec<[usize; 4]>> {
    let Some(list) = list.filter(|l| !l.is_empty()) else { return Ok((0..ndim).collect()) };
    let mut out = SmallVec::new();
    for &d in list {
        let d = dim(d, ndim)?;
        ensure!(!out.contains(&d), Value, "", "dimension {d} appears more than once in the list {list:?}");
        out.push(d);
    }
    if ndim == 0 {
        out.clear();
    }
    Ok(out)
}

/// The common shape of two broadcast operands.
pub fn broadcast(a: &[usize], b: &[usize]) -> Result<Dims> {
    if a == b {
        return Ok(Dims::from_slice(a));
    }
    let n = a.len().max(b.len());
    let mut out: Dims = SmallVec::from_elem(1, n);
    for (i, o) in out.iter_mut().enumerate() {
        let at = |s: &[usize]| (i + s.len()).checked_sub(n).map_or(1, |k| s[k]);
        let (x, y) = (at(a), at(b));
        *o = match (x, y) {
            (x, y) if x == y => x,
            (1, y) => y,
            (x, 1) => x,
            _ => bail!(
                Shape,
                "",
                "shapes {a:?} and {b:?} cannot be broadcast together: sizes {x} and {y} differ at dimension {i}; \
                 sizes must be equal or 1, counted from the last dimension"
            ),
        };
    }
    Ok(out)
}

/// Whether a tensor of shape `from` can be expanded to `to`.
pub fn can_expand(from: &[usize], to: &[usize]) -> bool {
    from.len() <= to.len() && from.iter().rev().zip(to.iter().rev()).all(|(&f, &t)| f == t || f == 1)
}

/// Replaces one -1 by what is left of `numel`.
pub fn infer_reshape(want: &[isize], numel: usize) -> Result<Dims> {
    let mut known = 1usize;
    let mut hole = None;
    for (i, &d) in want.iter().enumerate() {
        match d {
            -1 if hole.is_some() => bail!(Value, "", "only one dimension may be -1, got shape {want:?}"),
            -1 => hole = Some(i),
            d if d < 0 => bail!(Value, "", "invalid size {d} in shape {want:?}"),
            d => match known.checked_mul(d as usize) {
                Some(k) => known = k,
                None => bail!(Value, "", "shape {want:?} has more elements than can be addressed"),
            },
        }
    }
    let mut out: Dims = want.iter().map(|&d| d.max(0) as usize).collect();
    match hole {
        Some(i) if known != 0 && numel.is_multiple_of(known) => out[i] = numel / known,
        Some(_) if known == 0 && numel == 0 => {
            bail!(Value, "", "cannot infer the size of -1 in shape {want:?} for a tensor of 0 elements")
        }
        None if known == numel => {}
        _ => bail!(Shape, "", "shape {want:?} is invalid for a tensor of {numel} elements"),
    }
    Ok(out)
}

/// Shape of a reduction over `dims` (sorted or not).
pub fn reduced(dims: &[usize], over: &[usize], keepdim: bool) -> Dims {
    let size = |(i, &d): (usize, &usize)| match (over.contains(&i), keepdim) {
        (true, true) => Some(1),
        (true, false) => None,
        _ => Some(d),
    };
    dims.iter().enumerate().filter_map(size).collect()
}

/// Start, length and step of `start:stop:step` along a dimension of `size`, as Python slices do.
pub fn slice(
    size: usize,
    start: Option<isize>,
    stop: Option<isize>,
    step: isize,
) -> Result<(usize, usize, isize)> {
    ensure!(step != 0, Value, "slice", "the step of a slice cannot be zero, got 0");
    let n = size as isize;
    let clip =
        |v: isize, low: isize, high: isize| (if v < 0 { v.saturating_add(n) } else { v }).clamp(low, high);
    let (start, stop) = if step > 0 {
        (start.map_or(0, |v| clip(v, 0, n)), stop.map_or(n, |v| clip(v, 0, n)))
    } else {
        (start.map_or(n - 1, |v| clip(v, -1, n - 1)), stop.map_or(-1, |v| clip(v, -1, n - 1)))
    };
    let len = if step > 0 { (stop - start).max(0) } else { (start - stop).max(0) };
    let len = len.unsigned_abs().div_ceil(step.unsigned_abs());
    Ok((if len == 0 { 0 } else { start as usize }, len, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_pairs_sizes_from_the_last_dimension() {
        assert_eq!(broadcast(&[3, 1], &[2, 1, 4]).unwrap().as_slice(), [2, 3, 4]);
        assert_eq!(broadcast(&[0], &[1]).unwrap().as_slice(), [0]);
        assert!(broadcast(&[2], &[3]).is_err());
    }

    #[test]
    fn slices_follow_python() {
        for size in 0..5usize {
            for start in -6..6 {
                for stop in -6..6 {
                    for step in [-3, -1, 1, 2] {
                        let (s, n, k) = slice(size, Some(start), Some(stop), step).unwrap();
                        let got: Vec<isize> = (0..n as isize).map(|i| s as isize + i * k).collect();
                        let all: Vec<isize> = (0..size as isize).collect();
                        let norm = |v: isize, lo: isize, hi: isize| {
                            (if v < 0 { v + size as isize } else { v }).clamp(lo, hi)
                        };
                        let want: Vec<isize> = if step > 0 {
                            let (a, b) = (norm(start, 0, size as isize), norm(stop, 0, size as isize));
                            all.iter().copied().filter(|&i| i >= a && i < b && (i - a) % step == 0).collect()
                        } else {
                            let (a, b) =
                                (norm(start, -1, size as isize - 1), norm(stop, -1, size as isize - 1));
                            all.iter()
                                .rev()
                                .copied()
                                .filter(|&i| i <= a && i > b && (a - i) % -step == 0)
                                .collect()
                        };
                        assert_eq!(got, want, "{size} {start}:{stop}:{step}");
                    }
                }
            }
        }
    }

    #[test]
    fn reshape_infers_one_size() {
        assert_eq!(infer_reshape(&[2, -1], 6).unwrap().as_slice(), [2, 3]);
        assert!(infer_reshape(&[4, -1], 6).is_err());
        assert!(infer_reshape(&[-1, -1], 6).is_err());
        assert!(infer_reshape(&[0, -1], 0).is_err());
    }
}
