//! Softmax and losses.

use super::{Expr, Real};
use crate::dtype::{DType, Scalar};
use crate::graph::Tensor;
use crate::kernels::softmax as kernel;
use crate::{Array, Result, bail, ensure};

crate::define_rules! {
    /// `e^a / Σ e^a` along a dimension.
    General softmax_rule(a; dim: usize) => y {
        kernel = |a| kernel::softmax(a, *dim);
        d(a, g) = g.softmax_pull(y, *dim);
        j(a, t) = t.softmax_pull(y, *dim);
    }
    /// `y·(g - Σ g·y)`: the Jacobian of softmax, which is symmetric, times `g`.
    General softmax_pull(g, y; dim: usize) => z {
        kernel = |g, y| kernel::softmax_backward(g, y, *dim);
        d(g, h) = h.softmax_pull(y, *dim);
        d(y, h) = h * (g - (g * y).sum(&[*dim], true)) - g * (h * y).sum(&[*dim], true);
        j(g, t) = t.softmax_pull(y, *dim);
        j(y, t) = t * (g - (g * y).sum(&[*dim], true)) - y * (g * t).sum(&[*dim], true);
    }
    /// `a - ln Σ e^a` along a dimension.
    General log_softmax_rule(a; dim: usize) => y {
        kernel = |a| kernel::log_softmax(a, *dim);
        d(a, g) = g.log_softmax_pull(y, *dim);
        j(a, t) = t - (y.exp() * t).sum(&[*dim], true);
    }
    /// `g - e^y·Σ g`: the gradient of log-softmax.
    General log_softmax_pull(g, y; dim: usize) => z {
        kernel = |g, y| kernel::log_softmax_backward(g, y, *dim);
        d(g, h) = h - (h * y.exp()).sum(&[*dim], true);
        d(y, h) = -(h * y.exp()) * g.sum(&[*dim], true);
        j(g, t) = t.log_softmax_pull(y, *dim);
        j(y, t) = -(t * y.exp()) * g.sum(&[*dim], true);
    }
}

impl<'c> Expr<'c> {
    fn softmax_pull(self, y: Self, dim: usize) -> Self {
        self.with(y, |g, y| softmax_pull::op(g, y, dim))
    }

    fn log_softmax_pull(self, y: Self, dim: usize) -> Self {
        self.with(y, |g, y| log_softmax_pull::op(g, y, dim))
    }
}

fn as_float(op: &'static str, t: &Tensor, dtype: Option<DType>) -> Result<Tensor> {
    let d = dtype.unwrap_or(t.dtype());
    ensure!(d.is_float(), Type, op, "not implemented for dtype {d}; pass dtype= or convert the tensor");
    super::cast(t, d)
}

/// `e^x / Σ e^x` along a dimension.
///
/// # Errors
/// [`crate::Kind::Type`] for a dtype that is no float.
pub fn softmax(t: &Tensor, dim: usize, dtype: Option<DType>) -> Result<Tensor> {
    let t = as_float("softmax", t, dtype)?;
    if t.ndim() == 0 {
        return super::reshape(&softmax_rule::op(&super::reshape(&t, &[1])?, 0)?, &[]);
    }
    softmax_rule::op(&t, dim)
}

/// `ln(e^x / Σ e^x)` along a dimension, without overflow.
///
/// # Errors
/// [`crate::Kind::Type`] for a dtype that is no float.
pub fn log_softmax(t: &Tensor, dim: usize, dtype: Option<DType>) -> Result<Tensor> {
    let t = as_float("log_softmax", t, dtype)?;
    if t.ndim() == 0 {
        return super::reshape(&log_softmax_rule::op(&super::reshape(&t, &[1])?, 0)?, &[]);
    }
    log_softmax_rule::op(&t, dim)
}

/// How the losses of the elements become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// They stay.
    None,
    /// Their mean; weighted where there are weights.
    Mean,
    /// Their sum.
    Sum,
}

impl Reduction {
    /// Reads PyTorch's name.
    ///
    /// # Errors
    /// [`crate::Kind::Value`] for any other.
    pub fn parse(op: &'static str, name: &str) -> Result<Reduction> {
        Ok(match name {
            "none" => Reduction::None,
            "mean" => Reduction::Mean,
            "sum" => Reduction::Sum,
            _ => bail!(
                Value,
                op,
                "'{name}' is not a valid value for reduction; expected 'none', 'mean' or 'sum'"
            ),
        })
    }

