//! Factories: tensors from sizes, ranges and random numbers.

use super::convert::{check_device, finish, named_shape, number, opt_dtype, shape_of};
use super::door::call;
use super::tensor::PyTensor;
use crate::dtype::{DType, Scalar};
use crate::graph::Tensor;
use crate::kernels::{join, random};
use crate::{Array, Result, ops};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// A stream of random numbers.
#[pyclass(name = "Generator", module = "rgrad", frozen)]
pub struct PyGenerator(Arc<random::Generator>);

#[pymethods]
impl PyGenerator {
    #[new]
    #[pyo3(signature = (device=None))]
    fn new(device: Any<'_, '_>) -> PyResult<PyGenerator> {
        check_device(device)?;
        Ok(PyGenerator(Arc::new(random::Generator::new(0x5EED_5EED_0000_0067))))
    }

    /// Starts the stream of a seed from its beginning.
    fn manual_seed<'py>(slf: Bound<'py, Self>, seed: i128) -> Bound<'py, Self> {
        slf.get().0.seed(seed as u64);
        slf
    }

    /// The seed.
    fn initial_seed(&self) -> u64 {
        self.0.state().0
    }

    /// Seed and position.
    fn get_state(&self) -> (u64, u64) {
        self.0.state()
    }

    /// Goes to a position that `get_state` gave.
    fn set_state(&self, state: (u64, u64)) {
        self.0.set_state(state);
    }
}

fn stream<R>(g: Option<&Bound<'_, PyGenerator>>, f: impl FnOnce(&random::Generator) -> R) -> R {
    match g {
        Some(g) => f(&g.get().0),
        None => f(&random::DEFAULT),
    }
}

/// Seeds the default stream of random numbers.
#[pyfunction]
fn manual_seed(seed: i128) {
    random::DEFAULT.seed(seed as u64);
}

/// Seed and position of the default stream.
#[pyfunction]
fn get_rng_state() -> (u64, u64) {
    random::DEFAULT.state()
}

/// Goes to a position of the default stream that `get_rng_state` gave.
#[pyfunction]
fn set_rng_state(state: (u64, u64)) {
    random::DEFAULT.set_state(state);
}

/// The seed of the default stream.
#[pyfunction]
fn initial_seed() -> u64 {
    random::DEFAULT.state().0
}

fn sizes(op: &str, args: &Bound<'_, PyTuple>, size: Any<'_, '_>) -> PyResult<Vec<usize>> {
    match size {
        Some(s) => named_shape(op, &PyTuple::new(s.py(), [s])?),
        None if args.is_empty() => Ok(Vec::new()),
        None => named_shape(op, args),
    }
}

macro_rules! by_size {
    ($($(#[doc = $doc:literal])* $name:ident |$dims:ident, $dtype:ident| $e:expr;)*) => { $(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (*args, size=None, dtype=None, device=None, requires_grad=false, out=None, layout=None, pin_memory=false))]
        #[allow(clippy::too_many_arguments)]
        fn $name<'py>(
            py: Python<'py>, args: &Bound<'py, PyTuple>, size: Any<'_, 'py>, dtype: Any<'_, 'py>, device: Any<'_, 'py>,
            requires_grad: bool, out: Any<'_, 'py>, layout: Any<'_, 'py>, pin_memory: bool,
        ) -> PyResult<Bound<'py, PyTensor>> {
            let _ = (layout, pin_memory);
            no_out(out)?;
            check_device(device)?;
            let $dims = sizes(stringify!($name), args, size)?;
            let $dtype = opt_dtype(dtype)?.unwrap_or(ops::default_dtype());
            finish(py, call(py, || $e)?, requires_grad)
        }
    )* };
}

by_size! {
    /// A tensor of zeros.
    zeros |dims, dtype| ops::zeros(&dims, dtype);
    /// A tensor of ones.
    ones |dims, dtype| ops::ones(&dims, dtype);
    /// A tensor whose elements are not chosen; here they are zeros.
    empty |dims, dtype| ops::zeros(&dims, dtype);
}

fn no_out(out: Any<'_, '_>) -> PyResult<()> {
    match out {
        Some(o) if !o.is_none() => {
            Err(PyTypeError::new_err("out= is not supported: assign the result, or copy it with copy_()"))
        }
        _ => Ok(()),
    }
}

