//! Operations that move elements without changing them: views, copies, joins.

use super::Expr;
use super::rule::{self, Class, Outs, Rule};
use crate::dtype::{DType, Promotion};
use crate::graph::Tensor;
use crate::kernels::join;
use crate::shape::{self, Dims, Layout};
use crate::{Array, Kind, Result, bail, ensure};
use smallvec::SmallVec;

type List = SmallVec<[usize; 4]>;

crate::define_rules! {
    /// The same elements under another shape, as a view.
    @view Linear view(a; dims: Dims) => y {
        kernel = |a| a.reshape(dims);
        d(a, g) = g.reshape(&a.dims());
    }
    /// Dimensions reordered, as a view.
    @view Linear permute_rule(a; order: List) => y {
        kernel = |a| Ok::<_, crate::Error>(a.permute(order));
        d(a, g) = g.permute(&inverse(order));
    }
    /// Every `step`-th of `len` elements from `start` along a dimension, as a view.
    @view Linear slice_rule(a; dim: usize, start: usize, len: usize, step: isize) => y {
        kernel = |a| Ok::<_, crate::Error>(a.slice(*dim, *start, *len, *step));
        d(a, g) = g.embed(a.dims(), *dim, *start, *step);
    }
    /// Zeros with a slice replaced: the adjoint of slicing.
    Linear embed(a; dims: Dims, dim: usize, start: usize, step: isize) => y {
        kernel = |a| embedded(a, dims, *dim, *start, *step);
        d(a, g) = g.slice(*dim, *start, a.dims()[*dim], *step);
    }
    /// One index along a dimension, without it, as a view.
    @view Linear select_rule(a; dim: usize, index: usize) => y {
        kernel = |a| Ok::<_, crate::Error>(a.select(*dim, *index));
        d(a, g) = g.unsqueeze(*dim).embed(a.dims(), *dim, *index, 1);
    }
    /// Dimensions of size 1 added, as a view.
    @view Linear unsqueeze_rule(a; dim: usize) => y {
        kernel = |a| Ok::<_, crate::Error>(a.unsqueeze(*dim));
        d(a, g) = g.reshape(&a.dims());
    }
    /// Dimensions of size 1 dropped, as a view.
    @view Linear squeeze_rule(a; which: List) => y {
        kernel = |a| Ok::<_, crate::Error>(a.with_layout(a.layout().squeeze(which)));
        d(a, g) = g.reshape(&a.dims());
    }
    /// Broadcast to a shape, as a view.
    @view Linear expand_rule(a; dims: Dims) => y {
        kernel = |a| a.expand(dims);
        d(a, g) = g.sum_to(&a.dims());
    }
    /// Summed down to a shape that could be broadcast to this one: the adjoint of broadcasting.
    Linear sum_to_rule(a; dims: Dims) => y {
        kernel = |a| summed_to(a, dims);
        d(a, g) = g.expand(&a.dims());
    }
    /// A diagonal of two dimensions as the last one, as a view.
    @view Linear diagonal_rule(a; offset: isize, dim1: usize, dim2: usize) => y {
        kernel = |a| Ok::<_, crate::Error>(a.with_layout(a.layout().diagonal(*offset, *dim1, *dim2)?));
        d(a, g) = g.embed_diagonal(a.dims(), *offset, *dim1, *dim2);
    }
    /// Zeros with a diagonal replaced: the adjoint of taking a diagonal.
    Linear embed_diagonal(a; dims: Dims, offset: isize, dim1: usize, dim2: usize) => y {
        kernel = |a| embedded_diagonal(a, dims, *offset, *dim1, *dim2);
        d(a, g) = g.diagonal(*offset, *dim1, *dim2);
    }
    /// The elements that a view reads of its base, given both layouts.
    Linear region(a; base: Layout, part: Layout) => y {
        kernel = |a| read_region(a, base, part);
        d(a, g) = g.put_region(base, part);
    }
    /// Any layout over the tensor's storage, as a view.
    @view Linear as_strided(a; base: Layout, part: Layout) => y {
        kernel = |a| Array::from_parts(a.storage().clone(), part.clone(), a.dtype());
        d(a, g) = g.put_region(base, part);
    }
    /// Zeros with the elements of a view replaced: the adjoint of [`region`]; elements read twice add up.
    Linear put_region(a; base: Layout, part: Layout) => y {
        kernel = |a| written_region(a, base, part);
        d(a, g) = g.region(base, part);
    }
    /// Zeros where a view lies, the base elsewhere.
    Linear cut_region(a; base: Layout, part: Layout) => y {
        kernel = |a| without_region(a, base, part);
        d(a, g) = g.cut_region(base, part);
    }
    /// Cast to another dtype.
    Linear cast_rule(a; dtype: DType) => y {
        kernel = |a| a.cast(*dtype);
        d(a, g) = g;
    }
    /// A copy in memory of its own.
    Linear clone_rule(a) => y {
        kernel = |a| a.copied();
        d(a, g) = g;
    }
    /// Order of elements reversed along dimensions.
    Linear flip_rule(a; which: List) => y {
        kernel = |a| join::flip(a, which);
        d(a, g) = g.flip(which);
    }
    /// Elements shifted along dimensions; what leaves one end enters at the other.
    Linear roll_rule(a; shifts: SmallVec<[isize; 4]>, which: List) => y {
        kernel = |a| join::roll(a, shifts, which);
        d(a, g) = g.roll(&shifts.iter().map(|s| -s).collect::<SmallVec<[isize; 4]>>(), which);
    }
    /// Lower triangle of the last two dimensions; zero elsewhere.
    Linear tril_rule(a; diagonal: isize) => y {
        kernel = |a| join::tril(a, *diagonal);
        d(a, g) = g.map(|t| tril(t, *diagonal));
    }
    /// Upper triangle of the last two dimensions; zero elsewhere.
    Linear triu_rule(a; diagonal: isize) => y {
        kernel = |a| join::triu(a, *diagonal);
        d(a, g) = g.map(|t| triu(t, *diagonal));
    }
}

