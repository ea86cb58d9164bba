//! Python's objects as the core's, and back: dtypes, shapes, numbers, nested lists.

use super::door::call;
use super::tensor::{PyTensor, fresh, tensor_of};
use crate::dtype::{DType, Element, Promotion, Scalar};
use crate::graph::Tensor;
use crate::ops::{self, Operand};
use crate::{Array, with_element};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray};
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PySequence, PyString, PyTuple, PyType};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The type of a tensor's elements, as in ``rgrad.float32``.
#[pyclass(name = "dtype", module = "rgrad", frozen, eq)]
#[derive(PartialEq)]
pub struct PyDType(pub DType);

#[pymethods]
impl PyDType {
    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.size()
    }

    /// Whether it is floating point.
    #[getter]
    fn is_floating_point(&self) -> bool {
        self.0.is_float()
    }

    /// Whether it is complex: never.
    #[getter]
    fn is_complex(&self) -> bool {
        false
    }

    /// Whether it is signed.
    #[getter]
    fn is_signed(&self) -> bool {
        !matches!(self.0, DType::Bool | DType::U8)
    }

    fn __repr__(&self) -> String {
        format!("rgrad.{}", self.0)
    }

    fn __hash__(&self) -> u64 {
        let mut h = DefaultHasher::new();
        self.0.hash(&mut h);
        h.finish()
    }

    fn __reduce__(&self) -> String {
        self.0.name().to_string()
    }
}

static DTYPES: PyOnceLock<Vec<Py<PyDType>>> = PyOnceLock::new();
static SIZE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static DEVICE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

const SIZE_SOURCE: &std::ffi::CStr = cr#"
class Size(tuple):
    """The sizes of a tensor's dimensions: a tuple that knows its product."""
    __slots__ = ()
    def numel(self):
        """The number of elements of a tensor of this shape."""
        n = 1
        for d in self:
            n *= d
        return n
    def __repr__(self):
        return f"rgrad.Size({list(self)})"
    def __getitem__(self, i):
        r = tuple.__getitem__(self, i)
        return Size(r) if isinstance(i, slice) else r
    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))
class _Capsule:
    """A DLPack capsule as an object with the protocol, once."""
    __slots__ = ("capsule",)
    def __init__(self, capsule):
        self.capsule = capsule
    def __dlpack__(self, **_):
        return self.capsule
    def __dlpack_device__(self):
        return (1, 0)
class device:
    """Where a tensor lives; there is only the CPU."""
    __slots__ = ("type", "index")
    def __init__(self, type="cpu", index=None):
        if isinstance(type, device):
            type = type.type
        if str(type).split(":")[0] != "cpu":
            raise RuntimeError(f"rgrad tensors live on the CPU; device {type!r} is not available")
        self.type = "cpu"
        self.index = index
    def __eq__(self, other):
        return (isinstance(other, device) and other.type == self.type) or other == self.type
    def __hash__(self):
        return hash(self.type)
    def __repr__(self):
        return "device(type='cpu')"
    def __str__(self):
        return "cpu"
"#;

/// Adds dtypes, `Size` and `device` to the module.
pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    let mut list = Vec::new();
    for d in DType::ALL {
        let o = Py::new(py, PyDType(d))?;
        m.add(d.name(), o.clone_ref(py))?;
        let alias: &[&str] = match d {
            DType::F32 => &["float"],
            DType::F64 => &["double"],
            DType::F16 => &["half"],
            DType::I32 => &["int"],
            DType::I64 => &["long"],
            _ => &[],
        };
        for a in alias {
            m.add(*a, o.clone_ref(py))?;
        }
        list.push(o);
    }
    let _ = DTYPES.set(py, list);
    m.add("dtype", py.get_type::<PyDType>())?;
    let space = PyDict::new(py);
    space.set_item("__name__", "rgrad")?;
    py.run(SIZE_SOURCE, Some(&space), None)?;
    let size = space.get_item("Size")?.expect("defined above").cast_into::<PyType>()?;
    let device = space.get_item("device")?.expect("defined above");
    m.add("Size", &size)?;
    m.add("device", &device)?;
    m.add("_Capsule", space.get_item("_Capsule")?.expect("defined above"))?;
    let _ = DEVICE.set(py, device.call0()?.unbind());
    let _ = SIZE.set(py, size.unbind());
    Ok(())
}

