//! Reading and writing at indexes. Gradients of repeated reads add up.

use super::Expr;
use crate::dtype::{DType, Scalar};
use crate::graph::{self, Tensor};
use crate::kernels::index as kernel;
use crate::kernels::index::Scatter;
use crate::shape::Dims;
use crate::{Array, Result, bail, ensure};

/// One index array a dimension; `None` takes the whole dimension.
pub type Indices = Vec<Option<Array>>;

crate::define_rules! {
    /// Elements at `index` along a dimension, one a position of `index`.
    Linear gather_rule(a; dim: usize, index: Array) => y {
        kernel = |a| kernel::gather(a, *dim, index);
        d(a, g) = g.scatter_zeros(a.dims(), *dim, index);
    }
    /// Zeros with values added at `index` along a dimension: the adjoint of gathering.
    Linear scatter_zeros(a; dims: Dims, dim: usize, index: Array) => y {
        kernel = |a| scattered(a, dims, *dim, index);
        d(a, g) = g.map(|t| gather_rule::op(t, *dim, index.clone()));
    }
    /// Values of `b` added to `a` at `index` along a dimension.
    Linear scatter_add_rule(a, b; dim: usize, index: Array) => y {
        kernel = |a, b| kernel::scatter(a, *dim, index, b, Scatter::Add);
        d(a, g) = g;
        d(b, g) = g.map(|t| gather_rule::op(t, *dim, index.clone())).widen(b.dims());
    }
    /// Values of `b` put into `a` at `index` along a dimension.
    Linear scatter_rule(a, b; dim: usize, index: Array) => y {
        kernel = |a, b| kernel::scatter(a, *dim, index, b, Scatter::Set);
        d(a, g) = g.map(|t| scatter_fill(t, *dim, index, Scalar::Int(0)));
        d(b, g) = g.map(|t| gather_rule::op(t, *dim, index.clone())).widen(b.dims());
    }
    /// Slices at `index` along a dimension.
    Linear index_select_rule(a; dim: usize, index: Array) => y {
        kernel = |a| kernel::index_select(a, *dim, index);
        d(a, g) = g.index_zeros(a.dims(), *dim, index);
    }
    /// Zeros with slices added at `index` along a dimension: the adjoint of [`index_select_rule`].
    Linear index_zeros(a; dims: Dims, dim: usize, index: Array) => y {
        kernel = |a| indexed_zeros(a, dims, *dim, index);
        d(a, g) = g.map(|t| index_select_rule::op(t, *dim, index.clone()));
    }
    /// `a` with `alpha` times the slices of `b` added at `index` along a dimension.
    Linear index_add_rule(a, b; dim: usize, index: Array, alpha: f64) => y {
        kernel = |a, b| index_added(a, b, *dim, index, *alpha);
        d(a, g) = g;
        d(b, g) = g.map(|t| index_select_rule::op(t, *dim, index.clone())) * *alpha;
    }
    /// Elements at index arrays, as NumPy's advanced indexing.
    Linear take(a; indices: Indices) => y {
        kernel = |a| kernel::take_indices(a, indices);
        d(a, g) = g.put_zeros(a.dims(), indices);
    }
    /// Zeros with values added at index arrays: the adjoint of [`take`].
    Linear put_zeros(a; dims: Dims, indices: Indices) => y {
        kernel = |a| put_into_zeros(a, dims, indices);
        d(a, g) = g.map(|t| take::op(t, indices.clone()));
    }
    /// `a` with the values of `b`, broadcast, added at index arrays.
    Linear put_add(a, b; indices: Indices) => y {
        kernel = |a, b| put_copy(a, b, indices, true);
        d(a, g) = g;
        d(b, g) = g.map(|t| take::op(t, indices.clone())).sum_to(&b.dims());
    }
    /// `a` with the values of `b`, broadcast, put at index arrays; of several values for one place the last stays.
    Linear put(a, b; indices: Indices) => y {
        kernel = |a, b| put_copy(a, b, indices, false);
        d(a, g) = g.cleared(indices);
        d(b, g) = g.taken_once(indices).sum_to(&b.dims());
    }
    /// `a` with zeros put at index arrays.
    Linear clear(a; indices: Indices) => y {
        kernel = |a| put_copy(a, &Array::scalar(Scalar::Int(0), a.dtype())?, indices, false);
        d(a, g) = g.cleared(indices);
    }
}