fn inverse(order: &[usize]) -> List {
    let mut out: List = SmallVec::from_elem(0, order.len());
    for (i, &o) in order.iter().enumerate() {
        out[o] = i;
    }
    out
}

fn embedded(a: &Array, dims: &[usize], dim: usize, start: usize, step: isize) -> Result<Array> {
    let out = Array::zeros(dims, a.dtype())?;
    out.slice(dim, start, a.dims()[dim], step).copy_from(a)?;
    Ok(out)
}

fn embedded_diagonal(a: &Array, dims: &[usize], offset: isize, dim1: usize, dim2: usize) -> Result<Array> {
    let out = Array::zeros(dims, a.dtype())?;
    out.with_layout(out.layout().diagonal(offset, dim1, dim2)?).copy_from(a)?;
    Ok(out)
}

/// Sums an array down to a shape that can be expanded to its own.
pub(crate) fn summed_to(a: &Array, dims: &[usize]) -> Result<Array> {
    ensure!(
        shape::can_expand(dims, a.dims()),
        Shape,
        "sum_to_size",
        "size {dims:?} is not expandable to size {:?}",
        a.dims()
    );
    let lead = a.ndim() - dims.len();
    let over: List =
        (0..a.ndim()).filter(|&i| i < lead || (dims[i - lead] == 1 && a.dims()[i] != 1)).collect();
    let dtype = if a.dtype().is_float() { a.dtype() } else { DType::I64 };
    let summed = crate::kernels::reduce::sum(a, &over, true, dtype)?;
    summed.reshape(dims)
}