/// The one object of a dtype.
pub fn dtype_object<'py>(py: Python<'py>, d: DType) -> PyResult<Bound<'py, PyAny>> {
    match DTYPES.get(py) {
        Some(l) => Ok(l[d as usize].bind(py).clone().into_any()),
        None => Ok(Bound::new(py, PyDType(d))?.into_any()),
    }
}

/// The object of the CPU.
pub fn device_object(py: Python<'_>) -> PyResult<Py<PyAny>> {
    DEVICE
        .get(py)
        .map(|d| d.clone_ref(py))
        .ok_or_else(|| PyRuntimeError::new_err("the module is not initialised"))
}

/// A shape as a `Size`.
pub fn shape_object<'py>(py: Python<'py>, dims: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    let t = PyTuple::new(py, dims)?;
    match SIZE.get(py) {
        Some(s) => s.bind(py).call1((t,)),
        None => Ok(t.into_any()),
    }
}

/// A shape as Python prints a tuple.
pub fn tuple_text(dims: &[usize]) -> String {
    match dims {
        [d] => format!("({d},)"),
        _ => format!("({})", dims.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// Fails for any device but the CPU.
pub fn check_device(device: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let Some(d) = device.filter(|d| !d.is_none()) else { return Ok(()) };
    let text = d.str()?.to_string();
    if text == "cpu" || text.starts_with("cpu:") {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(format!("rgrad tensors live on the CPU; device '{text}' is not available")))
}

/// A dtype from an rgrad dtype, a NumPy dtype, or Python's `float`, `int` or `bool`.
pub fn dtype_of(o: &Bound<'_, PyAny>) -> PyResult<DType> {
    if let Ok(d) = o.cast::<PyDType>() {
        return Ok(d.get().0);
    }
    let py = o.py();
    if let Ok(t) = o.cast::<PyType>() {
        if t.is(py.get_type::<PyFloat>()) {
            return Ok(DType::F64);
        }
        if t.is(py.get_type::<PyInt>()) {
            return Ok(DType::I64);
        }
        if t.is(py.get_type::<PyBool>()) {
            return Ok(DType::Bool);
        }
    }
    match PyArrayDescr::new(py, o) {
        Ok(d) => numpy_dtype(&d),
        Err(_) => Err(PyTypeError::new_err(format!(
            "expected a dtype such as rgrad.float32, got {}",
            o.repr().map(|r| r.to_string()).unwrap_or_default()
        ))),
    }
}

/// An optional dtype.
pub fn opt_dtype(o: Option<&Bound<'_, PyAny>>) -> PyResult<Option<DType>> {
    o.filter(|o| !o.is_none()).map(dtype_of).transpose()
}

/// The dtype of a NumPy dtype.
pub fn numpy_dtype(d: &Bound<'_, PyArrayDescr>) -> PyResult<DType> {
    let native = d.is_native_byteorder().unwrap_or(true);
    let found = match (d.kind(), d.itemsize()) {
        (b'b', 1) => Some(DType::Bool),
        (b'u', 1) => Some(DType::U8),
        (b'i', 4) => Some(DType::I32),
        (b'i', 8) => Some(DType::I64),
        (b'f', 2) => Some(DType::F16),
        (b'f', 4) => Some(DType::F32),
        (b'f', 8) => Some(DType::F64),
        _ => None,
    };
    match found.filter(|_| native) {
        Some(d) => Ok(d),
        None => Err(PyTypeError::new_err(format!(
            "can't convert np.ndarray of type {}. The supported types are: float64, float32, float16, int64, int32, \
             uint8 and bool, in native byte order.",
            d.str()?
        ))),
    }
}

/// A Python or NumPy number; `None` for anything else.
#[inline]
pub fn scalar_of(o: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    if let Ok(f) = o.cast_exact::<PyFloat>() {
        return Ok(Some(Scalar::Float(f.value())));
    }
    if let Ok(b) = o.cast::<PyBool>() {
        return Ok(Some(Scalar::Bool(b.is_true())));
    }
    if o.cast::<PyInt>().is_ok() {
        return match o.extract::<i64>() {
            Ok(i) => Ok(Some(Scalar::Int(i))),
            Err(_) => Err(PyOverflowError::new_err(format!("the integer {o} does not fit 64 bits"))),
        };
    }
    if o.cast::<PyFloat>().is_ok() {
        return Ok(Some(Scalar::Float(o.extract()?)));
    }
    // NumPy's scalars.
    if o.hasattr("dtype")?
        && o.hasattr("item")?
        && !o.is_instance_of::<PyTensor>()
        && !o.is_instance_of::<PyUntypedArray>()
    {
        return scalar_of(&o.call_method0("item")?);
    }
    Ok(None)
}

/// A number, or an error that says what was expected.
pub fn number(o: &Bound<'_, PyAny>, what: &str) -> PyResult<Scalar> {
    if let Some(t) = tensor_of(o) {
        return call(o.py(), || t.array()?.item());
    }
    match scalar_of(o)? {
        Some(s) => Ok(s),
        None => Err(PyTypeError::new_err(format!("{what} must be a number, got {}", o.get_type().name()?))),
    }
}

/// A number as Python's.
pub fn scalar_object<'py>(py: Python<'py>, s: Scalar) -> PyResult<Bound<'py, PyAny>> {
    Ok(match s {
        Scalar::Bool(b) => PyBool::new(py, b).to_owned().into_any(),
        Scalar::Int(i) => i.into_pyobject(py)?.into_any(),
        Scalar::Float(f) => PyFloat::new(py, f).into_any(),
    })
}

/// An operand that owns its tensor.
pub enum Owned {
    /// A tensor.
    Tensor(Tensor),
    /// A number.
    Number(Scalar),
}

impl Owned {
    /// As the core takes it.
    pub fn as_operand(&self) -> Operand<'_> {
        match self {
            Owned::Tensor(t) => Operand::Tensor(t),
            Owned::Number(s) => Operand::Number(*s),
        }
    }
}

