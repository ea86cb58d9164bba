//! Reductions and scans.

use super::rule;
use super::{Expr, Real};
use crate::dtype::{DType, Scalar};
use crate::graph::Tensor;
use crate::kernels::reduce as kernel;
use crate::shape::{self, Dims};
use crate::{Array, Result, bail, ensure};
use smallvec::SmallVec;

type List = SmallVec<[usize; 4]>;

crate::define_rules! {
    /// Sum over dimensions.
    Linear sum_rule(a; over: List, keepdim: bool, dtype: DType) => y {
        kernel = |a| kernel::sum(a, over, *keepdim, *dtype);
        d(a, g) = g.unreduce(&a.dims(), over, *keepdim);
    }
    /// Mean over dimensions.
    Linear mean_rule(a; over: List, keepdim: bool, dtype: DType) => y {
        kernel = |a| kernel::mean(a, over, *keepdim, *dtype);
        d(a, g) = (g / count(&a.dims(), over)).unreduce(&a.dims(), over, *keepdim);
    }
    /// Variance over dimensions: squared distances from the mean, divided by the count less `correction`.
    General var_rule(a; over: List, keepdim: bool, correction: f64) => y {
        kernel = |a| kernel::var(a, over, *keepdim, *correction);
        d(a, g) = g.unreduce(&a.dims(), over, *keepdim) * a.centred(over) * scale(&a.dims(), over, *correction);
        j(a, t) = (t * a.centred(over) * scale(&a.dims(), over, *correction)).sum(over, *keepdim);
    }
    /// Standard deviation over dimensions; the derivative of a constant's is 0.
    General std_rule(a; over: List, keepdim: bool, correction: f64) => y {
        kernel = |a| deviation(a, over, *keepdim, *correction);
        d(a, g) = {
            let h = Expr::select(y.equal(y.lit(0.0)), g.lit(0.0), g / (y * 2.0));
            h.unreduce(&a.dims(), over, *keepdim) * a.centred(over) * scale(&a.dims(), over, *correction)
        };
        j(a, t) = {
            let s = (t * a.centred(over) * scale(&a.dims(), over, *correction)).sum(over, *keepdim);
            Expr::select(y.equal(y.lit(0.0)), s.lit(0.0), s / (y * 2.0))
        };
    }
    /// Greatest or least element over dimensions; equal ones share the gradient.
    General extreme_rule(a; over: List, keepdim: bool, greatest: bool) => y {
        kernel = |a| kernel::max_min(a, over, *keepdim, *greatest);
        d(a, g) = {
            let hit = a.meets(y.unreduce(&a.dims(), over, *keepdim)).cast(counting(g.dtype()));
            let n = hit.sum(over, *keepdim);
            let share = (g / n).unreduce(&a.dims(), over, *keepdim);
            Expr::select(hit.equal(hit.lit(0.0)), share.lit(0.0), share)
        };
        j(a, t) = {
            let hit = a.meets(y.unreduce(&a.dims(), over, *keepdim)).cast(counting(t.dtype()));
            Expr::select(hit.equal(hit.lit(0.0)), t.lit(0.0), t).sum(over, *keepdim) / hit.sum(over, *keepdim)
        };
    }
    /// `ln Σ e^a` over dimensions, without overflow.
    General logsumexp_rule(a; over: List, keepdim: bool) => y {
        kernel = |a| kernel::logsumexp(a, over, *keepdim);
        d(a, g) = g.unreduce(&a.dims(), over, *keepdim)
            * (a - finite_or_zero(y).unreduce(&a.dims(), over, *keepdim)).exp();
        j(a, t) = (t * (a - finite_or_zero(y).unreduce(&a.dims(), over, *keepdim)).exp()).sum(over, *keepdim);
    }
    /// Product over one dimension, kept with size 1.
    General prod_rule(a; dim: usize) => y {
        kernel = |a| kernel::prod(a, &[*dim], true, a.dtype());
        d(a, g) = g * a.product_of_others(y, *dim);
        j(a, t) = (t * a.product_of_others(y, *dim)).sum(&[*dim], true);
    }
    /// Running sum along a dimension.
    Linear cumsum_rule(a; dim: usize, dtype: DType) => y {
        kernel = |a| kernel::cumsum(a, *dim, *dtype);
        d(a, g) = g.flip(&[*dim]).cumsum(*dim).flip(&[*dim]);
    }
    /// Running product along a dimension.
    General cumprod_rule(a; dim: usize) => y {
        kernel = |a| kernel::cumprod(a, *dim, a.dtype());
        d(a, g) = a.cumprod_pullback(y, g, *dim);
        j(a, t) = a.cumprod_pushforward(y, t, *dim);
    }
}

