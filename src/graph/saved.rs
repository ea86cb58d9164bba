//! Values kept for the backward pass.

use super::{Edge, Node, Tensor};
use crate::dtype::Scalar;
use crate::{Array, Result, bail};
use std::sync::Arc;

/// Which value of its node a saved array is, and so which history it gets back.
#[derive(Clone)]
pub enum From {
    /// An input, whose history is that of the edge.
    Input(u8),
    /// An output, whose history is the node itself.
    Output(u8),
    /// A value without history.
    Constant,
    /// A dual number, kept whole.
    Whole(Tensor),
}

/// An array kept for the backward pass with the version it had, or a number.
///
/// Inputs and outputs are kept without their history, which the node has in its edges: no node owns itself.
#[derive(Clone)]
pub enum Saved {
    /// An array.
    Array {
        /// The data.
        array: Array,
        /// The version counter when it was saved.
        version: u64,
        /// Where it came from.
        from: From,
    },
    /// A number that stood in the place of a tensor.
    Number(Scalar),
}

impl Saved {
    /// Keeps an array.
    #[inline]
    pub fn array(array: Array, from: From) -> Saved {
        Saved::Array { version: array.storage().version(), array, from }
    }

    /// Bytes kept alive.
    pub fn bytes(&self) -> usize {
        match self {
            Saved::Array { array, .. } => array.nbytes(),
            Saved::Number(_) => 0,
        }
    }

    /// Fails when the array was written to since it was saved.
    ///
    /// # Errors
    /// [`crate::Kind::Graph`] naming the operation, the value, and both versions.
    #[inline]
    pub fn check(&self, node: &Node) -> Result<()> {
        let Saved::Array { array, version, from } = self else { return Ok(()) };
        let now = array.storage().version();
        if now != *version {
            let what = match from {
                From::Input(i) => format!("input {i}"),
                From::Output(_) => "the result".to_string(),
                _ => "a saved tensor".to_string(),
            };
            bail!(
                Graph,
                "backward",
                "one of the variables needed for gradient computation has been modified by an inplace operation: \
                 {} needs {what}, a tensor of shape {:?} and dtype {}, at version {version}, but it is at version \
                 {now}; clone the tensor before changing it, or change it out of place",
                node.name(),
                array.dims(),
                array.dtype()
            );
        }
        Ok(())
    }

    /// The saved value as a tensor; with its history when `create_graph`.
    ///
    /// # Errors
    /// As [`Saved::check`].
    pub fn unpack(&self, node: &Arc<Node>, create_graph: bool) -> Result<Tensor> {
        self.check(node)?;
        match self {
            Saved::Number(s) => Ok(Tensor::internal(Array::scalar(*s, s.dtype(crate::DType::F64))?)),
            Saved::Array { from: From::Whole(t), .. } => Ok(t.clone()),
            Saved::Array { array, from, .. } => {
                let edge = match from {
                    _ if !create_graph => Edge::None,
                    From::Input(i) => node.edges[*i as usize].clone(),
                    From::Output(nr) => Edge::Node(node.clone(), *nr as u32),
                    _ => Edge::None,
                };
                Ok(match edge {
                    Edge::Leaf(t) => t.alias_of(array),
                    edge => Tensor::with_edge(array.clone(), edge),
                })
            }
        }
    }
}