    /// Applies it.
    ///
    /// # Errors
    /// Errors of the reduction.
    pub fn apply(self, t: &Tensor) -> Result<Tensor> {
        match self {
            Reduction::None => Ok(t.clone()),
            Reduction::Mean => super::mean(t, &[], false, None),
            Reduction::Sum => super::sum(t, &[], false, None),
        }
    }
}

/// Negative log-likelihood of classes: `-w[target]·logp[target]` for log-probabilities `(N, C, …)` or `(C)` and
/// int64 targets `(N, …)` or `()`. Targets equal to `ignore_index` count nothing.
///
/// # Errors
/// [`crate::Kind::Shape`]; [`crate::Kind::Type`]; [`crate::Kind::Index`] for a target out of range.
pub fn nll_loss(
    logp: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    ignore_index: i64,
    reduction: Reduction,
) -> Result<Tensor> {
    const OP: &str = "nll_loss";
    let (dims, tdims) = (logp.dims(), target.dims());
    ensure!(!dims.is_empty(), Shape, OP, "expected input of at least 1 dimension, got a 0-d tensor");
    let class = usize::from(dims.len() > 1);
    let mut want = dims.clone();
    let classes = want.remove(class);
    ensure!(
        want == tdims,
        Shape,
        OP,
        "expected target of shape {:?} for input of shape {:?}, got {:?}",
        want.as_slice(),
        dims.as_slice(),
        tdims.as_slice()
    );
    let t = target.array()?;
    ensure!(
        matches!(t.dtype(), DType::I64 | DType::I32 | DType::U8),
        Type,
        OP,
        "expected target of dtype int64, got {}",
        t.dtype()
    );
    let t = t.cast(DType::I64)?;
    let list = t.to_vec::<i64>()?;
    let mut ignored = false;
    for &c in &list {
        if c == ignore_index {
            ignored = true;
        } else {
            ensure!(
                0 <= c && c < classes as i64,
                Index,
                OP,
                "target {c} is out of bounds for {classes} classes, and is not ignore_index ({ignore_index})"
            );
        }
    }
    let safe: Vec<i64> = list.iter().map(|&c| if c == ignore_index { 0 } else { c }).collect();
    let safe = Tensor::internal(Array::from_slice(&safe, t.dims())?);
    let picked = super::gather(logp, class, &super::unsqueeze(&safe, class)?)?;
    let mut loss = super::neg(&super::squeeze(&picked, &[class])?)?;
    let mut scale: Option<Tensor> = match weight {
        Some(w) => {
            ensure!(
                w.dims().as_slice() == [classes],
                Shape,
                OP,
                "expected weight of shape [{classes}], got {:?}",
                w.dims().as_slice()
            );
            let flat = super::index_select(w, 0, &super::reshape(&safe, &[list.len()])?)?;
            Some(super::reshape(&flat, t.dims())?)
        }
        None => None,
    };
    if let Some(w) = &scale {
        loss = super::mul(&loss, w)?;
    }
    if ignored {
        let keep: Vec<bool> = list.iter().map(|&c| c != ignore_index).collect();
        let keep = Tensor::internal(Array::from_slice(&keep, t.dims())?);
        loss = super::where_(&keep, &loss, Scalar::Float(0.0))?;
        scale = Some(match scale {
            Some(w) => super::where_(&keep, &w, Scalar::Float(0.0))?,
            None => super::cast(&keep, loss.dtype())?,
        });
    }
    match (reduction, scale) {
        (Reduction::Mean, Some(w)) => {
            super::div(&super::sum(&loss, &[], false, None)?, &super::sum(&w, &[], false, None)?)
        }
        (r, _) => r.apply(&loss),
    }
}

