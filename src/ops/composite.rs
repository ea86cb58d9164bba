//! Functions made of other operations. One becomes a rule of its own only with a benchmark in hand.

use super::Operand;
use crate::dtype::Scalar;
use crate::graph::{self, Tensor};
use crate::shape;
use crate::{Result, bail, ensure};

/// Limits elements to bounds, either of which may be missing, a number or a tensor.
///
/// # Errors
/// [`crate::Kind::Value`] when both bounds are missing.
pub fn clamp(t: &Tensor, min: Option<Operand<'_>>, max: Option<Operand<'_>>) -> Result<Tensor> {
    const INF: f64 = f64::INFINITY;
    let number = |o: &Option<Operand<'_>>| match o {
        Some(Operand::Number(s)) => Some(*s),
        _ => None,
    };
    if min.is_none() && max.is_none() {
        bail!(Value, "clamp", "at least one of min and max must not be None");
    }
    let tensors = matches!(min, Some(Operand::Tensor(_))) || matches!(max, Some(Operand::Tensor(_)));
    if !tensors {
        let (low, high) = (number(&min), number(&max));
        let float = [low, high].iter().flatten().any(|s| matches!(s, Scalar::Float(_)));
        let t = match t.dtype() {
            d if float && !d.is_float() => super::cast(t, super::default_dtype())?,
            crate::DType::Bool => super::cast(t, crate::DType::I64)?,
            _ => t.clone(),
        };
        let (l, h) = if t.dtype().is_float() { (-INF, INF) } else { (i64::MIN as f64, i64::MAX as f64) };
        return super::params::clamp(&t, low.map_or(l, Scalar::as_f64), high.map_or(h, Scalar::as_f64));
    }
    let mut out = t.clone();
    if let Some(m) = min {
        out = super::clamp_min(&out, m)?;
    }
    if let Some(m) = max {
        out = super::clamp_max(&out, m)?;
    }
    Ok(out)
}

/// Joins tensors of one shape along a new dimension.
///
/// # Errors
/// [`crate::Kind::Shape`] when the shapes differ; [`crate::Kind::Value`] for an empty list.
pub fn stack(tensors: &[&Tensor], dim: isize) -> Result<Tensor> {
    ensure!(!tensors.is_empty(), Value, "stack", "expected a non-empty list of tensors");
    let first = tensors[0].dims();
    let dim = shape::dim(dim, first.len() + 1).map_err(|e| e.in_op("stack"))?;
    for (i, t) in tensors.iter().enumerate() {
        ensure!(
            t.dims() == first,
            Shape,
            "stack",
            "each tensor must be of equal size: got {:?} at position 0 and {:?} at position {i}",
            first.as_slice(),
            t.dims().as_slice()
        );
    }
    let wide: Vec<Tensor> = tensors.iter().map(|t| super::unsqueeze(t, dim)).collect::<Result<_>>()?;
    super::cat(&wide.iter().collect::<Vec<_>>(), dim as isize)
}

/// Cuts a dimension into pieces of the given sizes, as views.
///
/// # Errors
/// [`crate::Kind::Shape`] when the sizes do not add up.
pub fn split_sizes(t: &Tensor, sizes: &[usize], dim: usize) -> Result<Vec<Tensor>> {
    let dims = t.dims();
    ensure!(
        dim < dims.len(),
        Index,
        "split",
        "dimension {dim} is out of range for {} dimensions",
        dims.len()
    );
    ensure!(
        sizes.iter().sum::<usize>() == dims[dim],
        Shape,
        "split",
        "split sizes {sizes:?} must add up to the size {} of dimension {dim}",
        dims[dim]
    );
    let mut start = 0;
    let mut out = Vec::with_capacity(sizes.len());
    for &n in sizes {
        out.push(super::slice_rule::op(t, dim, start, n, 1)?);
        start += n;
    }
    graph::views_of(t, &out);
    Ok(out)
}

