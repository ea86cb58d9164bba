//! The graph as Python sees it: nodes, hooks, the backward pass, custom functions, forward mode.

use super::door::{call, check_signals, foreign, heavy, to_py};
use super::tensor::{PyTensor, fresh, tensor_of, wrap};
use crate::graph::{self, Edge, Grads, Node, Op, Tensor, TensorHook, Vjp, WeakTensor, mode};
use crate::{Array, Result, engine, ops};
use parking_lot::Mutex;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;
use std::any::Any;
use std::borrow::Cow;
use std::sync::{Arc, Weak};

/// What a [`PyNode`] stands for.
enum Which {
    Node(Arc<Node>),
    /// The end of an edge at a leaf.
    Leaf(Tensor),
}

/// A step of the backward pass.
#[pyclass(name = "Node", module = "rgrad", frozen, weakref)]
pub struct PyNode(Which);

#[pymethods]
impl PyNode {
    /// The step's name, such as `MulBackward0`; `AccumulateGrad` for a leaf.
    pub fn name(&self) -> String {
        match &self.0 {
            Which::Node(n) => n.name(),
            Which::Leaf(_) => "AccumulateGrad".into(),
        }
    }

    /// Where the gradients of the inputs go: pairs of a node (or None) and the number of its output.
    #[getter]
    pub fn next_functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let Which::Node(n) = &self.0 else { return Ok(PyTuple::empty(py)) };
        let items: Vec<(Option<Bound<'py, PyNode>>, u32)> = n
            .edges
            .iter()
            .map(|e| {
                Ok(match e {
                    Edge::None => (None, 0),
                    Edge::Node(m, nr) => (Some(Bound::new(py, PyNode(Which::Node(m.clone())))?), *nr),
                    Edge::Leaf(t) => (Some(Bound::new(py, PyNode(Which::Leaf(t.clone())))?), 0),
                })
            })
            .collect::<PyResult<_>>()?;
        PyTuple::new(py, items)
    }

    /// The leaf whose gradient is accumulated.
    #[getter]
    fn variable<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        match &self.0 {
            Which::Leaf(t) => wrap(py, t.clone()),
            Which::Node(n) => Err(pyo3::exceptions::PyAttributeError::new_err(format!(
                "'{}' object has no attribute 'variable'",
                n.name()
            ))),
        }
    }

    /// Shapes and dtypes of the outputs.
    #[getter]
    fn _outputs(&self) -> Vec<(Vec<usize>, String)> {
        match &self.0 {
            Which::Node(n) => n.outputs.iter().map(|m| (m.dims.to_vec(), m.dtype.to_string())).collect(),
            Which::Leaf(t) => vec![(t.dims().to_vec(), t.dtype().to_string())],
        }
    }

    /// Bytes that the step keeps saved.
    #[getter]
    fn _saved_bytes(&self) -> usize {
        match &self.0 {
            Which::Node(n) => n.op.saved_bytes(),
            Which::Leaf(_) => 0,
        }
    }

    /// The number of the step in the order of recording.
    #[getter]
    fn _sequence_nr(&self) -> u64 {
        match &self.0 {
            Which::Node(n) => n.seq,
            Which::Leaf(_) => u64::MAX,
        }
    }

    /// A dictionary for notes of the user's, kept with the node.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Which::Node(n) = &self.0 else { return Ok(PyDict::new(py)) };
        let held = n.with_hooks(|h| h.metadata.clone());
        if let Some(d) = held.and_then(|a| a.downcast::<Py<PyDict>>().ok()) {
            return Ok(d.bind(py).clone());
        }
        let d = PyDict::new(py);
        let keep: Arc<dyn Any + Send + Sync> = Arc::new(d.clone().unbind());
        n.with_hooks(|h| h.metadata = Some(keep));
        Ok(d)
    }

    /// Calls `hook(grad_inputs, grad_outputs)` after the step; what it returns replaces the former.
    fn register_hook(&self, hook: Py<PyAny>) -> PyResult<Handle> {
        let Which::Node(n) = &self.0 else { return Err(leaf_hook()) };
        let id = graph::next_hook();
        let f: graph::NodeHook = Arc::new(move |ins, outs| {
            Python::attach(|py| {
                let r = hook.bind(py).call1((optional(py, ins)?, optional(py, outs)?))?;
                gradients(&r, ins.len(), "a hook")
            })
            .map_err(foreign)
        });
        n.with_hooks(|h| h.post.push((id, f)));
        Ok(Handle { id, of: Of::Node(Arc::downgrade(n)) })
    }

    /// Calls `hook(grad_outputs)` before the step; what it returns replaces them.
    fn register_prehook(&self, hook: Py<PyAny>) -> PyResult<Handle> {
        let Which::Node(n) = &self.0 else { return Err(leaf_hook()) };
        let id = graph::next_hook();
        let f: graph::PreHook = Arc::new(move |outs| {
            Python::attach(|py| {
                let r = hook.bind(py).call1((optional(py, outs)?,))?;
                gradients(&r, outs.len(), "a pre-hook")
            })
            .map_err(foreign)
        });
        n.with_hooks(|h| h.pre.push((id, f)));
        Ok(Handle { id, of: Of::Node(Arc::downgrade(n)) })
    }

    fn __eq__(&self, other: &PyNode) -> bool {
        self.key() == other.key()
    }

    fn __hash__(&self) -> usize {
        self.key()
    }

    fn __repr__(&self) -> String {
        format!("<{}>", self.name())
    }
}