macro_rules! random_by_size {
    ($($(#[doc = $doc:literal])* $name:ident |$g:ident, $dims:ident, $dtype:ident| $e:expr;)*) => { $(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (*args, size=None, generator=None, dtype=None, device=None, requires_grad=false))]
        fn $name<'py>(
            py: Python<'py>, args: &Bound<'py, PyTuple>, size: Any<'_, 'py>,
            generator: Option<&Bound<'py, PyGenerator>>, dtype: Any<'_, 'py>, device: Any<'_, 'py>,
            requires_grad: bool,
        ) -> PyResult<Bound<'py, PyTensor>> {
            check_device(device)?;
            let $dims = sizes(stringify!($name), args, size)?;
            let $dtype = opt_dtype(dtype)?.unwrap_or(ops::default_dtype());
            let a = call(py, || stream(generator, |$g| $e))?;
            finish(py, Tensor::new(a), requires_grad)
        }
    )* };
}

random_by_size! {
    /// Numbers spread evenly over [0, 1).
    rand |g, dims, dtype| random::uniform(g, &dims, dtype, 0.0, 1.0);
    /// Numbers of the standard normal distribution.
    randn |g, dims, dtype| random::normal(g, &dims, dtype, 0.0, 1.0);
}

macro_rules! like {
    ($($(#[doc = $doc:literal])* $name:ident |$dims:ident, $dtype:ident| $e:expr;)*) => { $(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (input, *, dtype=None, device=None, requires_grad=false, memory_format=None))]
        fn $name<'py>(
            input: &Bound<'py, PyTensor>, dtype: Any<'_, 'py>, device: Any<'_, 'py>, requires_grad: bool,
            memory_format: Any<'_, 'py>,
        ) -> PyResult<Bound<'py, PyTensor>> {
            let _ = memory_format;
            check_device(device)?;
            let $dims = input.get().inner.dims();
            let $dtype = opt_dtype(dtype)?.unwrap_or(input.get().inner.dtype());
            finish(input.py(), call(input.py(), || $e)?, requires_grad)
        }
    )* };
}

like! {
    /// Zeros of the shape and dtype of a tensor.
    zeros_like |dims, dtype| ops::zeros(&dims, dtype);
    /// Ones of the shape and dtype of a tensor.
    ones_like |dims, dtype| ops::ones(&dims, dtype);
    /// A tensor of the shape and dtype of another; here its elements are zeros.
    empty_like |dims, dtype| ops::zeros(&dims, dtype);
    /// Numbers spread evenly over [0, 1), of the shape and dtype of a tensor.
    rand_like |dims, dtype| random::uniform(&random::DEFAULT, &dims, dtype, 0.0, 1.0).map(Tensor::new);
    /// Numbers of the standard normal distribution, of the shape and dtype of a tensor.
    randn_like |dims, dtype| random::normal(&random::DEFAULT, &dims, dtype, 0.0, 1.0).map(Tensor::new);
}

fn filled(dims: &[usize], v: Scalar, dtype: Option<DType>) -> Result<Tensor> {
    ops::full(dims, v, dtype.unwrap_or(v.dtype(ops::default_dtype())))
}

/// A tensor filled with one number; its dtype is that of the number unless given.
#[pyfunction]
#[pyo3(signature = (size, fill_value, *, dtype=None, device=None, requires_grad=false))]
fn full<'py>(
    size: &Bound<'py, PyAny>,
    fill_value: &Bound<'py, PyAny>,
    dtype: Any<'_, 'py>,
    device: Any<'_, 'py>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    check_device(device)?;
    let py = size.py();
    let dims = shape_of(&PyTuple::new(py, [size])?)?;
    let (v, d) = (number(fill_value, "fill_value")?, opt_dtype(dtype)?);
    finish(py, call(py, || filled(&dims, v, d))?, requires_grad)
}

/// A tensor of the shape and dtype of another, filled with one number.
#[pyfunction]
#[pyo3(signature = (input, fill_value, *, dtype=None, device=None, requires_grad=false))]
fn full_like<'py>(
    input: &Bound<'py, PyTensor>,
    fill_value: &Bound<'py, PyAny>,
    dtype: Any<'_, 'py>,
    device: Any<'_, 'py>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    check_device(device)?;
    let t = &input.get().inner;
    let (v, d) = (number(fill_value, "fill_value")?, opt_dtype(dtype)?.unwrap_or(t.dtype()));
    finish(input.py(), call(input.py(), || ops::full(&t.dims(), v, d))?, requires_grad)
}

