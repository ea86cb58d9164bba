//! Random numbers from Philox4x32-10: a function of seed and position alone, the same for any number of threads.
//!
//! J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

use crate::dtype::{DType, Element, Scalar};
use crate::shape;
use crate::{Array, Result, bail, ensure, with_element};
use std::sync::Mutex;

/// One block of four 32-bit numbers for a counter and a key.
pub fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for round in 0..10 {
        if round > 0 {
            key[0] = key[0].wrapping_add(0x9E37_79B9);
            key[1] = key[1].wrapping_add(0xBB67_AE85);
        }
        let a = counter[0] as u64 * 0xD251_1F53;
        let b = counter[2] as u64 * 0xCD9E_8D57;
        counter = [
            (b >> 32) as u32 ^ counter[1] ^ key[0],
            b as u32,
            (a >> 32) as u32 ^ counter[3] ^ key[1],
            a as u32,
        ];
    }
    counter
}

/// A stream of random numbers: a seed and the position of the next block.
pub struct Generator(Mutex<(u64, u64)>);

impl Generator {
    /// A stream from its beginning.
    pub const fn new(seed: u64) -> Generator {
        Generator(Mutex::new((seed, 0)))
    }

    /// Starts the stream of a seed from its beginning.
    pub fn seed(&self, seed: u64) {
        self.set_state((seed, 0));
    }