/// The dtype in which equal elements are counted: the halves count no further than 2048 or 256.
fn counting(d: DType) -> DType {
    if d.is_half() { DType::F32 } else { d }
}

/// Number of elements that are reduced to one.
fn count(dims: &[usize], over: &[usize]) -> f64 {
    over.iter().map(|&d| dims[d]).product::<usize>() as f64
}

fn scale(dims: &[usize], over: &[usize], correction: f64) -> f64 {
    2.0 / (count(dims, over) - correction).max(0.0)
}

fn deviation(a: &Array, over: &[usize], keepdim: bool, correction: f64) -> Result<Array> {
    let v = Tensor::internal(kernel::var(a, over, keepdim, correction)?);
    let _off = crate::graph::mode::Scoped::grad(false);
    super::sqrt(&v)?.array()
}

fn finite_or_zero(y: Expr<'_>) -> Expr<'_> {
    Expr::select(y.equal(y.lit(f64::NEG_INFINITY)), y.lit(0.0), y)
}

impl<'c> Expr<'c> {
    /// As [`sum`] in the value's own dtype.
    pub fn sum(self, over: &[usize], keepdim: bool) -> Self {
        self.map(|t| sum_rule::op(t, over.into(), keepdim, t.dtype()))
    }

    fn cumsum(self, dim: usize) -> Self {
        self.map(|t| cumsum_rule::op(t, dim, t.dtype()))
    }

    /// Spreads a reduced value over the shape that was reduced.
    pub fn unreduce(self, dims: &[usize], over: &[usize], keepdim: bool) -> Self {
        let kept = shape::reduced(dims, over, true);
        let v = if keepdim { self } else { self.reshape(&kept) };
        v.expand(dims)
    }

    /// Whether elements are equal, or both NaN.
    fn meets(self, o: Self) -> Self {
        self.with(o, |a, b| {
            let both = super::logical_and(&super::isnan(a)?, &super::isnan(b)?)?;
            super::logical_or(&super::eq(a, b)?, &both)
        })
    }

    fn centred(self, over: &[usize]) -> Self {
        self - self.map(|t| mean_rule::op(t, over.into(), true, t.dtype()))
    }

    fn any_zero(self) -> bool {
        let mut any = false;
        self.map(|t| {
            any = rule::any_true(&super::eq(t, 0.0)?.array()?.contiguous()?);
            Ok(t.clone())
        });
        any
    }

    /// Along a dimension, the product of all elements but one, for each one; right where elements are zero.
    fn product_of_others(self, y: Self, dim: usize) -> Self {
        if !self.any_zero() {
            return y.expand(&self.dims()) / self;
        }
        let dims = self.dims();
        let n = dims[dim];
        let mut unit = dims.clone();
        unit[dim] = 1;
        let ones =
            |like: Self| like.map(|t| Ok(Tensor::internal(Array::full(&unit, Scalar::Int(1), t.dtype())?)));
        let one = ones(self);
        // Products of the elements before, times products of the elements after.
        let before = one.join(self.slice(dim, 0, n - 1, 1), dim).cumprod(dim);
        let after = one.join(self.flip(&[dim]).slice(dim, 0, n - 1, 1), dim).cumprod(dim).flip(&[dim]);
        // Products that overflow may meet a zero: the product is zero all the same.
        let both = before * after;
        let none = Expr::or(before.equal(before.lit(0.0)), after.equal(after.lit(0.0)));
        let nan = both.map(|t| super::isnan(t));
        Expr::select(Expr::and(none, nan), both.lit(0.0), both)
    }

    fn join(self, o: Self, dim: usize) -> Self {
        self.with(o, |a, b| super::cat(&[a, b], dim as isize))
    }

    fn cumprod(self, dim: usize) -> Self {
        self.map(|t| cumprod_rule::op(t, dim))
    }

    /// `[…, k, i]`: the product of the elements up to `i` without element `k`, zero where `i < k`; along the last
    /// two dimensions, with `dim` moved to the end.
    fn partial_products(self, dim: usize) -> Self {
        let last = self.ndim() - 1;
        let moved = self.swap(dim, last);
        let dims = moved.dims();
        let n = dims[last];
        let mut square = dims.clone();
        square.push(n);
        let wide = moved.unsqueeze(last).expand(&square);
        let eye = wide.map(|t| super::create::eye(n, n, t.dtype()));
        let one =
            wide.map(|t| Ok(Tensor::internal(Array::full(t.dims().as_slice(), Scalar::Int(1), t.dtype())?)));
        let filled = Expr::select(eye.equal(eye.lit(1.0)), one, wide);
        filled.cumprod(last + 1).map(|t| super::triu(t, 0))
    }

    fn swap(self, a: usize, b: usize) -> Self {
        self.map(|t| super::transpose(t, a, b))
    }

    fn cumprod_pullback(self, y: Self, g: Self, dim: usize) -> Self {
        if !self.any_zero() {
            return (g * y).flip(&[dim]).cumsum(dim).flip(&[dim]) / self;
        }
        let last = self.ndim() - 1;
        let p = self.partial_products(dim);
        let h = g.swap(dim, last).unsqueeze(last);
        (p * h).sum(&[last + 1], false).swap(dim, last)
    }

    fn cumprod_pushforward(self, y: Self, t: Self, dim: usize) -> Self {
        if !self.any_zero() {
            return (t / self).cumsum(dim) * y;
        }
        let last = self.ndim() - 1;
        let p = self.partial_products(dim);
        let h = t.swap(dim, last).unsqueeze(last + 1);
        (p * h).sum(&[last], false).swap(dim, last)
    }
}

fn over(t: &Tensor, dims: &[usize]) -> List {
    if dims.is_empty() { (0..t.ndim()).collect() } else { dims.into() }
}

fn float_dtype(op: &'static str, t: &Tensor, dtype: Option<DType>) -> Result<DType> {
    let d = dtype.unwrap_or(t.dtype());
    ensure!(
        d.is_float(),
        Type,
        op,
        "could not infer the output dtype: input dtype must be a floating point dtype, got {d}; pass dtype= or \
         convert the tensor"
    );
    Ok(d)
}

/// Sum over dimensions (all when `dims` is empty). Bools and integers give int64 unless `dtype` says otherwise.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn sum(t: &Tensor, dims: &[usize], keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    let own = t.dtype();
    let dtype = dtype.unwrap_or(if own.is_float() { own } else { DType::I64 });
    let t = if own.is_float() && dtype != own { super::cast(t, dtype)? } else { t.clone() };
    sum_rule::op(&t, over(&t, dims), keepdim, dtype)
}

