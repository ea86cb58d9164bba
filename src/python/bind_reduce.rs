//! Reductions and scans under PyTorch's and NumPy's argument names.

use super::convert::{dims_arg, opt_dtype};
use super::door::{call, heavy};
use super::tensor::{PyTensor, fresh, give_tuple, tensor_of, wrap};
use crate::graph::Tensor;
use crate::{Result, ops, shape};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// The dimensions to reduce, resolved: none means all.
fn over(op: &'static str, t: &Tensor, dim: Any<'_, '_>, axis: Any<'_, '_>) -> PyResult<Vec<usize>> {
    let list = dims_arg(pick(dim, axis)?)?;
    let py = dim.or(axis).map(|o| o.py());
    match (list, py) {
        (Some(l), Some(py)) => {
            call(py, || Ok(shape::dim_list(Some(&l), t.ndim()).map_err(|e| e.in_op(op))?.to_vec()))
        }
        _ => Ok((0..t.ndim()).collect()),
    }
}

/// One of two names of an argument.
pub fn pick<'a, 'py>(a: Any<'a, 'py>, b: Any<'a, 'py>) -> PyResult<Any<'a, 'py>> {
    match (a, b) {
        (Some(_), Some(_)) => Err(PyTypeError::new_err("got both dim and axis; they are one argument")),
        (a, b) => Ok(a.or(b)),
    }
}

/// One dimension, resolved.
pub fn one_dim(op: &'static str, t: &Tensor, dim: &Bound<'_, PyAny>) -> PyResult<usize> {
    let d: isize = dim.extract().map_err(|_| {
        let n = dim.get_type().name().map(|n| n.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!("[{op}] dim must be an integer, got {n}"))
    })?;
    call(dim.py(), || shape::dim(d, t.ndim()).map_err(|e| e.in_op(op)))
}

fn need<'a, 'py>(dim: Any<'a, 'py>, axis: Any<'a, 'py>, op: &str) -> PyResult<&'a Bound<'py, PyAny>> {
    pick(dim, axis)?.ok_or_else(|| PyTypeError::new_err(format!("{op}() missing required argument 'dim'")))
}

fn reduce<'py>(
    slf: &PyTensor,
    py: Python<'py>,
    dims: Vec<usize>,
    f: impl FnOnce(&Tensor, &[usize]) -> Result<Tensor> + Send,
) -> PyResult<Bound<'py, PyTensor>> {
    let t = &slf.inner;
    let r =
        heavy(py, t.numel(), || if dims.is_empty() && t.ndim() > 0 { ops::clone(t) } else { f(t, &dims) })?;
    fresh(py, r)
}

/// A pair of results with names, as in `values, indices`.
fn pair<'py>(
    py: Python<'py>,
    name: &str,
    a: Bound<'py, PyTensor>,
    b: Bound<'py, PyTensor>,
) -> PyResult<Bound<'py, PyAny>> {
    let class = py.import("rgrad._returns")?.getattr(name)?;
    class.call1((a, b))
}

