//! Methods that come from the tables: one row gives the method and, where PyTorch has one, the in-place method.

use super::convert::{Owned, named_operand};
use super::door::heavy;
use super::tensor::{PyTensor, fresh};
use crate::ops::{self, Operand, row::Row};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

#[inline]
fn unary<'py>(
    py: Python<'py>,
    t: &PyTensor,
    row: &'static Row,
    params: &[f64],
) -> PyResult<Bound<'py, PyTensor>> {
    let r = heavy(py, t.inner.numel(), || ops::row::apply(row, &[Operand::Tensor(&t.inner)], params))?;
    fresh(py, r)
}

fn unary_inplace(slf: &Bound<'_, PyTensor>, row: &'static Row, params: &[f64]) -> PyResult<()> {
    let t = &slf.get().inner;
    heavy(slf.py(), t.numel(), || ops::row::apply_inplace(row, t, &[], params))
}

macro_rules! unary_methods {
    ($( $(#[doc = $doc:literal])* $name:ident($($x:ident),+ $(; $($p:ident),+)?) => $y:ident = $kernel:expr
        $(, ints(|$($i:ident),+| $int:expr))? $(, d($wrt:ident, $g:ident) = $d:expr)* ; )*) => {
        pastey::paste! {
            #[pymethods]
            impl PyTensor { $(
                $(#[doc = $doc])*
                fn $name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
                    unary(py, self, &ops::unary::rows::$name::ROW, &[])
                }
                #[doc = concat!("As `", stringify!($name), "`, in place.")]
                fn [<$name _>]<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
                    unary_inplace(&slf, &ops::unary::rows::$name::ROW, &[])?;
                    Ok(slf)
                }
            )* }
        }
        /// Names of the unary rows.
        pub const UNARY: &[&str] = &[$(stringify!($name)),*];
    };
}
crate::unary_rows!(unary_methods);

/// Functions that take no number in the place of the second tensor, as in PyTorch.
const TENSORS_ONLY: &[&str] =
    &["maximum", "minimum", "atan2", "hypot", "logical_and", "logical_or", "logical_xor"];

macro_rules! binary_methods {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {
        pastey::paste! {
            #[pymethods]
            impl PyTensor { $(
                $(#[doc = $doc])*
                fn $name<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTensor>> {
                    let o = named_operand(stringify!($name), other, "other")?;
                    if TENSORS_ONLY.contains(&stringify!($name)) && !matches!(o, Owned::Tensor(_)) {
                        return Err(PyTypeError::new_err(concat!(
                            stringify!($name), "(): argument 'other' must be Tensor, not a number"
                        )));
                    }
                    let t = &slf.get().inner;
                    let r = heavy(slf.py(), t.numel(), || ops::$name(t, o.as_operand()))?;
                    fresh(slf.py(), r)
                }
            )* }
        }
        /// Names of the binary functions bound here.
        pub const BINARY: &[&str] = &[$(stringify!($name)),*];
    };
}

binary_methods! {
    /// Product, `x·y`.
    mul;
    /// Power, `x^y`.
    pow;
    /// Greater of the two; NaN wins.
    maximum;
    /// Lesser of the two; NaN wins.
    minimum;
    /// Angle of the point (other, self).
    atan2;
    /// Length of the hypotenuse.
    hypot;
    /// Quotient rounded towards minus infinity.
    floor_divide;
    /// Remainder with the sign of the divisor.
    remainder;
    /// Remainder with the sign of the dividend.
    fmod;
    /// Whether elements are equal.
    eq;
    /// Whether elements differ.
    ne;
    /// Whether self is less.
    lt;
    /// Whether self is at most other.
    le;
    /// Whether self is greater.
    gt;
    /// Whether self is at least other.
    ge;
    /// Whether both are true.
    logical_and;
    /// Whether either is true.
    logical_or;
    /// Whether exactly one is true.
    logical_xor;
}

macro_rules! binary_inplace_methods {
    ($($name:ident)*) => {
        pastey::paste! {
            #[pymethods]
            impl PyTensor { $(
                #[doc = concat!("As `", stringify!($name), "`, in place.")]
                fn [<$name _>]<'py>(slf: Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
                    super::operators::inplace(&slf, other, &ops::binary::rows::$name::ROW)?;
                    Ok(slf)
                }
            )* }
        }
    };
}
binary_inplace_methods!(mul pow maximum minimum atan2 hypot floor_divide remainder fmod);

macro_rules! test_methods {
    ($( $(#[doc = $doc:literal])* $name:ident($($x:ident),+) = $lanes:expr, $int:expr; )*) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            fn $name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
                let r = heavy(py, self.inner.numel(), || ops::$name(&self.inner))?;
                fresh(py, r)
            }
        )* }
        /// Names of the tests of one tensor.
        pub const TESTS: &[&str] = &[$(stringify!($name)),*];
    };
}
crate::test_rows!(test_methods);