fn scattered(a: &Array, dims: &[usize], dim: usize, index: &Array) -> Result<Array> {
    let out = Array::zeros(dims, a.dtype())?;
    if index.numel() == 0 {
        return Ok(out);
    }
    kernel::scatter_into(&out, dim, index, a, Scatter::Add)?;
    Ok(out)
}

fn indexed_zeros(a: &Array, dims: &[usize], dim: usize, index: &Array) -> Result<Array> {
    let out = Array::zeros(dims, a.dtype())?;
    kernel::index_add_into(&out, dim, index, a, Scalar::Int(1))?;
    Ok(out)
}

fn index_added(a: &Array, b: &Array, dim: usize, index: &Array, alpha: f64) -> Result<Array> {
    let out = a.copied()?;
    let alpha = if a.dtype().is_float() { Scalar::Float(alpha) } else { Scalar::Int(alpha as i64) };
    kernel::index_add_into(&out, dim, index, b, alpha)?;
    Ok(out)
}

fn put_into_zeros(a: &Array, dims: &[usize], indices: &[Option<Array>]) -> Result<Array> {
    let out = Array::zeros(dims, a.dtype())?;
    kernel::put_indices(&out, indices, a, true)?;
    Ok(out)
}

fn put_copy(a: &Array, b: &Array, indices: &[Option<Array>], accumulate: bool) -> Result<Array> {
    let out = a.copied()?;
    kernel::put_indices(&out, indices, &b.cast(a.dtype())?, accumulate)?;
    Ok(out)
}

impl<'c> Expr<'c> {
    fn scatter_zeros(self, dims: Dims, dim: usize, index: &Array) -> Self {
        self.map(|t| scatter_zeros::op(t, dims, dim, index.clone()))
    }

    /// Brings a gathered gradient to a source that is bigger than the index: what was not read gets zero.
    fn widen(self, dims: Dims) -> Self {
        let mut at = self;
        for (k, &size) in dims.iter().enumerate() {
            if at.dims()[k] != size {
                let mut to = at.dims();
                to[k] = size;
                at = at.embed(to, k, 0, 1);
            }
        }
        at
    }

    fn index_zeros(self, dims: Dims, dim: usize, index: &Array) -> Self {
        self.map(|t| index_zeros::op(t, dims, dim, index.clone()))
    }

    fn put_zeros(self, dims: Dims, indices: &Indices) -> Self {
        self.map(|t| put_zeros::op(t, dims, indices.clone()))
    }

    fn cleared(self, indices: &Indices) -> Self {
        self.map(|t| clear::op(t, indices.clone()))
    }

    /// Reads at indexes, with zero for every value that a later one overwrote.
    fn taken_once(self, indices: &Indices) -> Self {
        let dims = self.dims();
        self.map(|t| {
            let read = take::op(t, indices.clone())?;
            // Numbers 0, 1, 2, … are put in the same way; a number that is not read back was overwritten.
            let n = read.numel() as f64;
            let order = crate::kernels::join::arange(
                Scalar::Int(0),
                Scalar::Int(n as i64),
                Scalar::Int(1),
                DType::I64,
            )?
            .reshape(&read.dims())?;
            let places = Array::zeros(&dims, DType::I64)?;
            kernel::put_indices(&places, indices, &order, false)?;
            let back = kernel::take_indices(&places, indices)?;
            let kept = super::eq(&Tensor::internal(back), &Tensor::internal(order))?.array()?;
            super::where_(&Tensor::internal(kept), &read, 0.0)
        })
    }
}

fn check_index(op: &'static str, index: &Tensor) -> Result<Array> {
    let a = index.array()?;
    ensure!(
        a.dtype().category() == crate::dtype::Category::Int,
        Type,
        op,
        "expected index to have an integer dtype such as int64, got {}",
        a.dtype()
    );
    a.cast(DType::I64)?.contiguous()
}

/// Elements at `index` (int64, as many dimensions as the tensor) along a dimension.
///
/// # Errors
/// [`crate::Kind::Index`] for indexes out of range; [`crate::Kind::Type`]; [`crate::Kind::Shape`].
pub fn gather(t: &Tensor, dim: usize, index: &Tensor) -> Result<Tensor> {
    let i = check_index("gather", index)?;
    gather_rule::op(t, dim, i).map_err(|e| e.in_op("gather"))
}