/// Mean over dimensions (all when `dims` is empty).
///
/// # Errors
/// [`crate::Kind::Type`] for a dtype that is no float.
pub fn mean(t: &Tensor, dims: &[usize], keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    let d = float_dtype("mean", t, dtype)?;
    let t = super::cast(t, d)?;
    mean_rule::op(&t, over(&t, dims), keepdim, d)
}

/// Variance over dimensions (all when `dims` is empty), divided by the count less `correction`.
///
/// # Errors
/// [`crate::Kind::Type`] for a dtype that is no float.
pub fn var(t: &Tensor, dims: &[usize], keepdim: bool, correction: f64) -> Result<Tensor> {
    float_dtype("var", t, None)?;
    var_rule::op(t, over(t, dims), keepdim, correction)
}

/// Standard deviation: the square root of [`var`].
///
/// # Errors
/// As [`var`].
pub fn std(t: &Tensor, dims: &[usize], keepdim: bool, correction: f64) -> Result<Tensor> {
    float_dtype("std", t, None)?;
    std_rule::op(t, over(t, dims), keepdim, correction)
}

/// Greatest elements over dimensions (all when `dims` is empty); equal ones share the gradient.
///
/// # Errors
/// [`crate::Kind::Index`] when there is nothing to take the greatest of.
pub fn amax(t: &Tensor, dims: &[usize], keepdim: bool) -> Result<Tensor> {
    extreme_rule::op(t, over(t, dims), keepdim, true).map_err(|e| e.renamed("amax"))
}

/// Least elements over dimensions (all when `dims` is empty); equal ones share the gradient.
///
/// # Errors
/// [`crate::Kind::Index`] when there is nothing to take the least of.
pub fn amin(t: &Tensor, dims: &[usize], keepdim: bool) -> Result<Tensor> {
    extreme_rule::op(t, over(t, dims), keepdim, false).map_err(|e| e.renamed("amin"))
}

