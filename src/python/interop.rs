//! NumPy, DLPack, the buffer protocol, pickling and copying: memory is shared and kept alive for whoever borrowed it.
#![allow(unsafe_code)]

use super::convert::{check_device, dtype_of, finish, numpy_dtype, opt_dtype, tensor_from};
use super::door::call;
use super::tensor::{PyTensor, fresh, tensor_of};
use crate::dtype::DType;
use crate::graph::Tensor;
use crate::ops;
use crate::shape::Layout;
use crate::storage::Storage;
use crate::{Array, Error, Kind};
use numpy::npyffi::{NPY_ARRAY_WRITEABLE, NPY_TYPES, PY_ARRAY_API, npy_intp};
use numpy::{PyArrayDescr, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyUserWarning, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Keeps a buffer alive for an array that looks into it.
#[pyclass(module = "rgrad", frozen)]
struct Memory {
    _storage: Storage,
}

fn numpy_type(d: DType) -> Option<NPY_TYPES> {
    Some(match d {
        DType::Bool => NPY_TYPES::NPY_BOOL,
        DType::U8 => NPY_TYPES::NPY_UBYTE,
        DType::I32 => NPY_TYPES::NPY_INT,
        DType::I64 => NPY_TYPES::NPY_LONG,
        DType::F16 => NPY_TYPES::NPY_HALF,
        DType::F32 => NPY_TYPES::NPY_FLOAT,
        DType::F64 => NPY_TYPES::NPY_DOUBLE,
        DType::BF16 => return None,
    })
}

/// A NumPy array over the memory of an array.
pub fn to_numpy<'py>(py: Python<'py>, a: &Array) -> PyResult<Bound<'py, PyAny>> {
    let Some(kind) = numpy_type(a.dtype()) else {
        return Err(PyTypeError::new_err(
            "Got unsupported ScalarType BFloat16: NumPy has no bfloat16; convert with .float() first",
        ));
    };
    let dims: Vec<npy_intp> = a.dims().iter().map(|&d| d as npy_intp).collect();
    let size = a.dtype().size() as isize;
    let strides: Vec<npy_intp> = a.strides().iter().map(|&s| (s * size) as npy_intp).collect();
    let base = Bound::new(py, Memory { _storage: a.storage().clone() })?;
    let flags = if a.storage().is_read_only() { 0 } else { NPY_ARRAY_WRITEABLE };
    // SAFETY: sizes and strides describe elements inside the storage, which the base object keeps alive; the
    // reference to the base is given away, as PyArray_SetBaseObject takes it.
    unsafe {
        let descr = PY_ARRAY_API.PyArray_DescrFromType(py, kind as i32);
        let class = numpy::npyffi::get_type_object(py, numpy::npyffi::NpyTypes::PyArray_Type);
        let arr = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            class,
            descr,
            dims.len() as i32,
            dims.as_ptr().cast_mut(),
            strides.as_ptr().cast_mut(),
            a.ptr().cast(),
            flags,
            std::ptr::null_mut(),
        );
        let arr = Bound::from_owned_ptr_or_err(py, arr)?;
        if PY_ARRAY_API.PyArray_SetBaseObject(py, arr.as_ptr().cast(), base.into_ptr()) != 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(arr)
    }
}

/// A tensor over the memory of a NumPy array; the flag tells whether the array is writable.
fn share(o: &Bound<'_, PyAny>) -> PyResult<(Tensor, bool)> {
    let Ok(a) = o.cast::<PyUntypedArray>() else {
        return Err(PyTypeError::new_err(format!("expected np.ndarray (got {})", o.get_type().name()?)));
    };
    let dtype = numpy_dtype(&a.dtype())?;
    let size = dtype.size() as isize;
    let dims: Vec<usize> = a.shape().to_vec();
    let mut strides = Vec::with_capacity(dims.len());
    for (&s, &d) in a.strides().iter().zip(&dims) {
        if s % size != 0 && d > 1 {
            return Err(PyValueError::new_err(
                "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate \
                 the memory.",
            ));
        }
        strides.push(s / size);
    }
    // SAFETY: the object is an array, whose fields are read.
    let (data, flags) = unsafe {
        let p = a.as_array_ptr();
        ((*p).fields.data.cast::<u8>(), (*p).fields.flags)
    };
    if !(data as usize).is_multiple_of(size as usize) {
        return Err(PyValueError::new_err("the numpy array is not aligned; copy it first"));
    }
    let writable = flags & NPY_ARRAY_WRITEABLE != 0;
    let (mut low, mut high) = (0isize, 0isize);
    let empty = dims.contains(&0);
    if !empty {
        for (&d, &s) in dims.iter().zip(&strides) {
            let reach = (d as isize - 1) * s;
            if reach < 0 { low += reach } else { high += reach }
        }
    }
    let bytes = if empty { 0 } else { ((high - low + 1) * size) as usize };
    let owner: Py<PyAny> = o.clone().unbind();
    // SAFETY: the array, kept alive by the owner, has its elements between the lowest and the highest one.
    let storage = unsafe { Storage::foreign(data.offset(low * size), bytes, !writable, Box::new(owner)) };
    let layout = Layout { dims: dims.into(), strides: strides.into(), offset: (-low) as usize };
    let t = call(o.py(), || Ok(Tensor::new(Array::from_parts(storage, layout, dtype)?)))?;
    Ok((t, writable))
}

