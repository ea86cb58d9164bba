//! Operators of `Tensor`: the number protocol's slots, comparisons, and their in-place forms.

use super::convert::{Owned, named_operand, operand};
use super::door::{call, heavy};
use super::tensor::{PyTensor, fresh, give, wrap};
use crate::graph::Tensor;
use crate::ops::{self, Operand, row::Row};
use pyo3::basic::CompareOp;
use pyo3::prelude::*;

/// Applies a row to a tensor and any operand, in either order; `NotImplemented` for what is no operand.
#[inline]
fn apply<'py>(
    slf: &Bound<'py, PyTensor>,
    other: &Bound<'py, PyAny>,
    row: &'static Row,
    swap: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = slf.py();
    let t = &slf.get().inner;
    if let Ok(o) = other.cast_exact::<PyTensor>() {
        let o = &o.get().inner;
        let (a, b) = if swap { (o, t) } else { (t, o) };
        return rows(py, row, [Operand::Tensor(a), Operand::Tensor(b)], a.numel().max(b.numel()));
    }
    let Some(o) = operand(other)? else { return Ok(py.NotImplemented().into_bound(py)) };
    let (a, b) =
        if swap { (o.as_operand(), Operand::Tensor(t)) } else { (Operand::Tensor(t), o.as_operand()) };
    rows(py, row, [a, b], t.numel())
}

#[inline]
fn rows<'py>(
    py: Python<'py>,
    row: &'static Row,
    ins: [Operand<'_>; 2],
    work: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let t = heavy(py, work, || ops::row::apply(row, &ins, &[]))?;
    Ok(fresh(py, t)?.into_any())
}

fn compare<'py>(
    slf: &Bound<'py, PyTensor>,
    other: &Bound<'py, PyAny>,
    f: impl FnOnce(Operand<'_>, Operand<'_>) -> crate::Result<Tensor>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = slf.py();
    let Some(o) = operand(other)? else { return Ok(py.NotImplemented().into_bound(py)) };
    Ok(give(py, || f(Operand::Tensor(&slf.get().inner), o.as_operand()))?.into_any())
}

/// Applies a row in place.
pub fn inplace(slf: &Bound<'_, PyTensor>, other: &Bound<'_, PyAny>, row: &'static Row) -> PyResult<()> {
    let o = named_operand(row.name, other, "other")?;
    let t = &slf.get().inner;
    heavy(slf.py(), t.numel(), || ops::row::apply_inplace(row, t, &[o.as_operand()], &[]))
}

/// Bitwise operations on integers and logic on bool.
fn bits<'py>(
    slf: &Bound<'py, PyTensor>,
    other: &Bound<'py, PyAny>,
    f: for<'a> fn(Operand<'a>, Operand<'a>) -> crate::Result<Tensor>,
    swap: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = slf.py();
    let Some(o) = operand(other)? else { return Ok(py.NotImplemented().into_bound(py)) };
    let t = Operand::Tensor(&slf.get().inner);
    Ok(give(py, || if swap { f(o.as_operand(), t) } else { f(t, o.as_operand()) })?.into_any())
}

macro_rules! number_protocol {
    ($($add:ident $radd:ident $iadd:ident $row:ident;)*) => {
        #[pymethods]
        impl PyTensor {
            $(
                fn $add<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                    apply(slf, other, &ops::binary::rows::$row::ROW, false)
                }
                fn $radd<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                    apply(slf, other, &ops::binary::rows::$row::ROW, true)
                }
                fn $iadd(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
                    inplace(slf, other, &ops::binary::rows::$row::ROW)
                }
            )*
        }
    };
}

number_protocol! {
    __add__ __radd__ __iadd__ add;
    __sub__ __rsub__ __isub__ sub;
    __mul__ __rmul__ __imul__ mul;
    __truediv__ __rtruediv__ __itruediv__ div;
    __floordiv__ __rfloordiv__ __ifloordiv__ floor_divide;
    __mod__ __rmod__ __imod__ remainder;
}

