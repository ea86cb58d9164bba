//! The graph: tensors with history, nodes, edges, saved tensors, hooks and grad modes.
//!
//! A node knows its operation only as a `dyn` [`Op`]; derivative rules live in [`crate::ops`], the walk in
//! [`crate::engine`].

pub mod mode;
mod node;
mod record;
mod saved;
mod tensor;

pub use node::{
    Edge, Grads, HookHandle, Hooks, Meta, Node, NodeHook, Op, PreHook, TensorHook, Vjp, next_hook,
};
pub use record::{Input, MakeNode, attach, rewrite_history, set_region_node, views_of};
pub use saved::{From, Saved};
pub use tensor::{Dual, Tensor, WeakTensor};