/// The numbers from `start` up to but without `end`, by `step`.
#[pyfunction]
#[pyo3(signature = (*args, start=None, end=None, step=None, dtype=None, device=None, requires_grad=false))]
#[allow(clippy::too_many_arguments)]
fn arange<'py>(
    py: Python<'py>,
    args: &Bound<'py, PyTuple>,
    start: Any<'_, 'py>,
    end: Any<'_, 'py>,
    step: Any<'_, 'py>,
    dtype: Any<'_, 'py>,
    device: Any<'_, 'py>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    check_device(device)?;
    let list: Vec<Scalar> = args.iter().map(|a| number(&a, "a bound")).collect::<PyResult<_>>()?;
    let named = |o: Any<'_, 'py>, name: &str| o.map(|o| number(o, name)).transpose();
    let (mut s, mut e, mut k) = (named(start, "start")?, named(end, "end")?, named(step, "step")?);
    match list[..] {
        [] => {}
        [a] if e.is_none() => e = Some(a),
        [a] => s = Some(a),
        [a, b] => (s, e) = (Some(a), Some(b)),
        [a, b, c] => (s, e, k) = (Some(a), Some(b), Some(c)),
        _ => {
            return Err(PyTypeError::new_err(format!(
                "arange() takes at most 3 numbers, got {}",
                list.len()
            )));
        }
    }
    let Some(e) = e else { return Err(PyTypeError::new_err("arange() needs an end")) };
    let (s, k) = (s.unwrap_or(Scalar::Int(0)), k.unwrap_or(Scalar::Int(1)));
    let float = [s, e, k].iter().any(|v| matches!(v, Scalar::Float(_)));
    let d = opt_dtype(dtype)?.unwrap_or(if float { ops::default_dtype() } else { DType::I64 });
    finish(py, Tensor::new(call(py, || join::arange(s, e, k, d))?), requires_grad)
}

/// `steps` numbers at equal distances from `start` to `end`, both included.
#[pyfunction]
#[pyo3(signature = (start, end, steps, *, dtype=None, device=None, requires_grad=false))]
fn linspace<'py>(
    py: Python<'py>,
    start: &Bound<'py, PyAny>,
    end: &Bound<'py, PyAny>,
    steps: isize,
    dtype: Any<'_, 'py>,
    device: Any<'_, 'py>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    check_device(device)?;
    if steps < 0 {
        return Err(pyo3::exceptions::PyRuntimeError::new_err(format!(
            "number of steps must be non-negative, got {steps}"
        )));
    }
    let (s, e) = (number(start, "start")?.as_f64(), number(end, "end")?.as_f64());
    let d = opt_dtype(dtype)?.unwrap_or(ops::default_dtype());
    finish(py, Tensor::new(call(py, || join::linspace(s, e, steps as usize, d))?), requires_grad)
}

/// A matrix with ones on the diagonal.
#[pyfunction]
#[pyo3(signature = (n, m=None, *, dtype=None, device=None, requires_grad=false))]
fn eye<'py>(
    py: Python<'py>,
    n: isize,
    m: Option<isize>,
    dtype: Any<'_, 'py>,
    device: Any<'_, 'py>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    check_device(device)?;
    let m = m.unwrap_or(n);
    if n < 0 || m < 0 {
        return Err(PyValueError::new_err(format!("n and m must be greater or equal to 0, got {n} and {m}")));
    }
    let d = opt_dtype(dtype)?.unwrap_or(ops::default_dtype());
    finish(py, call(py, || ops::eye(n as usize, m as usize, d))?, requires_grad)
}