/// A tensor over a NumPy array's memory where that is possible, else of a copy.
pub fn share_or_copy(o: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    match share(o) {
        Ok((t, _)) => Ok(t),
        Err(e) => {
            let py = o.py();
            // Native byte order and alignment may be had by copying; an unknown dtype may not.
            let copy = o.call_method1("astype", (o.getattr("dtype")?.call_method1("newbyteorder", ("=",))?,));
            match copy {
                Ok(c) => share(&c).map(|s| s.0).map_err(|_| e.clone_ref(py)),
                Err(_) => Err(e),
            }
        }
    }
}

/// A tensor that shares the memory of a NumPy array.
///
/// A read-only array gives a warning, and in-place operations on the tensor are refused.
#[pyfunction]
pub fn from_numpy<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTensor>> {
    let (t, writable) = share(array)?;
    if !writable {
        PyErr::warn(
            array.py(),
            &array.py().get_type::<PyUserWarning>(),
            c"The given NumPy array is not writable. In-place operations on the tensor will be refused; copy the \
              array to have a writable tensor.",
            1,
        )?;
    }
    fresh(array.py(), t)
}

/// A tensor of `data`, sharing its memory where dtype and device allow it.
#[pyfunction]
#[pyo3(signature = (data, dtype=None, device=None))]
pub fn as_tensor<'py>(
    data: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTensor>> {
    check_device(device)?;
    let py = data.py();
    let want = opt_dtype(dtype)?;
    if let Ok(t) = data.cast::<PyTensor>() {
        return match want {
            Some(d) if d != t.get().inner.dtype() => super::tensor::give(py, || ops::cast(&t.get().inner, d)),
            _ => Ok(t.clone()),
        };
    }
    if data.is_instance_of::<PyUntypedArray>() {
        let t = share_or_copy(data)?;
        return super::tensor::give(py, || ops::cast(&t, want.unwrap_or(t.dtype())));
    }
    fresh(py, tensor_from(data, dtype)?)
}

/// As `as_tensor`; `copy=True` never shares, `copy=False` always does or fails.
#[pyfunction]
#[pyo3(signature = (obj, *, dtype=None, device=None, copy=None, requires_grad=false))]
pub fn asarray<'py>(
    obj: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    check_device(device)?;
    let py = obj.py();
    if copy == Some(true) {
        return finish(py, tensor_from(obj, dtype)?, requires_grad);
    }
    let shareable = tensor_of(obj).is_some() || obj.is_instance_of::<PyUntypedArray>();
    if copy == Some(false) && !shareable {
        return Err(PyValueError::new_err("can't alias this object; pass copy=None to allow a copy"));
    }
    let t = as_tensor(obj, dtype, None)?;
    if requires_grad {
        call(py, || t.get().inner.set_requires_grad(true))?;
    }
    Ok(t)
}

/// A tensor over the memory of an object with the DLPack protocol.
#[pyfunction]
#[pyo3(signature = (ext_tensor, *, device=None, copy=None))]
pub fn from_dlpack<'py>(
    ext_tensor: &Bound<'py, PyAny>,
    device: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyTensor>> {
    check_device(device)?;
    let py = ext_tensor.py();
    if let Ok(t) = ext_tensor.cast::<PyTensor>() {
        return super::tensor::give(py, || {
            if copy == Some(true) { ops::clone(&t.get().inner) } else { t.get().inner.detach() }
        });
    }
    let source = if ext_tensor.is_instance_of::<pyo3::types::PyCapsule>() {
        py.import("rgrad._rgrad")?.getattr("_Capsule")?.call1((ext_tensor,))?
    } else {
        ext_tensor.clone()
    };
    let a = py.import("numpy")?.call_method1("from_dlpack", (source,))?;
    let (t, _) = share(&a)?;
    let t = if copy == Some(true) { call(py, || ops::clone(&t))? } else { t };
    fresh(py, t)
}

fn export(py: Python<'_>, t: &Tensor, force: bool) -> PyResult<Array> {
    if t.requires_grad() && !force {
        return Err(PyRuntimeError::new_err(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
        ));
    }
    call(py, || t.array())
}