impl PyNode {
    fn key(&self) -> usize {
        match &self.0 {
            Which::Node(n) => Arc::as_ptr(n).cast::<()>() as usize,
            Which::Leaf(t) => t.id(),
        }
    }
}

fn leaf_hook() -> PyErr {
    PyRuntimeError::new_err(
        "hooks on the accumulation of a leaf are registered with \
                             tensor.register_post_accumulate_grad_hook",
    )
}

fn optional<'py>(py: Python<'py>, list: &[Option<Tensor>]) -> PyResult<Bound<'py, PyTuple>> {
    let items: Vec<Option<Bound<'py, PyTensor>>> =
        list.iter().map(|t| t.clone().map(|t| wrap(py, t)).transpose()).collect::<PyResult<_>>()?;
    PyTuple::new(py, items)
}

/// What a hook returned: nothing, or one gradient (or None) for each it was given.
fn gradients(r: &Bound<'_, PyAny>, n: usize, what: &str) -> PyResult<Option<Vec<Option<Tensor>>>> {
    if r.is_none() {
        return Ok(None);
    }
    if let Some(t) = tensor_of(r)
        && n == 1
    {
        return Ok(Some(vec![Some(t.clone())]));
    }
    let mut out = Vec::new();
    for g in r
        .try_iter()
        .map_err(|_| PyTypeError::new_err(format!("{what} must return None, a tensor or a tuple")))?
    {
        let g = g?;
        out.push(match tensor_of(&g) {
            Some(t) => Some(t.clone()),
            None if g.is_none() => None,
            None => {
                return Err(PyTypeError::new_err(format!(
                    "{what} returned a {} instead of a tensor",
                    g.get_type().name()?
                )));
            }
        });
    }
    if out.len() != n {
        return Err(PyRuntimeError::new_err(format!(
            "{what} returned {} gradients, expected {n}",
            out.len()
        )));
    }
    Ok(Some(out))
}

enum Of {
    Node(Weak<Node>),
    /// A leaf, or a tensor whose node may have changed since: the node it had then.
    Tensor(WeakTensor, Option<Weak<Node>>),
}

/// Removes a hook: `remove()`, or the end of a `with` block.
#[pyclass(name = "RemovableHandle", module = "rgrad", frozen, weakref)]
pub struct Handle {
    id: u64,
    of: Of,
}

#[pymethods]
impl Handle {
    /// The hook's number.
    #[getter]
    fn id(&self) -> u64 {
        self.id
    }

    /// Removes the hook; a second call does nothing.
    fn remove(&self) {
        match &self.of {
            Of::Node(n) => {
                if let Some(n) = n.upgrade() {
                    n.remove_hook(self.id);
                }
            }
            Of::Tensor(t, n) => {
                if let Some(n) = n.as_ref().and_then(Weak::upgrade) {
                    n.remove_hook(self.id);
                }
                if let Some(t) = t.upgrade() {
                    t.remove_hook(self.id);
                }
            }
        }
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, _args: &Bound<'_, PyTuple>) {
        self.remove();
    }
}

fn tensor_hook(hook: Py<PyAny>) -> TensorHook {
    Arc::new(move |g| {
        Python::attach(|py| {
            let r = hook.bind(py).call1((wrap(py, g.clone())?,))?;
            if r.is_none() {
                return Ok(None);
            }
            match tensor_of(&r) {
                Some(t) => Ok(Some(t.clone())),
                None => Err(PyTypeError::new_err(format!(
                    "a hook must return None or a tensor, got {}",
                    r.get_type().name()?
                ))),
            }
        })
        .map_err(foreign)
    })
}

