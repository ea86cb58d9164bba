//! Nodes, edges, and what an operation must provide to be recorded.

use super::{Tensor, WeakTensor};
use crate::dtype::DType;
use crate::shape::Dims;
use crate::{Array, Result};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::any::Any;
use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Shape and dtype of a value, without its data.
#[derive(Debug, PartialEq, Eq)]
pub struct Meta {
    /// Sizes.
    pub dims: Dims,
    /// Element type.
    pub dtype: DType,
}

impl Meta {
    /// Shape and dtype of an array.
    #[inline]
    pub fn of(a: &Array) -> Meta {
        Meta { dims: Dims::from_slice(a.dims()), dtype: a.dtype() }
    }
}

impl Clone for Meta {
    fn clone(&self) -> Meta {
        Meta { dims: Dims::from_slice(&self.dims), dtype: self.dtype }
    }
}

/// Where the gradient of an input goes.
#[derive(Clone)]
pub enum Edge {
    /// Nowhere.
    None,
    /// To an output of the node that made the input.
    Node(Arc<Node>, u32),
    /// Into a leaf.
    Leaf(Tensor),
}

impl Edge {
    /// Whether a gradient is wanted.
    #[inline]
    pub fn is_some(&self) -> bool {
        !matches!(self, Edge::None)
    }
}

/// The arguments of a backward step.
pub struct Vjp<'a> {
    /// The node, for its edges and metas.
    pub node: &'a Arc<Node>,
    /// Cotangents, one an output; `None` where no gradient arrived.
    pub grads: SmallVec<[Option<Tensor>; 1]>,
    /// Which inputs need a gradient.
    pub needed: &'a [bool],
    /// Whether the step itself is to be differentiable.
    pub create_graph: bool,
    /// Whether saved values must survive the step.
    pub retain: bool,
}

/// Gradients of the inputs, in order; `None` is no gradient.
pub type Grads = SmallVec<[Option<Tensor>; 2]>;

/// A recorded operation. Built-in rows, structural rules and users' functions all implement it.
///
/// Shapes and dtypes of the gradients that [`Op::vjp`] returns are brought to those of the inputs by the engine:
/// a gradient of a broadcast shape is summed, another float dtype is cast.
pub trait Op: Send + Sync + 'static {
    /// The operation's name, as in `mul`.
    fn name(&self) -> Cow<'_, str>;
    /// Products of the cotangents with the Jacobians of the needed inputs.
    ///
    /// # Errors
    /// [`crate::Kind::Graph`] when what was saved is freed or was changed in place; any error of the rule.
    fn vjp(&self, step: Vjp<'_>) -> Result<Grads>;
    /// Frees what was saved.
    fn release(&self);
    /// Whether something was saved and freed since, so that the step cannot run.
    fn is_released(&self) -> bool;
    /// Rough number of elementary operations of the backward step.
    fn work(&self) -> usize {
        0
    }
    /// Whether the step calls the host language, and so must run on the thread of the caller.
    fn is_foreign(&self) -> bool {
        false
    }
    /// Bytes of the saved arrays.
    fn saved_bytes(&self) -> usize {
        0
    }
    /// The concrete operation.
    fn as_any(&self) -> &dyn Any;
}

/// Sees the gradient of a value and may replace it.
pub type TensorHook = Arc<dyn Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync>;
/// Sees all cotangents of a node before its step and may replace them.
pub type PreHook = Arc<dyn Fn(&[Option<Tensor>]) -> Result<Option<Vec<Option<Tensor>>>> + Send + Sync>;
/// Sees the gradients of the inputs and the cotangents after a step, and may replace the former.
pub type NodeHook =
    Arc<dyn Fn(&[Option<Tensor>], &[Option<Tensor>]) -> Result<Option<Vec<Option<Tensor>>>> + Send + Sync>;

/// Identifies a hook for removal.
pub type HookHandle = u64;

static NEXT_HOOK: AtomicU64 = AtomicU64::new(1);

/// A number that no other hook has.
pub fn next_hook() -> HookHandle {
    NEXT_HOOK.fetch_add(1, Ordering::Relaxed)
}