#[pymethods]
impl PyTensor {
    fn __pow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_modulo(modulo)?;
        apply(slf, other, &ops::binary::rows::pow::ROW, false)
    }

    fn __rpow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_modulo(modulo)?;
        apply(slf, other, &ops::binary::rows::pow::ROW, true)
    }

    fn __ipow__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        no_modulo(modulo)?;
        inplace(slf, other, &ops::binary::rows::pow::ROW)
    }

    fn __matmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        product(slf, other, false)
    }

    fn __rmatmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        product(slf, other, true)
    }

    fn __neg__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        give(py, || ops::neg(&self.inner))
    }

    fn __pos__<'py>(slf: Bound<'py, Self>) -> Bound<'py, Self> {
        slf
    }

    fn __abs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        give(py, || ops::abs(&self.inner))
    }

    fn __invert__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        give(py, || ops::bitwise_not(&self.inner))
    }

    fn __and__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        bits(slf, other, ops::bitwise_and, false)
    }

    fn __rand__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        bits(slf, other, ops::bitwise_and, true)
    }

    fn __or__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        bits(slf, other, ops::bitwise_or, false)
    }

    fn __ror__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        bits(slf, other, ops::bitwise_or, true)
    }

    fn __xor__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        bits(slf, other, ops::bitwise_xor, false)
    }

    fn __rxor__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        bits(slf, other, ops::bitwise_xor, true)
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        op: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        match op {
            CompareOp::Eq => compare(slf, other, |a, b| ops::eq(a, b)),
            CompareOp::Ne => compare(slf, other, |a, b| ops::ne(a, b)),
            CompareOp::Lt => compare(slf, other, |a, b| ops::lt(a, b)),
            CompareOp::Le => compare(slf, other, |a, b| ops::le(a, b)),
            CompareOp::Gt => compare(slf, other, |a, b| ops::gt(a, b)),
            CompareOp::Ge => compare(slf, other, |a, b| ops::ge(a, b)),
        }
    }

    /// Sum with `alpha` times the other operand.
    #[pyo3(signature = (other, *, alpha=None))]
    fn add<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        alpha: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        scaled_sum(slf, other, alpha, 1.0)
    }

    /// Difference with `alpha` times the other operand.
    #[pyo3(signature = (other, *, alpha=None))]
    fn sub<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        alpha: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        scaled_sum(slf, other, alpha, -1.0)
    }

    /// As `sub`.
    #[pyo3(signature = (other, *, alpha=None))]
    fn subtract<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        alpha: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        scaled_sum(slf, other, alpha, -1.0)
    }

    /// `other - alpha * self`.
    #[pyo3(signature = (other, *, alpha=None))]
    fn rsub<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        alpha: Option<f64>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let o = named_operand("rsub", other, "other")?;
        let t = &slf.get().inner;
        give(slf.py(), || match alpha {
            None => ops::sub(o.as_operand(), t),
            Some(a) => ops::sub(o.as_operand(), &ops::mul(t, scale_of(t, a))?),
        })
    }

    /// As `add`, in place.
    #[pyo3(signature = (other, *, alpha=None))]
    fn add_<'py>(
        slf: Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        alpha: Option<f64>,
    ) -> PyResult<Bound<'py, Self>> {
        scaled_inplace(&slf, other, alpha, 1.0)?;
        Ok(slf)
    }

    /// As `sub`, in place.
    #[pyo3(signature = (other, *, alpha=None))]
    fn sub_<'py>(
        slf: Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        alpha: Option<f64>,
    ) -> PyResult<Bound<'py, Self>> {
        scaled_inplace(&slf, other, alpha, -1.0)?;
        Ok(slf)
    }

    /// Quotient, rounded as `rounding_mode` says: `None`, `"trunc"` or `"floor"`.
    #[pyo3(signature = (other, *, rounding_mode=None))]
    fn div<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        rounding_mode: Option<&str>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let o = named_operand("div", other, "other")?;
        let t = &slf.get().inner;
        give(slf.py(), || ops::div_rounded(t.into(), o.as_operand(), rounding_mode))
    }

    /// As `div`.
    #[pyo3(signature = (other, *, rounding_mode=None))]
    fn divide<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        rounding_mode: Option<&str>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        PyTensor::div(slf, other, rounding_mode)
    }

    /// As `div`, in place.
    #[pyo3(signature = (other, *, rounding_mode=None))]
    fn div_<'py>(
        slf: Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        rounding_mode: Option<&str>,
    ) -> PyResult<Bound<'py, Self>> {
        match rounding_mode {
            None => inplace(&slf, other, &ops::binary::rows::div::ROW)?,
            Some("floor") => inplace(&slf, other, &ops::binary::rows::floor_divide::ROW)?,
            mode => {
                let o = named_operand("div", other, "other")?;
                let t = &slf.get().inner;
                call(slf.py(), || {
                    ops::assign_as("div_", t, &ops::div_rounded(t.into(), o.as_operand(), mode)?)
                })?;
            }
        }
        Ok(slf)
    }
}

