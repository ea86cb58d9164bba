//! Scopes, memory, threads and defaults.

use super::convert::{dtype_object, dtype_of};
use super::door::{call, to_py};
use super::tensor::PyTensor;
use crate::graph::Tensor;
use crate::kernels::threads;
use crate::scope::Scope;
use crate::{Error, Kind, Scalar, ops, scope, storage};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A scope of the core; `rgrad.scope` wraps it.
#[pyclass(name = "_Scope", module = "rgrad", frozen, weakref)]
pub struct PyScope(Scope);

fn core(list: &[Bound<'_, PyTensor>]) -> Vec<Tensor> {
    list.iter().map(|t| t.get().inner.clone()).collect()
}

#[pymethods]
impl PyScope {
    #[new]
    #[pyo3(signature = (name, parent=None))]
    fn new(py: Python<'_>, name: &str, parent: Option<&Bound<'_, PyScope>>) -> PyResult<PyScope> {
        Ok(PyScope(match parent {
            Some(p) => call(py, || p.get().0.child(name))?,
            None => Scope::root(name),
        }))
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    #[getter]
    fn path(&self) -> String {
        self.0.path()
    }

    #[getter]
    fn is_open(&self) -> bool {
        self.0.is_open()
    }

    #[getter]
    fn parent(&self) -> Option<PyScope> {
        self.0.parent().map(|p| PyScope(p.clone()))
    }

    fn enter(&self, py: Python<'_>) -> PyResult<()> {
        call(py, || self.0.enter())
    }

    fn leave(&self) {
        self.0.leave();
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }

    /// Hands tensors up; all move or none.
    #[pyo3(signature = (tensors, to=None))]
    fn ret(
        &self,
        py: Python<'_>,
        tensors: Vec<Bound<'_, PyTensor>>,
        to: Option<&Bound<'_, PyScope>>,
    ) -> PyResult<()> {
        let list = core(&tensors);
        for t in &list {
            let owner = t.scope();
            if !owner.as_ref().is_some_and(|o| self.0.contains(o)) {
                let whose = owner.map_or("no scope".to_string(), |o| format!("scope '{}'", o.path()));
                return Err(to_py(
                    py,
                    Error::new(
                        Kind::Scope,
                        "ret",
                        format!(
                            "a tensor of shape {:?} belongs to {whose}, not to scope '{}' or one inside it",
                            t.dims().as_slice(),
                            self.0.path()
                        ),
                    ),
                ));
            }
        }
        self.hand_up(py, &list, to)
    }

    /// As `ret`, for those of the tensors that belong to this scope.
    fn ret_own(&self, py: Python<'_>, tensors: Vec<Bound<'_, PyTensor>>) -> PyResult<()> {
        let list: Vec<Tensor> =
            core(&tensors).into_iter().filter(|t| t.scope().is_some_and(|o| self.0.contains(&o))).collect();
        self.hand_up(py, &list, None)
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let c = self.0.counts();
        let d = PyDict::new(py);
        d.set_item("live_tensors", c.live_tensors)?;
        d.set_item("peak_tensors", c.peak_tensors)?;
        d.set_item("total_tensors", c.total_tensors)?;
        d.set_item("live_bytes", c.live_bytes)?;
        d.set_item("peak_bytes", c.peak_bytes)?;
        d.set_item("returned", c.returned)?;
        d.set_item("released_tensors", c.released_tensors)?;
        d.set_item("released_bytes", c.released_bytes)?;
        Ok(d)
    }

    fn __eq__(&self, other: &PyScope) -> bool {
        self.0.same(&other.0)
    }

    fn __hash__(&self) -> usize {
        self.0.id() as usize
    }
}

impl PyScope {
    fn hand_up(&self, py: Python<'_>, list: &[Tensor], to: Option<&Bound<'_, PyScope>>) -> PyResult<()> {
        let target = match to {
            Some(t) => {
                let t = &t.get().0;
                if t.same(&self.0) || !t.contains(&self.0) {
                    let e = format!("scope '{}' is not around scope '{}'", t.path(), self.0.path());
                    return Err(to_py(py, Error::new(Kind::Scope, "ret", e)));
                }
                Some(t.clone())
            }
            None => self.0.parent().cloned(),
        };
        call(py, || {
            if let Some(t) = &target {
                crate::ensure!(t.is_open(), ScopeClosed, "ret", "scope '{}' has ended", t.path());
            }
            for t in list {
                t.array()?;
            }
            for t in list {
                t.move_to_scope(target.as_ref())?;
            }
            Ok(())
        })
    }
}

#[pyfunction]
fn _current_scope() -> Option<PyScope> {
    scope::current().map(PyScope)
}

/// Gives a tensor to the scope that owns another.
#[pyfunction]
fn _own_like(py: Python<'_>, tensor: &Bound<'_, PyTensor>, like: &Bound<'_, PyTensor>) -> PyResult<()> {
    let owner = like.get().inner.scope();
    call(py, || tensor.get().inner.move_to_scope(owner.as_ref()))
}

#[pyfunction]
fn _live_bytes() -> usize {
    storage::stats().live_bytes
}

/// Counters of the memory that tensors use: live, peak and cached bytes, buffers, allocations.
#[pyfunction]
fn memory_stats<'py>(py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
    let s = storage::stats();
    let d = PyDict::new(py);
    d.set_item("live_bytes", s.live_bytes)?;
    d.set_item("live_blocks", s.live_blocks)?;
    d.set_item("peak_bytes", s.peak_bytes)?;
    d.set_item("allocations", s.allocations)?;
    d.set_item("system_allocations", s.system_allocations)?;
    d.set_item("cached_bytes", s.cached_bytes)?;
    Ok(d)
}

#[pyfunction]
fn reset_peak_memory() {
    storage::reset_peak();
}

#[pyfunction]
fn empty_cache() {
    storage::empty_cache();
}

/// Sets the number of threads of big operations and of the backward pass.
#[pyfunction]
fn set_num_threads(n: isize) -> PyResult<()> {
    if n < 1 {
        return Err(pyo3::exceptions::PyRuntimeError::new_err(format!(
            "set_num_threads expects a positive integer, got {n}"
        )));
    }
    threads::set_num_threads(n as usize);
    Ok(())
}

/// The number of threads of big operations and of the backward pass.
#[pyfunction]
fn get_num_threads() -> usize {
    threads::num_threads()
}

/// Sets the dtype of floats that come without one.
#[pyfunction]
fn set_default_dtype(py: Python<'_>, d: &Bound<'_, PyAny>) -> PyResult<()> {
    let d = dtype_of(d)?;
    call(py, || ops::set_default_dtype(d))
}

/// The dtype of floats that come without one.
#[pyfunction]
fn get_default_dtype(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    dtype_object(py, ops::default_dtype())
}

/// Whether an object is a tensor.
#[pyfunction]
fn is_tensor(obj: &Bound<'_, PyAny>) -> bool {
    obj.is_instance_of::<PyTensor>()
}

/// The dtype that holds values of both.
#[pyfunction]
fn promote_types<'py>(type1: &Bound<'py, PyAny>, type2: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    dtype_object(type1.py(), dtype_of(type1)?.promote(dtype_of(type2)?))
}

