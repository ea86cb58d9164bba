//! Element types and PyTorch's promotion rules.

use half::{bf16, f16};
use std::fmt;

/// The type of a tensor's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DType {
    /// One byte, 0 or 1.
    Bool,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// IEEE half precision.
    F16,
    /// bfloat16: float32 with 7 bits of mantissa.
    BF16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

/// The kinds of numbers, in promotion order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// Truth values.
    Bool,
    /// Integers.
    Int,
    /// Floating point.
    Float,
}

impl DType {
    /// All dtypes, in promotion order.
    pub const ALL: [DType; 8] =
        [DType::Bool, DType::U8, DType::I32, DType::I64, DType::F16, DType::BF16, DType::F32, DType::F64];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::U8 => 1,
            DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::F32 => 4,
            DType::I64 | DType::F64 => 8,
        }
    }

    /// PyTorch's name, as in `float32`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::U8 => "uint8",
            DType::I32 => "int32",
            DType::I64 => "int64",
            DType::F16 => "float16",
            DType::BF16 => "bfloat16",
            DType::F32 => "float32",
            DType::F64 => "float64",
        }
    }

    /// The kind of number.
    pub const fn category(self) -> Category {
        match self {
            DType::Bool => Category::Bool,
            DType::U8 | DType::I32 | DType::I64 => Category::Int,
            _ => Category::Float,
        }
    }

    /// Whether gradients can flow through it.
    pub const fn is_float(self) -> bool {
        matches!(self.category(), Category::Float)
    }

    /// Whether it is `float16` or `bfloat16`: stored in 16 bits, computed in `float32`.
    pub const fn is_half(self) -> bool {
        matches!(self, DType::F16 | DType::BF16)
    }

    /// The dtype that holds values of both (`torch.promote_types`).
    pub fn promote(self, other: DType) -> DType {
        match (self, other) {
            (DType::F16, DType::BF16) | (DType::BF16, DType::F16) => DType::F32,
            _ => self.max(other),
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Python number before it has a dtype.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// `True` or `False`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
}

impl Scalar {
    /// The value as a float.
    pub fn as_f64(self) -> f64 {
        match self {
            Scalar::Bool(b) => b as u8 as f64,
            Scalar::Int(i) => i as f64,
            Scalar::Float(f) => f,
        }
    }

    /// The value as an integer; floats truncate towards zero.
    pub fn as_i64(self) -> i64 {
        match self {
            Scalar::Bool(b) => b as i64,
            Scalar::Int(i) => i,
            Scalar::Float(f) => f as i64,
        }
    }

    /// Whether it is not zero.
    pub fn as_bool(self) -> bool {
        match self {
            Scalar::Bool(b) => b,
            Scalar::Int(i) => i != 0,
            Scalar::Float(f) => f != 0.0,
        }
    }

    /// The kind of number.
    pub fn category(self) -> Category {
        match self {
            Scalar::Bool(_) => Category::Bool,
            Scalar::Int(_) => Category::Int,
            Scalar::Float(_) => Category::Float,
        }
    }

    /// The dtype of a tensor made of this number alone.
    pub fn dtype(self, default_float: DType) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) => DType::I64,
            Scalar::Float(_) => default_float,
        }
    }
}

impl From<f64> for Scalar {
    fn from(v: f64) -> Scalar {
        Scalar::Float(v)
    }
}

impl From<i64> for Scalar {
    fn from(v: i64) -> Scalar {
        Scalar::Int(v)
    }
}

impl From<bool> for Scalar {
    fn from(v: bool) -> Scalar {
        Scalar::Bool(v)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(b) => write!(f, "{b}"),
            Scalar::Int(i) => write!(f, "{i}"),
            Scalar::Float(x) => write!(f, "{x}"),
        }
    }
}

/// What an operand contributes to promotion: dimensioned tensors outrank 0-d tensors, and these outrank numbers,
/// unless the lower one is of a higher kind (`torch.result_type`).
#[derive(Debug, Clone, Copy, Default)]
pub struct Promotion {
    tensor: Option<DType>,
    zero_dim: Option<DType>,
    number: Option<DType>,
}