/// A tensor, number or NumPy array as an operand; `None` for anything else.
#[inline]
pub fn operand(o: &Bound<'_, PyAny>) -> PyResult<Option<Owned>> {
    if let Some(t) = tensor_of(o) {
        return Ok(Some(Owned::Tensor(t.clone())));
    }
    if let Some(s) = scalar_of(o)? {
        return Ok(Some(Owned::Number(s)));
    }
    if o.is_instance_of::<PyUntypedArray>() {
        return Ok(Some(Owned::Tensor(super::interop::share_or_copy(o)?)));
    }
    Ok(None)
}

/// An operand, or an error that names the argument.
pub fn need_operand(o: &Bound<'_, PyAny>, name: &str) -> PyResult<Owned> {
    operand(o)?.ok_or_else(|| {
        let t = o.get_type().name().map(|n| n.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!("argument '{name}' must be a Tensor or a number, not {t}"))
    })
}

/// As [`need_operand`], with the operation's name in the message.
pub fn named_operand(op: &str, o: &Bound<'_, PyAny>, name: &str) -> PyResult<Owned> {
    operand(o)?.ok_or_else(|| {
        let t = o.get_type().name().map(|n| n.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!("[{op}] argument '{name}' must be a Tensor or a number, not {t}"))
    })
}

/// Integers given as one tuple, list or Size, or as several arguments.
pub fn int_list(args: &Bound<'_, PyTuple>) -> PyResult<Vec<isize>> {
    if args.len() == 1 {
        let first = args.get_item(0)?;
        if first.cast::<PySequence>().is_ok()
            && first.cast::<PyString>().is_err()
            && tensor_of(&first).is_none()
        {
            return first.cast::<PySequence>()?.try_iter()?.map(|v| integer(&v?)).collect();
        }
    }
    args.iter().map(|v| integer(&v)).collect()
}

fn integer(o: &Bound<'_, PyAny>) -> PyResult<isize> {
    o.extract::<isize>().map_err(|_| {
        let t = o.get_type().name().map(|n| n.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!("sizes and dimensions must be integers, got {t}"))
    })
}

/// A shape: integers that are not negative.
pub fn shape_of(args: &Bound<'_, PyTuple>) -> PyResult<Vec<usize>> {
    named_shape("a tensor's size", args)
}