/// The tensor with `src` added at `index` along a dimension.
///
/// # Errors
/// As [`gather`]; [`crate::Kind::Type`] when the dtypes differ.
pub fn scatter_add(t: &Tensor, dim: usize, index: &Tensor, src: &Tensor) -> Result<Tensor> {
    let i = check_index("scatter_add", index)?;
    same_dtype("scatter_add", t, src)?;
    scatter_add_rule::op(t, src, dim, i).map_err(|e| e.in_op("scatter_add"))
}

/// The tensor with `src` put at `index` along a dimension.
///
/// # Errors
/// As [`scatter_add`].
pub fn scatter(t: &Tensor, dim: usize, index: &Tensor, src: &Tensor) -> Result<Tensor> {
    let i = check_index("scatter", index)?;
    same_dtype("scatter", t, src)?;
    scatter_rule::op(t, src, dim, i).map_err(|e| e.in_op("scatter"))
}

/// The tensor with a number put at `index` along a dimension.
fn scatter_fill(t: &Tensor, dim: usize, index: &Array, value: Scalar) -> Result<Tensor> {
    let src = Array::scalar(value, t.dtype())?.expand(index.dims())?;
    scatter_rule::op(t, &Tensor::internal(src), dim, index.clone())
}

fn same_dtype(op: &'static str, t: &Tensor, src: &Tensor) -> Result<()> {
    ensure!(
        t.dtype() == src.dtype(),
        Type,
        op,
        "expected self.dtype to be equal to src.dtype, got {} and {}",
        t.dtype(),
        src.dtype()
    );
    Ok(())
}

/// Slices at `index` (a vector or one number) along a dimension.
///
/// # Errors
/// [`crate::Kind::Index`] for indexes out of range; [`crate::Kind::Type`]; [`crate::Kind::Shape`].
pub fn index_select(t: &Tensor, dim: usize, index: &Tensor) -> Result<Tensor> {
    let i = check_index("index_select", index)?;
    ensure!(
        i.ndim() <= 1,
        Index,
        "index_select",
        "index is supposed to be a vector, got shape {:?}",
        i.dims()
    );
    let i = i.reshape(&[i.numel()])?;
    if t.ndim() == 0 {
        let one = super::reshape(t, &[1])?;
        let r = index_select_rule::op(&one, 0, i).map_err(|e| e.in_op("index_select"))?;
        return super::reshape(&r, &[]);
    }
    index_select_rule::op(t, dim, i).map_err(|e| e.in_op("index_select"))
}

/// The tensor with `alpha·src` added to the slices at `index` along a dimension.
///
/// # Errors
/// As [`index_select`].
pub fn index_add(t: &Tensor, dim: usize, index: &Tensor, src: &Tensor, alpha: f64) -> Result<Tensor> {
    let i = check_index("index_add", index)?;
    ensure!(i.ndim() <= 1, Index, "index_add", "index is supposed to be a vector, got shape {:?}", i.dims());
    same_dtype("index_add", t, src)?;
    let i = i.reshape(&[i.numel()])?;
    index_add_rule::op(t, src, dim, i, alpha).map_err(|e| e.in_op("index_add"))
}

/// Expands bool masks into index arrays and checks dtypes.
///
/// # Errors
/// [`crate::Kind::Index`] when a mask does not fit or there are too many indexes.
pub fn resolve(t: &Tensor, indices: &[Option<Tensor>]) -> Result<Indices> {
    let dims = t.dims();
    let mut out: Indices = Vec::new();
    for i in indices {
        let Some(i) = i else {
            out.push(None);
            continue;
        };
        let a = i.array()?;
        match a.dtype() {
            DType::Bool | DType::U8 => {
                let at = out.len();
                for (k, &m) in a.dims().iter().enumerate() {
                    ensure!(
                        dims.get(at + k) == Some(&m),
                        Index,
                        "index",
                        "the shape of the mask {:?} at index {k} does not match the shape of the indexed tensor {:?} \
                         at index {}",
                        a.dims(),
                        dims.as_slice(),
                        at + k
                    );
                }
                if a.ndim() == 0 {
                    bail!(Index, "index", "a mask without dimensions cannot be combined with other indexes");
                }
                let found = kernel::nonzero(&a)?;
                for k in 0..a.ndim() {
                    out.push(Some(found.select(1, k).contiguous()?));
                }
            }
            DType::I64 | DType::I32 => out.push(Some(a.cast(DType::I64)?)),
            d => bail!(
                Index,
                "index",
                "tensors used as indices must be int64, int32, uint8 or bool tensors, got {d}"
            ),
        }
    }
    ensure!(
        out.len() <= dims.len(),
        Index,
        "index",
        "too many indices for tensor of dimension {}: got {}",
        dims.len(),
        out.len()
    );
    Ok(out)
}

