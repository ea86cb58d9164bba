//! Comparisons, tests and logic: results are bool and carry no gradient. And selection by a mask.

use super::Operand;
use super::rule;
use crate::dtype::{DType, Promotion, Scalar};
use crate::graph::Tensor;
use crate::kernels::elementwise::{self, In, IntRun};
use crate::kernels::simd::{Kernel, MathLanes, Predicate};
use crate::shape::{self, Dims};
use crate::{Array, Result, ensure};
use smallvec::SmallVec;

/// A comparison.
pub struct Comparison {
    /// Name in Rust and Python.
    pub name: &'static str,
    /// What it computes.
    pub doc: &'static str,
    kernel: Kernel,
    int: IntRun,
}

/// Gives all comparisons to a macro.
#[macro_export]
macro_rules! compare_rows {
    ($callback:ident) => {
        $callback! {
            /// Whether `x` equals `y`.
            eq(x, y) = x.eq(y), x == y;
            /// Whether `x` differs from `y`.
            ne(x, y) = x.ne(y), x != y;
            /// Whether `x` is less than `y`.
            lt(x, y) = x.lt(y), x < y;
            /// Whether `x` is at most `y`.
            le(x, y) = x.le(y), x <= y;
            /// Whether `x` is greater than `y`.
            gt(x, y) = x.gt(y), x > y;
            /// Whether `x` is at least `y`.
            ge(x, y) = x.ge(y), x >= y;
            /// Whether both are true (not zero).
            logical_and(x, y) = x.ne(L::from_f64(0.0)) & y.ne(L::from_f64(0.0)), x != 0 && y != 0;
            /// Whether either is true (not zero).
            logical_or(x, y) = x.ne(L::from_f64(0.0)) | y.ne(L::from_f64(0.0)), x != 0 || y != 0;
            /// Whether exactly one is true (not zero).
            logical_xor(x, y) = x.ne(L::from_f64(0.0)) ^ y.ne(L::from_f64(0.0)), (x != 0) != (y != 0);
        }
    };
}

/// Gives all tests of one tensor to a macro.
#[macro_export]
macro_rules! test_rows {
    ($callback:ident) => {
        $callback! {
            /// Whether `x` is NaN.
            isnan(x) = x.is_nan(), { let _ = x; false };
            /// Whether `x` is infinite.
            isinf(x) = x.abs().eq(L::from_f64(f64::INFINITY)), { let _ = x; false };
            /// Whether `x` is neither infinite nor NaN.
            isfinite(x) = x.abs().lt(L::from_f64(f64::INFINITY)), { let _ = x; true };
            /// Whether `x` is false (zero).
            logical_not(x) = x.eq(L::from_f64(0.0)), x == 0;
            /// Whether `x` is negative, -0 included.
            signbit(x) = L::from_f64(1.0).copysign(x).lt(L::from_f64(0.0)), x < 0;
        }
    };
}

