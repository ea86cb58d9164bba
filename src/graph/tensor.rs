//! Tensors: an array with a place in the graph.

use super::node::{HookHandle, TensorHook, next_hook};
use super::{Edge, Node, mode};
use crate::dtype::DType;
use crate::scope::{self, ClosedBy, Registration, Resource, Scope};
use crate::shape::Layout;
use crate::{Array, Error, Kind, Result, bail, ensure};
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::AtomicPtr;
use std::sync::{Arc, Weak};

/// The data of a tensor, or what is left of it after its scope ended.
pub(super) enum Data {
    Open(Array),
    Closed { layout: Layout, dtype: DType, by: Arc<ClosedBy> },
}

/// The tangent of a tensor at one level of forward mode.
#[derive(Clone)]
pub struct Dual {
    /// The level.
    pub level: u64,
    /// The value without this tangent; it may be a dual number of another level.
    pub primal: Tensor,
    /// The tangent.
    pub tangent: Tensor,
}

/// The tensor that a view looks into.
pub(super) struct View {
    pub base: Tensor,
    /// The base's generation when the view's history was made.
    pub generation: u64,
    /// Made by an operation with several views as outputs.
    pub multi: bool,
    /// Made while nothing was recorded.
    pub unrecorded: bool,
}

#[derive(Default)]
pub(super) struct Extra {
    pub grad: Option<Tensor>,
    pub hooks: Vec<(HookHandle, TensorHook)>,
    pub post_accumulate: Vec<(HookHandle, TensorHook)>,
    pub retains_grad: bool,
    pub view: Option<View>,
    /// How often in-place operations on views rewrote the history.
    pub generation: u64,
    pub dual: Option<Dual>,
    pub name: Option<String>,
}

pub(super) struct State {
    pub data: Data,
    pub edge: Edge,
    pub requires_grad: bool,
    pub inference: bool,
    pub extra: Option<Box<Extra>>,
    pub owner: Option<Registration>,
}

impl State {
    pub(super) fn extra(&mut self) -> &mut Extra {
        self.extra.get_or_insert_with(Box::default)
    }
}

/// The shared part of a tensor.
pub struct Inner {
    state: Mutex<State>,
    /// The host language's object for this tensor, which clears it when it dies. Never followed by the core.
    host: AtomicPtr<()>,
}

/// An array with history: the unit of the graph. Cloning gives another handle of the same tensor.
#[derive(Clone)]
pub struct Tensor(Arc<Inner>);

/// A handle that does not keep its tensor.
#[derive(Clone)]
pub struct WeakTensor(Weak<Inner>);

impl WeakTensor {
    /// The tensor, if it lives.
    pub fn upgrade(&self) -> Option<Tensor> {
        self.0.upgrade().map(Tensor)
    }
}

impl Tensor {
    fn build(array: Array, edge: Edge) -> Tensor {
        let requires_grad = edge.is_some();
        let state = State {
            data: Data::Open(array),
            edge,
            requires_grad,
            inference: false,
            extra: None,
            owner: None,
        };
        Tensor(Arc::new(Inner { state: Mutex::new(state), host: AtomicPtr::new(std::ptr::null_mut()) }))
    }

    /// A tensor without history, owned by the current scope.
    #[inline]
    pub fn new(array: Array) -> Tensor {
        Tensor::with_edge(array, Edge::None)
    }

    /// A tensor that no scope owns: for values inside the engine.
    #[inline]
    pub fn internal(array: Array) -> Tensor {
        Tensor::build(array, Edge::None)
    }

    /// A tensor with the given history, owned by the current scope.
    #[inline]
    pub fn with_edge(array: Array, edge: Edge) -> Tensor {
        let t = Tensor::build(array, edge);
        if mode::inference_enabled() {
            t.state().inference = true;
        }
        if let Some(s) = scope::current() {
            t.register(&s);
        }
        t
    }

