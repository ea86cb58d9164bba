//! The table of operations.
//!
//! Elementwise rows ([`unary`], [`binary`], [`params`]) hold value and derivative on one line; structural rules
//! ([`movement`], [`reduce`], …) hold a kernel and a formula an argument; composites are plain functions of these.

pub mod expr;
pub mod row;
pub mod rule;

pub mod binary;
pub mod compare;
pub mod composite;
pub mod create;
pub mod index;
pub mod inplace;
pub mod linalg;
pub mod movement;
pub mod nn;
pub mod params;
pub mod real;
pub mod reduce;
pub mod unary;

mod forward_mode;
mod registry;

pub use binary::*;
pub use compare::*;
pub use composite::*;
pub use create::*;
pub use expr::{Cx, Expr};
pub use index::*;
pub use inplace::*;
pub use linalg::*;
pub use movement::*;
pub use nn::*;
pub use params::{PARAMETRIC, elu_scaled, leaky_relu, softplus, threshold};
pub use real::Real;
pub use reduce::*;
pub use registry::{OpInfo, registry};
pub use unary::*;

use crate::dtype::{DType, Scalar};
use crate::graph::Tensor;
use std::sync::atomic::{AtomicU8, Ordering};

/// A tensor or a number in the place of one.
#[derive(Clone, Copy)]
pub enum Operand<'a> {
    /// A tensor.
    Tensor(&'a Tensor),
    /// A number, which promotes the kind of the result only.
    Number(Scalar),
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(t: &'a Tensor) -> Operand<'a> {
        Operand::Tensor(t)
    }
}

impl From<f64> for Operand<'_> {
    fn from(v: f64) -> Self {
        Operand::Number(Scalar::Float(v))
    }
}

impl From<Scalar> for Operand<'_> {
    fn from(v: Scalar) -> Self {
        Operand::Number(v)
    }
}

static DEFAULT: AtomicU8 = AtomicU8::new(DType::F32 as u8);

/// The dtype of floats that come without one.
pub fn default_dtype() -> DType {
    DType::ALL[DEFAULT.load(Ordering::Relaxed) as usize]
}

/// Sets the dtype of floats that come without one.
///
/// # Errors
/// [`crate::Kind::Type`] when it is no float.
pub fn set_default_dtype(d: DType) -> crate::Result<()> {
    crate::ensure!(d.is_float(), Type, "set_default_dtype", "got {d}, expected a floating point dtype");
    DEFAULT.store(d as u8, Ordering::Relaxed);
    Ok(())
}
