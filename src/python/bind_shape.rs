//! Movement and indexing under PyTorch's and NumPy's argument names.

use super::bind_reduce::{one_dim, pick, tuple};
use super::convert::{dims_arg, dtype_of, int_list, named_operand};
use super::door::{call, heavy};
use super::tensor::{PyTensor, tensor_of, wrap};
use crate::graph::Tensor;
use crate::ops;
use crate::{DType, Result, Scalar, shape};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

#[inline]
fn give<'py>(
    op: &'static str,
    py: Python<'py>,
    work: usize,
    f: impl FnOnce() -> Result<Tensor> + Send,
) -> PyResult<Bound<'py, PyTensor>> {
    wrap(py, heavy(py, work, || f().map_err(|e| e.renamed(op)))?)
}

fn dim_of(t: &Tensor, d: isize) -> Result<usize> {
    shape::dim(d, t.ndim())
}

/// Tensors of a sequence.
fn tensors(o: &Bound<'_, PyAny>, op: &str) -> PyResult<Vec<Tensor>> {
    if tensor_of(o).is_some() {
        return Err(PyTypeError::new_err(format!(
            "{op}(): argument 'tensors' must be tuple of Tensors, not Tensor"
        )));
    }
    o.try_iter()?
        .enumerate()
        .map(|(i, t)| {
            let t = t?;
            tensor_of(&t).cloned().ok_or_else(|| {
                let n = t.get_type().name().map(|n| n.to_string()).unwrap_or_default();
                PyTypeError::new_err(format!(
                    "{op}(): expected Tensor as element {i} in argument 0, but got {n}"
                ))
            })
        })
        .collect()
}

/// Joins tensors along a dimension.
#[pyfunction]
#[pyo3(signature = (tensors, dim=0, *, axis=None))]
fn cat<'py>(
    py: Python<'py>,
    tensors: &Bound<'py, PyAny>,
    dim: isize,
    axis: Option<isize>,
) -> PyResult<Bound<'py, PyTensor>> {
    let list = self::tensors(tensors, "cat")?;
    let work = list.iter().map(Tensor::numel).sum();
    give("cat", py, work, || ops::cat(&list.iter().collect::<Vec<_>>(), axis.unwrap_or(dim)))
}

/// As `cat`.
#[pyfunction]
#[pyo3(signature = (tensors, dim=0, *, axis=None))]
fn concat<'py>(
    py: Python<'py>,
    tensors: &Bound<'py, PyAny>,
    dim: isize,
    axis: Option<isize>,
) -> PyResult<Bound<'py, PyTensor>> {
    cat(py, tensors, dim, axis)
}

/// As `cat`.
#[pyfunction]
#[pyo3(signature = (tensors, dim=0, *, axis=None))]
fn concatenate<'py>(
    py: Python<'py>,
    tensors: &Bound<'py, PyAny>,
    dim: isize,
    axis: Option<isize>,
) -> PyResult<Bound<'py, PyTensor>> {
    cat(py, tensors, dim, axis)
}

/// Joins tensors of one shape along a new dimension.
#[pyfunction]
#[pyo3(signature = (tensors, dim=0, *, axis=None))]
fn stack<'py>(
    py: Python<'py>,
    tensors: &Bound<'py, PyAny>,
    dim: isize,
    axis: Option<isize>,
) -> PyResult<Bound<'py, PyTensor>> {
    let list = self::tensors(tensors, "stack")?;
    let work = list.iter().map(Tensor::numel).sum();
    give("stack", py, work, || ops::stack(&list.iter().collect::<Vec<_>>(), axis.unwrap_or(dim)))
}

/// Elements of `input` where `condition` holds, else of `other`; with the condition alone, indexes of its true elements.
#[pyfunction]
#[pyo3(name = "where", signature = (condition, input=None, other=None))]
fn where_<'py>(
    py: Python<'py>,
    condition: &PyTensor,
    input: Any<'_, 'py>,
    other: Any<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let c = &condition.inner;
    match (input, other) {
        (Some(a), Some(b)) => {
            let (a, b) = (named_operand("where", a, "input")?, named_operand("where", b, "other")?);
            Ok(give("where", py, c.numel(), || ops::where_(c, a.as_operand(), b.as_operand()))?.into_any())
        }
        (None, None) => nonzero_tuple(py, c).map(Bound::into_any),
        _ => Err(PyTypeError::new_err("where() takes either the condition alone or both input and other")),
    }
}

fn nonzero_tuple<'py>(py: Python<'py>, t: &Tensor) -> PyResult<Bound<'py, PyTuple>> {
    tuple("nonzero", py, || {
        let t = if t.ndim() == 0 { ops::reshape(t, &[1])? } else { t.clone() };
        ops::unbind(&ops::nonzero(&t)?, 1)
    })
}

/// Views of tensors broadcast to their common shape.
#[pyfunction]
#[pyo3(signature = (*tensors))]
fn broadcast_tensors<'py>(py: Python<'py>, tensors: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
    let list = self::tensors(tensors.as_any(), "broadcast_tensors")?;
    tuple("broadcast_tensors", py, || {
        let mut dims = shape::Dims::new();
        for t in &list {
            dims = shape::broadcast(&dims, &t.dims())?;
        }
        list.iter().map(|t| ops::expand(t, &dims)).collect()
    })
}

fn reshape_to(t: &Tensor, list: &[isize]) -> Result<shape::Dims> {
    shape::infer_reshape(list, t.numel())
}

