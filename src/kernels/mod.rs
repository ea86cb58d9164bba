//! Loops over runs of elements. No autograd here: functions take and give [`crate::Array`]s.
#![allow(unsafe_code)]

pub mod elementwise;
pub mod simd;