#[pymethods]
impl PyTensor {
    /// Sum over dimensions, all by default. Bools and integers give int64 unless dtype says otherwise.
    #[pyo3(signature = (dim=None, keepdim=false, *, dtype=None, axis=None, keepdims=false))]
    fn sum<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        keepdim: bool,
        dtype: Any<'_, 'py>,
        axis: Any<'_, 'py>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let d = opt_dtype(dtype)?;
        let dims = over("sum", &self.inner, dim, axis)?;
        let t = &self.inner;
        fresh(py, heavy(py, t.numel(), || ops::sum(t, &dims, keepdim | keepdims, d))?)
    }

    /// Mean over dimensions, all by default.
    #[pyo3(signature = (dim=None, keepdim=false, *, dtype=None, axis=None, keepdims=false))]
    fn mean<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        keepdim: bool,
        dtype: Any<'_, 'py>,
        axis: Any<'_, 'py>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let d = opt_dtype(dtype)?;
        let dims = over("mean", &self.inner, dim, axis)?;
        let t = &self.inner;
        fresh(py, heavy(py, t.numel(), || ops::mean(t, &dims, keepdim | keepdims, d))?)
    }

    /// Variance over dimensions, all by default: squared distances from the mean divided by the count less correction.
    #[pyo3(signature = (dim=None, unbiased=None, keepdim=false, *, correction=None, axis=None, keepdims=false))]
    #[allow(clippy::too_many_arguments)]
    fn var<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        unbiased: Option<bool>,
        keepdim: bool,
        correction: Option<f64>,
        axis: Any<'_, 'py>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let (dim, c) = spread(dim, unbiased, correction)?;
        let dims = over("var", &self.inner, dim, axis)?;
        reduce(self, py, dims, |t, d| ops::var(t, d, keepdim | keepdims, c))
    }

    /// Standard deviation: the square root of the variance.
    #[pyo3(signature = (dim=None, unbiased=None, keepdim=false, *, correction=None, axis=None, keepdims=false))]
    #[allow(clippy::too_many_arguments)]
    fn std<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        unbiased: Option<bool>,
        keepdim: bool,
        correction: Option<f64>,
        axis: Any<'_, 'py>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let (dim, c) = spread(dim, unbiased, correction)?;
        let dims = over("std", &self.inner, dim, axis)?;
        reduce(self, py, dims, |t, d| ops::std(t, d, keepdim | keepdims, c))
    }

    /// Greatest elements over dimensions, all by default; equal ones share the gradient.
    #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false))]
    fn amax<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        keepdim: bool,
        axis: Any<'_, 'py>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let dims = over("amax", &self.inner, dim, axis)?;
        reduce(self, py, dims, |t, d| ops::amax(t, d, keepdim | keepdims))
    }

    /// Least elements over dimensions, all by default; equal ones share the gradient.
    #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false))]
    fn amin<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        keepdim: bool,
        axis: Any<'_, 'py>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let dims = over("amin", &self.inner, dim, axis)?;
        reduce(self, py, dims, |t, d| ops::amin(t, d, keepdim | keepdims))
    }

    /// Greatest element; with dim, greatest elements along it and their indexes; with a tensor, the greater of the two.
    #[pyo3(signature = (dim=None, keepdim=false, *, other=None, axis=None, keepdims=false))]
    fn max<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        keepdim: bool,
        other: Any<'_, 'py>,
        axis: Any<'_, 'py>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        extreme(self, py, pick(dim, axis)?, keepdim | keepdims, other, true)
    }

    /// Least element; with dim, least elements along it and their indexes; with a tensor, the lesser of the two.
    #[pyo3(signature = (dim=None, keepdim=false, *, other=None, axis=None, keepdims=false))]
    fn min<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        keepdim: bool,
        other: Any<'_, 'py>,
        axis: Any<'_, 'py>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        extreme(self, py, pick(dim, axis)?, keepdim | keepdims, other, false)
    }

    /// Index of the greatest element, along a dimension or of the flattened tensor.
    #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false))]
    fn argmax<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        keepdim: bool,
        axis: Any<'_, 'py>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        arg_extreme(self, py, pick(dim, axis)?, keepdim | keepdims, true)
    }

    /// Index of the least element, along a dimension or of the flattened tensor.
    #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false))]
    fn argmin<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        keepdim: bool,
        axis: Any<'_, 'py>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        arg_extreme(self, py, pick(dim, axis)?, keepdim | keepdims, false)
    }

    /// `ln Σ e^x` over dimensions, without overflow.
    #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false))]
    fn logsumexp<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        keepdim: bool,
        axis: Any<'_, 'py>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let dims = over("logsumexp", &self.inner, Some(need(dim, axis, "logsumexp")?), None)?;
        let t = &self.inner;
        fresh(py, heavy(py, t.numel() * 8, || ops::logsumexp(t, &dims, keepdim | keepdims))?)
    }

    /// Product of all elements, or along one dimension.
    #[pyo3(signature = (dim=None, keepdim=false, *, dtype=None, axis=None, keepdims=false))]
    fn prod<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        keepdim: bool,
        dtype: Any<'_, 'py>,
        axis: Any<'_, 'py>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let d = pick(dim, axis)?.map(|d| one_dim("prod", &self.inner, d)).transpose()?;
        let dtype = opt_dtype(dtype)?;
        let t = &self.inner;
        fresh(py, heavy(py, t.numel(), || ops::prod(t, d, keepdim | keepdims, dtype))?)
    }

    /// Running sum along a dimension.
    #[pyo3(signature = (dim=None, *, dtype=None, axis=None))]
    fn cumsum<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        dtype: Any<'_, 'py>,
        axis: Any<'_, 'py>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let d = one_dim("cumsum", &self.inner, need(dim, axis, "cumsum")?)?;
        let dtype = opt_dtype(dtype)?;
        let t = &self.inner;
        fresh(py, heavy(py, t.numel(), || ops::cumsum(t, d, dtype))?)
    }

    /// Running product along a dimension.
    #[pyo3(signature = (dim=None, *, dtype=None, axis=None))]
    fn cumprod<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        dtype: Any<'_, 'py>,
        axis: Any<'_, 'py>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let d = one_dim("cumprod", &self.inner, need(dim, axis, "cumprod")?)?;
        let dtype = opt_dtype(dtype)?;
        let t = &self.inner;
        fresh(py, heavy(py, t.numel(), || ops::cumprod(t, d, dtype))?)
    }

    /// Whether any element over dimensions is true.
    #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false))]
    fn any<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        keepdim: bool,
        axis: Any<'_, 'py>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let dims = over("any", &self.inner, dim, axis)?;
        let t = &self.inner;
        fresh(py, heavy(py, t.numel(), || ops::any(t, &dims, keepdim | keepdims))?)
    }

    /// Whether all elements over dimensions are true.
    #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false))]
    fn all<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        keepdim: bool,
        axis: Any<'_, 'py>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let dims = over("all", &self.inner, dim, axis)?;
        let t = &self.inner;
        fresh(py, heavy(py, t.numel(), || ops::all(t, &dims, keepdim | keepdims))?)
    }

    /// Number of elements over dimensions that are not zero.
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn count_nonzero<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        axis: Any<'_, 'py>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let dims = over("count_nonzero", &self.inner, dim, axis)?;
        let t = &self.inner;
        fresh(py, heavy(py, t.numel(), || ops::count_nonzero(t, &dims))?)
    }

    /// Whether two tensors have the same shape and equal elements.
    fn equal(&self, py: Python<'_>, other: &Bound<'_, PyTensor>) -> PyResult<bool> {
        let (a, b) = (&self.inner, &other.get().inner);
        if a.dims() != b.dims() {
            return Ok(false);
        }
        call(py, || Ok(ops::all(&ops::eq(a, b)?, &[], false)?.array()?.item()?.as_bool()))
    }
}

