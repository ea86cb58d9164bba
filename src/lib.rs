//! rgrad: automatic differentiation with a dynamic graph, derivatives of any order, and scopes that own memory.
//!
//! Modules are listed in layer order: each uses only itself and those above it (a test holds this).


pub mod error;
pub mod dtype;
pub mod shape;
pub mod storage;
pub mod scope;
pub mod array;
pub mod kernels;
pub mod graph;
pub mod ops;
pub mod engine;
pub mod func;
#[cfg(feature = "python")]
pub mod python;

pub use dtype::{DType, Scalar};
pub use error::{Error, Kind, Result};
pub use array::Array;
