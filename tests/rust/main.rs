//! Tests of the crate as its users see it, in one binary.

mod allocations;
mod derivatives;
mod engine;
mod layering;
mod scopes;
