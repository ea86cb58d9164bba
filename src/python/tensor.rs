//! The class `Tensor`: a handle of a core tensor.
#![allow(unsafe_code)]

use super::convert::{dtype_object, shape_object};
use super::door::{call, to_py};
use crate::graph::Tensor;
use crate::ops;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyUserWarning};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use std::sync::atomic::Ordering;

/// A multi-dimensional array of one dtype that records the operations on it.
///
/// Made by `tensor`, `zeros`, `from_numpy` and the like, and by every operation.
#[pyclass(name = "Tensor", module = "rgrad", frozen, subclass, weakref, dict)]
pub struct PyTensor {
    pub(crate) inner: Tensor,
}

impl Drop for PyTensor {
    fn drop(&mut self) {
        self.inner.host().store(std::ptr::null_mut(), Ordering::Relaxed);
    }
}

/// The Python object of a tensor: the one that there is, or a new one.
#[inline]
pub fn wrap<'py>(py: Python<'py>, t: Tensor) -> PyResult<Bound<'py, PyTensor>> {
    let p = t.host().load(Ordering::Relaxed).cast::<ffi::PyObject>();
    if !p.is_null() {
        // SAFETY: the pointer is that of the live wrapper, which clears it when it dies; both happen with the
        // interpreter lock held. A wrapper whose count is zero is dying and is not revived.
        unsafe {
            if ffi::Py_REFCNT(p) > 0 {
                return Ok(Bound::from_borrowed_ptr(py, p).cast_into_unchecked::<PyTensor>());
            }
        }
    }
    fresh(py, t)
}

/// A new Python object for a tensor that has none.
#[inline]
pub fn fresh<'py>(py: Python<'py>, t: Tensor) -> PyResult<Bound<'py, PyTensor>> {
    let b = Bound::new(py, PyTensor { inner: t })?;
    b.get().inner.host().store(b.as_ptr().cast(), Ordering::Relaxed);
    Ok(b)
}

/// Wraps the result of a call of the core.
#[inline]
pub fn give<'py>(
    py: Python<'py>,
    f: impl FnOnce() -> crate::Result<Tensor>,
) -> PyResult<Bound<'py, PyTensor>> {
    let t = call(py, f)?;
    wrap(py, t)
}

/// Wraps several tensors as a tuple.
pub fn give_tuple<'py>(py: Python<'py>, list: Vec<Tensor>) -> PyResult<Bound<'py, PyTuple>> {
    let items: Vec<Bound<'py, PyTensor>> = list.into_iter().map(|t| wrap(py, t)).collect::<PyResult<_>>()?;
    PyTuple::new(py, items)
}

/// Whether an object is a tensor, and its core.
#[inline]
pub fn tensor_of<'a>(o: &'a Bound<'_, PyAny>) -> Option<&'a Tensor> {
    match o.cast_exact::<PyTensor>() {
        Ok(t) => Some(&t.get().inner),
        Err(_) => o.cast::<PyTensor>().ok().map(|t| &t.get().inner),
    }
}

#[pymethods]
impl PyTensor {
    #[new]
    #[pyo3(signature = (data=None, *, dtype=None, device=None, requires_grad=false, _share=false))]
    fn new(
        py: Python<'_>,
        data: Option<&Bound<'_, PyAny>>,
        dtype: Option<&Bound<'_, PyAny>>,
        device: Option<&Bound<'_, PyAny>>,
        requires_grad: bool,
        _share: bool,
    ) -> PyResult<PyTensor> {
        super::convert::check_device(device)?;
        let inner = match data {
            Some(d) if _share => {
                let Some(t) = tensor_of(d) else {
                    return Err(PyTypeError::new_err("only a tensor's memory can be shared"));
                };
                call(py, || t.detach())?
            }
            Some(d) => super::convert::tensor_from(d, dtype)?,
            None => call(py, || ops::zeros(&[0], ops::default_dtype()))?,
        };
        if requires_grad {
            call(py, || inner.set_requires_grad(true))?;
        }
        Ok(PyTensor { inner })
    }