/// The dtype of the result of an operation on two tensors or numbers.
#[pyfunction]
fn result_type<'py>(tensor1: &Bound<'py, PyAny>, tensor2: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let mut p = crate::dtype::Promotion::default();
    for (o, name) in [(tensor1, "tensor1"), (tensor2, "tensor2")] {
        match super::convert::need_operand(o, name)? {
            super::convert::Owned::Tensor(t) => p.tensor(t.dtype(), t.ndim()),
            super::convert::Owned::Number(s) => p.number(s, ops::default_dtype()),
        }
    }
    dtype_object(tensor1.py(), p.result().unwrap_or(Scalar::Int(0).dtype(ops::default_dtype())))
}

/// Whether values of one dtype may be cast to another without changing their kind.
#[pyfunction]
fn can_cast(from_: &Bound<'_, PyAny>, to: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (f, t) = (dtype_of(from_)?, dtype_of(to)?);
    Ok(f.category() <= t.category())
}

/// Adds this module's classes and functions.
pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("_Scope", m.py().get_type::<PyScope>())?;
    macro_rules! functions {
        ($($f:ident),*) => { $( m.add_function(wrap_pyfunction!($f, m)?)?; )* };
    }
    functions!(
        _current_scope,
        _own_like,
        _live_bytes,
        memory_stats,
        reset_peak_memory,
        empty_cache,
        set_num_threads,
        get_num_threads,
        set_default_dtype,
        get_default_dtype,
        is_tensor,
        promote_types,
        result_type,
        can_cast
    );
    Ok(())
}