#[pymethods]
impl PyTensor {
    /// The step that made this tensor; None for a leaf.
    #[getter]
    fn grad_fn<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyNode>>> {
        self.inner.grad_fn().map(|(n, _)| Bound::new(py, PyNode(Which::Node(n)))).transpose()
    }

    /// Calls `hook(grad)` when the gradient of this tensor is computed; what it returns replaces the gradient.
    fn register_hook(&self, py: Python<'_>, hook: Py<PyAny>) -> PyResult<Handle> {
        let id = call(py, || self.inner.register_hook(tensor_hook(hook)))?;
        let node = self.inner.grad_fn().map(|(n, _)| Arc::downgrade(&n));
        Ok(Handle { id, of: Of::Tensor(self.inner.downgrade(), node) })
    }

    /// Calls `hook(tensor)` after a pass has added to this leaf's gradient.
    fn register_post_accumulate_grad_hook(&self, py: Python<'_>, hook: Py<PyAny>) -> PyResult<Handle> {
        let f: TensorHook = Arc::new(move |t| {
            Python::attach(|py| hook.bind(py).call1((wrap(py, t.clone())?,)).map(|_| None)).map_err(foreign)
        });
        let id = call(py, || self.inner.register_post_accumulate_grad_hook(f))?;
        Ok(Handle { id, of: Of::Tensor(self.inner.downgrade(), None) })
    }

    /// Adds the gradients of this tensor to the leaves that it depends on.
    ///
    /// `gradient` is the cotangent, of this tensor's shape; it may be left out for a tensor of one element.
    #[pyo3(signature = (gradient=None, retain_graph=None, create_graph=false, inputs=None))]
    fn backward(
        slf: &Bound<'_, Self>,
        gradient: Option<&Bound<'_, PyAny>>,
        retain_graph: Option<bool>,
        create_graph: bool,
        inputs: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let py = slf.py();
        let plain = inputs.is_none_or(|i| i.is_none());
        let given = match gradient.filter(|g| !g.is_none()) {
            None => None,
            Some(g) if plain => match tensor_of(g) {
                Some(t) => Some(t.clone()),
                None => {
                    return Err(PyTypeError::new_err(format!(
                        "gradients can be either Tensors or None, but got {}",
                        g.get_type().name()?
                    )));
                }
            },
            Some(_) => None,
        };
        if plain {
            let options = engine::Options {
                retain_graph: retain_graph.unwrap_or(create_graph),
                create_graph,
                accumulate: true,
                allow_unused: true,
            };
            let root = slf.get().inner.clone();
            return run(py, vec![root], vec![given], vec![], options).map(|_| ());
        }
        let f = py.import("rgrad.autograd")?.getattr("backward")?;
        let options = PyDict::new(py);
        options.set_item("inputs", inputs)?;
        f.call((slf, gradient, retain_graph, create_graph), Some(&options)).map(|_| ())
    }
}

fn run(
    py: Python<'_>,
    roots: Vec<Tensor>,
    cotangents: Vec<Option<Tensor>>,
    inputs: Vec<Tensor>,
    options: engine::Options,
) -> PyResult<Vec<Option<Tensor>>> {
    // A pass may be long or short: what tells is the graph, so the lock is released for all but tiny ones.
    heavy(py, usize::MAX, move || engine::run(&roots, &cotangents, &inputs, &options))
}

/// Runs a backward pass: see `rgrad.autograd`.
#[pyfunction]
#[pyo3(signature = (roots, cotangents, retain_graph, create_graph, inputs, accumulate, allow_unused))]
fn _run_backward<'py>(
    py: Python<'py>,
    roots: Vec<Bound<'py, PyTensor>>,
    cotangents: Vec<Option<Bound<'py, PyTensor>>>,
    retain_graph: bool,
    create_graph: bool,
    inputs: Vec<Bound<'py, PyTensor>>,
    accumulate: bool,
    allow_unused: bool,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let options = engine::Options { retain_graph, create_graph, accumulate, allow_unused };
    let core = |l: Vec<Bound<'py, PyTensor>>| l.into_iter().map(|t| t.get().inner.clone()).collect();
    let cots = cotangents.into_iter().map(|c| c.map(|c| c.get().inner.clone())).collect();
    let grads = run(py, core(roots), cots, core(inputs), options)?;
    if accumulate {
        return Ok(None);
    }
    Ok(Some(optional(py, &grads)?))
}

#[pyfunction]
fn _is_grad_enabled() -> bool {
    mode::grad_enabled()
}

#[pyfunction]
fn _set_grad_enabled(on: bool) -> bool {
    mode::set_grad_enabled(on)
}

#[pyfunction]
fn _is_inference_enabled() -> bool {
    mode::inference_enabled()
}