/// Elements at index tensors, one a dimension (int64, int32, or bool masks over one or more dimensions).
///
/// # Errors
/// [`crate::Kind::Index`] for indexes out of range, masks that do not fit, or too many indexes.
pub fn index(t: &Tensor, indices: &[Option<Tensor>]) -> Result<Tensor> {
    let i = resolve(t, indices)?;
    take::op(t, i).map_err(|e| e.in_op("index"))
}

/// The tensor with `value`, broadcast, put at (or added to) index tensors.
///
/// # Errors
/// As [`index`].
pub fn index_put(t: &Tensor, indices: &[Option<Tensor>], value: &Tensor, accumulate: bool) -> Result<Tensor> {
    let i = resolve(t, indices)?;
    let v = super::cast(value, t.dtype())?;
    if accumulate { put_add::op(t, &v, i) } else { put::op(t, &v, i) }.map_err(|e| e.renamed("index_put"))
}

/// As [`index_put`], in place.
///
/// # Errors
/// As [`index_put`]; [`crate::Kind::Graph`] when the tensor may not be written.
pub fn index_put_(t: &Tensor, indices: &[Option<Tensor>], value: &Tensor, accumulate: bool) -> Result<()> {
    let tracked = graph::mode::grad_enabled() && (t.requires_grad() || value.requires_grad());
    if tracked || t.dual().is_some() || value.dual().is_some() {
        t.check_inplace("index_put_", tracked)?;
        return super::inplace::replace("index_put_", t, |t| index_put(t, indices, value, accumulate));
    }
    let array = t.check_inplace("index_put_", false)?;
    let i = resolve(t, indices)?;
    kernel::put_indices(&array, &i, &value.array()?.cast(array.dtype())?, accumulate)
        .map_err(|e| e.in_op("index_put_"))?;
    array.storage().bump();
    Ok(())
}

/// Elements where a bool mask, broadcast with the tensor, holds; a vector.
///
/// # Errors
/// [`crate::Kind::Type`] when the mask is not bool; [`crate::Kind::Shape`].
pub fn masked_select(t: &Tensor, mask: &Tensor) -> Result<Tensor> {
    let m = mask.array()?;
    ensure!(
        m.dtype() == DType::Bool,
        Type,
        "masked_select",
        "expected BoolTensor for mask, got {}",
        m.dtype()
    );
    let dims = crate::shape::broadcast(&t.dims(), m.dims()).map_err(|e| e.in_op("masked_select"))?;
    let (t, m) = (super::expand(t, &dims)?, m.expand(&dims)?);
    if dims.is_empty() {
        let (t, m) = (super::reshape(&t, &[1])?, m.reshape(&[1])?);
        return index(&t, &[Some(Tensor::internal(m))]);
    }
    index(&t, &[Some(Tensor::internal(m))])
}

/// The tensor with a value (a number, or a tensor of one element) where a bool mask, broadcast, holds.
///
/// # Errors
/// [`crate::Kind::Type`] when the mask is not bool; [`crate::Kind::Shape`].
pub fn masked_fill(t: &Tensor, mask: &Tensor, value: super::Operand<'_>) -> Result<Tensor> {
    let m = mask.array()?;
    ensure!(m.dtype() == DType::Bool, Type, "masked_fill", "expected a bool mask, got {}", m.dtype());
    let value = match value {
        super::Operand::Tensor(v) => {
            ensure!(
                v.ndim() == 0,
                Shape,
                "masked_fill",
                "only supports a 0-dimensional value tensor, but got one with {} dimensions",
                v.ndim()
            );
            super::cast(v, t.dtype())?
        }
        super::Operand::Number(s) => {
            ensure!(
                s.category() <= t.dtype().category(),
                Type,
                "masked_fill",
                "value {s} cannot be converted to dtype {} without overflow",
                t.dtype()
            );
            Tensor::internal(Array::scalar(s, t.dtype())?)
        }
    };
    super::where_(mask, &value, t).map_err(|e| e.renamed("masked_fill"))
}

/// Indexes of the elements that are not zero, one row an element.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn nonzero(t: &Tensor) -> Result<Tensor> {
    Ok(Tensor::new(kernel::nonzero(&t.array()?)?))
}