/// The buffer of a base is laid out anew with the base's own strides, so that the view's layout fits it.
fn unravelled(a: &Array, base: &Layout) -> Result<(Array, usize)> {
    let (low, high) = base.span().unwrap_or((0, 0));
    let buffer = Array::zeros(&[high - low + 1], a.dtype())?;
    let at = Layout { offset: base.offset - low, ..base.clone() };
    buffer.with_layout(at).copy_from(a)?;
    Ok((buffer, low))
}

fn shifted(part: &Layout, low: usize) -> Layout {
    Layout { offset: part.offset - if part.numel() == 0 { part.offset } else { low }, ..part.clone() }
}

fn read_region(a: &Array, base: &Layout, part: &Layout) -> Result<Array> {
    let (buffer, low) = unravelled(a, base)?;
    buffer.with_layout(shifted(part, low)).copied()
}

fn written_region(a: &Array, base: &Layout, part: &Layout) -> Result<Array> {
    let (low, high) = base.span().unwrap_or((0, 0));
    let buffer = Array::zeros(&[high - low + 1], a.dtype())?;
    let into = buffer.with_layout(shifted(part, low));
    if part.may_overlap() {
        crate::kernels::index::accumulate(&into, a)?;
    } else {
        into.copy_from(a)?;
    }
    buffer.with_layout(Layout { offset: base.offset - low, ..base.clone() }).copied()
}

fn without_region(a: &Array, base: &Layout, part: &Layout) -> Result<Array> {
    let (buffer, low) = unravelled(a, base)?;
    buffer.with_layout(shifted(part, low)).fill(crate::Scalar::Int(0));
    buffer.with_layout(Layout { offset: base.offset - low, ..base.clone() }).copied()
}

impl<'c> Expr<'c> {
    /// As [`reshape`].
    pub fn reshape(self, dims: &[usize]) -> Self {
        self.map(|t| reshape(t, dims))
    }
    /// As [`permute`].
    pub fn permute(self, order: &[usize]) -> Self {
        self.map(|t| permute(t, order))
    }
    /// Last two dimensions exchanged.
    pub fn t(self) -> Self {
        let n = self.ndim();
        self.map(|t| transpose(t, n - 2, n - 1))
    }
    /// As [`slice()`].
    pub fn slice(self, dim: usize, start: usize, len: usize, step: isize) -> Self {
        self.map(|t| slice_rule::op(t, dim, start, len, step))
    }
    /// As [`unsqueeze`].
    pub fn unsqueeze(self, dim: usize) -> Self {
        self.map(|t| unsqueeze(t, dim))
    }
    /// As [`expand`].
    pub fn expand(self, dims: &[usize]) -> Self {
        self.map(|t| expand(t, dims))
    }
    /// As [`sum_to`].
    pub fn sum_to(self, dims: &[usize]) -> Self {
        self.map(|t| sum_to(t, dims))
    }
    /// As [`cast`].
    pub fn cast(self, dtype: DType) -> Self {
        self.map(|t| cast(t, dtype))
    }
    /// As [`flip`].
    pub fn flip(self, which: &[usize]) -> Self {
        self.map(|t| flip(t, which))
    }
    fn roll(self, shifts: &[isize], which: &[usize]) -> Self {
        self.map(|t| roll(t, shifts, which))
    }
    fn diagonal(self, offset: isize, dim1: usize, dim2: usize) -> Self {
        self.map(|t| diagonal(t, offset, dim1, dim2))
    }
    /// Zeros of `dims` with a slice replaced by this value.
    pub fn embed(self, dims: Dims, dim: usize, start: usize, step: isize) -> Self {
        self.map(|t| embed::op(t, dims, dim, start, step))
    }
    fn embed_diagonal(self, dims: Dims, offset: isize, dim1: usize, dim2: usize) -> Self {
        self.map(|t| embed_diagonal::op(t, dims, offset, dim1, dim2))
    }
    fn region(self, base: &Layout, part: &Layout) -> Self {
        self.map(|t| region::op(t, base.clone(), part.clone()))
    }
    fn put_region(self, base: &Layout, part: &Layout) -> Self {
        self.map(|t| put_region::op(t, base.clone(), part.clone()))
    }
    fn cut_region(self, base: &Layout, part: &Layout) -> Self {
        self.map(|t| cut_region::op(t, base.clone(), part.clone()))
    }
}

