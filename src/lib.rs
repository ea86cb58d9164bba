//! rgrad: automatic differentiation with a dynamic graph, derivatives of any order, and scopes that own memory.
//!
//! Modules are listed in layer order: each uses only itself and those above it (a test holds this).

pub mod array;
pub mod dtype;
pub mod engine;
pub mod error;
pub mod func;
pub mod graph;
pub mod kernels;
pub mod ops;
#[cfg(feature = "python")]
pub mod python;
pub mod scope;
pub mod shape;
pub mod storage;

pub use array::Array;
pub use dtype::{DType, Scalar};
pub use error::{Error, Kind, Result};
