//! Softmax and its relatives along one dimension.

use super::elementwise::{self, In};
use super::reduce;
use super::simd::{Formula, Kernel, MathLanes};
use crate::dtype::DType;
use crate::{Array, Result};

macro_rules! formula {
    ($kernel:ident, $name:ident, |$($x:ident),+| $e:expr) => {
        struct $name;
        impl Formula<{ [$(stringify!($x)),+].len() }, 1> for $name {
            #[inline(always)]
            fn eval<L: MathLanes>([$($x),+]: [L; [$(stringify!($x)),+].len()]) -> [L; 1] { [$e] }
        }
        static $kernel: Kernel = Kernel::of::<$name, { [$(stringify!($x)),+].len() }, 1>();
    };
}
formula!(SHIFTED, Shifted, |x, m| (x - m).exp());
formula!(QUOTIENT, Quotient, |x, s| x / s);
formula!(LOG_SHIFT, LogShift, |x, m, s| x - m - s.log());
formula!(PULL, Pull, |g, y, s| y * (g - s));
formula!(PRODUCT, Product, |a, b| a * b);
formula!(LOG_PULL, LogPull, |g, y, s| g - y.exp() * s);

/// The dtype of the computation: halves are computed in float32.
fn wide(d: DType) -> DType {
    if d == DType::F64 { DType::F64 } else { DType::F32 }
}

/// A formula over arrays broadcast to the shape of `like`.
fn map(k: &Kernel, ins: &[&Array], like: &Array) -> Result<Array> {
    let out = Array::uninit(like.dims(), like.dtype())?;
    let list: smallvec::SmallVec<[In<'_>; 4]> = ins.iter().map(|a| In::Array(a)).collect();
    elementwise::run(k, like.dtype(), &list, &out)?;
    Ok(out)
}

/// `e^a / Σ e^a` along a dimension.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn softmax(a: &Array, dim: usize) -> Result<Array> {
    if a.numel() == 0 {
        return a.copied();
    }
    let x = a.cast(wide(a.dtype()))?;
    let m = reduce::max_min(&x, &[dim], true, true)?;
    let e = map(&SHIFTED, &[&x, &m], &x)?;
    let s = reduce::sum(&e, &[dim], true, e.dtype())?;
    map(&QUOTIENT, &[&e, &s], &e)?.cast(a.dtype())
}

/// `a - ln Σ e^a` along a dimension.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn log_softmax(a: &Array, dim: usize) -> Result<Array> {
    if a.numel() == 0 {
        return a.copied();
    }
    let x = a.cast(wide(a.dtype()))?;
    let m = reduce::max_min(&x, &[dim], true, true)?;
    let e = map(&SHIFTED, &[&x, &m], &x)?;
    let s = reduce::sum(&e, &[dim], true, e.dtype())?;
    map(&LOG_SHIFT, &[&x, &m, &s], &x)?.cast(a.dtype())
}

/// `y·(g - Σ g·y)` along a dimension: the gradient of softmax with result `y`.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn softmax_backward(g: &Array, y: &Array, dim: usize) -> Result<Array> {
    let d = wide(y.dtype());
    let (gw, yw) = (g.cast(d)?, y.cast(d)?);
    let p = map(&PRODUCT, &[&gw, &yw], &yw)?;
    let s = reduce::sum(&p, &[dim], true, d)?;
    map(&PULL, &[&gw, &yw, &s], &yw)?.cast(y.dtype())
}

/// `g - e^y·Σ g` along a dimension: the gradient of log-softmax with result `y`.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn log_softmax_backward(g: &Array, y: &Array, dim: usize) -> Result<Array> {
    let d = wide(y.dtype());
    let (gw, yw) = (g.cast(d)?, y.cast(d)?);
    let s = reduce::sum(&gw, &[dim], true, d)?;
    map(&LOG_PULL, &[&gw, &yw, &s], &yw)?.cast(y.dtype())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_add_up_to_one_and_do_not_overflow() {
        let a = Array::from_slice(&[1000.0f32, 1001.0, 999.0, -5.0, 0.0, 5.0], &[2, 3]).unwrap();
        for dim in 0..2 {
            let s = reduce::sum(&softmax(&a, dim).unwrap(), &[dim], false, DType::F64).unwrap();
            assert!(s.to_vec::<f64>().unwrap().iter().all(|v| (v - 1.0).abs() < 1e-6));
            let l = log_softmax(&a, dim).unwrap().to_vec::<f64>().unwrap();
            let y = softmax(&a, dim).unwrap().to_vec::<f64>().unwrap();
            assert!(l.iter().zip(&y).all(|(l, y)| (l.exp() - y).abs() < 1e-6));
        }
    }
}