/// Integers spread evenly over [low, high).
#[pyfunction]
#[pyo3(signature = (*args, low=None, high=None, size=None, generator=None, dtype=None, device=None, requires_grad=false))]
#[allow(clippy::too_many_arguments)]
fn randint<'py>(
    py: Python<'py>,
    args: &Bound<'py, PyTuple>,
    low: Option<i64>,
    high: Option<i64>,
    size: Any<'_, 'py>,
    generator: Option<&Bound<'py, PyGenerator>>,
    dtype: Any<'_, 'py>,
    device: Any<'_, 'py>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    check_device(device)?;
    let mut ints = Vec::new();
    let mut shape = size.cloned();
    for a in args.iter() {
        match a.extract::<i64>() {
            Ok(i) => ints.push(i),
            Err(_) => shape = Some(a),
        }
    }
    let (l, h) = match (ints[..].as_ref(), low, high) {
        ([h], l, None) => (l.unwrap_or(0), Some(*h)),
        ([l, h], None, None) => (*l, Some(*h)),
        ([l], None, h) => (*l, h),
        ([], l, h) => (l.unwrap_or(0), h),
        _ => return Err(PyTypeError::new_err("randint() takes low, high and a size")),
    };
    let (Some(h), Some(shape)) = (h, shape) else {
        return Err(PyTypeError::new_err("randint() needs high and a size, as in randint(0, 10, (2, 3))"));
    };
    let dims = shape_of(&PyTuple::new(py, [shape])?)?;
    let d = opt_dtype(dtype)?.unwrap_or(DType::I64);
    let a = call(py, || stream(generator, |g| random::randint(g, l, h, &dims, d)))?;
    finish(py, Tensor::new(a), requires_grad)
}

/// The integers below `n` in random order.
#[pyfunction]
#[pyo3(signature = (n, *, generator=None, dtype=None, device=None, requires_grad=false))]
fn randperm<'py>(
    py: Python<'py>,
    n: isize,
    generator: Option<&Bound<'py, PyGenerator>>,
    dtype: Any<'_, 'py>,
    device: Any<'_, 'py>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    check_device(device)?;
    if n < 0 {
        return Err(pyo3::exceptions::PyRuntimeError::new_err(format!("n must be non-negative, got {n}")));
    }
    let d = opt_dtype(dtype)?.unwrap_or(DType::I64);
    let a = call(py, || stream(generator, |g| random::randperm(g, n as usize, d)))?;
    finish(py, Tensor::new(a), requires_grad)
}

/// 1 with the probability that each element gives, else 0.
#[pyfunction]
#[pyo3(signature = (input, *, generator=None))]
fn bernoulli<'py>(
    input: &Bound<'py, PyTensor>,
    generator: Option<&Bound<'py, PyGenerator>>,
) -> PyResult<Bound<'py, PyTensor>> {
    let py = input.py();
    let a = call(py, || {
        let p = input.get().inner.array()?;
        stream(generator, |g| random::bernoulli(g, &p))
    })?;
    finish(py, Tensor::new(a), false)
}

