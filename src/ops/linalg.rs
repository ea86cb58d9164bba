//! Matrix products.

use super::Expr;
use crate::graph::Tensor;
use crate::kernels::matmul as kernel;
use crate::shape::{self, Dims};
use crate::{Array, Result, ensure};

crate::define_rules! {
    /// Matrix product of the last two dimensions; leading ones are broadcast.
    Multilinear matmul_rule(a, b) => y {
        kernel = |a, b| kernel::matmul(a, b);
        d(a, g) = g.matmul(b.t()).sum_to(&a.dims());
        d(b, g) = a.t().matmul(g).sum_to(&b.dims());
    }
    /// Product of a matrix and a vector.
    Multilinear mv_rule(a, b) => y {
        kernel = |a, b| kernel::matmul(a, b);
        d(a, g) = g.outer(b);
        d(b, g) = a.t().mv(g);
    }
    /// Inner product of two vectors.
    Multilinear dot_rule(a, b) => y {
        kernel = |a, b| kernel::matmul(a, b);
        d(a, g) = g * b;
        d(b, g) = g * a;
    }
}

impl<'c> Expr<'c> {
    /// As [`matmul`].
    pub fn matmul(self, o: Self) -> Self {
        self.with(o, matmul_rule::op)
    }

    fn mv(self, o: Self) -> Self {
        self.with(o, mv_rule::op)
    }

    fn outer(self, o: Self) -> Self {
        let last = self.ndim();
        self.unsqueeze(last) * o.unsqueeze(0)
    }
}

fn same_dtype(op: &'static str, a: &Tensor, b: &Tensor) -> Result<()> {
    ensure!(
        a.dtype() == b.dtype(),
        Type,
        op,
        "expected both operands to have the same dtype, but got {} and {}; convert one with .to(dtype)",
        a.dtype(),
        b.dtype()
    );
    Ok(())
}

/// Matrix product with NumPy's rules: vectors count as one row or column, leading dimensions are broadcast.
///
/// # Errors
/// [`crate::Kind::Shape`] when sizes do not fit; [`crate::Kind::Type`] when the dtypes differ.
pub fn matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (da, db) = (a.dims(), b.dims());
    ensure!(
        !da.is_empty() && !db.is_empty(),
        Shape,
        "matmul",
        "both arguments to matmul need to be at least 1-d, but they are {}-d and {}-d",
        da.len(),
        db.len()
    );
    same_dtype("matmul", a, b)?;
    let inner = if db.len() == 1 { db[0] } else { db[db.len() - 2] };
    ensure!(
        da[da.len() - 1] == inner,
        Shape,
        "matmul",
        "shapes {:?} and {:?} cannot be multiplied: the last size of the first, {}, must equal {} of the second, {inner}",
        da.as_slice(),
        db.as_slice(),
        da[da.len() - 1],
        if db.len() == 1 { "the size" } else { "the last but one size" }
    );
    let name = |e: crate::Error| e.in_op("matmul");
    match (da.len(), db.len()) {
        (1, 1) => dot_rule::op(a, b),
        (2, 1) => mv_rule::op(a, b),
        (2, 2) => matmul_rule::op(a, b),
        (1, _) => {
            let r = matmul(&super::unsqueeze(a, 0)?, b)?;
            let at = r.ndim() - 2;
            super::squeeze(&r, &[at])
        }
        (_, 1) => {
            let r = matmul(a, &super::unsqueeze(b, 1)?)?;
            let at = r.ndim() - 1;
            super::squeeze(&r, &[at])
        }
        (n, 2) => {
            // A batch of matrices times one matrix is one tall product.
            let rows: usize = da[..n - 1].iter().product();
            let flat = matmul_rule::op(&super::reshape(a, &[rows, da[n - 1]])?, b).map_err(name)?;
            let mut out = Dims::from_slice(&da[..n - 1]);
            out.push(db[1]);
            super::reshape(&flat, &out)
        }
        (n, m) => {
            shape::broadcast(&da[..n - 2], &db[..m - 2]).map_err(name)?;
            matmul_rule::op(a, b)
        }
    }
    .map_err(name)
}

macro_rules! products {
    ($($(#[doc = $doc:literal])* $name:ident($a:literal, $b:literal) $what:literal;)*) => { $(
        $(#[doc = $doc])*
        ///
        /// # Errors
        /// [`crate::Kind::Shape`] when sizes do not fit; [`crate::Kind::Type`] when the dtypes differ.
        pub fn $name(a: &Tensor, b: &Tensor) -> Result<Tensor> {
            let (da, db) = (a.dims(), b.dims());
            ensure!(
                da.len() == $a && db.len() == $b,
                Shape,
                stringify!($name),
                concat!("expected ", $what, ", got shapes {:?} and {:?}"),
                da.as_slice(),
                db.as_slice()
            );
            if $a == 3 {
                ensure!(
                    da[0] == db[0],
                    Shape,
                    stringify!($name),
                    "expected batches of one size, got shapes {:?} and {:?}",
                    da.as_slice(),
                    db.as_slice()
                );
            }
            matmul(a, b).map_err(|e| crate::Error::new(e.kind(), stringify!($name), e.message().to_string()))
        }
    )* };
}

products! {
    /// Product of two matrices, `(n, k)·(k, m)`.
    mm(2, 2) "two matrices";
    /// Products of two batches of matrices, `(b, n, k)·(b, k, m)`.
    bmm(3, 3) "two batches of matrices (3-d tensors)";
    /// Product of a matrix and a vector, `(n, k)·(k)`.
    mv(2, 1) "a matrix and a vector";
    /// Inner product of two vectors of one size.
    dot(1, 1) "two vectors (1-d tensors)";
}

/// Outer product of two vectors: `(n)` and `(m)` give `(n, m)`.
///
/// # Errors
/// [`crate::Kind::Shape`] when one is no vector.
pub fn outer(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    ensure!(
        a.ndim() == 1 && b.ndim() == 1,
        Shape,
        "outer",
        "expected two vectors, got shapes {:?} and {:?}",
        a.dims().as_slice(),
        b.dims().as_slice()
    );
    super::mul(&super::unsqueeze(a, 1)?, &super::unsqueeze(b, 0)?)
}

/// `x·weightᵀ + bias` over the last dimension: `(…, in)` and `(out, in)` give `(…, out)`.
///
/// # Errors
/// As [`matmul`].
pub fn linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let n = weight.ndim();
    ensure!(
        n == 1 || n == 2,
        Shape,
        "linear",
        "expected a weight of shape (out, in), got {:?}",
        weight.dims().as_slice()
    );
    let w = if n == 2 { super::transpose(weight, 0, 1)? } else { weight.clone() };
    let y = matmul(x, &w).map_err(|e| crate::Error::new(e.kind(), "linear", e.message().to_string()))?;
    match bias {
        Some(b) => super::add(&y, b),
        None => Ok(y),
    }
}