/// The same elements under another shape: a view where strides allow it, else a copy.
///
/// # Errors
/// [`Kind::Shape`] when the number of elements differs.
pub fn reshape(t: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let fits = t.with_layout(|l, _| l.numel() != shape::numel(dims) || l.reshape(dims).is_some());
    if fits { view::op(t, dims.into()) } else { view::op(&clone(t)?, dims.into()) }
        .map_err(|e| e.in_op("reshape"))
}

/// The same elements under another shape, always as a view.
///
/// # Errors
/// [`Kind::Shape`] when the number of elements differs or the strides cannot express the shape.
pub fn view_as(t: &Tensor, dims: &[usize]) -> Result<Tensor> {
    t.with_layout(|l, _| {
        ensure!(
            l.numel() != shape::numel(dims) || l.reshape(dims).is_some(),
            Shape,
            "view",
            "shape {dims:?} is not compatible with the strides {:?} of a tensor of shape {:?}; use reshape(), which \
             copies",
            l.strides.as_slice(),
            l.dims.as_slice()
        );
        Ok(())
    })?;
    view::op(t, dims.into())
}

/// Dimensions reordered, as a view; `order` is a permutation.
///
/// # Errors
/// [`Kind::Value`] when it is not.
pub fn permute(t: &Tensor, order: &[usize]) -> Result<Tensor> {
    let n = t.ndim();
    let mut seen = vec![false; n];
    let valid = order.len() == n && order.iter().all(|&o| o < n && !std::mem::replace(&mut seen[o], true));
    ensure!(valid, Value, "permute", "got dims {order:?}, expected a permutation of the {n} dimensions");
    permute_rule::op(t, order.into())
}

/// Two dimensions exchanged, as a view.
///
/// # Errors
/// [`Kind::Index`] when a dimension is out of range.
pub fn transpose(t: &Tensor, a: usize, b: usize) -> Result<Tensor> {
    let n = t.ndim();
    if n == 0 && a == 0 && b == 0 {
        return view::op(t, Dims::new());
    }
    ensure!(a < n && b < n, Index, "transpose", "dimensions {a} and {b} are not both below {n}");
    let mut order: List = (0..n).collect();
    order.swap(a, b);
    permute_rule::op(t, order)
}

/// `len` elements from `start` with `step` along a dimension, as a view.
///
/// # Errors
/// [`Kind::Index`] when the slice leaves the dimension.
pub fn slice(t: &Tensor, dim: usize, start: usize, len: usize, step: isize) -> Result<Tensor> {
    let size = t.with_layout(|l, _| l.dims.get(dim).copied());
    let Some(size) = size else { bail!(Index, "slice", "dimension {dim} is not below {}", t.ndim()) };
    let last = start as isize + (len as isize - 1) * step;
    ensure!(
        len == 0 || (start < size && last >= 0 && last < size as isize),
        Index,
        "slice",
        "a slice of {len} elements from {start} by {step} leaves dimension {dim} of size {size}"
    );
    slice_rule::op(t, dim, start, len, step)
}

/// The whole tensor as a view of itself.
///
/// # Errors
/// Errors of reading the tensor.
pub fn slice_whole(t: &Tensor) -> Result<Tensor> {
    squeeze_rule::op(t, List::new())
}

/// One index along a dimension, without it, as a view.
///
/// # Errors
/// [`Kind::Index`] when the index is out of range.
pub fn select(t: &Tensor, dim: usize, index: isize) -> Result<Tensor> {
    let size = t.with_layout(|l, _| l.dims.get(dim).copied());
    let Some(size) = size else {
        bail!(
            Index,
            "select",
            "select() cannot be applied to a 0-dim tensor, or dimension {dim} is out of range"
        )
    };
    let n = size as isize;
    ensure!(
        -n <= index && index < n,
        Index,
        "select",
        "index {index} is out of bounds for dimension {dim} with size {size}"
    );
    select_rule::op(t, dim, (if index < 0 { index + n } else { index }) as usize)
}