/// Cuts a dimension into pieces of `size`, the last one smaller where it must be, as views.
///
/// # Errors
/// [`crate::Kind::Value`] when `size` is 0 and the dimension is not empty.
pub fn split(t: &Tensor, size: usize, dim: usize) -> Result<Vec<Tensor>> {
    let dims = t.dims();
    ensure!(
        dim < dims.len(),
        Index,
        "split",
        "dimension {dim} is out of range for {} dimensions",
        dims.len()
    );
    let n = dims[dim];
    ensure!(
        size > 0 || n == 0,
        Value,
        "split",
        "split_size can only be 0 if dimension size is 0, but got size {n}"
    );
    let pieces = if n == 0 { 1 } else { n.div_ceil(size) };
    let sizes: Vec<usize> = (0..pieces).map(|i| size.min(n - i * size)).collect();
    split_sizes(t, &sizes, dim)
}

/// Cuts a dimension into at most `chunks` pieces of equal size, the last one smaller, as views.
///
/// # Errors
/// [`crate::Kind::Value`] when `chunks` is 0.
pub fn chunk(t: &Tensor, chunks: usize, dim: usize) -> Result<Vec<Tensor>> {
    ensure!(chunks > 0, Value, "chunk", "expected chunks to be greater than 0, got {chunks}");
    let dims = t.dims();
    ensure!(
        dim < dims.len(),
        Index,
        "chunk",
        "dimension {dim} is out of range for {} dimensions",
        dims.len()
    );
    if dims[dim] == 0 {
        return split_sizes(t, &vec![0; chunks], dim);
    }
    split(t, dims[dim].div_ceil(chunks), dim)
}

/// The slices along a dimension, as views.
///
/// # Errors
/// [`crate::Kind::Index`] when the dimension is out of range.
pub fn unbind(t: &Tensor, dim: usize) -> Result<Vec<Tensor>> {
    let dims = t.dims();
    ensure!(
        dim < dims.len(),
        Index,
        "unbind",
        "dimension {dim} is out of range: the tensor has {} dimensions",
        dims.len()
    );
    let out: Vec<Tensor> =
        (0..dims[dim]).map(|i| super::select_rule::op(t, dim, i)).collect::<Result<_>>()?;
    graph::views_of(t, &out);
    Ok(out)
}

/// Merges dimensions `start..=end` into one.
///
/// # Errors
/// [`crate::Kind::Value`] when `start` lies after `end`.
pub fn flatten(t: &Tensor, start: usize, end: usize) -> Result<Tensor> {
    let dims = t.dims();
    if dims.is_empty() {
        return super::reshape(t, &[1]);
    }
    ensure!(start <= end, Value, "flatten", "start_dim {start} cannot come after end_dim {end}");
    if start == end {
        return Ok(t.clone());
    }
    let mut to = shape::Dims::from_slice(&dims[..start]);
    to.push(dims[start..=end].iter().product());
    to.extend_from_slice(&dims[end + 1..]);
    super::reshape(t, &to)
}

/// Repeats the tensor along each dimension, new leading ones included.
///
/// # Errors
/// [`crate::Kind::Shape`] with fewer repeats than dimensions.
pub fn repeat(t: &Tensor, repeats: &[usize]) -> Result<Tensor> {
    let dims = t.dims();
    ensure!(
        repeats.len() >= dims.len(),
        Shape,
        "repeat",
        "number of dimensions of repeat dims, {}, cannot be smaller than those of the tensor, {}",
        repeats.len(),
        dims.len()
    );
    let lead = repeats.len() - dims.len();
    let (mut narrow, mut wide, mut out) = (shape::Dims::new(), shape::Dims::new(), shape::Dims::new());
    for (i, &r) in repeats.iter().enumerate() {
        let d = if i < lead { 1 } else { dims[i - lead] };
        narrow.extend_from_slice(&[1, d]);
        wide.extend_from_slice(&[r, d]);
        out.push(r * d);
    }
    super::reshape(&super::clone(&super::expand(&super::reshape(t, &narrow)?, &wide)?)?, &out)
}

