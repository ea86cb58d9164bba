//! How a tensor's elements lie in its storage.

use super::{Dims, Strides, contiguous_strides, numel};
use crate::{Result, bail, ensure};
use smallvec::SmallVec;

/// Sizes, strides and the position of the first element, all in elements.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    /// Sizes.
    pub dims: Dims,
    /// Strides; negative ones walk backwards.
    pub strides: Strides,
    /// Position of the element with all indexes zero.
    pub offset: usize,
}

impl Clone for Layout {
    /// Copies slices whole: the derived form goes element by element.
    #[inline]
    fn clone(&self) -> Layout {
        Layout {
            dims: Dims::from_slice(&self.dims),
            strides: Strides::from_slice(&self.strides),
            offset: self.offset,
        }
    }
}

impl Layout {
    /// Row-major layout from position 0.
    pub fn contiguous(dims: &[usize]) -> Layout {
        Layout { dims: Dims::from_slice(dims), strides: contiguous_strides(dims), offset: 0 }
    }

    /// Number of dimensions.
    pub fn ndim(&self) -> usize {
        self.dims.len()
    }

    /// Number of elements.
    pub fn numel(&self) -> usize {
        numel(&self.dims)
    }

    /// Whether elements lie in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        let mut step = 1isize;
        for (&d, &s) in self.dims.iter().zip(&self.strides).rev() {
            if d != 1 {
                if s != step && d != 0 {
                    return self.numel() == 0;
                }
                step *= d as isize;
            }
        }
        true
    }

    /// Lowest and highest position of any element; `None` without elements.
    pub fn span(&self) -> Option<(usize, usize)> {
        if self.numel() == 0 {
            return None;
        }
        let (mut low, mut high) = (self.offset as isize, self.offset as isize);
        for (&d, &s) in self.dims.iter().zip(&self.strides) {
            let reach = (d as isize - 1) * s;
            if reach < 0 { low += reach } else { high += reach }
        }
        Some((low as usize, high as usize))
    }

    /// Whether two indexes may meet one element: a stride of 0 over more than one index, or strides that
    /// do not nest (checked conservatively).
    pub fn may_overlap(&self) -> bool {
        if self.numel() <= 1 {
            return false;
        }
        let mut axes: SmallVec<[(usize, usize); 4]> = SmallVec::new();
        for (&d, &s) in self.dims.iter().zip(&self.strides) {
            if d > 1 {
                axes.push((s.unsigned_abs(), d));
            }
        }
        axes.sort_unstable();
        let mut reach = 0usize;
        for (s, d) in axes {
            if s <= reach {
                return true;
            }
            reach += s * (d - 1);
        }
        false
    }

    /// Reorders dimensions; `order` must be a permutation.
    pub fn permute(&self, order: &[usize]) -> Layout {
        Layout {
            dims: order.iter().map(|&i| self.dims[i]).collect(),
            strides: order.iter().map(|&i| self.strides[i]).collect(),
            offset: self.offset,
        }
    }

    /// Takes `len` elements from `start` with `step` along a dimension, as [`super::slice`] gives them.
    pub fn slice(&self, dim: usize, start: usize, len: usize, step: isize) -> Layout {
        let mut l = self.clone();
        if len > 0 {
            l.offset = (l.offset as isize + start as isize * l.strides[dim]) as usize;
        }
        l.dims[dim] = len;
        l.strides[dim] *= step;
        l
    }

    /// Takes one index along a dimension and drops the dimension.
    pub fn select(&self, dim: usize, index: usize) -> Layout {
        let mut l = self.slice(dim, index, 1, 1);
        l.dims.remove(dim);
        l.strides.remove(dim);
        l
    }

    /// Adds a dimension of size 1 before `dim`.
    pub fn unsqueeze(&self, dim: usize) -> Layout {
        let mut l = self.clone();
        let stride = if dim < l.ndim() { l.strides[dim] * l.dims[dim] as isize } else { 1 };
        l.dims.insert(dim, 1);
        l.strides.insert(dim, stride);
        l
    }

    /// Drops the given dimensions where their size is 1.
    pub fn squeeze(&self, which: &[usize]) -> Layout {
        let keep = |i: usize| self.dims[i] != 1 || !which.contains(&i);
        let kept: SmallVec<[usize; 4]> = (0..self.ndim()).filter(|&i| keep(i)).collect();
        self.permute(&kept)
    }

    /// Broadcasts to `dims` with strides of 0.
    pub fn expand(&self, dims: &[usize]) -> Result<Layout> {
        ensure!(
            super::can_expand(&self.dims, dims),
            Shape,
            "",
            "shape {:?} cannot be expanded to {dims:?}: each size, counted from the last, must be equal or 1",
            self.dims.as_slice()
        );
        let lead = dims.len() - self.ndim();
        let stride = |i: usize| match i.checked_sub(lead) {
            Some(k) if self.dims[k] == dims[i] => self.strides[k],
            _ => 0,
        };
        Ok(Layout {
            dims: Dims::from_slice(dims),
            strides: (0..dims.len()).map(stride).collect::<Strides>(),
            offset: self.offset,
        })
    }

    /// The diagonal of two dimensions, `offset` above the main one, as a new last dimension.
    pub fn diagonal(&self, offset: isize, dim1: usize, dim2: usize) -> Result<Layout> {
        if dim1 == dim2 {
            bail!(Value, "diagonal", "the two dimensions must differ, both are {dim1}");
        }
        let (rows, cols) = (self.dims[dim1] as isize, self.dims[dim2] as isize);
        let len =
            if offset >= 0 { rows.min(cols - offset) } else { (rows + offset).min(cols) }.max(0) as usize;
        let mut l = self.clone();
        if len > 0 {
            let start = if offset >= 0 { offset * l.strides[dim2] } else { -offset * l.strides[dim1] };
            l.offset = (l.offset as isize + start) as usize;
        }
        let stride = l.strides[dim1] + l.strides[dim2];
        for d in [dim1.max(dim2), dim1.min(dim2)] {
            l.dims.remove(d);
            l.strides.remove(d);
        }
        l.dims.push(len);
        l.strides.push(stride);
        Ok(l)
    }

    /// The same elements in row-major order under another shape, when strides can express it.
    pub fn reshape(&self, dims: &[usize]) -> Option<Layout> {
        if numel(dims) != self.numel() {
            return None;
        }
        if self.is_contiguous() {
            return Some(Layout { offset: self.offset, ..Layout::contiguous(dims) });
        }
        // Old dimensions and new ones are cut into groups of equal size; a group of old ones must be one run.
        let old: SmallVec<[(usize, isize); 4]> =
            self.dims.iter().copied().zip(self.strides.iter().copied()).filter(|&(d, _)| d != 1).collect();
        let mut strides: Strides = SmallVec::from_elem(1, dims.len());
        let (mut o, mut n) = (0, 0);
        while o < old.len() && n < dims.len() {
            let (first_old, first_new) = (o, n);
            let (mut a, mut b) = (old[o].0, dims[n]);
            while a != b {
                if a < b {
                    o += 1;
                    a *= old[o].0;
                } else {
                    n += 1;
                    b *= dims[n];
                }
            }
            if old[first_old..=o].windows(2).any(|w| w[0].1 != w[1].1 * w[1].0 as isize) {
                return None;
            }
            let mut step = old[o].1;
            for k in (first_new..=n).rev() {
                strides[k] = step;
                step *= dims[k] as isize;
            }
            o += 1;
            n += 1;
        }
        Some(Layout { dims: Dims::from_slice(dims), strides, offset: self.offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reshape_keeps_the_order_of_elements_or_declines() {
        let base = Layout::contiguous(&[4, 1, 6]);
        assert!(base.permute(&[2, 1, 0]).reshape(&[24]).is_none());
        let stepped = base.slice(0, 0, 2, 2);
        assert_eq!(stepped.reshape(&[2, 2, 3]).unwrap().strides.as_slice(), [12, 3, 1]);
        assert!(stepped.reshape(&[12]).is_none());
        let column = base.slice(2, 1, 1, 1);
        assert_eq!(column.reshape(&[2, 2]).unwrap().strides.as_slice(), [12, 6]);
        assert_eq!(Layout::contiguous(&[]).reshape(&[1, 1]).unwrap().dims.as_slice(), [1, 1]);
    }

    #[test]
    fn overlap_is_seen_in_expanded_layouts_only() {
        let l = Layout::contiguous(&[3, 1]);
        assert!(!l.may_overlap());
        assert!(l.expand(&[3, 2]).unwrap().may_overlap());
        assert!(!Layout::contiguous(&[4, 6]).permute(&[1, 0]).may_overlap());
    }
}