/// As [`shape_of`], with the operation's name in the message.
pub fn named_shape(op: &str, args: &Bound<'_, PyTuple>) -> PyResult<Vec<usize>> {
    let list = int_list(args)?;
    if let Some(d) = list.iter().find(|&&d| d < 0) {
        return Err(PyRuntimeError::new_err(format!(
            "[{op}] sizes must not be negative, got {d} in {list:?}"
        )));
    }
    Ok(list.into_iter().map(|d| d as usize).collect())
}

/// Dimensions given as an integer or as a sequence of them; `None` is none.
pub fn dims_arg(o: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<isize>>> {
    let Some(o) = o.filter(|o| !o.is_none()) else { return Ok(None) };
    if let Ok(i) = o.extract::<isize>() {
        return Ok(Some(vec![i]));
    }
    match o.cast::<PySequence>() {
        Ok(s) => Ok(Some(s.try_iter()?.map(|v| integer(&v?)).collect::<PyResult<_>>()?)),
        Err(_) => Err(PyTypeError::new_err(format!(
            "dim must be an integer or a sequence of integers, got {}",
            o.get_type().name()?
        ))),
    }
}

// ---- nested lists ------------------------------------------------------------------------------------------------

/// The elements as nested lists.
pub fn nested<'py>(py: Python<'py>, a: &Array) -> PyResult<Bound<'py, PyAny>> {
    fn level<'py, T: Element>(
        py: Python<'py>,
        data: &mut std::slice::Iter<'_, T>,
        dims: &[usize],
    ) -> PyResult<Bound<'py, PyAny>> {
        match dims {
            [] => scalar_object(py, data.next().expect("as many as the shape says").to_scalar()),
            [n, rest @ ..] => {
                let items: Vec<_> = (0..*n).map(|_| level(py, data, rest)).collect::<PyResult<_>>()?;
                Ok(PyList::new(py, items)?.into_any())
            }
        }
    }
    with_element!(a.dtype(), T => {
        let v = call(py, || a.to_vec::<T>())?;
        level(py, &mut v.iter(), a.dims())
    })
}

/// What a nested list holds: shape, numbers in order, and the highest dtype seen.
#[derive(Default)]
struct Nested {
    dims: Vec<usize>,
    data: Vec<Scalar>,
    promotion: Promotion,
    any: bool,
    /// Whether every float so far came from a 0-d tensor or NumPy value of this dtype.
    typed: Option<DType>,
}

fn read_nested(o: &Bound<'_, PyAny>, depth: usize, n: &mut Nested) -> PyResult<()> {
    let leaf = |n: &mut Nested, s: Scalar, d: Option<DType>| -> PyResult<()> {
        if depth != n.dims.len() {
            return Err(ragged(depth));
        }
        n.any = true;
        match d {
            Some(d) => n.typed = Some(n.typed.map_or(d, |t| t.promote(d))),
            None => n.promotion.number(s, ops::default_dtype()),
        }
        n.data.push(s);
        Ok(())
    };
    if let Some(t) = tensor_of(o) {
        let a = call(o.py(), || t.array())?;
        if a.ndim() == 0 {
            fix_depth(n, depth, None)?;
            return leaf(n, call(o.py(), || a.item())?, Some(a.dtype()));
        }
        return read_array(o.py(), &a, depth, n);
    }
    if o.is_instance_of::<PyUntypedArray>() {
        let a = call(o.py(), || Ok(()))
            .and_then(|()| super::interop::share_or_copy(o))
            .and_then(|t| call(o.py(), || t.array()))?;
        return read_array(o.py(), &a, depth, n);
    }
    if let Some(s) = scalar_of(o)? {
        fix_depth(n, depth, None)?;
        return leaf(n, s, None);
    }
    if o.cast::<PyString>().is_err()
        && let Ok(s) = o.cast::<PySequence>()
    {
        let len = s.len()?;
        fix_depth(n, depth, Some(len))?;
        if n.dims.get(depth) != Some(&len) {
            return Err(PyValueError::new_err(format!(
                "[tensor] expected sequence of length {} at dim {depth} (got {len})",
                n.dims.get(depth).copied().unwrap_or(0)
            )));
        }
        if depth > 64 {
            return Err(PyValueError::new_err("[tensor] the list is nested more than 64 deep"));
        }
        for v in s.try_iter()? {
            read_nested(&v?, depth + 1, n)?;
        }
        return Ok(());
    }
    Err(PyTypeError::new_err(format!(
        "[tensor] a tensor is made of numbers, sequences of them, tensors or NumPy arrays, not of {}",
        o.get_type().name()?
    )))
}

