//! Arrays: a storage, a layout over it, and a dtype. No autograd here.
#![allow(unsafe_code)]

mod convert;
mod display;

pub use display::format;

use crate::dtype::{DType, Element, Scalar};
use crate::shape::{self, Dims, Layout};
use crate::storage::Storage;
use crate::{Result, bail, ensure, with_element};

/// A strided view of typed elements in a shared buffer. Cloning shares the buffer.
#[derive(Clone)]
pub struct Array {
    storage: Storage,
    layout: Layout,
    dtype: DType,
}

impl Array {
    /// A contiguous array of `dims` whose elements are not set.
    ///
    /// # Errors
    /// [`crate::Kind::Memory`] when there is no memory for it.
    #[inline]
    pub fn uninit(dims: &[usize], dtype: DType) -> Result<Array> {
        let n = if let [d] = dims { *d } else { shape::checked_numel(dims)? };
        ensure!(n <= isize::MAX as usize / 8, Memory, "", "a tensor of shape {dims:?} is too big");
        Ok(Array { storage: Storage::uninit(n * dtype.size())?, layout: Layout::contiguous(dims), dtype })
    }

    /// A contiguous array of zeros.
    ///
    /// # Errors
    /// As [`Array::uninit`].
    pub fn zeros(dims: &[usize], dtype: DType) -> Result<Array> {
        let a = Array::uninit(dims, dtype)?;
        // SAFETY: the buffer is new, unshared and this long; all-zero bytes are a value of every dtype.
        unsafe { a.ptr().write_bytes(0, a.storage.bytes()) };
        Ok(a)
    }

    /// A contiguous array filled with one number, cast as PyTorch casts.
    ///
    /// # Errors
    /// As [`Array::uninit`].
    pub fn full(dims: &[usize], value: Scalar, dtype: DType) -> Result<Array> {
        let a = Array::uninit(dims, dtype)?;
        a.fill(value);
        Ok(a)
    }

    /// A 0-d array.
    ///
    /// # Errors
    /// As [`Array::uninit`].
    pub fn scalar(value: Scalar, dtype: DType) -> Result<Array> {
        Array::full(&[], value, dtype)
    }

    /// A contiguous array with the elements of a slice in row-major order.
    ///
    /// # Errors
    /// As [`Array::uninit`]; [`crate::Kind::Shape`] when the slice has not as many elements as `dims`.
    pub fn from_slice<T: Element>(data: &[T], dims: &[usize]) -> Result<Array> {
        let n = shape::checked_numel(dims)?;
        ensure!(n == data.len(), Shape, "", "got {} elements for shape {dims:?}", data.len());
        let a = Array::uninit(dims, T::DTYPE)?;
        // SAFETY: the buffer is new, holds n elements of T, and cannot overlap the slice.
        unsafe { a.ptr().cast::<T>().copy_from_nonoverlapping(data.as_ptr(), data.len()) };
        Ok(a)
    }

    /// An array over existing memory.
    ///
    /// # Errors
    /// [`crate::Kind::Value`] when the layout reaches outside the storage.
    pub fn from_parts(storage: Storage, layout: Layout, dtype: DType) -> Result<Array> {
        if let Some((_, high)) = layout.span() {
            ensure!(
                (high + 1) * dtype.size() <= storage.bytes(),
                Value,
                "",
                "a layout of shape {:?}, strides {:?} and offset {} needs {} bytes, the storage has {}",
                layout.dims.as_slice(),
                layout.strides.as_slice(),
                layout.offset,
                (high + 1) * dtype.size(),
                storage.bytes()
            );
        }
        Ok(Array { storage, layout, dtype })
    }

