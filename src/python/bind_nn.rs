//! Matrix products, softmax and losses under PyTorch's names.

use super::bind_reduce::one_dim;
use super::convert::{named_operand, opt_dtype};
use super::door::heavy;
use super::tensor::{PyTensor, wrap};
use crate::Result;
use crate::graph::Tensor;
use crate::ops::{self, Reduction};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

fn product<'py>(
    a: &Bound<'py, PyTensor>,
    b: &Bound<'py, PyTensor>,
    f: fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> PyResult<Bound<'py, PyTensor>> {
    let (x, y) = (&a.get().inner, &b.get().inner);
    let work = x.numel() * y.dims().last().copied().unwrap_or(1);
    wrap(a.py(), heavy(a.py(), work, || f(x, y))?)
}

macro_rules! products {
    ($($(#[doc = $doc:literal])* $name:ident $arg:ident;)*) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            fn $name<'py>(slf: &Bound<'py, Self>, $arg: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTensor>> {
                product(slf, $arg, ops::$name)
            }
        )* }
    };
}

products! {
    /// Matrix product with NumPy's rules: vectors count as one row or column, leading dimensions are broadcast.
    matmul other;
    /// Product of two matrices.
    mm mat2;
    /// Products of two batches of matrices.
    bmm mat2;
    /// Product of a matrix and a vector.
    mv vec;
    /// Inner product of two vectors.
    dot tensor;
    /// Outer product of two vectors.
    outer vec2;
}

#[pymethods]
impl PyTensor {
    /// `beta·self + alpha·mat1·mat2`.
    #[pyo3(signature = (mat1, mat2, *, beta=1.0, alpha=1.0))]
    fn addmm<'py>(
        slf: &Bound<'py, Self>,
        mat1: &Bound<'py, PyTensor>,
        mat2: &Bound<'py, PyTensor>,
        beta: f64,
        alpha: f64,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let (c, a, b) = (&slf.get().inner, &mat1.get().inner, &mat2.get().inner);
        let work = a.numel() * b.dims().last().copied().unwrap_or(1);
        let run = || {
            let p = ops::mm(a, b)?;
            let whole = !c.dtype().is_float();
            let by = |v: f64| {
                if whole && v.fract() == 0.0 { ops::Operand::Number((v as i64).into()) } else { v.into() }
            };
            let p = if alpha == 1.0 { p } else { ops::mul(&p, by(alpha))? };
            // A beta of 0 leaves self out, its NaN included.
            match beta {
                0.0 => Ok(p),
                1.0 => ops::add(c, &p),
                _ => ops::add(&ops::mul(c, by(beta))?, &p),
            }
        };
        let r = heavy(slf.py(), work, || run().map_err(|e| e.renamed("addmm")))?;
        wrap(slf.py(), r)
    }

    /// `e^x / Σ e^x` along a dimension.
    #[pyo3(signature = (dim=None, dtype=None, *, axis=None, _stacklevel=3))]
    fn softmax<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        dtype: Any<'_, 'py>,
        axis: Any<'_, 'py>,
        _stacklevel: i32,
    ) -> PyResult<Bound<'py, PyTensor>> {
        along(self, py, dim.or(axis), dtype, "softmax", ops::softmax)
    }

    /// `ln(e^x / Σ e^x)` along a dimension.
    #[pyo3(signature = (dim=None, dtype=None, *, axis=None, _stacklevel=3))]
    fn log_softmax<'py>(
        &self,
        py: Python<'py>,
        dim: Any<'_, 'py>,
        dtype: Any<'_, 'py>,
        axis: Any<'_, 'py>,
        _stacklevel: i32,
    ) -> PyResult<Bound<'py, PyTensor>> {
        along(self, py, dim.or(axis), dtype, "log_softmax", ops::log_softmax)
    }
}

type Along = fn(&Tensor, usize, Option<crate::DType>) -> Result<Tensor>;

fn along<'py>(
    slf: &PyTensor,
    py: Python<'py>,
    dim: Any<'_, 'py>,
    dtype: Any<'_, 'py>,
    op: &'static str,
    f: Along,
) -> PyResult<Bound<'py, PyTensor>> {
    let Some(d) = dim else {
        return Err(PyTypeError::new_err(format!("{op}() missing required argument 'dim'")));
    };
    let t = &slf.inner;
    let d = one_dim(op, t, d)?;
    let dtype = opt_dtype(dtype)?;
    wrap(py, heavy(py, t.numel() * 16, || f(t, d, dtype))?)
}

