//! Reading and writing at indexes: integers, slices, `None`, `...`, integer tensors and lists, bool masks.

use super::convert::{need_operand, tensor_from};
use super::door::{call, heavy};
use super::tensor::{PyTensor, fresh, tensor_of, wrap};
use crate::dtype::{DType, Scalar};
use crate::graph::Tensor;
use crate::ops::{self, Operand};
use crate::{Array, Result, shape};
use numpy::PyUntypedArray;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PySlice, PyTuple};

/// One part of an index.
enum Part {
    Int(isize),
    Slice(Option<isize>, Option<isize>, isize),
    NewAxis,
    Ellipsis,
    /// A bool: a new dimension of size 1 or 0.
    Bool(bool),
    Tensor(Tensor),
}

impl Part {
    /// Dimensions of the tensor that it uses up.
    fn uses(&self) -> usize {
        match self {
            Part::Int(_) | Part::Slice(..) => 1,
            Part::NewAxis | Part::Ellipsis | Part::Bool(_) => 0,
            Part::Tensor(t) => match t.dtype() {
                DType::Bool | DType::U8 => t.ndim(),
                _ => 1,
            },
        }
    }
}

fn bound(o: &Bound<'_, PyAny>) -> PyResult<Option<isize>> {
    if o.is_none() {
        return Ok(None);
    }
    match o.extract::<isize>() {
        Ok(v) => Ok(Some(v)),
        // A bound beyond 64 bits reaches the end either way.
        Err(_) if o.is_instance_of::<PyInt>() => {
            Ok(Some(if o.lt(0)? { isize::MIN / 2 } else { isize::MAX / 2 }))
        }
        Err(_) => {
            let i = o.call_method0("__index__").map_err(|_| {
                PyTypeError::new_err("slice indices must be integers or None or have an __index__ method")
            })?;
            Ok(Some(i.extract()?))
        }
    }
}

fn part(o: &Bound<'_, PyAny>) -> PyResult<Part> {
    if let Ok(b) = o.cast::<PyBool>() {
        return Ok(Part::Bool(b.is_true()));
    }
    if o.is_instance_of::<PyInt>() {
        return Ok(Part::Int(
            o.extract().map_err(|_| PyIndexError::new_err(format!("index {o} is out of bounds")))?,
        ));
    }
    if let Ok(s) = o.cast::<PySlice>() {
        let step = bound(&s.getattr("step")?)?.unwrap_or(1);
        return Ok(Part::Slice(bound(&s.getattr("start")?)?, bound(&s.getattr("stop")?)?, step));
    }
    if o.is_none() {
        return Ok(Part::NewAxis);
    }
    if o.is_instance_of::<PyEllipsis>() {
        return Ok(Part::Ellipsis);
    }
    if let Some(t) = tensor_of(o) {
        if t.ndim() == 0 && !matches!(t.dtype(), DType::Bool | DType::U8) {
            if t.dtype().is_float() {
                return Err(PyIndexError::new_err(
                    "tensors used as indices must be int64, int32, uint8 or bool tensors",
                ));
            }
            return Ok(Part::Int(call(o.py(), || t.array()?.item())?.as_i64() as isize));
        }
        if t.ndim() == 0 {
            return Ok(Part::Bool(call(o.py(), || t.array()?.item())?.as_bool()));
        }
        return Ok(Part::Tensor(call(o.py(), || t.detach())?));
    }
    if o.is_instance_of::<PyList>() || o.is_instance_of::<PyTuple>() || o.is_instance_of::<PyUntypedArray>() {
        let t = tensor_from(o, None)?;
        // An empty list indexes nothing.
        let empty = t.numel() == 0 && t.dtype().is_float();
        return Ok(Part::Tensor(if empty { call(o.py(), || ops::cast(&t, DType::I64))? } else { t }));
    }
    if let Ok(i) = o.call_method0("__index__") {
        return Ok(Part::Int(i.extract()?));
    }
    Err(PyTypeError::new_err(format!(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})",
        o.get_type().name()?
    )))
}

fn parts(index: &Bound<'_, PyAny>) -> PyResult<Vec<Part>> {
    match index.cast::<PyTuple>() {
        Ok(t) => t.iter().map(|o| part(&o)).collect(),
        Err(_) => Ok(vec![part(index)?]),
    }
}

