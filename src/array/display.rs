//! Text of an array, as PyTorch prints tensors.

use super::Array;

/// What decides how numbers are printed.
#[derive(Debug, Clone)]
pub struct PrintOptions {
    /// Digits after the point.
    pub precision: usize,
    /// Arrays with more elements are summarised.
    pub threshold: usize,
    /// Elements shown at each end of a summarised dimension.
    pub edgeitems: usize,
    /// Characters of a line.
    pub linewidth: usize,
}

impl Default for PrintOptions {
    fn default() -> PrintOptions {
        PrintOptions { precision: 4, threshold: 1000, edgeitems: 3, linewidth: 80 }
    }
}

/// The elements in brackets between `prefix` and `suffix`.
pub fn format(a: &Array, options: &PrintOptions, prefix: &str, suffix: &str) -> String {
    let _ = options;
    format!("{prefix}{:?}{suffix}", a.to_vec::<f64>().unwrap_or_default())
}