fn expand_to(t: &Tensor, list: &[isize]) -> Result<Tensor> {
    let dims = t.dims();
    crate::ensure!(
        list.len() >= dims.len(),
        Shape,
        "expand",
        "the number of sizes provided ({}) must be greater or equal to the number of dimensions in the tensor ({})",
        list.len(),
        dims.len()
    );
    let lead = list.len() - dims.len();
    let mut out = shape::Dims::new();
    for (i, &s) in list.iter().enumerate() {
        out.push(match s {
            -1 if i >= lead => dims[i - lead],
            s if s < 0 => crate::bail!(
                Value,
                "expand",
                "size {s} isn't allowed in a leading, non-existing dimension {i}"
            ),
            s => s as usize,
        });
    }
    ops::expand(t, &out)
}

#[pymethods]
impl PyTensor {
    /// The same elements under another shape: a view where strides allow it, else a copy. One size may be -1.
    #[pyo3(signature = (*shape))]
    fn reshape<'py>(&self, py: Python<'py>, shape: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTensor>> {
        let list = int_list(shape)?;
        let t = &self.inner;
        give("reshape", py, t.numel(), || {
            ops::reshape(t, &reshape_to(t, &list).map_err(|e| e.in_op("reshape"))?)
        })
    }

    /// The shape of another tensor.
    fn reshape_as<'py>(&self, py: Python<'py>, other: &PyTensor) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        give("reshape_as", py, t.numel(), || ops::reshape(t, &other.inner.dims()))
    }

    /// The same memory under another shape; an error where strides do not allow it.
    #[pyo3(signature = (*shape))]
    fn view<'py>(&self, py: Python<'py>, shape: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTensor>> {
        if shape.len() == 1 && shape.get_item(0)?.cast::<super::convert::PyDType>().is_ok() {
            return Err(pyo3::exceptions::PyNotImplementedError::new_err(
                "view(dtype) is not supported; use to(dtype)",
            ));
        }
        let list = int_list(shape)?;
        let t = &self.inner;
        give("view", py, 0, || ops::view_as(t, &reshape_to(t, &list).map_err(|e| e.in_op("view"))?))
    }

    /// The shape of another tensor, as a view.
    fn view_as<'py>(&self, py: Python<'py>, other: &PyTensor) -> PyResult<Bound<'py, PyTensor>> {
        give("view_as", py, 0, || ops::view_as(&self.inner, &other.inner.dims()))
    }

    /// Two dimensions exchanged, as a view.
    #[pyo3(signature = (dim0, dim1))]
    fn transpose<'py>(&self, py: Python<'py>, dim0: isize, dim1: isize) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        give("transpose", py, 0, || ops::transpose(t, dim_of(t, dim0)?, dim_of(t, dim1)?))
    }

    /// As `transpose`.
    #[pyo3(signature = (axis0, axis1))]
    fn swapaxes<'py>(&self, py: Python<'py>, axis0: isize, axis1: isize) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        give("swapaxes", py, 0, || ops::transpose(t, dim_of(t, axis0)?, dim_of(t, axis1)?))
    }

    /// As `transpose`.
    #[pyo3(signature = (dim0, dim1))]
    fn swapdims<'py>(&self, py: Python<'py>, dim0: isize, dim1: isize) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        give("swapdims", py, 0, || ops::transpose(t, dim_of(t, dim0)?, dim_of(t, dim1)?))
    }

    /// Transpose of a matrix; a vector or number is itself.
    fn t<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        match t.ndim() {
            0 | 1 => give("t", py, 0, || ops::slice_whole(t)),
            2 => give("t", py, 0, || ops::transpose(t, 0, 1)),
            n => Err(PyRuntimeError::new_err(format!(
                "t() expects a tensor with <= 2 dimensions, but self is {n}D"
            ))),
        }
    }

    /// Dimensions in reverse order.
    #[getter(T)]
    fn big_t<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        give("T", py, 0, || ops::permute(t, &(0..t.ndim()).rev().collect::<Vec<_>>()))
    }

    /// Last two dimensions exchanged.
    #[getter(mT)]
    fn matrix_t<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        let n = t.ndim();
        if n < 2 {
            return Err(PyRuntimeError::new_err(format!(
                "tensor.mT is only supported on matrices or batches of them, got {n}-D"
            )));
        }
        give("mT", py, 0, || ops::transpose(t, n - 2, n - 1))
    }

    /// Dimensions reordered, as a view.
    #[pyo3(signature = (*args, dims=None))]
    fn permute<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        dims: Any<'_, 'py>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let list = match dims_arg(dims)? {
            Some(d) => d,
            None => int_list(args)?,
        };
        let t = &self.inner;
        give("permute", py, 0, || {
            crate::ensure!(
                list.len() == t.ndim(),
                Value,
                "permute",
                "number of dimensions in the tensor input does not match the length of the desired ordering of \
                 dimensions: {} is not equal to {}",
                t.ndim(),
                list.len()
            );
            let order: Vec<usize> = list.iter().map(|&d| dim_of(t, d)).collect::<Result<_>>()?;
            ops::permute(t, &order)
        })
    }

    /// Moves dimensions to other places, as a view.
    fn movedim<'py>(
        &self,
        py: Python<'py>,
        source: &Bound<'py, PyAny>,
        destination: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let (s, d) =
            (dims_arg(Some(source))?.unwrap_or_default(), dims_arg(Some(destination))?.unwrap_or_default());
        let t = &self.inner;
        give("movedim", py, 0, || {
            let (s, d) = (shape::dim_list(Some(&s), t.ndim())?, shape::dim_list(Some(&d), t.ndim())?);
            crate::ensure!(
                s.len() == d.len(),
                Value,
                "movedim",
                "got {} sources and {} destinations",
                s.len(),
                d.len()
            );
            let mut order: Vec<Option<usize>> = vec![None; t.ndim()];
            for (&s, &d) in s.iter().zip(&d) {
                order[d] = Some(s);
            }
            let mut rest = (0..t.ndim()).filter(|i| !s.contains(i));
            let order: Vec<usize> =
                order.into_iter().map(|o| o.or_else(|| rest.next()).unwrap_or(0)).collect();
            ops::permute(t, &order)
        })
    }

    /// As `movedim`.
    fn moveaxis<'py>(
        &self,
        py: Python<'py>,
        source: &Bound<'py, PyAny>,
        destination: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        self.movedim(py, source, destination)
    }

    /// Dimensions of size 1 dropped, all or those named.
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn squeeze<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        axis: Any<'_, 'py>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let list = dims_arg(pick(dim, axis)?)?;
        let t = &self.inner;
        give("squeeze", py, 0, || {
            let which: Vec<usize> = match list {
                None => (0..t.ndim()).collect(),
                Some(l) => l.iter().map(|&d| dim_of(t, d)).collect::<Result<_>>()?,
            };
            ops::squeeze(t, &which)
        })
    }

    /// A dimension of size 1 added, as a view.
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn unsqueeze<'py>(
        &self,
        py: Python<'py>,
        dim: Option<isize>,
        axis: Option<isize>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let Some(d) = dim.or(axis) else {
            return Err(PyTypeError::new_err("unsqueeze() missing required argument 'dim'"));
        };
        let t = &self.inner;
        give("unsqueeze", py, 0, || ops::unsqueeze(t, shape::dim(d, t.ndim() + 1)?))
    }

    /// Broadcast to a shape, as a view; -1 keeps a size.
    #[pyo3(signature = (*sizes))]
    fn expand<'py>(&self, py: Python<'py>, sizes: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTensor>> {
        let list = int_list(sizes)?;
        give("expand", py, 0, || expand_to(&self.inner, &list))
    }

    /// The shape of another tensor, by broadcasting.
    fn expand_as<'py>(&self, py: Python<'py>, other: &PyTensor) -> PyResult<Bound<'py, PyTensor>> {
        give("expand_as", py, 0, || ops::expand(&self.inner, &other.inner.dims()))
    }

    /// As `expand`.
    #[pyo3(signature = (*size))]
    fn broadcast_to<'py>(
        &self,
        py: Python<'py>,
        size: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let list = int_list(size)?;
        give("broadcast_to", py, 0, || expand_to(&self.inner, &list))
    }

    /// Summed down to a shape that could be broadcast to this one.
    #[pyo3(signature = (*size))]
    fn sum_to_size<'py>(
        &self,
        py: Python<'py>,
        size: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let dims = super::convert::shape_of(size)?;
        give("sum_to_size", py, self.inner.numel(), || ops::sum_to(&self.inner, &dims))
    }

    /// Merges dimensions from start_dim to end_dim into one.
    #[pyo3(signature = (start_dim=0, end_dim=-1))]
    fn flatten<'py>(
        &self,
        py: Python<'py>,
        start_dim: isize,
        end_dim: isize,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        give("flatten", py, t.numel(), || ops::flatten(t, dim_of(t, start_dim)?, dim_of(t, end_dim)?))
    }

    /// All elements in one dimension.
    fn ravel<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        give("ravel", py, t.numel(), || ops::reshape(t, &[t.numel()]))
    }

    /// Cuts a dimension into pieces of a size, or of several sizes.
    #[pyo3(signature = (split_size, dim=0, *, axis=None))]
    fn split<'py>(
        &self,
        py: Python<'py>,
        split_size: &Bound<'py, PyAny>,
        dim: isize,
        axis: Option<isize>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let t = &self.inner;
        let d = axis.unwrap_or(dim);
        if let Ok(n) = split_size.extract::<isize>() {
            if n < 0 {
                return Err(PyRuntimeError::new_err(format!(
                    "split expects split_size be non-negative, but got split_size={n}"
                )));
            }
            return tuple("split", py, || ops::split(t, n as usize, at(t, d, "split")?));
        }
        let sizes = super::convert::shape_of(&PyTuple::new(py, [split_size])?)?;
        tuple("split", py, || ops::split_sizes(t, &sizes, at(t, d, "split")?))
    }

    /// Cuts a dimension into pieces of the given sizes.
    #[pyo3(signature = (split_sizes, dim=0))]
    fn split_with_sizes<'py>(
        &self,
        py: Python<'py>,
        split_sizes: &Bound<'py, PyAny>,
        dim: isize,
    ) -> PyResult<Bound<'py, PyTuple>> {
        self.split(py, split_sizes, dim, None)
    }

    /// Cuts a dimension into at most `chunks` pieces of equal size.
    #[pyo3(signature = (chunks, dim=0, *, axis=None))]
    fn chunk<'py>(
        &self,
        py: Python<'py>,
        chunks: isize,
        dim: isize,
        axis: Option<isize>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let t = &self.inner;
        if chunks <= 0 {
            return Err(PyRuntimeError::new_err(format!(
                "chunk expects `chunks` to be greater than 0, got: {chunks}"
            )));
        }
        tuple("chunk", py, || ops::chunk(t, chunks as usize, at(t, axis.unwrap_or(dim), "chunk")?))
    }

    /// The slices along a dimension.
    #[pyo3(signature = (dim=0, *, axis=None))]
    fn unbind<'py>(&self, py: Python<'py>, dim: isize, axis: Option<isize>) -> PyResult<Bound<'py, PyTuple>> {
        let t = &self.inner;
        tuple("unbind", py, || ops::unbind(t, at(t, axis.unwrap_or(dim), "unbind")?))
    }

    /// Order of elements reversed along dimensions.
    #[pyo3(signature = (*args, dims=None, axis=None))]
    fn flip<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        dims: Any<'_, 'py>,
        axis: Any<'_, 'py>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let list = match pick(dims, axis)? {
            Some(a) => dims_arg(Some(a))?.unwrap_or_default(),
            None => int_list(args)?,
        };
        let t = &self.inner;
        give("flip", py, t.numel(), || {
            let which: Vec<usize> = if list.is_empty() {
                Vec::new()
            } else {
                shape::dim_list(Some(&list), t.ndim()).map_err(|e| e.in_op("flip"))?.to_vec()
            };
            ops::flip(t, &which)
        })
    }

    /// Elements shifted along dimensions; what leaves one end enters at the other.
    #[pyo3(signature = (shifts, dims=None, *, axis=None))]
    fn roll<'py>(
        &self,
        py: Python<'py>,
        shifts: &Bound<'py, PyAny>,
        dims: Any<'_, 'py>,
        axis: Any<'_, 'py>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let s = dims_arg(Some(shifts))?.unwrap_or_default();
        let d = dims_arg(pick(dims, axis)?)?;
        let t = &self.inner;
        give("roll", py, t.numel(), || match d {
            None => {
                let flat = ops::reshape(t, &[t.numel()])?;
                ops::reshape(&ops::roll(&flat, &s, &[0])?, &t.dims())
            }
            Some(d) => {
                let d: Vec<usize> = d.iter().map(|&d| dim_of(t, d)).collect::<Result<_>>()?;
                ops::roll(t, &s, &d)
            }
        })
    }

    /// Lower triangle of the last two dimensions.
    #[pyo3(signature = (diagonal=0))]
    fn tril<'py>(&self, py: Python<'py>, diagonal: isize) -> PyResult<Bound<'py, PyTensor>> {
        give("tril", py, self.inner.numel(), || ops::tril(&self.inner, diagonal))
    }

    /// Upper triangle of the last two dimensions.
    #[pyo3(signature = (diagonal=0))]
    fn triu<'py>(&self, py: Python<'py>, diagonal: isize) -> PyResult<Bound<'py, PyTensor>> {
        give("triu", py, self.inner.numel(), || ops::triu(&self.inner, diagonal))
    }

    /// A diagonal of two dimensions as the last one, as a view.
    #[pyo3(signature = (offset=0, dim1=0, dim2=1))]
    fn diagonal<'py>(
        &self,
        py: Python<'py>,
        offset: isize,
        dim1: isize,
        dim2: isize,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        give("diagonal", py, 0, || ops::diagonal(t, offset, dim_of(t, dim1)?, dim_of(t, dim2)?))
    }

    /// Repeats the tensor along each dimension.
    #[pyo3(signature = (*repeats))]
    fn repeat<'py>(&self, py: Python<'py>, repeats: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTensor>> {
        let list = super::convert::named_shape("repeat", repeats)?;
        give("repeat", py, self.inner.numel(), || ops::repeat(&self.inner, &list))
    }

    /// `length` slices from `start` along a dimension, as a view.
    fn narrow<'py>(
        &self,
        py: Python<'py>,
        dim: isize,
        start: isize,
        length: isize,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        give("narrow", py, 0, || {
            let d = dim_of(t, dim)?;
            let size = t.dims().get(d).copied().unwrap_or(0) as isize;
            let s = if start < 0 { start + size } else { start };
            crate::ensure!(length >= 0, Value, "narrow", "length must be non-negative, got {length}");
            crate::ensure!(
                s >= 0 && s + length <= size,
                Value,
                "narrow",
                "start ({start}) + length ({length}) exceeds dimension size ({size})"
            );
            ops::slice(t, d, s as usize, length as usize, 1)
        })
    }

    /// One index along a dimension, as a view.
    fn select<'py>(&self, py: Python<'py>, dim: isize, index: isize) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        give("select", py, 0, || ops::select(t, at(t, dim, "select")?, index))
    }

    /// A copy with history.
    #[pyo3(signature = (*, memory_format=None))]
    fn clone<'py>(&self, py: Python<'py>, memory_format: Any<'_, 'py>) -> PyResult<Bound<'py, PyTensor>> {
        let _ = memory_format;
        give("clone", py, self.inner.numel(), || ops::clone(&self.inner))
    }

    /// The tensor itself when its elements lie in row-major order, else a copy that does.
    #[pyo3(signature = (memory_format=None))]
    fn contiguous<'py>(
        &self,
        py: Python<'py>,
        memory_format: Any<'_, 'py>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let _ = memory_format;
        give("contiguous", py, self.inner.numel(), || ops::contiguous(&self.inner))
    }

    /// The tensor in another dtype; the tensor itself when nothing changes.
    #[pyo3(signature = (*args, dtype=None, device=None, copy=false, non_blocking=false, memory_format=None))]
    #[allow(clippy::too_many_arguments)]
    fn to<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        dtype: Any<'_, 'py>,
        device: Any<'_, 'py>,
        copy: bool,
        non_blocking: bool,
        memory_format: Any<'_, 'py>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let _ = (non_blocking, memory_format);
        let mut d = super::convert::opt_dtype(dtype)?;
        super::convert::check_device(device)?;
        for a in args.iter() {
            if let Some(t) = tensor_of(&a) {
                d = Some(t.dtype());
            } else if a.is_instance_of::<pyo3::types::PyString>()
                || a.hasattr("index")? && a.hasattr("type")?
            {
                super::convert::check_device(Some(&a))?;
            } else if !a.is_none() && !a.is_instance_of::<pyo3::types::PyBool>() {
                d = Some(dtype_of(&a)?);
            }
        }
        let d = d.unwrap_or(self.inner.dtype());
        self.cast_to(py, d, copy)
    }

    /// The dtype of another tensor, or a dtype.
    #[pyo3(name = "type_as")]
    fn type_as<'py>(&self, py: Python<'py>, other: &PyTensor) -> PyResult<Bound<'py, PyTensor>> {
        self.cast_to(py, other.inner.dtype(), false)
    }

    /// The tensor on the CPU: itself.
    fn cpu(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// In float32.
    fn float<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        self.cast_to(py, DType::F32, false)
    }
    /// In float64.
    fn double<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        self.cast_to(py, DType::F64, false)
    }
    /// In float16.
    fn half<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        self.cast_to(py, DType::F16, false)
    }
    /// In bfloat16.
    fn bfloat16<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        self.cast_to(py, DType::BF16, false)
    }
    /// In int32.
    fn int<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        self.cast_to(py, DType::I32, false)
    }
    /// In int64.
    fn long<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        self.cast_to(py, DType::I64, false)
    }
    /// In bool.
    fn bool<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        self.cast_to(py, DType::Bool, false)
    }
    /// In uint8.
    fn byte<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        self.cast_to(py, DType::U8, false)
    }

    // ---- indexes -------------------------------------------------------------------------------------------------

    /// Elements at index along a dimension, one a position of index.
    #[pyo3(signature = (dim, index, *, sparse_grad=false))]
    fn gather<'py>(
        &self,
        py: Python<'py>,
        dim: &Bound<'py, PyAny>,
        index: &PyTensor,
        sparse_grad: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let _ = sparse_grad;
        let t = &self.inner;
        let d = one_dim("gather", t, dim)?;
        give("gather", py, t.numel(), || ops::gather(t, d, &index.inner))
    }

    /// The tensor with src added at index along a dimension.
    fn scatter_add<'py>(
        &self,
        py: Python<'py>,
        dim: &Bound<'py, PyAny>,
        index: &PyTensor,
        src: &PyTensor,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        let d = one_dim("scatter_add", t, dim)?;
        give("scatter_add", py, t.numel(), || ops::scatter_add(t, d, &index.inner, &src.inner))
    }

    /// As `scatter_add`, in place.
    fn scatter_add_<'py>(
        slf: Bound<'py, Self>,
        dim: &Bound<'py, PyAny>,
        index: &PyTensor,
        src: &PyTensor,
    ) -> PyResult<Bound<'py, Self>> {
        let t = &slf.get().inner;
        let d = one_dim("scatter_add_", t, dim)?;
        call(slf.py(), || {
            ops::replace("scatter_add_", t, |t| ops::scatter_add(t, d, &index.inner, &src.inner))
        })?;
        Ok(slf)
    }

    /// The tensor with src (a tensor or a number) put at index along a dimension.
    #[pyo3(signature = (dim, index, src=None, *, value=None, reduce=None))]
    fn scatter<'py>(
        &self,
        py: Python<'py>,
        dim: &Bound<'py, PyAny>,
        index: &PyTensor,
        src: Any<'_, 'py>,
        value: Any<'_, 'py>,
        reduce: Option<&str>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        let d = one_dim("scatter", t, dim)?;
        let Some(s) = src.or(value) else {
            return Err(PyTypeError::new_err("scatter() missing required argument 'src'"));
        };
        let s = match named_operand("scatter", s, "src")? {
            super::convert::Owned::Tensor(s) => s,
            super::convert::Owned::Number(s) => call(py, || {
                Ok(Tensor::internal(crate::Array::scalar(s, t.dtype())?.expand(&index.inner.dims())?))
            })?,
        };
        match reduce {
            None => give("scatter", py, t.numel(), || ops::scatter(t, d, &index.inner, &s)),
            Some("add") => give("scatter", py, t.numel(), || ops::scatter_add(t, d, &index.inner, &s)),
            Some(r) => Err(pyo3::exceptions::PyNotImplementedError::new_err(format!(
                "scatter(reduce='{r}') is not supported"
            ))),
        }
    }

    /// Slices at index along a dimension.
    fn index_select<'py>(
        &self,
        py: Python<'py>,
        dim: &Bound<'py, PyAny>,
        index: &PyTensor,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        let d = one_dim("index_select", t, dim)?;
        give("index_select", py, t.numel(), || ops::index_select(t, d, &index.inner))
    }

    /// The tensor with alpha times source added to slices at index along a dimension.
    #[pyo3(signature = (dim, index, source, *, alpha=1.0))]
    fn index_add<'py>(
        &self,
        py: Python<'py>,
        dim: &Bound<'py, PyAny>,
        index: &PyTensor,
        source: &PyTensor,
        alpha: f64,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        let d = one_dim("index_add", t, dim)?;
        give("index_add", py, t.numel(), || ops::index_add(t, d, &index.inner, &source.inner, alpha))
    }

    /// As `index_add`, in place.
    #[pyo3(signature = (dim, index, source, *, alpha=1.0))]
    fn index_add_<'py>(
        slf: Bound<'py, Self>,
        dim: &Bound<'py, PyAny>,
        index: &PyTensor,
        source: &PyTensor,
        alpha: f64,
    ) -> PyResult<Bound<'py, Self>> {
        let t = &slf.get().inner;
        let d = one_dim("index_add_", t, dim)?;
        call(slf.py(), || {
            ops::replace("index_add_", t, |t| ops::index_add(t, d, &index.inner, &source.inner, alpha))
        })?;
        Ok(slf)
    }

    /// Elements where a bool mask holds.
    fn masked_select<'py>(&self, py: Python<'py>, mask: &PyTensor) -> PyResult<Bound<'py, PyTensor>> {
        give("masked_select", py, self.inner.numel(), || ops::masked_select(&self.inner, &mask.inner))
    }

    /// The tensor with a value where a bool mask holds.
    fn masked_fill<'py>(
        &self,
        py: Python<'py>,
        mask: &PyTensor,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let v = named_operand("masked_fill", value, "value")?;
        give("masked_fill", py, self.inner.numel(), || {
            ops::masked_fill(&self.inner, &mask.inner, v.as_operand())
        })
    }

    /// As `masked_fill`, in place.
    fn masked_fill_<'py>(
        slf: Bound<'py, Self>,
        mask: &PyTensor,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        let v = named_operand("masked_fill_", value, "value")?;
        let t = &slf.get().inner;
        call(slf.py(), || {
            ops::replace("masked_fill_", t, |t| ops::masked_fill(t, &mask.inner, v.as_operand()))
        })?;
        Ok(slf)
    }

    /// Indexes of the elements that are not zero, one row an element; or one tensor a dimension.
    #[pyo3(signature = (*, as_tuple=false))]
    fn nonzero<'py>(&self, py: Python<'py>, as_tuple: bool) -> PyResult<Bound<'py, PyAny>> {
        if as_tuple {
            return nonzero_tuple(py, &self.inner).map(Bound::into_any);
        }
        Ok(give("nonzero", py, self.inner.numel(), || ops::nonzero(&self.inner))?.into_any())
    }

    /// Elements at index along a dimension, or of the flattened tensor.
    #[pyo3(signature = (indices, dim=None, *, axis=None))]
    fn take_along_dim<'py>(
        &self,
        py: Python<'py>,
        indices: &PyTensor,
        dim: Option<isize>,
        axis: Option<isize>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let (t, i) = (&self.inner, &indices.inner);
        give("take_along_dim", py, t.numel(), || {
            let Some(d) = dim.or(axis) else {
                let flat = ops::reshape(t, &[t.numel()])?;
                return ops::gather(&flat, 0, &ops::reshape(i, &[i.numel()])?);
            };
            let d = dim_of(t, d)?;
            crate::ensure!(
                t.ndim() == i.ndim(),
                Shape,
                "take_along_dim",
                "input and indices should have the same number of dimensions, but got {} dimensions for input, and {} dimensions for indices",
                t.ndim(),
                i.ndim()
            );
            let size = t.dims().get(d).copied().unwrap_or(1) as i64;
            let back = ops::add(i, Scalar::Int(size))?;
            let i = &ops::where_(&ops::lt(i, Scalar::Int(0))?, &back, i)?;
            let (mut dt, mut di) = (t.dims(), i.dims());
            let (nt, ni) = (dt[d], di[d]);
            dt[d] = 1;
            di[d] = 1;
            let mut common = shape::broadcast(&dt, &di).map_err(|e| e.in_op("take_along_dim"))?;
            common[d] = nt;
            let wide = ops::expand(t, &common)?;
            common[d] = ni;
            ops::gather(&wide, d, &ops::expand(i, &common)?)
        })
    }

    /// Puts values at index tensors, one a dimension, in place.
    #[pyo3(signature = (indices, values, accumulate=false))]
    fn index_put_<'py>(
        slf: Bound<'py, Self>,
        indices: &Bound<'py, PyAny>,
        values: &PyTensor,
        accumulate: bool,
    ) -> PyResult<Bound<'py, Self>> {
        let list = index_tensors(indices)?;
        let t = &slf.get().inner;
        call(slf.py(), || ops::index_put_(t, &list, &values.inner, accumulate))?;
        Ok(slf)
    }

    /// The tensor with values put at index tensors, one a dimension.
    #[pyo3(signature = (indices, values, accumulate=false))]
    fn index_put<'py>(
        &self,
        py: Python<'py>,
        indices: &Bound<'py, PyAny>,
        values: &PyTensor,
        accumulate: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let list = index_tensors(indices)?;
        give("index_put", py, self.inner.numel(), || {
            ops::index_put(&self.inner, &list, &values.inner, accumulate)
        })
    }

    /// Elements of self where condition holds, else of other.
    #[pyo3(name = "where")]
    fn where_method<'py>(
        &self,
        py: Python<'py>,
        condition: &PyTensor,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let o = named_operand("where", other, "other")?;
        give("where", py, self.inner.numel(), || ops::where_(&condition.inner, &self.inner, o.as_operand()))
    }

    // ---- writes ---------------------------------------------------------------------------------------------------

    /// Copies src, broadcast and cast, over the tensor.
    #[pyo3(signature = (src, non_blocking=false))]
    fn copy_<'py>(
        slf: Bound<'py, Self>,
        src: &Bound<'py, PyAny>,
        non_blocking: bool,
    ) -> PyResult<Bound<'py, Self>> {
        let _ = non_blocking;
        let t = &slf.get().inner;
        match named_operand("copy_", src, "src")? {
            super::convert::Owned::Tensor(s) => heavy(slf.py(), t.numel(), || ops::copy_(t, &s))?,
            super::convert::Owned::Number(s) => call(slf.py(), || ops::fill_(t, s))?,
        }
        Ok(slf)
    }

    /// Sets every element to a number.
    fn fill_<'py>(slf: Bound<'py, Self>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let t = &slf.get().inner;
        match named_operand("fill_", value, "value")? {
            super::convert::Owned::Tensor(s) if s.ndim() == 0 => call(slf.py(), || ops::copy_(t, &s))?,
            super::convert::Owned::Tensor(s) => {
                return Err(PyRuntimeError::new_err(format!(
                    "fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.",
                    s.ndim()
                )));
            }
            super::convert::Owned::Number(s) => heavy(slf.py(), t.numel(), || ops::fill_(t, s))?,
        }
        Ok(slf)
    }

    /// Sets every element to zero.
    fn zero_(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let t = &slf.get().inner;
        heavy(slf.py(), t.numel(), || ops::zero_(t))?;
        Ok(slf)
    }

    /// Limits elements to bounds: numbers or tensors, either of which may be missing.
    #[pyo3(signature = (min=None, max=None, *, a_min=None, a_max=None))]
    fn clamp<'py>(
        &self,
        py: Python<'py>,
        min: Any<'_, 'py>,
        max: Any<'_, 'py>,
        a_min: Any<'_, 'py>,
        a_max: Any<'_, 'py>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        clamped("clamp", &self.inner, py, min.or(a_min), max.or(a_max)).and_then(|t| wrap(py, t))
    }

    /// As `clamp`.
    #[pyo3(signature = (min=None, max=None, *, a_min=None, a_max=None))]
    fn clip<'py>(
        &self,
        py: Python<'py>,
        min: Any<'_, 'py>,
        max: Any<'_, 'py>,
        a_min: Any<'_, 'py>,
        a_max: Any<'_, 'py>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        self.clamp(py, min, max, a_min, a_max)
    }

    /// Limits elements from below.
    fn clamp_min<'py>(&self, py: Python<'py>, min: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTensor>> {
        clamped("clamp_min", &self.inner, py, Some(min), None).and_then(|t| wrap(py, t))
    }

    /// Limits elements from above.
    fn clamp_max<'py>(&self, py: Python<'py>, max: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTensor>> {
        clamped("clamp_max", &self.inner, py, None, Some(max)).and_then(|t| wrap(py, t))
    }

    /// As `clamp`, in place.
    #[pyo3(signature = (min=None, max=None))]
    fn clamp_<'py>(
        slf: Bound<'py, Self>,
        min: Any<'_, 'py>,
        max: Any<'_, 'py>,
    ) -> PyResult<Bound<'py, Self>> {
        let t = &slf.get().inner;
        clamped_inplace("clamp_", t, slf.py(), min, max)?;
        Ok(slf)
    }

    /// As `clamp_min`, in place.
    fn clamp_min_<'py>(slf: Bound<'py, Self>, min: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        clamped_inplace("clamp_min_", &slf.get().inner, slf.py(), Some(min), None)?;
        Ok(slf)
    }

    /// As `clamp_max`, in place.
    fn clamp_max_<'py>(slf: Bound<'py, Self>, max: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        clamped_inplace("clamp_max_", &slf.get().inner, slf.py(), None, Some(max))?;
        Ok(slf)
    }

    /// As `tril`, in place.
    #[pyo3(signature = (diagonal=0))]
    fn tril_<'py>(slf: Bound<'py, Self>, diagonal: isize) -> PyResult<Bound<'py, Self>> {
        let t = &slf.get().inner;
        call(slf.py(), || ops::replace("tril_", t, |t| ops::tril(t, diagonal)))?;
        Ok(slf)
    }

    /// As `triu`, in place.
    #[pyo3(signature = (diagonal=0))]
    fn triu_<'py>(slf: Bound<'py, Self>, diagonal: isize) -> PyResult<Bound<'py, Self>> {
        let t = &slf.get().inner;
        call(slf.py(), || ops::replace("triu_", t, |t| ops::triu(t, diagonal)))?;
        Ok(slf)
    }

    /// As `cumsum`, in place.
    #[pyo3(signature = (dim, *, dtype=None))]
    fn cumsum_<'py>(
        slf: Bound<'py, Self>,
        dim: &Bound<'py, PyAny>,
        dtype: Any<'_, 'py>,
    ) -> PyResult<Bound<'py, Self>> {
        let t = &slf.get().inner;
        let d = one_dim("cumsum_", t, dim)?;
        let dtype = super::convert::opt_dtype(dtype)?.unwrap_or(t.dtype());
        call(slf.py(), || ops::replace("cumsum_", t, |t| ops::cumsum(t, d, Some(dtype))))?;
        Ok(slf)
    }

    /// As `cumprod`, in place.
    #[pyo3(signature = (dim, *, dtype=None))]
    fn cumprod_<'py>(
        slf: Bound<'py, Self>,
        dim: &Bound<'py, PyAny>,
        dtype: Any<'_, 'py>,
    ) -> PyResult<Bound<'py, Self>> {
        let t = &slf.get().inner;
        let d = one_dim("cumprod_", t, dim)?;
        let dtype = super::convert::opt_dtype(dtype)?.unwrap_or(t.dtype());
        call(slf.py(), || ops::replace("cumprod_", t, |t| ops::cumprod(t, d, Some(dtype))))?;
        Ok(slf)
    }

    /// As `scatter`, in place.
    #[pyo3(signature = (dim, index, src=None, *, value=None, reduce=None))]
    fn scatter_<'py>(
        slf: Bound<'py, Self>,
        dim: &Bound<'py, PyAny>,
        index: &PyTensor,
        src: Any<'_, 'py>,
        value: Any<'_, 'py>,
        reduce: Option<&str>,
    ) -> PyResult<Bound<'py, Self>> {
        let py = slf.py();
        let old = call(py, || {
            let t = &slf.get().inner;
            t.check_inplace("scatter_", true)?;
            ops::clone(t)
        })?;
        let r = PyTensor { inner: old }.scatter(py, dim, index, src, value, reduce)?;
        call(py, || ops::assign_as("scatter_", &slf.get().inner, &r.get().inner))?;
        Ok(slf)
    }

    /// Any sizes and strides over the tensor's storage, as a view.
    #[pyo3(signature = (size, stride, storage_offset=None))]
    fn as_strided<'py>(
        &self,
        py: Python<'py>,
        size: &Bound<'py, PyAny>,
        stride: &Bound<'py, PyAny>,
        storage_offset: Option<usize>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let dims = super::convert::shape_of(&PyTuple::new(py, [size])?)?;
        let strides = int_list(&PyTuple::new(py, [stride])?)?;
        let t = &self.inner;
        give("as_strided", py, 0, || {
            crate::ensure!(
                dims.len() == strides.len(),
                Value,
                "as_strided",
                "mismatch in length of strides and shape"
            );
            crate::ensure!(
                strides.iter().all(|&s| s >= 0),
                Value,
                "as_strided",
                "negative strides are not supported"
            );
            let base = t.with_layout(|l, _| l.clone());
            let offset = storage_offset.unwrap_or(base.offset);
            let part = shape::Layout { dims: dims.into(), strides: strides.into(), offset };
            ops::as_strided::op(t, base, part)
        })
    }

    /// Order of the first dimension reversed, as Python's `reversed` wants it.
    fn __reversed__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        give("flip", py, t.numel(), || if t.ndim() == 0 { ops::clone(t) } else { ops::flip(t, &[0]) })
    }
}