/// Parametric rows under PyTorch's names.
#[pymethods]
impl PyTensor {
    /// `x` where positive, else `negative_slope·x`.
    #[pyo3(signature = (negative_slope=0.01, inplace=false))]
    fn leaky_relu<'py>(
        slf: Bound<'py, Self>,
        negative_slope: f64,
        inplace: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        parametric(slf, &ops::params::rows::leaky_relu::ROW, &[negative_slope], inplace)
    }

    /// `alpha·(e^x - 1)` where negative, else `x`.
    #[pyo3(signature = (alpha=1.0, inplace=false))]
    fn elu<'py>(slf: Bound<'py, Self>, alpha: f64, inplace: bool) -> PyResult<Bound<'py, PyTensor>> {
        parametric(slf, &ops::params::rows::elu_scaled::ROW, &[alpha, 1.0, 1.0], inplace)
    }

    /// `ln(1 + e^(beta·x))/beta`; `x` itself where `beta·x > threshold`.
    #[pyo3(signature = (beta=1.0, threshold=20.0))]
    fn softplus<'py>(slf: Bound<'py, Self>, beta: f64, threshold: f64) -> PyResult<Bound<'py, PyTensor>> {
        parametric(slf, &ops::params::rows::softplus::ROW, &[beta, threshold], false)
    }

    /// `x` where greater than `threshold`, else `value`.
    #[pyo3(signature = (threshold, value, inplace=false))]
    fn threshold<'py>(
        slf: Bound<'py, Self>,
        threshold: f64,
        value: f64,
        inplace: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        parametric(slf, &ops::params::rows::threshold::ROW, &[threshold, value], inplace)
    }

    /// Gaussian error linear unit; `approximate` is `"none"` or `"tanh"`.
    #[pyo3(signature = (*, approximate="none"))]
    fn gelu<'py>(&self, py: Python<'py>, approximate: &str) -> PyResult<Bound<'py, PyTensor>> {
        match approximate {
            "none" => unary(py, self, &ops::unary::rows::gelu_erf::ROW, &[]),
            "tanh" => unary(py, self, &ops::unary::rows::gelu_tanh::ROW, &[]),
            a => Err(pyo3::exceptions::PyRuntimeError::new_err(format!(
                "[gelu] approximate argument must be either none or tanh, got '{a}'"
            ))),
        }
    }

    /// `self + value·tensor1·tensor2`.
    #[pyo3(signature = (tensor1, tensor2, *, value=1.0))]
    fn addcmul<'py>(
        &self,
        py: Python<'py>,
        tensor1: &Bound<'py, PyAny>,
        tensor2: &Bound<'py, PyAny>,
        value: f64,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let (a, b) =
            (named_operand("addcmul", tensor1, "tensor1")?, named_operand("addcmul", tensor2, "tensor2")?);
        let r = heavy(py, self.inner.numel(), || {
            ops::addcmul(&self.inner, a.as_operand(), b.as_operand(), value)
        })?;
        fresh(py, r)
    }

    /// `self + value·tensor1/tensor2`.
    #[pyo3(signature = (tensor1, tensor2, *, value=1.0))]
    fn addcdiv<'py>(
        &self,
        py: Python<'py>,
        tensor1: &Bound<'py, PyAny>,
        tensor2: &Bound<'py, PyAny>,
        value: f64,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let (a, b) =
            (named_operand("addcdiv", tensor1, "tensor1")?, named_operand("addcdiv", tensor2, "tensor2")?);
        let r = heavy(py, self.inner.numel(), || {
            ops::addcdiv(&self.inner, a.as_operand(), b.as_operand(), value)
        })?;
        fresh(py, r)
    }

    /// As `addcmul`, in place.
    #[pyo3(signature = (tensor1, tensor2, *, value=1.0))]
    fn addcmul_<'py>(
        slf: Bound<'py, Self>,
        tensor1: &Bound<'py, PyAny>,
        tensor2: &Bound<'py, PyAny>,
        value: f64,
    ) -> PyResult<Bound<'py, Self>> {
        ternary_inplace(&slf, &ops::binary::rows::addcmul::ROW, tensor1, tensor2, &[value])?;
        Ok(slf)
    }

    /// As `addcdiv`, in place.
    #[pyo3(signature = (tensor1, tensor2, *, value=1.0))]
    fn addcdiv_<'py>(
        slf: Bound<'py, Self>,
        tensor1: &Bound<'py, PyAny>,
        tensor2: &Bound<'py, PyAny>,
        value: f64,
    ) -> PyResult<Bound<'py, Self>> {
        ternary_inplace(&slf, &ops::binary::rows::addcdiv::ROW, tensor1, tensor2, &[value])?;
        Ok(slf)
    }

    /// `self + weight·(end - self)`.
    fn lerp<'py>(
        &self,
        py: Python<'py>,
        end: &Bound<'py, PyAny>,
        weight: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let (a, b) = (named_operand("lerp", end, "end")?, named_operand("lerp", weight, "weight")?);
        let r = heavy(py, self.inner.numel(), || ops::lerp(&self.inner, a.as_operand(), b.as_operand()))?;
        fresh(py, r)
    }

    /// As `lerp`, in place.
    fn lerp_<'py>(
        slf: Bound<'py, Self>,
        end: &Bound<'py, PyAny>,
        weight: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        ternary_inplace(&slf, &ops::binary::rows::lerp::ROW, end, weight, &[])?;
        Ok(slf)
    }
}

fn ternary_inplace(
    slf: &Bound<'_, PyTensor>,
    row: &'static Row,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    params: &[f64],
) -> PyResult<()> {
    let (a, b) = (named_operand(row.name, a, "tensor1")?, named_operand(row.name, b, "tensor2")?);
    let t = &slf.get().inner;
    heavy(slf.py(), t.numel(), || ops::row::apply_inplace(row, t, &[a.as_operand(), b.as_operand()], params))
}

fn parametric<'py>(
    slf: Bound<'py, PyTensor>,
    row: &'static Row,
    params: &[f64],
    inplace: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    if inplace {
        unary_inplace(&slf, row, params)?;
        return Ok(slf);
    }
    unary(slf.py(), slf.get(), row, params)
}