/// Cross entropy of unnormalised scores `(N, C, …)` or `(C)`: of classes (int64) or of class probabilities (a float
/// target of the scores' shape).
///
/// # Errors
/// As [`nll_loss`].
pub fn cross_entropy(
    scores: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    ignore_index: i64,
    reduction: Reduction,
    label_smoothing: f64,
) -> Result<Tensor> {
    const OP: &str = "cross_entropy";
    ensure!(
        (0.0..=1.0).contains(&label_smoothing),
        Value,
        OP,
        "label_smoothing must be between 0.0 and 1.0, got {label_smoothing}"
    );
    let dims = scores.dims();
    ensure!(!dims.is_empty(), Shape, OP, "expected input of at least 1 dimension, got a 0-d tensor");
    let class = usize::from(dims.len() > 1);
    let classes = dims[class] as f64;
    let logp = log_softmax(scores, class, None)
        .map_err(|e| crate::Error::new(e.kind(), OP, e.message().to_string()))?;
    // Weights stand along the class dimension.
    let along = |w: &Tensor| {
        let mut to = crate::shape::Dims::from_elem(1, dims.len());
        to[class] = dims[class];
        super::reshape(w, &to)
    };
    if target.dtype().is_float() {
        ensure!(
            target.dims() == dims,
            Shape,
            OP,
            "expected a float target (class probabilities) of the input's shape {:?}, got {:?}",
            dims.as_slice(),
            target.dims().as_slice()
        );
        let t = if label_smoothing > 0.0 {
            super::add(&super::mul(target, 1.0 - label_smoothing)?, label_smoothing / classes)?
        } else {
            target.clone()
        };
        let mut terms = super::mul(&logp, &t)?;
        if let Some(w) = weight {
            terms = super::mul(&terms, &along(w)?)?;
        }
        let loss = super::neg(&super::sum(&terms, &[class], false, None)?)?;
        return match reduction {
            Reduction::Mean => {
                let n: usize = loss.numel().max(1);
                super::div(&super::sum(&loss, &[], false, None)?, n as f64)
            }
            r => r.apply(&loss),
        };
    }
    let hard = nll_loss(&logp, target, weight, ignore_index, reduction)?;
    if label_smoothing == 0.0 {
        return Ok(hard);
    }
    let spread = match weight {
        Some(w) => super::mul(&logp, &along(w)?)?,
        None => logp.clone(),
    };
    let smooth = super::neg(&super::sum(&spread, &[class], false, None)?)?;
    let keep = super::ne(target, Scalar::Int(ignore_index))?;
    let smooth = super::where_(&keep, &smooth, Scalar::Float(0.0))?;
    let smooth = match reduction {
        Reduction::None => smooth,
        Reduction::Sum => super::sum(&smooth, &[], false, None)?,
        Reduction::Mean => {
            let total = match weight {
                Some(w) => {
                    let safe = super::where_(&keep, target, Scalar::Int(0))?;
                    let n = safe.numel();
                    let flat = super::index_select(w, 0, &super::reshape(&safe, &[n])?)?;
                    let w = super::reshape(&flat, &target.dims())?;
                    super::sum(&super::where_(&keep, &w, Scalar::Float(0.0))?, &[], false, None)?
                }
                None => super::cast(&super::sum(&keep, &[], false, None)?, smooth.dtype())?,
            };
            super::div(&super::sum(&smooth, &[], false, None)?, &total)?
        }
    };
    super::add(&super::mul(&hard, 1.0 - label_smoothing)?, &super::mul(&smooth, label_smoothing / classes)?)
}

/// Squared differences, reduced.
///
/// # Errors
/// [`crate::Kind::Shape`] when the shapes cannot be broadcast.
pub fn mse_loss(x: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    reduction.apply(&super::square(&super::sub(x, target)?)?)
}

/// Absolute differences, reduced.
///
/// # Errors
/// [`crate::Kind::Shape`] when the shapes cannot be broadcast.
pub fn l1_loss(x: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    reduction.apply(&super::abs(&super::sub(x, target)?)?)
}

/// Zeroes elements with probability `p` and scales the others by `1/(1 - p)`; the identity when not training.
///
/// # Errors
/// [`crate::Kind::Value`] for a probability outside `[0, 1]`.
pub fn dropout(x: &Tensor, p: f64, training: bool) -> Result<Tensor> {
    ensure!(
        (0.0..=1.0).contains(&p),
        Value,
        "dropout",
        "dropout probability has to be between 0 and 1, but got {p}"
    );
    if !training || p == 0.0 {
        return super::clone(x);
    }
    let keep = Array::full(&x.dims(), Scalar::Float(1.0 - p), DType::F64)?;
    let mask =
        crate::kernels::random::bernoulli(&crate::kernels::random::DEFAULT, &keep)?.cast(DType::Bool)?;
    let scaled = if p == 1.0 { super::mul(x, 0.0)? } else { super::mul(x, 1.0 / (1.0 - p))? };
    super::where_(&Tensor::internal(mask), &scaled, 0.0)
}
