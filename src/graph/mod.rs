//! The graph: tensors with history, nodes, edges, saved tensors, hooks and grad modes.
//!
//! A node knows its operation only as a `dyn` [`Op`]; derivative rules live in [`crate::ops`], the walk in
//! [`crate::engine`].

pub mod mode;
mod node;
mod record;
mod saved;
mod tensor;

pub use node::{Edge, HookHandle, Meta, Node, NodeHook, Op, PreHook, TensorHook, Vjp};
pub use record::{Input, attach, rewrite_history, views_of};
pub use saved::{From, Saved};
pub use tensor::{Dual, Tensor, WeakTensor};