macro_rules! comparisons {
    ($( $(#[doc = $doc:literal])* $name:ident($($x:ident),+) = $lanes:expr, $int:expr; )*) => {
        $(
            #[doc(hidden)]
            #[allow(missing_docs, non_camel_case_types)]
            pub mod $name {
                use super::*;
                const N: usize = [$(stringify!($x)),+].len();
                pub struct Value;
                impl Predicate<N> for Value {
                    #[inline(always)]
                    fn eval<L: MathLanes>([$($x),+]: [L; N]) -> L::Mask { $lanes }
                }
                #[allow(unsafe_code)]
                unsafe fn int_run(
                    n: usize, ins: *const *const i64, strides: *const isize, out: *mut i64, stride: isize,
                ) {
                    for k in 0..n as isize {
                        // SAFETY: the caller gives N pointers and strides that are valid for n elements.
                        unsafe {
                            let v: [i64; N] =
                                std::array::from_fn(|j| (*ins.add(j)).offset(k * *strides.add(j)).read());
                            let [$($x),+] = v;
                            out.offset(k * stride).write(($int) as i64);
                        }
                    }
                }
                pub static ROW: Comparison = Comparison {
                    name: stringify!($name),
                    doc: concat!($($doc, "\n"),*),
                    kernel: Kernel::predicate::<Value, N>(),
                    int: int_run,
                };
            }
            $(#[doc = $doc])*
            ///
            /// # Errors
            /// [`crate::Kind::Shape`] when the operands cannot be broadcast together; errors of reading them.
            pub fn $name<'a>($($x: impl Into<Operand<'a>>),+) -> Result<Tensor> {
                compare(&$name::ROW, &[$($x.into()),+])
            }
        )*
    };
}

mod binary {
    use super::*;
    compare_rows!(comparisons);
}
mod tests_of_one {
    use super::*;
    test_rows!(comparisons);
}
pub use binary::*;
pub use tests_of_one::*;

macro_rules! list {
    ($( $(#[doc = $doc:literal])* $name:ident($($x:ident),+) = $lanes:expr, $int:expr; )*) => {
        &[$(&$name::ROW),*]
    };
}

/// All comparisons of two operands.
pub static COMPARISONS: &[&Comparison] = compare_rows!(list);
/// All tests of one.
pub static TESTS: &[&Comparison] = test_rows!(list);

fn compare(row: &Comparison, ins: &[Operand<'_>]) -> Result<Tensor> {
    let mut p = Promotion::default();
    let mut arrays: SmallVec<[Option<Array>; 2]> = SmallVec::new();
    let mut dims = Dims::new();
    for o in ins {
        arrays.push(match o {
            Operand::Number(s) => {
                p.number(*s, super::default_dtype());
                None
            }
            Operand::Tensor(t) => {
                let a = t.array().map_err(|e| e.in_op(row.name))?;
                p.tensor(a.dtype(), a.ndim());
                dims = shape::broadcast(&dims, a.dims()).map_err(|e| e.in_op(row.name))?;
                Some(a)
            }
        });
    }
    let dtype = p.result().expect("at least one operand");
    let out = if dtype.is_float() {
        let out = Array::uninit(&dims, DType::Bool)?;
        let list: SmallVec<[In<'_>; 2]> = ins
            .iter()
            .zip(&arrays)
            .map(|(o, a)| match (o, a) {
                (_, Some(a)) => In::Array(a),
                (Operand::Number(s), _) => In::Number(s.as_f64()),
                _ => unreachable!("a tensor operand was read"),
            })
            .collect();
        elementwise::run(&row.kernel, dtype, &list, &out)?;
        out
    } else {
        let list: SmallVec<[(Option<&Array>, Scalar); 2]> = ins
            .iter()
            .zip(&arrays)
            .map(|(o, a)| match o {
                Operand::Number(s) => (None, *s),
                _ => (a.as_ref(), Scalar::Int(0)),
            })
            .collect();
        elementwise::run_int(row.int, &list, &dims, DType::Bool)?
    };
    Ok(Tensor::new(out))
}

// ---- selection ---------------------------------------------------------------------------------------------------

crate::define_rules! {
    /// `a` where the mask holds, else `b`.
    Linear where_rule(a, b; mask: Array, dtype: DType) => y {
        kernel = |a, b| select(mask, a, b, *dtype);
        d(a, g) = g.keep(mask);
        d(b, g) = g.drop(mask);
    }
    /// `a` where the mask holds, else zero.
    Linear keep(a; mask: Array) => y {
        kernel = |a| select(mask, a, &Array::scalar(Scalar::Int(0), a.dtype())?, a.dtype());
        d(a, g) = g.keep(mask);
    }
    /// Zero where the mask holds, else `a`.
    Linear drop_where(a; mask: Array) => y {
        kernel = |a| select(mask, &Array::scalar(Scalar::Int(0), a.dtype())?, a, a.dtype());
        d(a, g) = g.drop(mask);
    }
}

impl<'c> super::Expr<'c> {
    fn keep(self, mask: &Array) -> Self {
        self.map(|t| keep::op(t, mask.clone()))
    }

    fn drop(self, mask: &Array) -> Self {
        self.map(|t| drop_where::op(t, mask.clone()))
    }
}

/// Elements of `a` or `b` by a bool mask, cast to `dtype`, all three broadcast.
fn select(mask: &Array, a: &Array, b: &Array, dtype: DType) -> Result<Array> {
    let dims = crate::array::broadcast_dims(&[mask, a, b])?;
    let out = b.cast(dtype)?.expand(&dims)?.copied()?;
    let a = a.cast(dtype)?.expand(&dims)?;
    let m = mask.expand(&dims)?;
    crate::kernels::elementwise::copy_where(&out, &m, &a);
    Ok(out)
}

/// Elements of `a` where `mask` holds, else of `b`; all three are broadcast together.
///
/// # Errors
/// [`crate::Kind::Type`] when the mask is not bool; [`crate::Kind::Shape`] when the shapes do not fit.
pub fn where_<'a>(mask: &Tensor, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    let (a, b) = (a.into(), b.into());
    let m = mask.array()?;
    ensure!(
        matches!(m.dtype(), DType::Bool | DType::U8),
        Type,
        "where",
        "expected condition to be a boolean tensor, but got a tensor with dtype {}",
        m.dtype()
    );
    let mut p = Promotion::default();
    for o in [a, b] {
        match o {
            Operand::Tensor(t) => t.with_layout(|l, d| p.tensor(d, l.ndim())),
            Operand::Number(s) => p.number(s, super::default_dtype()),
        }
    }
    let dtype = p.result().expect("two operands");
    let hold = |o: Operand<'_>| match o {
        Operand::Tensor(t) => Ok(t.clone()),
        Operand::Number(s) => Array::scalar(s, dtype).map(Tensor::internal),
    };
    let m = m.cast(DType::Bool)?;
    where_rule::op(&hold(a)?, &hold(b)?, m, dtype).map_err(|e| e.in_op("where"))
}

struct NanAtZero;

impl Predicate<2> for NanAtZero {
    #[inline(always)]
    fn eval<L: MathLanes>([r, g]: [L; 2]) -> L::Mask {
        r.is_nan() & g.eq(L::from_f64(0.0))
    }
}

static NAN_AT_ZERO: Kernel = Kernel::predicate::<NanAtZero, 2>();

/// The recorded twin of the rule in every fused loop: a result that is NaN while its cotangent is exactly zero is
/// zero. Where no element is, the result itself.
pub(crate) fn guard(r: &Tensor, g: &Tensor) -> Result<Tensor> {
    let (ra, ga) = (r.array()?, g.array()?);
    let dims = shape::broadcast(ra.dims(), ga.dims())?;
    let mask = Array::uninit(&dims, DType::Bool)?;
    elementwise::run(&NAN_AT_ZERO, ra.dtype(), &[In::Array(&ra), In::Array(&ga)], &mask)?;
    if !rule::any_true(&mask) {
        return Ok(r.clone());
    }
    drop_where::op(r, mask)
}