    /// Seed and position.
    pub fn state(&self) -> (u64, u64) {
        *self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Goes to a position of the stream of a seed.
    pub fn set_state(&self, state: (u64, u64)) {
        *self.0.lock().unwrap_or_else(|e| e.into_inner()) = state;
    }

    /// Reserves `blocks` blocks and returns the seed and the position of the first.
    fn take(&self, blocks: u64) -> (u64, u64) {
        let mut s = self.0.lock().unwrap_or_else(|e| e.into_inner());
        let at = *s;
        s.1 = s.1.wrapping_add(blocks);
        at
    }

    /// The 64-bit numbers from here on, `n` of them.
    fn numbers(&self, n: usize) -> impl Iterator<Item = u64> + use<> {
        let (seed, at) = self.take(n.div_ceil(2) as u64);
        let key = [seed as u32, (seed >> 32) as u32];
        (0..n.div_ceil(2) as u64)
            .flat_map(move |b| {
                let c = at.wrapping_add(b);
                let r = philox([c as u32, (c >> 32) as u32, 0, 0], key);
                [r[0] as u64 | (r[1] as u64) << 32, r[2] as u64 | (r[3] as u64) << 32]
            })
            .take(n)
    }
}

/// The generator of operations that are given none.
pub static DEFAULT: Generator = Generator::new(0x5EED_5EED_0000_0067);

/// 53 random bits as a number in `[0, 1)`.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

fn float(op: &'static str, dtype: DType) -> Result<()> {
    ensure!(dtype.is_float(), Type, op, "expected a floating point dtype, got {dtype}");
    Ok(())
}

fn generate(dims: &[usize], dtype: DType, mut next: impl FnMut() -> f64) -> Result<Array> {
    let out = Array::uninit(dims, dtype)?;
    let n = out.numel();
    with_element!(dtype, T => {
        let p = out.ptr().cast::<T>();
        for i in 0..n {
            // SAFETY: the array is new and holds n elements.
            unsafe { p.add(i).write(T::from_scalar(Scalar::Float(next()))) };
        }
    });
    Ok(out)
}

/// Numbers spread evenly over `[low, high)`.
///
/// # Errors
/// [`crate::Kind::Type`] for a dtype that is no float.
pub fn uniform(g: &Generator, dims: &[usize], dtype: DType, low: f64, high: f64) -> Result<Array> {
    float("rand", dtype)?;
    let mut bits = g.numbers(shape::checked_numel(dims)?);
    // The mantissa of the dtype bounds the bits, so that rounding never reaches `high`.
    let keep = match dtype {
        DType::F64 => 53,
        DType::F32 => 24,
        DType::F16 => 11,
        _ => 8,
    };
    let step = (1u64 << keep) as f64;
    generate(dims, dtype, || {
        let u = (unit(bits.next().unwrap_or(0)) * step).floor() / step;
        low + (high - low) * u
    })
}

/// Normally distributed numbers, by the transform of Box and Muller.
///
/// # Errors
/// [`crate::Kind::Type`] for a dtype that is no float; [`crate::Kind::Value`] for a negative deviation.
pub fn normal(g: &Generator, dims: &[usize], dtype: DType, mean: f64, std: f64) -> Result<Array> {
    float("randn", dtype)?;
    ensure!(std >= 0.0, Value, "normal", "expects std >= 0.0, but found std {std}");
    let n = shape::checked_numel(dims)?;
    let mut bits = g.numbers(n.next_multiple_of(2));
    let mut spare = None;
    generate(dims, dtype, || {
        let z = spare.take().unwrap_or_else(|| {
            let (a, b) = (unit(bits.next().unwrap_or(0)), unit(bits.next().unwrap_or(0)));
            let r = (-2.0 * (1.0 - a).ln()).sqrt();
            let t = std::f64::consts::TAU * b;
            spare = Some(r * t.sin());
            r * t.cos()
        });
        mean + std * z
    })
}

/// Integers spread evenly over `[low, high)`.
///
/// # Errors
/// [`crate::Kind::Value`] when the range is empty or does not fit the dtype.
pub fn randint(g: &Generator, low: i64, high: i64, dims: &[usize], dtype: DType) -> Result<Array> {
    ensure!(low < high, Value, "randint", "expects low < high, got low={low} and high={high}");
    let (least, most) = match dtype {
        DType::Bool => (0, 1),
        DType::U8 => (0, 255),
        DType::I32 => (i32::MIN as i64, i32::MAX as i64),
        _ => (i64::MIN, i64::MAX),
    };
    if low < least || high - 1 > most {
        bail!(Value, "randint", "the range [{low}, {high}) does not fit dtype {dtype}");
    }
    let span = (high as i128 - low as i128) as u128;
    let mut bits = g.numbers(shape::checked_numel(dims)?);
    let out = Array::uninit(dims, dtype)?;
    with_element!(dtype, T => {
        let p = out.ptr().cast::<T>();
        for i in 0..out.numel() {
            // The high half of the product maps 64 bits to the range with a bias below 2^-64 of its size.
            let v = low as i128 + ((bits.next().unwrap_or(0) as u128 * span) >> 64) as i128;
            // SAFETY: the array is new and holds this many elements.
            unsafe { p.add(i).write(T::from_scalar(Scalar::Int(v as i64))) };
        }
    });
    Ok(out)
}

/// The numbers below `n` in random order.
///
/// # Errors
/// [`crate::Kind::Memory`].
pub fn randperm(g: &Generator, n: usize, dtype: DType) -> Result<Array> {
    let mut list: Vec<i64> = (0..n as i64).collect();
    let mut bits = g.numbers(n);
    for i in (1..n).rev() {
        let j = ((bits.next().unwrap_or(0) as u128 * (i as u128 + 1)) >> 64) as usize;
        list.swap(i, j);
    }
    Array::from_slice(&list, &[n])?.cast(dtype)
}

/// 1 with the probability that `p` gives, else 0.
///
/// # Errors
/// [`crate::Kind::Value`] for a probability outside `[0, 1]`; [`crate::Kind::Type`] for a dtype that is no float.
pub fn bernoulli(g: &Generator, p: &Array) -> Result<Array> {
    float("bernoulli", p.dtype())?;
    let probs = p.to_vec::<f64>()?;
    for &v in &probs {
        ensure!((0.0..=1.0).contains(&v), Value, "bernoulli", "expected probabilities in [0, 1], got {v}");
    }
    let mut bits = g.numbers(probs.len());
    let mut at = probs.into_iter();
    generate(p.dims(), p.dtype(), || (unit(bits.next().unwrap_or(0)) < at.next().unwrap_or(0.0)) as u8 as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_gives_the_known_answers() {
        // From the test vectors of the Random123 library (kat_vectors, philox4x32 10).
        assert_eq!(philox([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
        assert_eq!(
            philox([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0]),
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
        );
    }

    #[test]
    fn streams_repeat_and_have_the_right_moments() {
        let g = Generator::new(7);
        let a = normal(&g, &[10_001], DType::F64, 1.0, 2.0).unwrap().to_vec::<f64>().unwrap();
        let m = a.iter().sum::<f64>() / a.len() as f64;
        let v = a.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / a.len() as f64;
        assert!((m - 1.0).abs() < 0.1 && (v - 4.0).abs() < 0.3, "{m} {v}");
        g.seed(7);
        assert_eq!(a, normal(&g, &[10_001], DType::F64, 1.0, 2.0).unwrap().to_vec::<f64>().unwrap());
        let u = uniform(&g, &[5000], DType::F32, 0.0, 1.0).unwrap().to_vec::<f32>().unwrap();
        assert!(u.iter().all(|&x| (0.0..1.0).contains(&x)));
        let mut p = randperm(&g, 100, DType::I64).unwrap().to_vec::<i64>().unwrap();
        p.sort_unstable();
        assert_eq!(p, (0..100).collect::<Vec<i64>>());
        let r = randint(&g, -3, 4, &[2000], DType::I64).unwrap().to_vec::<i64>().unwrap();
        assert!((-3..4).all(|k| r.contains(&k)) && r.iter().all(|k| (-3..4).contains(k)));
    }
}
