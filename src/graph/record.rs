//! Recording: inputs with their edges, new nodes, and histories rewritten by in-place operations.

use super::tensor::{Data, View};
use super::{Edge, Meta, Node, Op, Tensor, mode};
use crate::shape::Layout;
use crate::{Array, Result, bail};
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// What an operation needs to know of an input, read under one lock.
pub struct Input {
    /// The data.
    pub array: Array,
    /// Where its gradient goes; none when nothing is recorded.
    pub edge: Edge,
    /// Whether it carries a tangent.
    pub dual: bool,
    /// Whether it was made in inference mode, and so cannot be saved for a backward pass.
    pub inference: bool,
}

impl Tensor {
    /// Reads data and edge.
    ///
    /// # Errors
    /// [`crate::Kind::TensorClosed`] when a scope has released the tensor.
    #[inline]
    pub fn input(&self) -> Result<Input> {
        let s = self.state();
        if s.extra.as_ref().is_some_and(|e| e.view.is_some()) {
            drop(s);
            return self.view_input();
        }
        let Data::Open(a) = &s.data else {
            drop(s);
            return Err(self.array().expect_err("the data is closed"));
        };
        let array = a.clone();
        let edge = match &s.edge {
            _ if !s.requires_grad || !mode::grad_enabled() => Edge::None,
            Edge::None => Edge::Leaf(self.clone()),
            e => e.clone(),
        };
        let dual = s.extra.as_ref().is_some_and(|e| e.dual.is_some());
        let inference = s.inference;
        drop(s);
        let dual = dual && self.dual().is_some();
        Ok(Input { array, edge, dual, inference })
    }

    #[cold]
    fn view_input(&self) -> Result<Input> {
        let array = self.array()?;
        let edge = if mode::grad_enabled() { self.edge() } else { Edge::None };
        Ok(Input { array, edge, dual: self.dual().is_some(), inference: self.is_inference() })
    }

    /// The tensor that this one is a view of.
    pub fn base(&self) -> Option<Tensor> {
        self.state().extra.as_ref().and_then(|e| e.view.as_ref()).map(|v| v.base.clone())
    }

    /// Checks that an in-place operation may write to this tensor.
    ///
    /// # Errors
    /// [`crate::Kind::Graph`] naming the reason.
    pub fn check_inplace(&self, op: &'static str, recorded: bool) -> Result<Array> {
        let array = self.array()?;
        if array.layout().may_overlap() {
            bail!(
                Graph,
                op,
                "unsupported operation: more than one element of the written-to tensor (shape {:?}, strides {:?}) \
                 refers to a single memory location; clone the tensor before the operation",
                array.dims(),
                array.strides()
            );
        }
        if array.storage().is_read_only() {
            bail!(Value, op, "the tensor's memory is read-only; clone the tensor before the operation");
        }
        if !mode::inference_enabled() && self.state().inference {
            bail!(
                Graph,
                op,
                "inplace update to an inference tensor outside inference mode is not allowed; clone it first"
            );
        }
        if !mode::grad_enabled() {
            return Ok(array);
        }
        refresh_view(self);
        let s = self.state();
        let leaf = s.requires_grad && !matches!(s.edge, Edge::Node(..));
        let view =
            s.extra.as_ref().and_then(|e| e.view.as_ref()).map(|v| (v.base.clone(), v.multi, v.unrecorded));
        let tracked = s.requires_grad;
        drop(s);
        if leaf && view.is_none() {
            bail!(
                Graph,
                op,
                "a leaf variable that requires grad is being used in an in-place operation; do it under no_grad, \
                 or out of place"
            );
        }
        if let Some((base, multi, unrecorded)) = view {
            if base.requires_grad() && base.is_leaf() {
                bail!(
                    Graph,
                    op,
                    "a view of a leaf variable that requires grad is being used in an in-place operation; do it \
                     under no_grad, or out of place"
                );
            }
            if (tracked || recorded) && multi {
                bail!(
                    Graph,
                    op,
                    "this tensor is one of several views that one operation returned; such views do not allow \
                     in-place operations that are recorded; clone it first"
                );
            }
            if (tracked || recorded) && unrecorded {
                bail!(
                    Graph,
                    op,
                    "this view was created in no_grad mode and is being modified in place with grad mode enabled; \
                     make the view again outside no_grad, or clone it"
                );
            }
        }
        Ok(array)
    }
}