    #[cold]
    fn register(&self, s: &Scope) {
        let resource: Weak<Inner> = Arc::downgrade(&self.0);
        // The scope may end on another thread between the look-up and here; the tensor is then free-standing.
        if let Ok(r) = s.register(resource, self.0.nbytes()) {
            self.state().owner = Some(r);
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    /// The data.
    ///
    /// # Errors
    /// [`Kind::TensorClosed`] when a scope has released it.
    #[inline]
    pub fn array(&self) -> Result<Array> {
        match &self.state().data {
            Data::Open(a) => Ok(a.clone()),
            Data::Closed { layout, dtype, by } => Err(closed_error(layout, *dtype, by)),
        }
    }

    /// Replaces the data; history and views stay.
    pub fn set_array(&self, array: Array) {
        let old = std::mem::replace(&mut self.state().data, Data::Open(array));
        drop(old);
    }

    /// Calls `f` with shape, strides and dtype, which stay readable after the tensor's scope has ended.
    pub fn with_layout<R>(&self, f: impl FnOnce(&Layout, DType) -> R) -> R {
        match &self.state().data {
            Data::Open(a) => f(a.layout(), a.dtype()),
            Data::Closed { layout, dtype, .. } => f(layout, *dtype),
        }
    }

    /// Sizes.
    pub fn dims(&self) -> crate::shape::Dims {
        self.with_layout(|l, _| l.dims.clone())
    }

    /// Number of dimensions.
    pub fn ndim(&self) -> usize {
        self.with_layout(|l, _| l.ndim())
    }

    /// Number of elements.
    pub fn numel(&self) -> usize {
        self.with_layout(|l, _| l.numel())
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.with_layout(|_, d| d)
    }

    /// Whether two handles are of one tensor.
    pub fn same(&self, other: &Tensor) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// An identity, reused after the tensor is freed.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Whether this is the only handle.
    pub fn is_unique(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// A handle that does not keep the tensor.
    pub fn downgrade(&self) -> WeakTensor {
        WeakTensor(Arc::downgrade(&self.0))
    }

    /// The place where the host language keeps its object for this tensor.
    pub fn host(&self) -> &AtomicPtr<()> {
        &self.0.host
    }

    /// Whether a scope has released the data.
    pub fn is_closed(&self) -> bool {
        matches!(self.state().data, Data::Closed { .. })
    }

    /// The number of in-place writes to the buffer.
    ///
    /// # Errors
    /// [`Kind::TensorClosed`].
    pub fn version(&self) -> Result<u64> {
        Ok(self.array()?.storage().version())
    }

    // ---- the graph -------------------------------------------------------------------------------------------

    /// Whether operations on this tensor are recorded.
    #[inline]
    pub fn requires_grad(&self) -> bool {
        super::record::refresh_view(self);
        self.state().requires_grad
    }

    /// Whether no recorded operation made this tensor.
    pub fn is_leaf(&self) -> bool {
        super::record::refresh_view(self);
        !matches!(self.state().edge, Edge::Node(..))
    }

    /// The node that made this tensor, and which of its outputs it is.
    pub fn grad_fn(&self) -> Option<(Arc<Node>, u32)> {
        super::record::refresh_view(self);
        match &self.state().edge {
            Edge::Node(n, nr) => Some((n.clone(), *nr)),
            _ => None,
        }
    }

    /// Where this tensor's gradient goes.
    pub fn edge(&self) -> Edge {
        super::record::refresh_view(self);
        let s = self.state();
        match &s.edge {
            Edge::None if s.requires_grad => {
                drop(s);
                Edge::Leaf(self.clone())
            }
            e => e.clone(),
        }
    }

    /// Makes a leaf require gradients, or not.
    ///
    /// # Errors
    /// [`Kind::Graph`] on a tensor that is not a leaf or was made in inference mode, or whose dtype is no float.
    pub fn set_requires_grad(&self, on: bool) -> Result<()> {
        let dtype = self.dtype();
        ensure!(
            !on || dtype.is_float(),
            Graph,
            "requires_grad",
            "only tensors of floating point dtype can require gradients, got {dtype}; convert it first, \
             as in x.to(float32)"
        );
        super::record::refresh_view(self);
        let mut s = self.state();
        if matches!(s.edge, Edge::Node(..)) {
            if on {
                return Ok(());
            }
            bail!(
                Graph,
                "requires_grad",
                "you can only change requires_grad flags of leaf variables; use x.detach() for a tensor without history"
            );
        }
        ensure!(
            !(on && s.inference && !mode::inference_enabled()),
            Graph,
            "requires_grad",
            "a tensor made in inference mode cannot require gradients outside of it; clone it first"
        );
        s.requires_grad = on;
        Ok(())
    }

    /// Whether the tensor was made in inference mode.
    pub fn is_inference(&self) -> bool {
        self.state().inference
    }

    /// A tensor of the same data without history.
    ///
    /// # Errors
    /// [`Kind::TensorClosed`].
    pub fn detach(&self) -> Result<Tensor> {
        Ok(Tensor::new(self.array()?))
    }

    /// Takes the history off this tensor, which becomes a leaf without gradients.
    pub fn drop_history(&self) {
        let mut s = self.state();
        s.requires_grad = false;
        let old = std::mem::replace(&mut s.edge, Edge::None);
        drop(s);
        drop(old);
    }

    /// A tensor over `array` whose gradient goes where this leaf's goes; this leaf itself when `array` is its data.
    pub(crate) fn alias_of(&self, array: &Array) -> Tensor {
        let own = match &self.state().data {
            Data::Open(a) => a.storage().same(array.storage()) && a.layout() == array.layout(),
            Data::Closed { .. } => false,
        };
        if own { self.clone() } else { Tensor::build(array.clone(), Edge::Leaf(self.clone())) }
    }

    // ---- gradients -------------------------------------------------------------------------------------------

    /// The gradient that backward passes have added up.
    pub fn grad(&self) -> Option<Tensor> {
        self.state().extra.as_ref().and_then(|e| e.grad.clone())
    }

    /// Replaces the gradient without any check.
    pub fn set_grad(&self, grad: Option<Tensor>) {
        let mut s = self.state();
        if grad.is_none() && s.extra.is_none() {
            return;
        }
        let old = std::mem::replace(&mut s.extra().grad, grad);
        drop(s);
        drop(old);
    }

    /// Whether a tensor that is not a leaf keeps its gradient.
    pub fn retains_grad(&self) -> bool {
        self.state().extra.as_ref().is_some_and(|e| e.retains_grad)
    }

    /// Makes a tensor that is not a leaf keep its gradient.
    ///
    /// # Errors
    /// [`Kind::Graph`] when it does not require gradients.
    pub fn retain_grad(&self) -> Result<()> {
        ensure!(
            self.requires_grad(),
            Graph,
            "retain_grad",
            "can't retain_grad on a tensor that has requires_grad=False; set requires_grad first"
        );
        let Some((node, nr)) = self.grad_fn() else { return Ok(()) };
        let mut s = self.state();
        if !std::mem::replace(&mut s.extra().retains_grad, true) {
            drop(s);
            node.with_hooks(|h| h.retain.push((nr, self.downgrade())));
        }
        Ok(())
    }

    /// Adds a hook on the gradient of this value.
    ///
    /// # Errors
    /// [`Kind::Graph`] when the tensor does not require gradients.
    pub fn register_hook(&self, hook: TensorHook) -> Result<HookHandle> {
        ensure!(
            self.requires_grad(),
            Graph,
            "register_hook",
            "cannot register a hook on a tensor that doesn't require gradient; set requires_grad first"
        );
        let id = next_hook();
        match self.grad_fn() {
            Some((node, nr)) => node.with_hooks(|h| h.tensor.push((id, nr, hook))),
            None => self.state().extra().hooks.push((id, hook)),
        }
        Ok(id)
    }

    /// Adds a hook that runs after a pass has added to this leaf's gradient.
    ///
    /// # Errors
    /// [`Kind::Graph`] when the tensor is not a leaf that requires gradients.
    pub fn register_post_accumulate_grad_hook(&self, hook: TensorHook) -> Result<HookHandle> {
        ensure!(
            self.requires_grad() && self.is_leaf(),
            Graph,
            "register_post_accumulate_grad_hook",
            "post accumulate grad hooks can only be registered on leaf tensors that require gradients"
        );
        let id = next_hook();
        self.state().extra().post_accumulate.push((id, hook));
        Ok(id)
    }

    /// Removes a hook of this tensor or of the node that made it.
    pub fn remove_hook(&self, handle: HookHandle) {
        let removed = {
            let mut s = self.state();
            s.extra.as_mut().map(|e| {
                let a: Vec<_> = e.hooks.extract_if(.., |x| x.0 == handle).collect();
                let b: Vec<_> = e.post_accumulate.extract_if(.., |x| x.0 == handle).collect();
                (a, b)
            })
        };
        drop(removed);
        if let Some((node, _)) = self.grad_fn() {
            node.remove_hook(handle);
        }
    }

    /// Hooks on a leaf's gradient, and those after accumulation.
    pub fn leaf_hooks(&self) -> (Vec<TensorHook>, Vec<TensorHook>) {
        match &self.state().extra {
            Some(e) => (
                e.hooks.iter().map(|h| h.1.clone()).collect(),
                e.post_accumulate.iter().map(|h| h.1.clone()).collect(),
            ),
            None => Default::default(),
        }
    }

    // ---- forward mode ----------------------------------------------------------------------------------------

    /// The tangent at the innermost level that is open, if there is one.
    pub fn dual(&self) -> Option<Dual> {
        let d = self.state().extra.as_ref().and_then(|e| e.dual.clone())?;
        if mode::level_is_active(d.level) { Some(d) } else { d.primal.dual() }
    }

    /// A dual number of `primal` and `tangent`.
    ///
    /// # Errors
    /// [`Kind::Shape`] or [`Kind::Type`] when the two differ; [`Kind::Graph`] when the level is not open.
    pub fn make_dual(primal: &Tensor, tangent: &Tensor, level: u64) -> Result<Tensor> {
        ensure!(mode::level_is_active(level), Graph, "make_dual", "no forward-mode level {level} is open");
        let (p, t) = (primal.array()?, tangent.array()?);
        ensure!(
            p.dims() == t.dims(),
            Shape,
            "make_dual",
            "the tangent has shape {:?}, expected that of the primal, {:?}",
            t.dims(),
            p.dims()
        );
        ensure!(
            p.dtype() == t.dtype() && p.dtype().is_float(),
            Type,
            "make_dual",
            "the tangent has dtype {}, the primal {}: expected one floating point dtype",
            t.dtype(),
            p.dtype()
        );
        let out = Tensor::with_edge(p, primal.edge());
        out.state().extra().dual = Some(Dual { level, primal: primal.clone(), tangent: tangent.clone() });
        Ok(out)
    }

    /// Replaces the tangent.
    pub fn set_dual(&self, dual: Option<Dual>) {
        let old = std::mem::replace(&mut self.state().extra().dual, dual);
        drop(old);
    }

    /// Primal and tangent at a level.
    pub fn unpack_dual(&self, level: u64) -> (Tensor, Option<Tensor>) {
        let d = self.state().extra.as_ref().and_then(|e| e.dual.clone());
        match d {
            Some(d) if d.level == level => (d.primal, Some(d.tangent)),
            Some(d) => {
                // An outer level's tangent may lie below; the inner one has ended.
                if mode::level_is_active(d.level) {
                    (self.clone(), None)
                } else {
                    d.primal.unpack_dual(level)
                }
            }
            None => (self.clone(), None),
        }
    }

    // ---- scopes ----------------------------------------------------------------------------------------------

    /// The scope that owns this tensor.
    pub fn scope(&self) -> Option<Scope> {
        self.state().owner.as_ref().map(|r| r.scope().clone())
    }

    /// Gives the tensor to another scope, or to none.
    ///
    /// # Errors
    /// [`Kind::ScopeClosed`] when either scope has ended; [`Kind::TensorClosed`].
    pub fn move_to_scope(&self, target: Option<&Scope>) -> Result<()> {
        self.array()?;
        // The registration is taken out while the scope's lock is held elsewhere: the two locks never nest.
        let owner = self.state().owner.take();
        let (owner, result) = match (owner, target) {
            (Some(mut r), Some(t)) => {
                let result = r.move_to(t);
                (Some(r), result)
            }
            (None, Some(t)) => {
                let resource: Weak<Inner> = Arc::downgrade(&self.0);
                match t.register(resource, self.0.nbytes()) {
                    Ok(r) => (Some(r), Ok(())),
                    Err(e) => (None, Err(e)),
                }
            }
            (Some(r), None) => {
                r.give_up();
                (None, Ok(()))
            }
            (None, None) => (None, Ok(())),
        };
        self.state().owner = owner;
        result
    }

    /// A name for messages and reports.
    pub fn name(&self) -> Option<String> {
        self.state().extra.as_ref().and_then(|e| e.name.clone())
    }

    /// Names the tensor.
    pub fn set_name(&self, name: Option<String>) {
        self.state().extra().name = name;
    }
}

#[cold]
fn closed_error(layout: &Layout, dtype: DType, by: &ClosedBy) -> Error {
    Error::new(
        Kind::TensorClosed,
        "",
        format!(
            "a tensor of shape {:?} and dtype {dtype} was used after scope '{}' released it; keep it with \
             scope.ret(tensor) before the scope ends",
            layout.dims.as_slice(),
            by.scope
        ),
    )
}

impl Resource for Inner {
    fn close(&self, record: &Arc<ClosedBy>) -> usize {
        let (old, extra, bytes) = {
            let mut s = self.state.lock();
            let Data::Open(a) = &s.data else { return 0 };
            let bytes = a.nbytes();
            let closed = Data::Closed { layout: a.layout().clone(), dtype: a.dtype(), by: record.clone() };
            let old = std::mem::replace(&mut s.data, closed);
            let edge = std::mem::replace(&mut s.edge, Edge::None);
            ((old, edge, s.owner.take()), s.extra.take(), bytes)
        };
        // Dropped outside the lock: history and hooks may own anything.
        drop(extra);
        drop(old);
        bytes
    }

    fn nbytes(&self) -> usize {
        match &self.state.lock().data {
            Data::Open(a) => a.nbytes(),
            Data::Closed { .. } => 0,
        }
    }
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.array() {
            Ok(a) => write!(f, "{a:?}"),
            Err(e) => write!(f, "{e}"),
        }
    }
}
