//! func