/// Applies the basic parts as views; what is left are index tensors, one a dimension of the view.
fn view(t: &Tensor, parts: Vec<Part>) -> Result<(Tensor, Vec<Option<Tensor>>)> {
    let ndim = t.ndim();
    let used: usize = parts.iter().map(Part::uses).sum();
    crate::ensure!(
        used <= ndim,
        Index,
        "index",
        "too many indices for tensor of dimension {ndim}: got {used}"
    );
    let ellipses = parts.iter().filter(|p| matches!(p, Part::Ellipsis)).count();
    crate::ensure!(ellipses <= 1, Index, "index", "an index can only have a single ellipsis ('...')");
    let mut out = t.clone();
    let mut dim = 0;
    let mut advanced: Vec<Option<Tensor>> = Vec::new();
    let mark = |advanced: &mut Vec<Option<Tensor>>, upto: usize| {
        while advanced.len() < upto {
            advanced.push(None);
        }
    };
    for p in parts {
        match p {
            Part::Int(i) => out = ops::select(&out, dim, i).map_err(|e| rename(e, i, dim, &out))?,
            Part::Slice(start, stop, step) => {
                let size = out.dims()[dim];
                let (s, n, k) = shape::slice(size, start, stop, step)?;
                if !(s == 0 && n == size && k == 1) {
                    out = ops::slice(&out, dim, s, n, k)?;
                }
                dim += 1;
            }
            Part::NewAxis => {
                out = ops::unsqueeze(&out, dim)?;
                dim += 1;
            }
            Part::Ellipsis => dim += ndim - used,
            Part::Bool(b) => {
                out = ops::unsqueeze(&out, dim)?;
                mark(&mut advanced, dim);
                let list: &[i64] = if b { &[0] } else { &[] };
                advanced.push(Some(Tensor::internal(Array::from_slice(list, &[list.len()])?)));
                dim += 1;
            }
            Part::Tensor(i) => {
                let n = if matches!(i.dtype(), DType::Bool | DType::U8) { i.ndim() } else { 1 };
                mark(&mut advanced, dim);
                advanced.push(Some(i));
                // A mask over several dimensions stands for as many index arrays.
                dim += n;
            }
        }
    }
    Ok((out, compact(advanced)))
}

/// Masks count several dimensions but are one entry; later entries were padded as if they were one.
fn compact(list: Vec<Option<Tensor>>) -> Vec<Option<Tensor>> {
    if list.iter().all(Option::is_none) {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut skip = 0;
    for i in list {
        match i {
            None if skip > 0 => skip -= 1,
            None => out.push(None),
            Some(t) => {
                skip = if matches!(t.dtype(), DType::Bool | DType::U8) { t.ndim() - 1 } else { 0 };
                out.push(Some(t));
            }
        }
    }
    out
}

fn rename(e: crate::Error, i: isize, dim: usize, t: &Tensor) -> crate::Error {
    if t.ndim() == 0 {
        return crate::Error::new(
            crate::Kind::Index,
            "index",
            "invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number",
        );
    }
    let size = t.dims().get(dim).copied().unwrap_or(0);
    crate::Error::new(
        e.kind(),
        "index",
        format!("index {i} is out of bounds for dimension {dim} with size {size}"),
    )
}

#[pymethods]
impl PyTensor {
    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTensor>> {
        let t = &self.inner;
        if let Ok(i) = index.cast_exact::<PyInt>()
            && let Ok(i) = i.extract::<isize>()
        {
            let r = call(py, || ops::select(t, 0, i).map_err(|e| rename(e, i, 0, t)))?;
            return fresh(py, r);
        }
        let parts = parts(index)?;
        let r = heavy(py, t.numel(), || {
            let (v, advanced) = view(t, parts).map_err(|e| e.renamed("index"))?;
            if advanced.is_empty() {
                return if v.same(t) { ops::slice_whole(t) } else { Ok(v) };
            }
            ops::index(&v, &advanced)
        })?;
        wrap(py, r)
    }

    fn __setitem__(
        &self,
        py: Python<'_>,
        index: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let t = &self.inner;
        let parts = parts(index)?;
        let value = match super::convert::operand(value)? {
            Some(v) => v,
            None => match tensor_from(value, None) {
                Ok(v) => super::convert::Owned::Tensor(v),
                Err(_) => need_operand(value, "value")?,
            },
        };
        heavy(py, t.numel(), || {
            // A refused write says so before any view is made.
            let tracked = crate::graph::mode::grad_enabled()
                && (t.requires_grad()
                    || matches!(value.as_operand(), Operand::Tensor(v) if v.requires_grad()));
            t.check_inplace("index_put_", tracked)?;
            let (v, advanced) = view(t, parts).map_err(|e| e.renamed("index_put_"))?;
            match (advanced.is_empty(), value.as_operand()) {
                (true, Operand::Number(s)) => ops::fill_(&v, s),
                (true, Operand::Tensor(src)) => {
                    // Leading dimensions of size 1 that the target lacks do not count.
                    let extra = src.ndim().saturating_sub(v.ndim());
                    let lead: Vec<usize> = (0..extra).collect();
                    let src = if extra > 0 { ops::squeeze(src, &lead)? } else { src.clone() };
                    ops::copy_(&v, &src).map_err(|e| e.renamed("index_put_"))
                }
                (false, o) => {
                    let src = match o {
                        Operand::Tensor(s) => s.clone(),
                        Operand::Number(s) => Tensor::internal(Array::scalar(cast(s, v.dtype()), v.dtype())?),
                    };
                    ops::index_put_(&v, &advanced, &src, false)
                }
            }
        })
    }
}

fn cast(s: Scalar, d: DType) -> Scalar {
    if d.is_float() { Scalar::Float(s.as_f64()) } else { s }
}