    /// Sizes.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        &self.layout.dims
    }

    /// Strides in elements.
    #[inline]
    pub fn strides(&self) -> &[isize] {
        &self.layout.strides
    }

    /// Number of dimensions.
    #[inline]
    pub fn ndim(&self) -> usize {
        self.layout.dims.len()
    }

    /// Number of elements.
    #[inline]
    pub fn numel(&self) -> usize {
        self.layout.numel()
    }

    /// Bytes of the elements.
    pub fn nbytes(&self) -> usize {
        self.numel() * self.dtype.size()
    }

    /// Element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Sizes, strides and offset.
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The buffer.
    #[inline]
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Whether elements lie in row-major order without gaps.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// Address of the element with all indexes zero.
    #[inline]
    pub fn ptr(&self) -> *mut u8 {
        // SAFETY: the offset lies inside the storage, or the array has no elements and it is never read.
        unsafe { self.storage.as_ptr().add(self.layout.offset * self.dtype.size()) }
    }

    /// Whether this handle is the only one of its buffer, so that the buffer may be written over unseen.
    pub fn is_unique(&self) -> bool {
        self.storage.refs() == 1 && !self.storage.is_read_only()
    }

    /// The same buffer under another layout, which must stay inside the storage.
    pub fn with_layout(&self, layout: Layout) -> Array {
        debug_assert!(layout.span().is_none_or(|(_, h)| (h + 1) * self.dtype.size() <= self.storage.bytes()));
        Array { storage: self.storage.clone(), layout, dtype: self.dtype }
    }

    /// View with dimensions reordered.
    pub fn permute(&self, order: &[usize]) -> Array {
        self.with_layout(self.layout.permute(order))
    }

    /// View with two dimensions exchanged.
    pub fn swap(&self, a: usize, b: usize) -> Array {
        let mut l = self.layout.clone();
        l.dims.swap(a, b);
        l.strides.swap(a, b);
        self.with_layout(l)
    }

    /// View of `len` elements from `start` with `step` along a dimension.
    pub fn slice(&self, dim: usize, start: usize, len: usize, step: isize) -> Array {
        self.with_layout(self.layout.slice(dim, start, len, step))
    }

    /// View of one index along a dimension, without that dimension.
    pub fn select(&self, dim: usize, index: usize) -> Array {
        self.with_layout(self.layout.select(dim, index))
    }

    /// View broadcast to `dims`.
    ///
    /// # Errors
    /// [`crate::Kind::Shape`] when the shapes do not fit.
    pub fn expand(&self, dims: &[usize]) -> Result<Array> {
        if self.dims() == dims {
            return Ok(self.clone());
        }
        Ok(self.with_layout(self.layout.expand(dims)?))
    }

    /// View with a dimension of size 1 added.
    pub fn unsqueeze(&self, dim: usize) -> Array {
        self.with_layout(self.layout.unsqueeze(dim))
    }

    /// The same elements under another shape of the same size: a view where strides allow it, else a copy.
    ///
    /// # Errors
    /// [`crate::Kind::Memory`]; [`crate::Kind::Shape`] when the number of elements differs.
    pub fn reshape(&self, dims: &[usize]) -> Result<Array> {
        ensure!(
            shape::numel(dims) == self.numel(),
            Shape,
            "",
            "shape {dims:?} is invalid for a tensor of shape {:?} ({} elements)",
            self.dims(),
            self.numel()
        );
        match self.layout.reshape(dims) {
            Some(l) => Ok(self.with_layout(l)),
            None => Ok(Array { layout: Layout::contiguous(dims), ..self.copied()? }),
        }
    }

    /// This array if it is contiguous, else a contiguous copy.
    ///
    /// # Errors
    /// [`crate::Kind::Memory`].
    #[inline]
    pub fn contiguous(&self) -> Result<Array> {
        if self.is_contiguous() { Ok(self.clone()) } else { self.copied() }
    }

    /// A contiguous copy in a buffer of its own.
    ///
    /// # Errors
    /// [`crate::Kind::Memory`].
    pub fn copied(&self) -> Result<Array> {
        let out = Array::uninit(self.dims(), self.dtype)?;
        out.write(self);
        Ok(out)
    }

    /// This array if it has the dtype, else a contiguous copy in that dtype.
    ///
    /// # Errors
    /// [`crate::Kind::Memory`].
    pub fn cast(&self, dtype: DType) -> Result<Array> {
        if dtype == self.dtype {
            return Ok(self.clone());
        }
        let out = Array::uninit(self.dims(), dtype)?;
        out.write(self);
        Ok(out)
    }

    /// Copies `src`, broadcast and cast, over the elements of this array.
    ///
    /// # Errors
    /// [`crate::Kind::Shape`] when `src` cannot be broadcast to this shape; [`crate::Kind::Memory`].
    pub fn copy_from(&self, src: &Array) -> Result<()> {
        let src = src.expand(self.dims())?;
        if self.storage.same(&src.storage) {
            if self.layout != src.layout || self.dtype != src.dtype {
                self.write(&src.copied()?);
            }
        } else {
            self.write(&src);
        }
        Ok(())
    }

    /// The elements in row-major order, cast to `T`.
    ///
    /// # Errors
    /// [`crate::Kind::Memory`].
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let a = self.cast(T::DTYPE)?.contiguous()?;
        // SAFETY: the array is contiguous and holds numel elements of T, all set.
        Ok(unsafe { std::slice::from_raw_parts(a.ptr().cast::<T>(), a.numel()) }.to_vec())
    }

    /// The number at a position given by its indexes.
    pub fn at(&self, index: &[usize]) -> Scalar {
        let shift: isize = index.iter().zip(self.strides()).map(|(&i, s)| i as isize * s).sum();
        assert!(
            index.len() == self.ndim() && index.iter().zip(self.dims()).all(|(i, d)| i < d),
            "index in range"
        );
        // SAFETY: the indexes were just checked against the sizes.
        with_element!(self.dtype, T => unsafe { self.ptr().cast::<T>().offset(shift).read() }.to_scalar())
    }

    /// The number in an array of one element.
    ///
    /// # Errors
    /// [`crate::Kind::Graph`] when there is not exactly one.
    pub fn item(&self) -> Result<Scalar> {
        if self.numel() != 1 {
            bail!(
                Graph,
                "item",
                "a tensor of {} elements (shape {:?}) cannot be converted to a number; it must have exactly one",
                self.numel(),
                self.dims()
            );
        }
        // SAFETY: there is one element, at the offset.
        Ok(with_element!(self.dtype, T => unsafe { self.ptr().cast::<T>().read() }.to_scalar()))
    }
}