impl PyTensor {
    fn cast_to<'py>(&self, py: Python<'py>, d: DType, copy: bool) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        give("to", py, t.numel(), || if copy && d == t.dtype() { ops::clone(t) } else { ops::cast(t, d) })
    }
}

/// A dimension of a tensor that has dimensions.
fn at(t: &Tensor, d: isize, op: &'static str) -> Result<usize> {
    crate::ensure!(t.ndim() > 0, Index, op, "expects at least a 1-dimensional tensor");
    dim_of(t, d).map_err(|e| e.in_op(op))
}

fn index_tensors(o: &Bound<'_, PyAny>) -> PyResult<Vec<Option<Tensor>>> {
    o.try_iter()?
        .map(|i| {
            let i = i?;
            match tensor_of(&i) {
                Some(t) => Ok(Some(t.clone())),
                None if i.is_none() => Ok(None),
                None => Err(PyTypeError::new_err(format!(
                    "indices must be tensors, got {}",
                    i.get_type().name()?
                ))),
            }
        })
        .collect()
}

fn clamped<'py>(
    op: &'static str,
    t: &Tensor,
    py: Python<'py>,
    min: Any<'_, 'py>,
    max: Any<'_, 'py>,
) -> PyResult<Tensor> {
    let read =
        |o: Any<'_, 'py>, n: &str| o.filter(|o| !o.is_none()).map(|o| named_operand(op, o, n)).transpose();
    let (low, high) = (read(min, "min")?, read(max, "max")?);
    heavy(py, t.numel(), || {
        ops::clamp(t, low.as_ref().map(|o| o.as_operand()), high.as_ref().map(|o| o.as_operand()))
            .map_err(|e| e.renamed(op))
    })
}

fn clamped_inplace(
    op: &'static str,
    t: &Tensor,
    py: Python<'_>,
    min: Any<'_, '_>,
    max: Any<'_, '_>,
) -> PyResult<()> {
    let read =
        |o: Any<'_, '_>, n: &str| o.filter(|o| !o.is_none()).map(|o| named_operand(op, o, n)).transpose();
    let (low, high) = (read(min, "min")?, read(max, "max")?);
    call(py, || {
        ops::replace(op, t, |t| {
            ops::clamp(t, low.as_ref().map(|o| o.as_operand()), high.as_ref().map(|o| o.as_operand()))
        })
    })
}

/// Adds this module's functions.
pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    macro_rules! functions {
        ($($f:ident),*) => { $( m.add_function(wrap_pyfunction!($f, m)?)?; )* };
    }
    functions!(cat, concat, concatenate, stack, where_, broadcast_tensors);
    Ok(())
}