/// A dimension of size 1 added before `dim`, as a view.
///
/// # Errors
/// [`Kind::Index`] when `dim` is above the number of dimensions.
pub fn unsqueeze(t: &Tensor, dim: usize) -> Result<Tensor> {
    ensure!(
        dim <= t.ndim(),
        Index,
        "unsqueeze",
        "dimension {dim} is out of range for {} dimensions",
        t.ndim()
    );
    unsqueeze_rule::op(t, dim)
}

/// The given dimensions dropped where their size is 1, as a view.
///
/// # Errors
/// Errors of reading the tensor.
pub fn squeeze(t: &Tensor, which: &[usize]) -> Result<Tensor> {
    squeeze_rule::op(t, which.into())
}

/// Broadcast to a shape, as a view.
///
/// # Errors
/// [`Kind::Shape`] when the shapes do not fit.
pub fn expand(t: &Tensor, dims: &[usize]) -> Result<Tensor> {
    expand_rule::op(t, dims.into()).map_err(|e| e.in_op("expand"))
}

/// Summed down to a shape that can be broadcast to the tensor's.
///
/// # Errors
/// [`Kind::Shape`] when it cannot.
pub fn sum_to(t: &Tensor, dims: &[usize]) -> Result<Tensor> {
    if t.with_layout(|l, d| l.dims.as_slice() == dims && d.is_float()) {
        return Ok(t.clone());
    }
    sum_to_rule::op(t, dims.into())
}

/// A diagonal of two dimensions as the last one, as a view.
///
/// # Errors
/// [`Kind::Index`] or [`Kind::Value`] for dimensions that are out of range or equal.
pub fn diagonal(t: &Tensor, offset: isize, dim1: usize, dim2: usize) -> Result<Tensor> {
    let n = t.ndim();
    ensure!(dim1 < n && dim2 < n, Index, "diagonal", "dimensions {dim1} and {dim2} are not both below {n}");
    diagonal_rule::op(t, offset, dim1, dim2)
}

/// The tensor in another dtype; the tensor itself when it has it.
///
/// # Errors
/// [`Kind::Memory`].
pub fn cast(t: &Tensor, dtype: DType) -> Result<Tensor> {
    if t.dtype() == dtype { Ok(t.clone()) } else { cast_rule::op(t, dtype) }
}

/// A copy in memory of its own, with history.
///
/// # Errors
/// [`Kind::Memory`].
pub fn clone(t: &Tensor) -> Result<Tensor> {
    clone_rule::op(t)
}

/// The tensor itself when its elements lie in row-major order, else a copy that does.
///
/// # Errors
/// [`Kind::Memory`].
pub fn contiguous(t: &Tensor) -> Result<Tensor> {
    if t.with_layout(|l, _| l.is_contiguous()) { Ok(t.clone()) } else { clone(t) }
}

/// Order of elements reversed along dimensions.
///
/// # Errors
/// [`Kind::Memory`].
pub fn flip(t: &Tensor, which: &[usize]) -> Result<Tensor> {
    flip_rule::op(t, which.into())
}

/// Elements shifted along dimensions; what leaves one end enters at the other.
///
/// # Errors
/// [`Kind::Value`] when there is not one shift a dimension.
pub fn roll(t: &Tensor, shifts: &[isize], which: &[usize]) -> Result<Tensor> {
    ensure!(
        shifts.len() == which.len(),
        Value,
        "roll",
        "shifts and dimensions must align: got {} shifts and {} dimensions",
        shifts.len(),
        which.len()
    );
    roll_rule::op(t, shifts.into(), which.into())
}