impl Promotion {
    /// Adds a tensor of `dtype` with `ndim` dimensions.
    pub fn tensor(&mut self, dtype: DType, ndim: usize) {
        let slot = if ndim > 0 { &mut self.tensor } else { &mut self.zero_dim };
        *slot = Some(slot.map_or(dtype, |d| d.promote(dtype)));
    }

    /// Adds a number.
    pub fn number(&mut self, s: Scalar, default_float: DType) {
        let d = s.dtype(default_float);
        self.number = Some(self.number.map_or(d, |p| p.promote(d)));
    }

    /// The common dtype; `None` when nothing was added.
    pub fn result(self) -> Option<DType> {
        let over = |high: Option<DType>, low: Option<DType>| match (high, low) {
            (Some(h), Some(l)) if l.category() > h.category() => Some(l),
            (None, l) => l,
            (h, _) => h,
        };
        over(over(self.tensor, self.zero_dim), self.number)
    }
}

/// Rust types that can be elements.
pub trait Element: Copy + Send + Sync + PartialEq + 'static {
    /// The dtype of this type.
    const DTYPE: DType;
    /// Conversion from a number, as PyTorch casts.
    fn from_scalar(s: Scalar) -> Self;
    /// Conversion to a number.
    fn to_scalar(self) -> Scalar;
}

macro_rules! elements {
    ($($t:ty, $d:ident, |$s:ident| $from:expr, |$v:ident| $to:expr;)*) => { $(
        impl Element for $t {
            const DTYPE: DType = DType::$d;
            #[inline]
            fn from_scalar($s: Scalar) -> Self { $from }
            #[inline]
            fn to_scalar(self) -> Scalar { let $v = self; $to }
        }
    )* };
}

elements! {
    bool, Bool, |s| s.as_bool(), |v| Scalar::Bool(v);
    u8, U8, |s| s.as_i64() as u8, |v| Scalar::Int(v as i64);
    i32, I32, |s| s.as_i64() as i32, |v| Scalar::Int(v as i64);
    i64, I64, |s| s.as_i64(), |v| Scalar::Int(v);
    f16, F16, |s| f16::from_f64(s.as_f64()), |v| Scalar::Float(v.to_f64());
    bf16, BF16, |s| bf16::from_f64(s.as_f64()), |v| Scalar::Float(v.to_f64());
    f32, F32, |s| s.as_f64() as f32, |v| Scalar::Float(v as f64);
    f64, F64, |s| s.as_f64(), |v| Scalar::Float(v);
}

/// Runs a block with `$t` bound to the element type of a dtype.
#[macro_export]
macro_rules! with_element {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            $crate::DType::Bool => {
                type $t = bool;
                $body
            }
            $crate::DType::U8 => {
                type $t = u8;
                $body
            }
            $crate::DType::I32 => {
                type $t = i32;
                $body
            }
            $crate::DType::I64 => {
                type $t = i64;
                $body
            }
            $crate::DType::F16 => {
                type $t = half::f16;
                $body
            }
            $crate::DType::BF16 => {
                type $t = half::bf16;
                $body
            }
            $crate::DType::F32 => {
                type $t = f32;
                $body
            }
            $crate::DType::F64 => {
                type $t = f64;
                $body
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion_is_commutative_and_the_two_halves_meet_in_float32() {
        for a in DType::ALL {
            for b in DType::ALL {
                assert_eq!(a.promote(b), b.promote(a));
                assert!(a.promote(b).category() >= a.category());
            }
        }
        assert_eq!(DType::F16.promote(DType::BF16), DType::F32);
    }

    #[test]
    fn numbers_and_zero_dimensional_tensors_raise_the_kind_only() {
        let mut p = Promotion::default();
        p.tensor(DType::F32, 1);
        p.tensor(DType::F64, 0);
        p.number(Scalar::Float(1.0), DType::F32);
        assert_eq!(p.result(), Some(DType::F32));
        let mut p = Promotion::default();
        p.tensor(DType::I64, 2);
        p.number(Scalar::Float(1.0), DType::F32);
        assert_eq!(p.result(), Some(DType::F32));
    }
}