/// `unbiased` and `correction` are one argument; a bool in the place of `dim` is `unbiased`.
fn spread<'a, 'py>(
    dim: Any<'a, 'py>,
    unbiased: Option<bool>,
    correction: Option<f64>,
) -> PyResult<(Any<'a, 'py>, f64)> {
    let (dim, unbiased) = match dim {
        Some(d) if d.is_instance_of::<pyo3::types::PyBool>() => (None, Some(d.extract::<bool>()?)),
        d => (d, unbiased),
    };
    match (unbiased, correction) {
        (Some(_), Some(_)) => {
            Err(PyTypeError::new_err("got both unbiased and correction; they are one argument"))
        }
        (Some(u), None) => Ok((dim, u as u8 as f64)),
        (None, c) => Ok((dim, c.unwrap_or(1.0))),
    }
}

fn extreme<'py>(
    slf: &PyTensor,
    py: Python<'py>,
    dim: Any<'_, 'py>,
    keepdim: bool,
    other: Any<'_, 'py>,
    greatest: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let t = &slf.inner;
    let other = match (dim, other) {
        (Some(d), None) if tensor_of(d).is_some() => tensor_of(d),
        (None, Some(o)) => tensor_of(o),
        _ => None,
    };
    if let Some(o) = other {
        let r = heavy(py, t.numel(), || if greatest { ops::maximum(t, o) } else { ops::minimum(t, o) })?;
        return Ok(fresh(py, r)?.into_any());
    }
    match dim {
        None if t.numel() == 0 => Err(pyo3::exceptions::PyRuntimeError::new_err(format!(
            "[{}] expected a tensor with elements or a dim, got one of shape {:?}",
            if greatest { "max" } else { "min" },
            t.dims().as_slice()
        ))),
        None => {
            let r = heavy(py, t.numel(), || {
                if greatest { ops::amax(t, &[], false) } else { ops::amin(t, &[], false) }
            })?;
            Ok(fresh(py, r)?.into_any())
        }
        Some(d) => {
            let d = one_dim(if greatest { "max" } else { "min" }, t, d)?;
            let (v, i) = heavy(py, t.numel(), || ops::max_min_dim(t, d, keepdim, greatest))?;
            pair(py, if greatest { "max" } else { "min" }, wrap(py, v)?, wrap(py, i)?)
        }
    }
}

fn arg_extreme<'py>(
    slf: &PyTensor,
    py: Python<'py>,
    dim: Any<'_, 'py>,
    keepdim: bool,
    greatest: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let t = &slf.inner;
    let op = if greatest { "argmax" } else { "argmin" };
    let d = dim.filter(|d| !d.is_none()).map(|d| one_dim(op, t, d)).transpose()?;
    fresh(py, heavy(py, t.numel(), || ops::arg_max_min(t, d, keepdim, greatest))?)
}

/// Wraps a list of tensors.
pub fn tuple<'py>(
    op: &'static str,
    py: Python<'py>,
    f: impl FnOnce() -> Result<Vec<Tensor>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let list = call(py, || f().map_err(|e| e.in_op(op)))?;
    give_tuple(py, list)
}