/// Lower triangle of the last two dimensions, from `diagonal` down.
///
/// # Errors
/// [`Kind::Shape`] with fewer than two dimensions.
pub fn tril(t: &Tensor, diagonal: isize) -> Result<Tensor> {
    ensure!(t.ndim() >= 2, Shape, "tril", "input tensor must have at least 2 dimensions, got {}", t.ndim());
    tril_rule::op(t, diagonal)
}

/// Upper triangle of the last two dimensions, from `diagonal` up.
///
/// # Errors
/// [`Kind::Shape`] with fewer than two dimensions.
pub fn triu(t: &Tensor, diagonal: isize) -> Result<Tensor> {
    ensure!(t.ndim() >= 2, Shape, "triu", "input tensor must have at least 2 dimensions, got {}", t.ndim());
    triu_rule::op(t, diagonal)
}

/// The rule behind [`cat`], for any number of inputs.
#[derive(Clone)]
struct Cat {
    dim: usize,
    dtype: DType,
}

impl Rule for Cat {
    const NAME: &'static str = "cat";
    const CLASS: Class = Class::Linear;
    const MENTIONS: &'static [u32] = &[0];

    fn forward(&self, ins: &[Array]) -> Result<Outs> {
        let list: Vec<&Array> = ins.iter().collect();
        Ok(smallvec::smallvec![join::cat(&list, self.dim, self.dtype)?])
    }

    fn vjp<'c>(
        &self,
        i: usize,
        g: &[Option<Expr<'c>>],
        ins: &[Expr<'c>],
        _: &[Expr<'c>],
    ) -> Option<Expr<'c>> {
        let size = |e: &Expr<'c>| if e.ndim() == 1 && e.numel() == 0 { 0 } else { e.dims()[self.dim] };
        let start = ins[..i].iter().map(size).sum();
        let own = ins[i].dims();
        if own.as_slice() == [0] {
            // An empty vector joins anything; its gradient is empty.
            let cx = g[0]?.cx();
            return Some(cx.run(|| Ok(Tensor::internal(Array::zeros(&own, self.dtype)?))));
        }
        Some(g[0]?.slice(self.dim, start, own[self.dim], 1))
    }
}

/// Joins tensors along a dimension; sizes elsewhere must agree, dtypes promote.
///
/// # Errors
/// [`Kind::Shape`] when sizes differ; [`Kind::Value`] for an empty list; [`Kind::Index`] for the dimension.
pub fn cat(tensors: &[&Tensor], dim: isize) -> Result<Tensor> {
    ensure!(!tensors.is_empty(), Value, "cat", "expected a non-empty list of tensors");
    let mut p = Promotion::default();
    let mut first: Option<Dims> = None;
    for t in tensors {
        t.with_layout(|l, d| p.tensor(d, l.ndim().max(1)));
        let dims = t.dims();
        ensure!(!dims.is_empty(), Shape, "cat", "zero-dimensional tensors cannot be concatenated; use stack");
        if dims.as_slice() != [0] && first.is_none() {
            first = Some(dims);
        }
    }
    let first = first.unwrap_or_else(|| Dims::from_slice(&[0]));
    let dim = shape::dim(dim, first.len()).map_err(|e| e.in_op("cat"))?;
    for (i, t) in tensors.iter().enumerate() {
        let dims = t.dims();
        if dims.as_slice() == [0] {
            continue;
        }
        let fits = dims.len() == first.len() && (0..dims.len()).all(|k| k == dim || dims[k] == first[k]);
        if !fits {
            return Err(crate::Error::new(
                Kind::Shape,
                "cat",
                format!(
                    "sizes of tensors must match except in dimension {dim}: got {:?} at position {i}, expected sizes \
                     as in {:?}",
                    dims.as_slice(),
                    first.as_slice()
                ),
            ));
        }
    }
    rule::apply_one(Cat { dim, dtype: p.result().expect("not empty") }, tensors)
}