/// Quotient, rounded towards zero (`"trunc"`), towards minus infinity (`"floor"`) or not at all.
///
/// # Errors
/// [`crate::Kind::Value`] for another mode; as [`super::div`].
pub fn div_rounded(a: Operand<'_>, b: Operand<'_>, mode: Option<&str>) -> Result<Tensor> {
    match mode {
        None => super::div(a, b),
        Some("floor") => super::floor_divide(a, b),
        Some("trunc") => {
            let whole = |o: &Operand<'_>| match o {
                Operand::Tensor(t) => !t.dtype().is_float(),
                Operand::Number(s) => !matches!(s, Scalar::Float(_)),
            };
            if whole(&a) && whole(&b) {
                let r = super::fmod(a, b)?;
                return super::floor_divide(&super::sub(a, &r)?, b);
            }
            super::trunc(&super::div(a, b)?)
        }
        Some(m) => bail!(
            Value,
            "div",
            "expected rounding_mode to be one of None, 'trunc' or 'floor' but found '{m}'"
        ),
    }
}

macro_rules! bitwise {
    ($($(#[doc = $doc:literal])* $name:ident, $op:tt;)*) => { $(
        $(#[doc = $doc])*
        ///
        /// # Errors
        /// [`crate::Kind::Type`] for floats; [`crate::Kind::Shape`] when the operands cannot be broadcast together.
        pub fn $name<'a>(a: Operand<'a>, b: Operand<'a>) -> Result<Tensor> {
            bitwise(stringify!($name), a, b, |x, y| x $op y)
        }
    )* };
}

bitwise! {
    /// Bits that both integers have; for bool, whether both are true.
    bitwise_and, &;
    /// Bits that either integer has; for bool, whether either is true.
    bitwise_or, |;
    /// Bits that exactly one integer has; for bool, whether exactly one is true.
    bitwise_xor, ^;
}

fn bitwise(op: &'static str, a: Operand<'_>, b: Operand<'_>, f: fn(i64, i64) -> i64) -> Result<Tensor> {
    let mut p = crate::dtype::Promotion::default();
    let mut dims = shape::Dims::new();
    for o in [a, b] {
        match o {
            Operand::Tensor(t) => {
                t.with_layout(|l, d| p.tensor(d, l.ndim()));
                dims = shape::broadcast(&dims, &t.dims()).map_err(|e| e.in_op(op))?;
            }
            Operand::Number(s) => p.number(s, super::default_dtype()),
        }
    }
    let dtype = p.result().expect("two operands");
    ensure!(!dtype.is_float(), Type, op, "not implemented for dtype {dtype}; expected integers or bool");
    let read = |o: Operand<'_>| -> Result<Vec<i64>> {
        match o {
            Operand::Tensor(t) => t.array()?.expand(&dims)?.to_vec::<i64>(),
            Operand::Number(s) => Ok(vec![s.as_i64(); shape::numel(&dims)]),
        }
    };
    let v: Vec<i64> = read(a)?.into_iter().zip(read(b)?).map(|(x, y)| f(x, y)).collect();
    Ok(Tensor::new(crate::Array::from_slice(&v, &dims)?.cast(dtype)?))
}

/// All bits reversed; for bool, the opposite.
///
/// # Errors
/// [`crate::Kind::Type`] for floats.
pub fn bitwise_not(t: &Tensor) -> Result<Tensor> {
    match t.dtype() {
        crate::DType::Bool => super::logical_not(t),
        d if d.is_float() => {
            bail!(Type, "bitwise_not", "not implemented for dtype {d}; expected integers or bool")
        }
        _ => bitwise("bitwise_not", Operand::Tensor(t), Operand::Number(Scalar::Int(-1)), |x, y| x ^ y),
    }
}