/// Hooks of a node, in the order in which they fire.
#[derive(Default, Clone)]
pub struct Hooks {
    /// Hooks on the value of an output.
    pub tensor: Vec<(HookHandle, u32, TensorHook)>,
    /// Tensors that keep their gradient.
    pub retain: Vec<(u32, WeakTensor)>,
    /// Hooks before the step.
    pub pre: Vec<(HookHandle, PreHook)>,
    /// Hooks after the step.
    pub post: Vec<(HookHandle, NodeHook)>,
    /// Anything that the host language keeps with the node.
    pub metadata: Option<Arc<dyn Any + Send + Sync>>,
}

/// A recorded operation with the edges of its inputs.
pub struct Node<O: ?Sized = dyn Op> {
    /// Grows in the order of recording of a thread.
    pub seq: u64,
    /// Where gradients of the inputs go.
    pub edges: SmallVec<[Edge; 2]>,
    /// Shapes and dtypes of the outputs.
    pub outputs: SmallVec<[Meta; 1]>,
    hooks: Mutex<Option<Box<Hooks>>>,
    /// The operation.
    pub op: O,
}

impl<O: Op> Node<O> {
    /// Records an operation.
    #[inline]
    pub fn new(op: O, edges: SmallVec<[Edge; 2]>, outputs: SmallVec<[Meta; 1]>) -> Arc<Node> {
        Arc::new(Node { seq: super::mode::next_sequence(), edges, outputs, hooks: Mutex::new(None), op })
    }
}

impl Node {
    /// The name of the backward step, as PyTorch writes it: `mul` gives `MulBackward0`.
    pub fn name(&self) -> String {
        let name = self.op.name();
        if name.ends_with("Backward") {
            return name.into_owned();
        }
        let camel: String = name
            .split('_')
            .map(|w| {
                let mut c = w.chars();
                c.next().map(|f| f.to_uppercase().collect::<String>() + c.as_str()).unwrap_or_default()
            })
            .collect();
        camel + "Backward0"
    }

    /// A copy of the hooks; `None` when there are none.
    pub fn hooks(&self) -> Option<Hooks> {
        self.hooks.lock().as_deref().cloned()
    }

    /// Whether a hook calls out of the engine.
    pub fn has_hooks(&self) -> bool {
        self.hooks.lock().is_some()
    }

    /// Changes the hooks.
    pub fn with_hooks<R>(&self, f: impl FnOnce(&mut Hooks) -> R) -> R {
        let mut h = self.hooks.lock();
        let r = f(h.get_or_insert_with(Box::default));
        if h.as_ref().is_some_and(|h| {
            h.tensor.is_empty()
                && h.retain.is_empty()
                && h.pre.is_empty()
                && h.post.is_empty()
                && h.metadata.is_none()
        }) {
            *h = None;
        }
        r
    }

    /// Removes the hook of this number, if it is still there.
    pub fn remove_hook(&self, handle: HookHandle) {
        let removed = self.with_hooks(|h| {
            let tensor: Vec<_> = h.tensor.extract_if(.., |x| x.0 == handle).collect();
            let pre: Vec<_> = h.pre.extract_if(.., |x| x.0 == handle).collect();
            let post: Vec<_> = h.post.extract_if(.., |x| x.0 == handle).collect();
            (tensor, pre, post)
        });
        // Hooks may own anything, so they are dropped outside the lock.
        drop(removed);
    }
}

thread_local! {
    static DROPPING: RefCell<Option<Vec<Edge>>> = const { RefCell::new(None) };
}

impl<O: ?Sized> Drop for Node<O> {
    /// Edges are dropped in a loop: a chain of a million nodes must not recurse.
    fn drop(&mut self) {
        if self.edges.iter().all(|e| matches!(e, Edge::None)) {
            return;
        }
        let edges = std::mem::take(&mut self.edges);
        let nested = DROPPING.try_with(|d| {
            let mut d = d.borrow_mut();
            match d.as_mut() {
                Some(queue) => {
                    queue.extend(edges);
                    None
                }
                None => {
                    *d = Some(Vec::new());
                    Some(edges)
                }
            }
        });
        let Ok(Some(edges)) = nested else { return };
        let mut next: Vec<Edge> = edges.into_vec();
        while let Some(e) = next.pop() {
            drop(e);
            DROPPING.with_borrow_mut(|d| next.append(d.as_mut().expect("set above")));
        }
        DROPPING.with_borrow_mut(|d| *d = None);
    }
}