/// `x·weightᵀ + bias` over the last dimension.
#[pyfunction]
#[pyo3(signature = (input, weight, bias=None))]
fn linear<'py>(
    input: &Bound<'py, PyTensor>,
    weight: &Bound<'py, PyTensor>,
    bias: Option<&PyTensor>,
) -> PyResult<Bound<'py, PyTensor>> {
    let (x, w) = (&input.get().inner, &weight.get().inner);
    let work = x.numel() * w.dims().first().copied().unwrap_or(1);
    wrap(input.py(), heavy(input.py(), work, || ops::linear(x, w, bias.map(|b| &b.inner)))?)
}

/// `size_average` and `reduce` are PyTorch's older names of `reduction`.
fn reduction(op: &'static str, name: &str) -> Result<Reduction> {
    Reduction::parse(op, name)
}

/// Negative log-likelihood of classes, for log-probabilities (N, C, …) and int64 targets (N, …).
#[pyfunction]
#[pyo3(signature = (input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"))]
#[allow(clippy::too_many_arguments)]
fn nll_loss<'py>(
    input: &Bound<'py, PyTensor>,
    target: &Bound<'py, PyTensor>,
    weight: Option<&PyTensor>,
    size_average: Option<bool>,
    ignore_index: i64,
    reduce: Option<bool>,
    reduction: &str,
) -> PyResult<Bound<'py, PyTensor>> {
    no_legacy(size_average, reduce)?;
    let (x, t) = (&input.get().inner, &target.get().inner);
    let r = heavy(input.py(), x.numel(), || {
        ops::nll_loss(x, t, weight.map(|w| &w.inner), ignore_index, self::reduction("nll_loss", reduction)?)
    })?;
    wrap(input.py(), r)
}

/// Cross entropy of scores (N, C, …) with int64 classes (N, …) or class probabilities of the scores' shape.
#[pyfunction]
#[pyo3(signature = (input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0))]
#[allow(clippy::too_many_arguments)]
fn cross_entropy<'py>(
    input: &Bound<'py, PyTensor>,
    target: &Bound<'py, PyTensor>,
    weight: Option<&PyTensor>,
    size_average: Option<bool>,
    ignore_index: i64,
    reduce: Option<bool>,
    reduction: &str,
    label_smoothing: f64,
) -> PyResult<Bound<'py, PyTensor>> {
    no_legacy(size_average, reduce)?;
    let (x, t) = (&input.get().inner, &target.get().inner);
    let w = weight.map(|w| &w.inner);
    let r = heavy(input.py(), x.numel() * 16, || {
        ops::cross_entropy(
            x,
            t,
            w,
            ignore_index,
            self::reduction("cross_entropy", reduction)?,
            label_smoothing,
        )
        .map_err(|e| e.renamed("cross_entropy"))
    })?;
    wrap(input.py(), r)
}

fn no_legacy(size_average: Option<bool>, reduce: Option<bool>) -> PyResult<()> {
    if size_average.is_some() || reduce.is_some() {
        return Err(PyTypeError::new_err(
            "size_average and reduce are not supported; use reduction='mean', 'sum' or 'none'",
        ));
    }
    Ok(())
}

macro_rules! losses {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => { $(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (input, target, size_average=None, reduce=None, reduction="mean"))]
        fn $name<'py>(
            input: &Bound<'py, PyTensor>, target: &Bound<'py, PyAny>, size_average: Option<bool>,
            reduce: Option<bool>, reduction: &str,
        ) -> PyResult<Bound<'py, PyTensor>> {
            no_legacy(size_average, reduce)?;
            let super::convert::Owned::Tensor(t) = named_operand(stringify!($name), target, "target")? else {
                return Err(PyTypeError::new_err("target must be a tensor"));
            };
            let x = &input.get().inner;
            let r = heavy(input.py(), x.numel(), || {
                ops::$name(x, &t, self::reduction(stringify!($name), reduction)?)
                    .map_err(|e| e.renamed(stringify!($name)))
            })?;
            wrap(input.py(), r)
        }
    )* };
}

losses! {
    /// Squared differences, reduced.
    mse_loss;
    /// Absolute differences, reduced.
    l1_loss;
}

/// Zeroes elements with probability p while training, and scales the others by 1/(1 - p).
#[pyfunction]
#[pyo3(signature = (input, p=0.5, training=true, inplace=false))]
fn dropout<'py>(
    input: &Bound<'py, PyTensor>,
    p: f64,
    training: bool,
    inplace: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let x = &input.get().inner;
    let r = heavy(input.py(), x.numel() * 4, || {
        let y = ops::dropout(x, p, training)?;
        if inplace {
            ops::assign_as("dropout_", x, &y)?;
        }
        Ok(y)
    })?;
    if inplace { Ok(input.clone()) } else { wrap(input.py(), r) }
}

/// Adds this module's functions.
pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    macro_rules! functions {
        ($($f:ident),*) => { $( m.add_function(wrap_pyfunction!($f, m)?)?; )* };
    }
    functions!(linear, nll_loss, cross_entropy, mse_loss, l1_loss, dropout);
    Ok(())
}
