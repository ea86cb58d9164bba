//! New tensors.

use crate::dtype::{DType, Scalar};
use crate::graph::Tensor;
use crate::kernels::join;
use crate::{Array, Result};

/// A tensor of zeros.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn zeros(dims: &[usize], dtype: DType) -> Result<Tensor> {
    Ok(Tensor::new(Array::zeros(dims, dtype)?))
}

/// A tensor of ones.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn ones(dims: &[usize], dtype: DType) -> Result<Tensor> {
    full(dims, Scalar::Int(1), dtype)
}

/// A tensor filled with one number.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn full(dims: &[usize], value: Scalar, dtype: DType) -> Result<Tensor> {
    Ok(Tensor::new(Array::full(dims, value, dtype)?))
}

/// A matrix with ones on the diagonal.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn eye(n: usize, m: usize, dtype: DType) -> Result<Tensor> {
    Ok(Tensor::new(join::eye(n, m, dtype)?))
}

/// A tensor with the elements of a slice.
///
/// # Errors
/// [`crate::Kind::Shape`] when the slice has not as many elements as `dims`; [`crate::Kind::Memory`].
pub fn from_slice<T: crate::dtype::Element>(data: &[T], dims: &[usize]) -> Result<Tensor> {
    Ok(Tensor::new(Array::from_slice(data, dims)?))
}
