//! Loops over runs of elements. No autograd here: functions take and give [`crate::Array`]s.
#![allow(unsafe_code)]

pub mod elementwise;
pub mod index;
pub mod join;
pub mod matmul;
pub mod random;
pub mod reduce;
pub mod simd;
pub mod softmax;
pub mod threads;
