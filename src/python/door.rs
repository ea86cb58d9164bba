//! The one door between Python and the core: errors are mapped, panics caught, the interpreter lock released.

use crate::{Error, Kind, Result};
use pyo3::exceptions::{PyIndexError, PyMemoryError, PyNotImplementedError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use std::cell::Cell;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Elementary operations above which the interpreter lock is released (about five microseconds of work).
const RELEASE: usize = 16 << 10;

/// Classes with more than one base are made with `type(...)`, so that programs may expect either.
struct Classes {
    shape: Py<PyType>,
    argument: Py<PyType>,
    dtype: Py<PyType>,
    memory: Py<PyType>,
    scope: Py<PyType>,
    scope_closed: Py<PyType>,
    scope_cap: Py<PyType>,
    tensor_closed: Py<PyType>,
    internal: Py<PyType>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

const SOURCE: &str = r#"
class ShapeError(ValueError, RuntimeError):
    """Shapes do not fit each other or the operation."""
class ArgumentError(ValueError, RuntimeError):
    """An argument has a value that the operation cannot take."""
class DTypeError(TypeError, RuntimeError):
    """A dtype, or the type of an argument, is not supported."""
class OutOfMemoryError(MemoryError, RuntimeError):
    """Memory could not be had."""
class ScopeError(RuntimeError):
    """A rule of scopes was broken."""
class ScopeClosedError(ScopeError):
    """A scope was used after its end."""
class ScopeCapError(ScopeError):
    """A scope's limit was met."""
class TensorClosedError(ScopeError):
    """A tensor was used after its scope released it."""
class InternalError(RuntimeError):
    """A bug in rgrad: please report it with the program that found it."""
"#;

/// Makes the classes and adds them to the module.
pub fn add_classes(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    let space = PyDict::new(py);
    space.set_item("__name__", "rgrad")?;
    let code = CString::new(SOURCE).expect("no zero bytes");
    py.run(&code, Some(&space), None)?;
    let get = |name: &str| -> PyResult<Py<PyType>> {
        let class = space.get_item(name)?.expect("defined above").cast_into::<PyType>()?;
        m.add(name, &class)?;
        Ok(class.unbind())
    };
    let classes = Classes {
        shape: get("ShapeError")?,
        argument: get("ArgumentError")?,
        dtype: get("DTypeError")?,
        memory: get("OutOfMemoryError")?,
        scope: get("ScopeError")?,
        scope_closed: get("ScopeClosedError")?,
        scope_cap: get("ScopeCapError")?,
        tensor_closed: get("TensorClosedError")?,
        internal: get("InternalError")?,
    };
    let _ = CLASSES.set(py, classes);
    quiet_panics();
    Ok(())
}

/// The Python exception of an error of the core.
#[cold]
pub fn to_py(py: Python<'_>, e: Error) -> PyErr {
    let kind = e.kind();
    let message = e.to_string();
    if kind == Kind::Foreign {
        return match e.into_payload().map(|p| p.downcast::<PyErr>()) {
            Some(Ok(original)) => *original,
            _ => PyRuntimeError::new_err(message),
        };
    }
    let class = |pick: fn(&Classes) -> &Py<PyType>| match CLASSES.get(py) {
        Some(c) => PyErr::from_type(pick(c).bind(py).clone(), message.clone()),
        None => PyRuntimeError::new_err(message.clone()),
    };
    match kind {
        Kind::Shape => class(|c| &c.shape),
        Kind::Value => class(|c| &c.argument),
        Kind::Type => class(|c| &c.dtype),
        Kind::Memory => class(|c| &c.memory),
        Kind::Scope => class(|c| &c.scope),
        Kind::ScopeClosed => class(|c| &c.scope_closed),
        Kind::ScopeCap => class(|c| &c.scope_cap),
        Kind::TensorClosed => class(|c| &c.tensor_closed),
        Kind::Internal => class(|c| &c.internal),
        Kind::Index => PyIndexError::new_err(message),
        Kind::NotImplemented => PyNotImplementedError::new_err(message),
        Kind::Graph | Kind::Interrupted => PyRuntimeError::new_err(message),
        #[allow(unreachable_patterns)]
        _ => PyMemoryError::new_err(message),
    }
}

/// An error of Python that travels through the core unchanged.
#[cold]
pub fn foreign(e: PyErr) -> Error {
    Error::foreign(e.to_string(), Box::new(e))
}

thread_local! {
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// Panics that the door catches print nothing: they arrive as exceptions.
fn quiet_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if INSIDE.get() == 0 {
                before(info);
            }
        }));
    });
}

#[cold]
fn panicked(p: Box<dyn std::any::Any + Send>) -> Error {
    let text =
        p.downcast_ref::<&str>().map(|s| s.to_string()).or_else(|| p.downcast_ref::<String>().cloned());
    Error::new(Kind::Internal, "", format!("internal error: {}", text.unwrap_or_else(|| "a panic".into())))
}

/// Calls the core: errors and panics become Python exceptions.
#[inline]
pub fn call<R>(py: Python<'_>, f: impl FnOnce() -> Result<R>) -> PyResult<R> {
    INSIDE.set(INSIDE.get() + 1);
    let r = catch_unwind(AssertUnwindSafe(f));
    INSIDE.set(INSIDE.get() - 1);
    match r {
        Ok(Ok(v)) => Ok(v),
        Ok(Err(e)) => Err(to_py(py, e)),
        Err(p) => Err(to_py(py, panicked(p))),
    }
}

/// As [`call`], without the interpreter lock when the work is worth it.
#[inline]
pub fn heavy<R: Send>(py: Python<'_>, work: usize, f: impl FnOnce() -> Result<R> + Send) -> PyResult<R> {
    if work < RELEASE {
        return call(py, f);
    }
    // The error is mapped with the lock held again.
    let r = py.detach(move || {
        INSIDE.set(INSIDE.get() + 1);
        let r = catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|p| Err(panicked(p)));
        INSIDE.set(INSIDE.get() - 1);
        r
    });
    r.map_err(|e| to_py(py, e))
}

/// Looks for a signal, such as Ctrl-C, during a long pass.
pub fn check_signals() -> Result<()> {
    Python::attach(|py| py.check_signals()).map_err(foreign)
}