macro_rules! number_first {
    ($($(#[doc = $doc:literal])* $name:ident $second:ident;)*) => { $(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (input, $second))]
        pub fn $name<'py>(input: &Bound<'py, PyAny>, $second: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTensor>> {
            let a = named_operand(stringify!($name), input, "input")?;
            let b = named_operand(stringify!($name), $second, stringify!($second))?;
            if matches!((&a, &b), (Owned::Number(_), Owned::Number(_))) {
                return Err(pyo3::exceptions::PyTypeError::new_err(concat!(
                    "[", stringify!($name), "] one of the two arguments must be a Tensor"
                )));
            }
            give(input.py(), || ops::$name(a.as_operand(), b.as_operand()))
        }
    )* };
}

number_first! {
    /// Power; either argument may be a number.
    pow exponent;
    /// Remainder with the sign of the divisor; either argument may be a number.
    remainder other;
}

fn no_modulo(m: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match m {
        Some(m) if !m.is_none() => {
            Err(pyo3::exceptions::PyTypeError::new_err("pow() with a modulus is not supported"))
        }
        _ => Ok(()),
    }
}

fn product<'py>(
    slf: &Bound<'py, PyTensor>,
    other: &Bound<'py, PyAny>,
    swap: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = slf.py();
    let Some(Owned::Tensor(o)) = operand(other)? else { return Ok(py.NotImplemented().into_bound(py)) };
    let t = &slf.get().inner;
    let work = t.numel() * o.dims().last().copied().unwrap_or(1);
    let r = heavy(py, work, || if swap { ops::matmul(&o, t) } else { ops::matmul(t, &o) })?;
    Ok(wrap(py, r)?.into_any())
}

/// A factor that does not promote integers.
fn scale_of(t: &Tensor, a: f64) -> Operand<'static> {
    if !t.dtype().is_float() && a.fract() == 0.0 { Operand::Number((a as i64).into()) } else { a.into() }
}

fn scaled_sum<'py>(
    slf: &Bound<'py, PyTensor>,
    other: &Bound<'py, PyAny>,
    alpha: Option<&Bound<'py, PyAny>>,
    sign: f64,
) -> PyResult<Bound<'py, PyTensor>> {
    let py = slf.py();
    let o = named_operand(if sign > 0.0 { "add" } else { "sub" }, other, "other")?;
    let t = &slf.get().inner;
    let Some(a) = alpha else {
        let r = heavy(py, t.numel(), || {
            if sign > 0.0 { ops::add(t, o.as_operand()) } else { ops::sub(t, o.as_operand()) }
        })?;
        return wrap(py, r);
    };
    let a = super::convert::number(a, "alpha")?;
    let whole = !t.dtype().is_float() && !matches!(&o, Owned::Tensor(o) if o.dtype().is_float());
    if whole && matches!(a, crate::Scalar::Float(_)) {
        return Err(pyo3::exceptions::PyRuntimeError::new_err(
            "For integral input tensors, argument alpha must not be a floating point number.",
        ));
    }
    give(py, || ops::add_scaled(t, o.as_operand(), sign * a.as_f64()))
}

fn scaled_inplace(
    slf: &Bound<'_, PyTensor>,
    other: &Bound<'_, PyAny>,
    alpha: Option<f64>,
    sign: f64,
) -> PyResult<()> {
    match alpha {
        None if sign > 0.0 => inplace(slf, other, &ops::binary::rows::add::ROW),
        None => inplace(slf, other, &ops::binary::rows::sub::ROW),
        Some(a) => {
            let o = named_operand("div", other, "other")?;
            let t = &slf.get().inner;
            heavy(slf.py(), t.numel(), || ops::add_scaled_(t, o.as_operand(), sign * a))
        }
    }
}