    /// A tensor of a subclass that shares the memory of `data`.
    #[staticmethod]
    #[pyo3(signature = (cls, data, requires_grad=false))]
    fn _make_subclass<'py>(
        cls: &Bound<'py, PyType>,
        data: &Bound<'py, PyTensor>,
        requires_grad: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = cls.py();
        if !cls.is_subclass_of::<PyTensor>()? {
            return Err(PyTypeError::new_err("cls must be a subclass of Tensor"));
        }
        let options = pyo3::types::PyDict::new(py);
        options.set_item("_share", true)?;
        options.set_item("requires_grad", requires_grad)?;
        let object = py.get_type::<PyTensor>().getattr("__new__")?.call((cls, data), Some(&options))?;
        let b = object.cast::<PyTensor>()?;
        b.get().inner.host().store(b.as_ptr().cast(), Ordering::Relaxed);
        Ok(object)
    }

    /// Sizes of the dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        shape_object(py, &self.inner.dims())
    }

    /// Sizes of the dimensions, or of one of them.
    #[pyo3(signature = (dim=None))]
    fn size<'py>(&self, py: Python<'py>, dim: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        let dims = self.inner.dims();
        match dim {
            None => shape_object(py, &dims),
            Some(d) => {
                let d = call(py, || crate::shape::dim(d, dims.len()))?;
                let Some(&n) = dims.get(d) else {
                    return Err(pyo3::exceptions::PyIndexError::new_err(
                        "a 0-d tensor has no dimension sizes",
                    ));
                };
                Ok(n.into_pyobject(py)?.into_any())
            }
        }
    }

    /// Number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.inner.ndim()
    }

    /// Number of dimensions.
    fn dim(&self) -> usize {
        self.inner.ndim()
    }

    /// Number of dimensions.
    fn ndimension(&self) -> usize {
        self.inner.ndim()
    }

    /// Number of elements.
    fn numel(&self) -> usize {
        self.inner.numel()
    }

    /// Number of elements.
    fn nelement(&self) -> usize {
        self.inner.numel()
    }

    /// Element type.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dtype_object(py, self.inner.dtype())
    }

    /// Where the tensor lives: always the CPU.
    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        super::convert::device_object(py)
    }

    /// Whether the tensor is on the CPU: always.
    #[getter]
    fn is_cpu(&self) -> bool {
        true
    }

    /// Whether the tensor is on a GPU: never.
    #[getter]
    fn is_cuda(&self) -> bool {
        false
    }

    /// Strides in elements, or one of them.
    #[pyo3(signature = (dim=None))]
    fn stride<'py>(&self, py: Python<'py>, dim: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        let strides = self.inner.with_layout(|l, _| l.strides.clone());
        match dim {
            None => Ok(PyTuple::new(py, strides.iter())?.into_any()),
            Some(d) => {
                let d = call(py, || crate::shape::dim(d, strides.len()))?;
                Ok(strides[d].into_pyobject(py)?.into_any())
            }
        }
    }

    /// Position of the first element in the storage.
    fn storage_offset(&self) -> usize {
        self.inner.with_layout(|l, _| l.offset)
    }

    /// Whether elements lie in row-major order without gaps.
    #[pyo3(signature = (memory_format=None))]
    fn is_contiguous(&self, memory_format: Option<&Bound<'_, PyAny>>) -> bool {
        let _ = memory_format;
        self.inner.with_layout(|l, _| l.is_contiguous())
    }

    /// Address of the first element.
    fn data_ptr(&self, py: Python<'_>) -> PyResult<usize> {
        call(py, || Ok(self.inner.array()?.ptr() as usize))
    }

    /// Bytes of one element.
    fn element_size(&self) -> usize {
        self.inner.dtype().size()
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.inner.dtype().size()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.inner.numel() * self.inner.dtype().size()
    }

    /// Whether the dtype is floating point.
    fn is_floating_point(&self) -> bool {
        self.inner.dtype().is_float()
    }

    /// Whether the dtype is complex: never.
    fn is_complex(&self) -> bool {
        false
    }

    /// Whether the tensor was made in inference mode.
    fn is_inference(&self) -> bool {
        self.inner.is_inference()
    }

    // ---- the graph ---------------------------------------------------------------------------------------------

    /// Whether operations on this tensor are recorded.
    #[getter]
    fn requires_grad(&self) -> bool {
        self.inner.requires_grad()
    }

    #[setter]
    fn set_requires_grad(&self, py: Python<'_>, on: bool) -> PyResult<()> {
        if self.inner.grad_fn().is_some() && on {
            return Err(PyRuntimeError::new_err(
                "[requires_grad] you can only change requires_grad flags of leaf variables",
            ));
        }
        call(py, || self.inner.set_requires_grad(on))
    }

    /// Makes operations on this tensor recorded, or not; returns the tensor.
    #[pyo3(signature = (requires_grad=true))]
    fn requires_grad_<'py>(slf: Bound<'py, Self>, requires_grad: bool) -> PyResult<Bound<'py, Self>> {
        call(slf.py(), || slf.get().inner.set_requires_grad(requires_grad))?;
        Ok(slf)
    }

    /// Whether no recorded operation made this tensor.
    #[getter]
    fn is_leaf(&self) -> bool {
        self.inner.is_leaf()
    }

    /// Which output of its node this tensor is.
    #[getter]
    fn output_nr(&self) -> u32 {
        self.inner.grad_fn().map_or(0, |(_, nr)| nr)
    }

    /// The number of in-place writes to the memory.
    #[getter]
    fn _version(&self, py: Python<'_>) -> PyResult<u64> {
        if self.inner.is_inference() {
            return Err(PyRuntimeError::new_err("Inference tensors do not track version counter."));
        }
        call(py, || self.inner.version())
    }

    /// The tensor that this one is a view of.
    #[getter]
    fn _base<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTensor>>> {
        self.inner.base().map(|b| wrap(py, b)).transpose()
    }

    /// Whether this tensor is a view of another.
    fn _is_view(&self) -> bool {
        self.inner.base().is_some()
    }

    /// The gradient that backward passes have added up; `None` before the first.
    #[getter]
    fn grad<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTensor>>> {
        let g = self.inner.grad();
        if g.is_none() && self.inner.requires_grad() && !self.inner.is_leaf() && !self.inner.retains_grad() {
            PyErr::warn(
                py,
                &py.get_type::<PyUserWarning>(),
                c"The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute \
                  won't be populated during backward(). Use .retain_grad() on it if you want it to be.",
                1,
            )?;
        }
        g.map(|g| wrap(py, g)).transpose()
    }

    #[setter]
    fn set_grad(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let t = &slf.get().inner;
        if value.is_none() {
            t.set_grad(None);
            return Ok(());
        }
        let Some(g) = tensor_of(value) else {
            return Err(PyTypeError::new_err(format!(
                "assigned grad expected to be a Tensor or None but got grad of type {}",
                value.get_type().name()?
            )));
        };
        if g.same(t) {
            return Err(PyRuntimeError::new_err("can't assign Variable as its own grad"));
        }
        if g.dims() != t.dims() {
            return Err(PyRuntimeError::new_err(format!(
                "assigned grad has data of a different size: got {:?}, expected {:?}",
                g.dims().as_slice(),
                t.dims().as_slice()
            )));
        }
        if g.dtype() != t.dtype() {
            return Err(PyRuntimeError::new_err(format!(
                "assigned grad has data of a different type: got {}, expected {}",
                g.dtype(),
                t.dtype()
            )));
        }
        t.set_grad(Some(g.clone()));
        Ok(())
    }

    #[deleter]
    fn delete_grad(&self) {
        self.inner.set_grad(None);
    }

    /// Whether a tensor that is not a leaf keeps its gradient.
    #[getter]
    fn retains_grad(&self) -> bool {
        self.inner.retains_grad()
    }

    /// Makes a tensor that is not a leaf keep its gradient.
    fn retain_grad(&self, py: Python<'_>) -> PyResult<()> {
        call(py, || self.inner.retain_grad())
    }

    /// The same memory without history.
    fn detach<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        give(py, || self.inner.detach())
    }

    /// Takes the history off this tensor.
    fn detach_<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let t = &slf.get().inner;
        if t.base().is_some() {
            return Err(PyRuntimeError::new_err(
                "Can't detach views in-place. Use detach() instead of detach_().",
            ));
        }
        t.drop_history();
        Ok(slf)
    }

    /// The memory alone, with a version counter of its own: a backward pass does not see writes through it.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        give(py, || {
            let a = self.inner.array()?;
            let alias = crate::Array::from_parts(a.storage().alias(), a.layout().clone(), a.dtype())?;
            Ok(Tensor::new(alias))
        })
    }

    #[setter]
    fn set_data(&self, py: Python<'_>, value: &Bound<'_, PyTensor>) -> PyResult<()> {
        let v = &value.get().inner;
        if v.dtype() != self.inner.dtype() && self.inner.requires_grad() && !v.dtype().is_float() {
            return Err(PyRuntimeError::new_err(
                "data set to a tensor that requires gradients must be floating point",
            ));
        }
        call(py, || {
            self.inner.set_array(v.array()?);
            Ok(())
        })
    }

    // ---- names and scopes ----------------------------------------------------------------------------------------

    /// A name for messages and reports.
    #[getter]
    fn name(&self) -> Option<String> {
        self.inner.name()
    }

    #[setter]
    fn set_name(&self, name: Option<String>) {
        self.inner.set_name(name);
    }

    /// Whether a scope has released the tensor.
    #[getter]
    fn is_closed(&self) -> bool {
        self.inner.is_closed()
    }

    // ---- numbers ---------------------------------------------------------------------------------------------------

    /// The number in a tensor of one element.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let s = call(py, || self.inner.array()?.item())?;
        super::convert::scalar_object(py, s)
    }

    /// The elements as nested lists; a number for a 0-d tensor.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let a = call(py, || self.inner.array())?;
        super::convert::nested(py, &a)
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.inner.dims().first() {
            Some(&n) => Ok(n),
            None => Err(PyTypeError::new_err("len() of a 0-d tensor")),
        }
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        let a = call(py, || self.inner.array())?;
        match a.numel() {
            1 => Ok(call(py, || a.item())?.as_bool()),
            0 => Err(PyRuntimeError::new_err("Boolean value of Tensor with no values is ambiguous")),
            _ => {
                Err(PyRuntimeError::new_err("Boolean value of Tensor with more than one value is ambiguous"))
            }
        }
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(call(py, || self.inner.array()?.item())?.as_f64())
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let v = self.item(py)?;
        py.get_type::<pyo3::types::PyInt>().call1((v,))
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<pyo3::types::PyComplex>().call1((self.item(py)?,))
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.inner.dtype().is_float() || self.inner.numel() != 1 {
            return Err(PyTypeError::new_err(
                "only integer tensors of a single element can be converted to an index",
            ));
        }
        let v = call(py, || self.inner.array()?.item())?.as_i64();
        Ok(v.into_pyobject(py)?.into_any())
    }

    fn __hash__(slf: &Bound<'_, Self>) -> isize {
        (slf.as_ptr() as usize >> 4) as isize
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.inner.ndim() == 0 {
            return Err(PyTypeError::new_err("iteration over a 0-d tensor"));
        }
        let parts = call(py, || ops::unbind(&self.inner, 0))?;
        give_tuple(py, parts)?.into_any().try_iter().map(|i| i.into_any())
    }

    fn __contains__(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let o = super::convert::operand(value)?
            .ok_or_else(|| PyTypeError::new_err("Tensor.__contains__ only supports Tensor or scalar"))?;
        call(py, || {
            let hit = ops::any(&ops::eq(&self.inner, o.as_operand())?, &[], false)?;
            Ok(hit.array()?.item()?.as_bool())
        })
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let t = &slf.get().inner;
        if t.is_closed() {
            let (dims, dtype) = (t.dims(), t.dtype());
            return Ok(format!("tensor(<released>, shape={:?}, dtype=rgrad.{dtype})", dims.as_slice()));
        }
        let a = t.array().map_err(|e| to_py(slf.py(), e))?;
        let mut suffix = String::new();
        if a.numel() == 0 && a.ndim() != 1 {
            suffix += &format!(", size={:?}", super::convert::tuple_text(a.dims()));
            suffix = suffix.replace('"', "");
        }
        let usual = match a.dtype() {
            crate::DType::Bool | crate::DType::I64 => a.numel() > 0 || a.dtype() == ops::default_dtype(),
            d => d == ops::default_dtype(),
        };
        if !usual {
            suffix += &format!(", dtype=rgrad.{}", a.dtype());
        }
        if let Some((n, _)) = t.grad_fn() {
            suffix += &format!(", grad_fn=<{}>", n.name());
        } else if t.requires_grad() {
            suffix += ", requires_grad=True";
        }
        suffix.push(')');
        Ok(crate::array::format(&a, &Default::default(), "tensor(", &suffix))
    }

    fn __format__(slf: &Bound<'_, Self>, spec: &str) -> PyResult<String> {
        let t = &slf.get().inner;
        if t.ndim() == 0 && !spec.is_empty() {
            let v = slf.get().item(slf.py())?;
            return v.call_method1("__format__", (spec,))?.extract();
        }
        if spec.is_empty() && t.ndim() == 0 && !t.requires_grad() {
            return slf.get().item(slf.py())?.str()?.extract();
        }
        if !spec.is_empty() {
            return Err(PyTypeError::new_err(format!(
                "unsupported format string '{spec}' for a tensor of {} dimensions; format its item()",
                t.ndim()
            )));
        }
        Self::__repr__(slf)
    }
}