#[pymethods]
impl PyTensor {
    /// Zeros of a shape, in this tensor's dtype.
    #[pyo3(signature = (*size, dtype=None, device=None, requires_grad=false))]
    fn new_zeros<'py>(
        &self,
        py: Python<'py>,
        size: &Bound<'py, PyTuple>,
        dtype: Any<'_, 'py>,
        device: Any<'_, 'py>,
        requires_grad: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        self.new_filled(py, size, Scalar::Int(0), dtype, device, requires_grad)
    }

    /// Ones of a shape, in this tensor's dtype.
    #[pyo3(signature = (*size, dtype=None, device=None, requires_grad=false))]
    fn new_ones<'py>(
        &self,
        py: Python<'py>,
        size: &Bound<'py, PyTuple>,
        dtype: Any<'_, 'py>,
        device: Any<'_, 'py>,
        requires_grad: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        self.new_filled(py, size, Scalar::Int(1), dtype, device, requires_grad)
    }

    /// A tensor of a shape, in this tensor's dtype; here its elements are zeros.
    #[pyo3(signature = (*size, dtype=None, device=None, requires_grad=false))]
    fn new_empty<'py>(
        &self,
        py: Python<'py>,
        size: &Bound<'py, PyTuple>,
        dtype: Any<'_, 'py>,
        device: Any<'_, 'py>,
        requires_grad: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        self.new_filled(py, size, Scalar::Int(0), dtype, device, requires_grad)
    }

    /// A tensor of a shape filled with one number, in this tensor's dtype.
    #[pyo3(signature = (size, fill_value, *, dtype=None, device=None, requires_grad=false))]
    fn new_full<'py>(
        &self,
        py: Python<'py>,
        size: &Bound<'py, PyAny>,
        fill_value: &Bound<'py, PyAny>,
        dtype: Any<'_, 'py>,
        device: Any<'_, 'py>,
        requires_grad: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        self.new_filled(
            py,
            &PyTuple::new(py, [size])?,
            number(fill_value, "fill_value")?,
            dtype,
            device,
            requires_grad,
        )
    }

    /// A new tensor with the numbers of `data`, in this tensor's dtype.
    #[pyo3(signature = (data, *, dtype=None, device=None, requires_grad=false))]
    fn new_tensor<'py>(
        &self,
        data: &Bound<'py, PyAny>,
        dtype: Any<'_, 'py>,
        device: Any<'_, 'py>,
        requires_grad: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        check_device(device)?;
        let py = data.py();
        let own = super::convert::dtype_object(py, self.inner.dtype())?;
        finish(py, super::convert::tensor_from(data, Some(dtype.unwrap_or(&own)))?, requires_grad)
    }

    /// Fills the tensor with normally distributed numbers.
    #[pyo3(signature = (mean=0.0, std=1.0, *, generator=None))]
    fn normal_<'py>(
        slf: Bound<'py, Self>,
        mean: f64,
        std: f64,
        generator: Option<&Bound<'py, PyGenerator>>,
    ) -> PyResult<Bound<'py, Self>> {
        refill(&slf, |t| stream(generator, |g| random::normal(g, &t.dims(), t.dtype(), mean, std)))?;
        Ok(slf)
    }

    /// Fills the tensor with 1 (with probability p) and 0.
    #[pyo3(signature = (p=0.5, *, generator=None))]
    fn bernoulli_<'py>(
        slf: Bound<'py, Self>,
        p: f64,
        generator: Option<&Bound<'py, PyGenerator>>,
    ) -> PyResult<Bound<'py, Self>> {
        refill(&slf, |t| {
            let probs = Array::full(&t.dims(), Scalar::Float(p), DType::F64)?;
            stream(generator, |g| random::bernoulli(g, &probs))?.cast(t.dtype())
        })?;
        Ok(slf)
    }

    /// Fills the tensor with numbers spread evenly over [from, to).
    #[pyo3(signature = (from_=0.0, to=1.0, *, generator=None))]
    fn uniform_<'py>(
        slf: Bound<'py, Self>,
        from_: f64,
        to: f64,
        generator: Option<&Bound<'py, PyGenerator>>,
    ) -> PyResult<Bound<'py, Self>> {
        refill(&slf, |t| stream(generator, |g| random::uniform(g, &t.dims(), t.dtype(), from_, to)))?;
        Ok(slf)
    }
}

/// One block of Philox4x32-10, for checks against known answers.
#[pyfunction]
fn _philox4x32(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    random::philox(counter, key)
}

fn refill(t: &Bound<'_, PyTensor>, f: impl FnOnce(&Tensor) -> Result<Array>) -> PyResult<()> {
    let t2 = &t.get().inner;
    call(t.py(), || ops::copy_(t2, &Tensor::internal(f(t2)?)))
}

impl PyTensor {
    fn new_filled<'py>(
        &self,
        py: Python<'py>,
        size: &Bound<'py, PyTuple>,
        v: Scalar,
        dtype: Any<'_, 'py>,
        device: Any<'_, 'py>,
        requires_grad: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        check_device(device)?;
        let dims = shape_of(size)?;
        let d = opt_dtype(dtype)?.unwrap_or(self.inner.dtype());
        finish(py, call(py, || ops::full(&dims, v, d))?, requires_grad)
    }
}

/// Adds this module's classes and functions.
pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("Generator", m.py().get_type::<PyGenerator>())?;
    macro_rules! functions {
        ($($f:ident),*) => { $( m.add_function(wrap_pyfunction!($f, m)?)?; )* };
    }
    functions!(
        zeros,
        ones,
        empty,
        rand,
        randn,
        zeros_like,
        ones_like,
        empty_like,
        rand_like,
        randn_like,
        full,
        full_like,
        arange,
        linspace,
        eye,
        randint,
        randperm,
        bernoulli,
        manual_seed,
        get_rng_state,
        set_rng_state,
        initial_seed,
        _philox4x32
    );
    Ok(())
}