/// Makes the outputs of an operation, with a node when any edge wants a gradient.
///
/// `differentiable` tells which outputs carry gradients; the others get no history.
pub fn attach<O: Op>(
    op: impl FnOnce() -> O,
    edges: SmallVec<[Edge; 2]>,
    arrays: SmallVec<[Array; 1]>,
    differentiable: impl Fn(usize) -> bool,
) -> SmallVec<[Tensor; 1]> {
    if !edges.iter().any(Edge::is_some) {
        return arrays.into_iter().map(Tensor::new).collect();
    }
    let metas = arrays.iter().map(Meta::of).collect();
    let node = Node::new(op(), edges, metas);
    let edge = |(i, a): (usize, Array)| {
        let tracked = differentiable(i) && a.dtype().is_float();
        Tensor::with_edge(a, if tracked { Edge::Node(node.clone(), i as u32) } else { Edge::None })
    };
    arrays.into_iter().enumerate().map(edge).collect()
}

/// Marks `views` as views of `of` (or of its base), so that in-place writes through them reach its history.
pub fn views_of(of: &Tensor, views: &[Tensor]) {
    let base = of.base().unwrap_or_else(|| of.clone());
    let of_multi = of.state().extra.as_ref().and_then(|e| e.view.as_ref()).is_some_and(|v| v.multi);
    let generation = base.state().extra.as_ref().map_or(0, |e| e.generation);
    for v in views {
        let view = View {
            base: base.clone(),
            generation,
            multi: views.len() > 1 || of_multi,
            unrecorded: !mode::grad_enabled(),
        };
        v.state().extra().view = Some(view);
    }
}

/// Makes the history of a view anew when its base's history was rewritten since the view was made.
#[inline]
pub(super) fn refresh_view(t: &Tensor) {
    let s = t.state();
    let Some((base, generation)) =
        s.extra.as_ref().and_then(|e| e.view.as_ref()).map(|v| (v.base.clone(), v.generation))
    else {
        return;
    };
    drop(s);
    refresh_from(t, &base, generation);
}

#[cold]
fn refresh_from(t: &Tensor, base: &Tensor, generation: u64) {
    let now = base.state().extra.as_ref().map_or(0, |e| e.generation);
    if now == generation {
        return;
    }
    let (Ok(b), Ok(v)) = (base.array(), t.array()) else { return };
    let edge = match base.edge() {
        Edge::None => Edge::None,
        edge => {
            let Some(make) = REGION.get() else { return };
            Edge::Node(make(b.layout(), v.layout())(SmallVec::from_elem(edge, 1), Meta::of(&v)), 0)
        }
    };
    let mut s = t.state();
    s.requires_grad = edge.is_some();
    let old = std::mem::replace(&mut s.edge, edge);
    if let Some(v) = s.extra().view.as_mut() {
        v.generation = now;
    }
    drop(s);
    drop(old);
}

/// Makes a node from its edges and the meta of its output.
pub type MakeNode = Box<dyn FnOnce(SmallVec<[Edge; 2]>, Meta) -> Arc<Node>>;

static REGION: OnceLock<fn(&Layout, &Layout) -> MakeNode> = OnceLock::new();

/// Tells how to record a view that reads a region of its base, given both layouts. The operations layer, which
/// lies above the graph, does so before it rewrites a history for the first time.
pub fn set_region_node(make: fn(&Layout, &Layout) -> MakeNode) {
    let _ = REGION.set(make);
}

/// Gives a tensor that was written in place the history of the value written.
///
/// A view passes it to its base: `scatter` records "the base with this region replaced", from the base's old edge
/// and the edge of the written value.
pub fn rewrite_history(
    t: &Tensor,
    written: Edge,
    scatter: impl FnOnce(Edge, Edge, &Array, &Array) -> Result<Edge>,
) -> Result<()> {
    let view = t.state().extra.as_ref().and_then(|e| e.view.as_ref()).map(|v| v.base.clone());
    let Some(base) = view else {
        return set_edge(t, written);
    };
    let old = base.edge();
    if !old.is_some() && !written.is_some() {
        return Ok(());
    }
    let edge = scatter(old, written, &base.array()?, &t.array()?)?;
    set_edge(&base, edge)?;
    refresh_view(t);
    Ok(())
}

fn set_edge(t: &Tensor, edge: Edge) -> Result<()> {
    let mut s = t.state();
    // A tensor that keeps its gradient goes on doing so for its new value; ordinary hooks stay with the old one.
    let moved = s.extra.as_ref().is_some_and(|e| e.retains_grad);
    s.requires_grad = edge.is_some();
    if let (true, Edge::Node(n, nr)) = (moved, &edge) {
        let (n, nr, weak) = (n.clone(), *nr, t.downgrade());
        if let Edge::Node(old, _) = &s.edge {
            let id = t.id();
            old.with_hooks(|h| h.retain.retain(|(_, w)| w.upgrade().is_none_or(|x| x.id() != id)));
        }
        n.with_hooks(|h| h.retain.push((nr, weak)));
    }
    s.extra().generation += 1;
    let old = std::mem::replace(&mut s.edge, edge);
    drop(s);
    drop(old);
    Ok(())
}