#[pymethods]
impl PyTensor {
    /// A NumPy array over the tensor's memory.
    ///
    /// Raises RuntimeError on a tensor that requires gradients unless `force` is true, TypeError for bfloat16.
    #[pyo3(signature = (*, force=false))]
    fn numpy<'py>(&self, py: Python<'py>, force: bool) -> PyResult<Bound<'py, PyAny>> {
        to_numpy(py, &export(py, &self.inner, force)?)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let a = to_numpy(py, &export(py, &self.inner, false)?)?;
        let a = match dtype.filter(|d| !d.is_none()) {
            Some(d) => {
                let options = PyDict::new(py);
                options.set_item("copy", copy == Some(true))?;
                a.call_method("astype", (d,), Some(&options))?
            }
            None if copy == Some(true) => a.call_method0("copy")?,
            None => a,
        };
        Ok(a)
    }

    #[classattr]
    fn __array_priority__() -> f64 {
        1000.0
    }

    /// NumPy's functions on tensors become rgrad's, so that they are recorded.
    #[pyo3(signature = (ufunc, method, *inputs, **kwargs))]
    fn __array_ufunc__<'py>(
        &self,
        py: Python<'py>,
        ufunc: &Bound<'py, PyAny>,
        method: &str,
        inputs: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let name: String = ufunc.getattr("__name__")?.extract()?;
        let ours = match name.as_str() {
            "absolute" | "fabs" => "abs",
            "subtract" => "sub",
            "multiply" => "mul",
            "divide" => "true_divide",
            "power" | "float_power" => "pow",
            "negative" => "neg",
            "arctan2" => "atan2",
            "arcsin" => "asin",
            "arccos" => "acos",
            "arctan" => "atan",
            "arcsinh" => "asinh",
            "arccosh" => "acosh",
            "arctanh" => "atanh",
            "equal" => "eq",
            "not_equal" => "ne",
            "less" => "lt",
            "less_equal" => "le",
            "greater" => "gt",
            "greater_equal" => "ge",
            "rint" => "round",
            "mod" => "remainder",
            n => n,
        };
        if method != "__call__" || kwargs.is_some_and(|k| !k.is_empty()) {
            return Err(PyTypeError::new_err(format!(
                "np.{name}{} with these arguments is not supported on rgrad tensors; use rgrad.{ours}",
                if method == "__call__" { String::new() } else { format!(".{method}") }
            )));
        }
        let module = py.import("rgrad")?;
        let Ok(f) = module.getattr(ours) else {
            return Err(PyTypeError::new_err(format!("np.{name} has no counterpart in rgrad")));
        };
        let args: Vec<Bound<'py, PyAny>> = inputs
            .iter()
            .map(|i| {
                if i.is_instance_of::<PyUntypedArray>() {
                    Ok(fresh(py, share_or_copy(&i)?)?.into_any())
                } else {
                    Ok(i)
                }
            })
            .collect::<PyResult<_>>()?;
        // A number before the tensor: only the operators take that order.
        if args.len() == 2 && tensor_of(&args[0]).is_none() {
            let wide = call(py, || Ok(ops::default_dtype()))?;
            let s = super::convert::number(&args[0], "x1")?;
            let first = fresh(py, call(py, || ops::full(&[], s, s.dtype(wide)))?)?;
            return f.call1((first, &args[1]));
        }
        f.call1(PyTuple::new(py, args)?)
    }

    /// A DLPack capsule over the tensor's memory.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<&Bound<'py, PyAny>>,
        dl_device: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if self.inner.requires_grad() {
            return Err(pyo3::exceptions::PyBufferError::new_err(
                "Can't export tensors that require gradient, use tensor.detach()",
            ));
        }
        let a = to_numpy(py, &call(py, || self.inner.array())?)?;
        let options = PyDict::new(py);
        if let Some(s) = stream {
            options.set_item("stream", s)?;
        }
        let newer = max_version.is_some() || dl_device.is_some() || copy.is_some();
        if newer {
            options.set_item("max_version", max_version)?;
            options.set_item("dl_device", dl_device)?;
            options.set_item("copy", copy)?;
            if let Ok(c) = a.call_method("__dlpack__", (), Some(&options)) {
                return Ok(c);
            }
            for k in ["max_version", "dl_device", "copy"] {
                options.del_item(k)?;
            }
        }
        a.call_method("__dlpack__", (), Some(&options))
    }

    /// The CPU, in DLPack's terms.
    fn __dlpack_device__(&self) -> (i32, i32) {
        (1, 0)
    }

    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: i32) -> PyResult<()> {
        let py = slf.py();
        let a = to_numpy(py, &export(py, &slf.get().inner, false)?)?;
        // SAFETY: NumPy fills the view, which then owns a reference to the array, and the array one to the storage.
        if unsafe { ffi::PyObject_GetBuffer(a.as_ptr(), view, flags) } != 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(())
    }

    fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, protocol: i32) -> PyResult<Bound<'py, PyTuple>> {
        let _ = protocol;
        let py = slf.py();
        let t = &slf.get().inner;
        let a = call(py, || t.array()?.contiguous())?;
        let (plain, name) = if a.dtype() == DType::BF16 {
            (to_numpy(py, &call(py, || a.cast(DType::F32))?)?, "bfloat16")
        } else {
            (to_numpy(py, &a)?, a.dtype().name())
        };
        let rebuild = py.import("rgrad._rgrad")?.getattr("_rebuild")?;
        let copy = plain.call_method0("copy")?;
        PyTuple::new(py, [rebuild, (copy, name, t.requires_grad()).into_pyobject(py)?.into_any()])
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTensor>> {
        let t = &slf.get().inner;
        let r = call(slf.py(), || t.detach())?;
        finish(slf.py(), r, t.requires_grad())
    }

    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, memo: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let key = slf.as_ptr() as usize;
        if let Some(done) = memo.get_item(key)? {
            return Ok(done);
        }
        let t = &slf.get().inner;
        if !t.is_leaf() {
            return Err(PyRuntimeError::new_err(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the \
                 moment; detach() the tensor first.",
            ));
        }
        // Tensors over one buffer go on sharing in the copy.
        let storages = match memo.get_item("rgrad storages")? {
            Some(d) => d.cast_into::<PyDict>()?,
            None => {
                let d = PyDict::new(py);
                memo.set_item("rgrad storages", &d)?;
                d
            }
        };
        let a = call(py, || t.array())?;
        let id = a.storage().id();
        let whole = match storages.get_item(id)? {
            Some(s) => call(py, || tensor_of(&s).map_or_else(|| Err(lost()), |t| t.array()))?,
            None => {
                let bytes = a.storage().bytes();
                let flat = Layout::contiguous(&[bytes / a.dtype().size()]);
                let copy = call(py, || Array::from_parts(a.storage().clone(), flat, a.dtype())?.copied())?;
                storages.set_item(id, fresh(py, Tensor::internal(copy.clone()))?)?;
                copy
            }
        };
        let fresh_array =
            call(py, || Array::from_parts(whole.storage().clone(), a.layout().clone(), a.dtype()))?;
        let out = finish(py, Tensor::new(fresh_array), t.requires_grad())?;
        if let Some(g) = t.grad() {
            out.get().inner.set_grad(Some(call(py, || Ok(Tensor::new(g.array()?.copied()?)))?));
        }
        memo.set_item(key, &out)?;
        Ok(out.into_any())
    }
}