fn ragged(depth: usize) -> PyErr {
    PyValueError::new_err(format!(
        "[tensor] the nested sequences are ragged: a number and a sequence meet at dim {depth}"
    ))
}

fn fix_depth(n: &mut Nested, depth: usize, len: Option<usize>) -> PyResult<()> {
    match len {
        Some(len) if depth == n.dims.len() && !n.any => {
            n.dims.push(len);
            Ok(())
        }
        Some(_) if depth >= n.dims.len() => Err(ragged(depth)),
        _ => Ok(()),
    }
}

fn read_array(py: Python<'_>, a: &Array, depth: usize, n: &mut Nested) -> PyResult<()> {
    for (k, &d) in a.dims().iter().enumerate() {
        fix_depth(n, depth + k, Some(d))?;
        if n.dims.get(depth + k) != Some(&d) {
            return Err(ragged(depth + k));
        }
    }
    if depth + a.ndim() != n.dims.len() {
        return Err(ragged(depth + a.ndim()));
    }
    with_element!(a.dtype(), T => {
        for v in call(py, || a.to_vec::<T>())? {
            n.data.push(v.to_scalar());
        }
    });
    n.any = true;
    n.typed = Some(n.typed.map_or(a.dtype(), |t| t.promote(a.dtype())));
    Ok(())
}

/// A new tensor with the numbers of nested sequences, an array or a tensor; never shares memory.
pub fn tensor_from(data: &Bound<'_, PyAny>, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<Tensor> {
    let py = data.py();
    let want = opt_dtype(dtype)?;
    if let Some(t) = tensor_of(data) {
        return call(py, || Ok(Tensor::new(t.array()?.cast(want.unwrap_or(t.dtype()))?.copied()?)));
    }
    if data.is_instance_of::<PyUntypedArray>() {
        let t = super::interop::share_or_copy(data)?;
        return call(py, || Ok(Tensor::new(t.array()?.cast(want.unwrap_or(t.dtype()))?.copied()?)));
    }
    let numpy_scalar = !data.is_instance_of::<PyFloat>() && data.hasattr("dtype")? && data.hasattr("item")?
        || data.hasattr("dtype")? && data.hasattr("item")?;
    if numpy_scalar {
        let d = dtype_of(&data.getattr("dtype")?)?;
        let s = number(data, "data")?;
        return call(py, || ops::full(&[], s, want.unwrap_or(d)));
    }
    let mut n = Nested::default();
    read_nested(data, 0, &mut n)?;
    let dtype = want.unwrap_or_else(|| match (n.typed, n.promotion.result()) {
        (Some(t), Some(p)) => t.promote(p),
        (Some(t), None) => t,
        (None, Some(p)) => p,
        (None, None) => ops::default_dtype(),
    });
    call(py, || {
        let out = Array::uninit(&n.dims, dtype)?;
        with_element!(dtype, T => {
            let v: Vec<T> = n.data.iter().map(|&s| T::from_scalar(s)).collect();
            let src = Array::from_slice(&v, &n.dims)?;
            out.copy_from(&src)?;
        });
        Ok(Tensor::new(out))
    })
}

/// Wraps a new tensor, with the flag that factories take.
pub fn finish<'py>(py: Python<'py>, t: Tensor, requires_grad: bool) -> PyResult<Bound<'py, PyTensor>> {
    if requires_grad {
        call(py, || t.set_requires_grad(true))?;
    }
    fresh(py, t)
}

/// A new tensor with the numbers of `data`: nested sequences, a NumPy array, a number or a tensor. It never shares
/// memory.
///
/// Raises TypeError for other data, ValueError for ragged sequences.
#[pyfunction]
#[pyo3(signature = (data, dtype=None, device=None, requires_grad=false, pin_memory=false))]
pub fn tensor<'py>(
    data: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let _ = pin_memory;
    check_device(device)?;
    if tensor_of(data).is_some() {
        PyErr::warn(
            data.py(),
            &data.py().get_type::<PyUserWarning>(),
            c"To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or \
              sourceTensor.detach().clone().requires_grad_(True), rather than tensor(sourceTensor).",
            1,
        )?;
    }
    finish(data.py(), tensor_from(data, dtype)?, requires_grad)
}