/// Greatest or least elements along one dimension and their indexes; the gradient goes to that index alone.
///
/// # Errors
/// [`crate::Kind::Index`] when the dimension is out of range or empty.
pub fn max_min_dim(t: &Tensor, dim: usize, keepdim: bool, greatest: bool) -> Result<(Tensor, Tensor)> {
    let op = if greatest { "max" } else { "min" };
    let a = t.array()?;
    if a.ndim() == 0 {
        let values = super::clone(t)?;
        return Ok((values, Tensor::new(Array::zeros(&[], DType::I64)?)));
    }
    let (_, index) = kernel::arg_max_min(&a, Some(dim), true, greatest).map_err(|e| e.in_op(op))?;
    let values = super::gather(t, dim, &Tensor::internal(index.clone()))?;
    if keepdim {
        return Ok((values, Tensor::new(index)));
    }
    let dims = shape::reduced(a.dims(), &[dim], false);
    Ok((super::reshape(&values, &dims)?, Tensor::new(index.reshape(&dims)?)))
}

/// Index of the greatest or least element, along a dimension or of the flattened tensor.
///
/// # Errors
/// [`crate::Kind::Index`] when there is none.
pub fn arg_max_min(t: &Tensor, dim: Option<usize>, keepdim: bool, greatest: bool) -> Result<Tensor> {
    let op = if greatest { "argmax" } else { "argmin" };
    let a = t.array()?;
    if a.ndim() == 0 {
        return Ok(Tensor::new(Array::zeros(&[], DType::I64)?));
    }
    let (_, index) = kernel::arg_max_min(&a, dim, keepdim, greatest).map_err(|e| e.in_op(op))?;
    Ok(Tensor::new(index))
}

/// `ln Σ e^x` over dimensions (all when `dims` is empty); integers are computed in the default float dtype.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn logsumexp(t: &Tensor, dims: &[usize], keepdim: bool) -> Result<Tensor> {
    let t = if t.dtype().is_float() { t.clone() } else { super::cast(t, super::default_dtype())? };
    logsumexp_rule::op(&t, over(&t, dims), keepdim)
}

/// Product of all elements, or along one dimension; right where elements are zero.
///
/// # Errors
/// [`crate::Kind::Index`] when the dimension is out of range.
pub fn prod(t: &Tensor, dim: Option<usize>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    let own = t.dtype();
    let dtype = dtype.unwrap_or(if own.is_float() { own } else { DType::I64 });
    let t = super::cast(t, dtype)?;
    let n = t.numel();
    let (t, dim, out): (Tensor, usize, Dims) = match dim {
        None => (super::reshape(&t, &[n])?, 0, Dims::new()),
        Some(_) if t.ndim() == 0 => (super::reshape(&t, &[1])?, 0, Dims::new()),
        Some(d) => {
            let dims = t.dims();
            (t.clone(), d, shape::reduced(&dims, &[d], keepdim))
        }
    };
    super::reshape(&prod_rule::op(&t, dim)?, &out)
}

/// Running sum along a dimension.
///
/// # Errors
/// [`crate::Kind::Index`] when the dimension is out of range.
pub fn cumsum(t: &Tensor, dim: usize, dtype: Option<DType>) -> Result<Tensor> {
    let own = t.dtype();
    let dtype = dtype.unwrap_or(if own.is_float() { own } else { DType::I64 });
    let t = super::cast(t, dtype)?;
    if t.ndim() == 0 {
        return super::clone(&t);
    }
    cumsum_rule::op(&t, dim, dtype)
}

/// Running product along a dimension; right where elements are zero.
///
/// # Errors
/// [`crate::Kind::Index`] when the dimension is out of range.
pub fn cumprod(t: &Tensor, dim: usize, dtype: Option<DType>) -> Result<Tensor> {
    let own = t.dtype();
    let dtype = dtype.unwrap_or(if own.is_float() { own } else { DType::I64 });
    let t = super::cast(t, dtype)?;
    if t.ndim() == 0 || t.dims().get(dim) == Some(&1) {
        return super::clone(&t);
    }
    cumprod_rule::op(&t, dim)
}

/// Whether any element over dimensions (all when `dims` is empty) is true.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn any(t: &Tensor, dims: &[usize], keepdim: bool) -> Result<Tensor> {
    Ok(Tensor::new(kernel::any(&t.array()?, &over(t, dims), keepdim)?))
}

/// Whether all elements over dimensions (all when `dims` is empty) are true.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn all(t: &Tensor, dims: &[usize], keepdim: bool) -> Result<Tensor> {
    Ok(Tensor::new(kernel::all(&t.array()?, &over(t, dims), keepdim)?))
}

/// Number of elements over dimensions (all when `dims` is empty) that are not zero.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn count_nonzero(t: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let ne = super::ne(t, 0.0)?;
    if ne.numel() == 0 && ne.ndim() == 0 {
        bail!(Internal, "count_nonzero", "a 0-d tensor has one element");
    }
    sum(&ne, dims, false, Some(DType::I64))
}