fn lost() -> Error {
    Error::new(Kind::Internal, "deepcopy", "the memo holds no tensor")
}

/// Makes a tensor from its pickled parts.
#[pyfunction]
pub fn _rebuild<'py>(
    array: &Bound<'py, PyAny>,
    dtype: &str,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let py = array.py();
    let (t, _) = share(array)?;
    let d = DType::ALL.into_iter().find(|d| d.name() == dtype);
    let Some(d) = d else {
        return Err(PyValueError::new_err(format!("unknown dtype '{dtype}' in a pickled tensor")));
    };
    let t = call(py, || Ok(Tensor::new(t.array()?.cast(d)?.copied()?)))?;
    finish(py, t, requires_grad)
}

/// A tensor over an object's buffer: `count` elements of `dtype` from byte `offset` on.
#[pyfunction]
#[pyo3(signature = (buffer, *, dtype, count=-1, offset=0, requires_grad=false))]
pub fn frombuffer<'py>(
    buffer: &Bound<'py, PyAny>,
    dtype: &Bound<'py, PyAny>,
    count: isize,
    offset: usize,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let py = buffer.py();
    let d = dtype_of(dtype)?;
    let Some(kind) = numpy_type(d) else {
        return Err(PyTypeError::new_err("bfloat16 buffers are not supported; read them as uint8"));
    };
    // SAFETY: NumPy's type table has an entry for every one of these.
    let descr = unsafe {
        let p = PY_ARRAY_API.PyArray_DescrFromType(py, kind as i32);
        Bound::from_owned_ptr_or_err(py, p.cast())?.cast_into::<PyArrayDescr>()?
    };
    let options = PyDict::new(py);
    options.set_item("dtype", descr)?;
    options.set_item("count", count)?;
    options.set_item("offset", offset)?;
    let a = py.import("numpy")?.call_method("frombuffer", (buffer,), Some(&options))?;
    let (t, _) = share(&a)?;
    finish(py, t, requires_grad)
}