impl std::fmt::Debug for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&format(
            self,
            &display::PrintOptions::default(),
            "array(",
            &format!(", dtype={})", self.dtype),
        ))
    }
}

/// Common shape of several operands.
///
/// # Errors
/// [`crate::Kind::Shape`] when they cannot be broadcast together.
pub fn broadcast_dims(arrays: &[&Array]) -> Result<Dims> {
    let mut dims = Dims::new();
    for a in arrays {
        dims = shape::broadcast(&dims, a.dims())?;
    }
    Ok(dims)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_share_and_copies_do_not() {
        let a = Array::from_slice(&[0f32, 1., 2., 3., 4., 5.], &[2, 3]).unwrap();
        let t = a.permute(&[1, 0]);
        assert!(t.storage().same(a.storage()));
        assert_eq!(t.to_vec::<f32>().unwrap(), [0., 3., 1., 4., 2., 5.]);
        let flat = t.reshape(&[6]).unwrap();
        assert!(!flat.storage().same(a.storage()));
        a.slice(1, 2, 3, -1).fill(Scalar::Int(7));
        assert_eq!(a.to_vec::<i64>().unwrap(), [7; 6]);
    }

    #[test]
    fn casts_go_through_every_pair_of_dtypes() {
        for from in DType::ALL {
            let a = Array::from_slice(&[0f64, 1., 1., 0.], &[2, 2]).unwrap().cast(from).unwrap();
            for to in DType::ALL {
                let b = a.permute(&[1, 0]).cast(to).unwrap();
                assert_eq!(b.to_vec::<f64>().unwrap(), [0., 1., 1., 0.], "{from} {to}");
            }
        }
    }

    #[test]
    fn a_copy_onto_an_overlapping_view_reads_before_it_writes() {
        let a = Array::from_slice(&[1i64, 2, 3, 4], &[4]).unwrap();
        a.slice(0, 1, 3, 1).copy_from(&a.slice(0, 0, 3, 1)).unwrap();
        assert_eq!(a.to_vec::<i64>().unwrap(), [1, 1, 2, 3]);
    }
}