#[pyfunction]
fn _set_inference_enabled(on: bool) -> bool {
    mode::set_inference_enabled(on)
}

#[pyfunction]
fn _set_detect_anomaly(on: bool) {
    engine::set_detect_anomaly(on);
}

#[pyfunction]
fn _is_anomaly_enabled() -> bool {
    engine::detect_anomaly()
}

// ---- forward mode -------------------------------------------------------------------------------------------------

#[pyfunction]
fn _enter_dual_level() -> u64 {
    mode::enter_level()
}

#[pyfunction]
fn _exit_dual_level(level: u64) -> PyResult<()> {
    if mode::exit_level(level) {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(format!("forward-mode level {level} is not open in this thread")))
}

#[pyfunction]
fn _make_dual<'py>(
    primal: &Bound<'py, PyTensor>,
    tangent: &Bound<'py, PyTensor>,
    level: u64,
) -> PyResult<Bound<'py, PyTensor>> {
    let (p, t) = (&primal.get().inner, &tangent.get().inner);
    super::tensor::give(primal.py(), || Tensor::make_dual(p, t, level))
}

#[pyfunction]
fn _unpack_dual<'py>(
    tensor: &Bound<'py, PyTensor>,
    level: u64,
) -> PyResult<(Bound<'py, PyTensor>, Option<Bound<'py, PyTensor>>)> {
    let py = tensor.py();
    let (p, t) = tensor.get().inner.unpack_dual(level);
    Ok((wrap(py, p)?, t.map(|t| wrap(py, t)).transpose()?))
}

// ---- custom functions -----------------------------------------------------------------------------------------------

enum Kept {
    /// An input or another value, with its history. Not the tensor: its scope may end before the backward pass.
    Value(Array, Edge),
    /// An output, without the node that made it, which is the one that keeps it.
    Output(Array, Weak<Node>, u32),
}

/// A tensor kept for a backward step.
#[pyclass(module = "rgrad", frozen)]
struct _SavedTensor {
    kept: Mutex<Option<Kept>>,
    version: u64,
    name: String,
}

#[pymethods]
impl _SavedTensor {
    #[new]
    #[pyo3(signature = (tensor, is_output, name="a custom Function".to_string()))]
    fn new(tensor: &Bound<'_, PyTensor>, is_output: bool, name: String) -> PyResult<_SavedTensor> {
        let t = &tensor.get().inner;
        let a = call(tensor.py(), || t.array())?;
        let version = a.storage().version();
        let kept = match t.grad_fn() {
            Some((n, nr)) if is_output => Kept::Output(a, Arc::downgrade(&n), nr),
            _ => Kept::Value(a, t.edge()),
        };
        Ok(_SavedTensor { kept: Mutex::new(Some(kept)), version, name })
    }

    /// Gives the tensor back; an error when it was changed in place or freed.
    #[pyo3(signature = (node=None))]
    fn unpack<'py>(
        &self,
        py: Python<'py>,
        node: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let _ = node;
        let t = match self.kept.lock().as_ref() {
            None => return Err(to_py(py, crate::ops::row::freed(&self.name))),
            Some(Kept::Value(a, Edge::Leaf(t))) => t.alias_of(a),
            Some(Kept::Value(a, edge)) => Tensor::with_edge(a.clone(), edge.clone()),
            Some(Kept::Output(a, n, nr)) => {
                let edge = n.upgrade().map_or(Edge::None, |n| Edge::Node(n, *nr));
                Tensor::with_edge(a.clone(), edge)
            }
        };
        let now = call(py, || t.version())?;
        if now != self.version {
            return Err(PyRuntimeError::new_err(format!(
                "one of the variables needed for gradient computation has been modified by an inplace operation: a \
                 tensor of shape {:?} saved by {} is at version {now}; expected version {}",
                t.dims().as_slice(),
                self.name,
                self.version
            )));
        }
        wrap(py, t)
    }

    /// Frees the tensor.
    fn release(&self) {
        let old = self.kept.lock().take();
        drop(old);
    }
}

/// A node whose step is a Python callable.
struct PyFunctionOp {
    name: String,
    callback: Py<PyAny>,
    materialize: bool,
    released: std::sync::atomic::AtomicBool,
}

impl Op for PyFunctionOp {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.name)
    }

    fn vjp(&self, step: Vjp<'_>) -> Result<Grads> {
        let mut grads = step.grads;
        if self.materialize {
            for (g, m) in grads.iter_mut().zip(&step.node.outputs) {
                if g.is_none() && m.dtype.is_float() {
                    *g = Some(Tensor::internal(Array::zeros(&m.dims, m.dtype)?));
                }
            }
        }
        let out = Python::attach(|py| -> PyResult<Grads> {
            let r = self.callback.bind(py).call1(optional(py, &grads)?)?;
            if !step.retain {
                self.callback.bind(py).call_method0("release")?;
            }
            let mut out = Grads::new();
            for (i, g) in r.try_iter()?.enumerate() {
                let g = g?;
                out.push(match tensor_of(&g) {
                    Some(t) => Some(t.clone()),
                    None if g.is_none() => None,
                    None => {
                        return Err(PyTypeError::new_err(format!(
                            "{} returned a {} at position {i}; expected a tensor or None",
                            self.name,
                            g.get_type().name()?
                        )));
                    }
                });
            }
            Ok(out)
        })
        .map_err(foreign)?;
        Ok(out)
    }

    fn release(&self) {
        self.released.store(true, std::sync::atomic::Ordering::Relaxed);
        Python::attach(|py| {
            let _ = self.callback.bind(py).call_method0("release");
        });
    }

    fn is_released(&self) -> bool {
        self.released.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn is_foreign(&self) -> bool {
        true
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Makes the outputs of a custom function anew, with one node behind them.
#[pyfunction]
#[pyo3(signature = (name, inputs, outputs, differentiable, callback, materialize, dirty=None))]
#[allow(clippy::too_many_arguments)]
fn _record_function<'py>(
    py: Python<'py>,
    name: String,
    inputs: Vec<Bound<'py, PyTensor>>,
    outputs: Vec<Bound<'py, PyTensor>>,
    differentiable: Vec<bool>,
    callback: Py<PyAny>,
    materialize: bool,
    dirty: Option<Vec<bool>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let results = call(py, || {
        let edges: SmallVec<[Edge; 2]> =
            inputs.iter().map(|t| Ok(t.get().inner.input()?.edge)).collect::<Result<_>>()?;
        let arrays: SmallVec<[Array; 1]> =
            outputs.iter().map(|t| t.get().inner.array()).collect::<Result<_>>()?;
        let op = PyFunctionOp { name, callback, materialize, released: false.into() };
        let made = graph::attach(|| op, edges, arrays, |i| differentiable.get(i).copied().unwrap_or(true));
        let mut out: Vec<Tensor> = made.into_iter().collect();
        for (i, t) in out.iter_mut().enumerate() {
            if dirty.as_ref().is_some_and(|d| d[i]) {
                // A changed argument stays the same tensor and gets the new history.
                let target = outputs[i].get().inner.clone();
                ops::rewrite_to(&target, t)?;
                *t = target;
            }
        }
        Ok(out)
    })?;
    let dirty_at = |i: usize| dirty.as_ref().is_some_and(|d| d[i]);
    let items: Vec<Bound<'py, PyTensor>> = results
        .into_iter()
        .enumerate()
        .map(|(i, t)| if dirty_at(i) { Ok(outputs[i].clone()) } else { fresh(py, t) })
        .collect::<PyResult<_>>()?;
    PyTuple::new(py, items)
}

/// Panics inside the core, for the test that a panic arrives as an exception.
#[pyfunction]
fn _panic_for_test(py: Python<'_>) -> PyResult<()> {
    call(py, || -> Result<()> { panic!("a panic on purpose") })
}

/// The operations of the table: name, kind, doc, formula.
#[pyfunction]
fn _ops_registry<'py>(py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
    ops::registry()
        .into_iter()
        .map(|o| {
            let d = PyDict::new(py);
            d.set_item("name", o.name)?;
            d.set_item("kind", o.kind)?;
            d.set_item("doc", o.doc.trim())?;
            d.set_item("formula", o.formula)?;
            Ok(d)
        })
        .collect()
}

/// Adds this module's classes and functions.
pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    engine::set_interrupt_check(check_signals);
    let py = m.py();
    m.add("Node", py.get_type::<PyNode>())?;
    m.add("RemovableHandle", py.get_type::<Handle>())?;
    m.add("_SavedTensor", py.get_type::<_SavedTensor>())?;
    macro_rules! functions {
        ($($f:ident),*) => { $( m.add_function(wrap_pyfunction!($f, m)?)?; )* };
    }
    functions!(
        _run_backward,
        _is_grad_enabled,
        _set_grad_enabled,
        _is_inference_enabled,
        _set_inference_enabled,
        _set_detect_anomaly,
        _is_anomaly_enabled,
        _enter_dual_level,
        _exit_dual_level,
        _make_dual,
        _unpack_dual,
        _record_function,
        _panic_for_test,
        _ops_registry
    );
    Ok(())
}
