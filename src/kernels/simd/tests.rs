//! Every tier against the scalar functions of the platform, in units of the last place.

use super::*;

macro_rules! formulas {
    ($($name:ident),*) => { $(
        #[allow(non_camel_case_types)]
        struct $name;
        impl Formula<1, 1> for $name {
            #[inline(always)]
            fn eval<L: MathLanes>([x]: [L; 1]) -> [L; 1] { [x.$name()] }
        }
    )* };
}
formulas!(exp, expm1, log, log1p, tanh, sigmoid, floor, ceil, trunc, round_ties_even);

fn run32(k: &Kernel, t: Tier, x: &[f32]) -> Vec<f32> {
    let mut y = vec![0f32; x.len()];
    let (i, o) = (x.as_ptr().cast::<u8>(), y.as_mut_ptr().cast::<u8>());
    // SAFETY: one input and one output of x.len() elements; the tier is available.
    unsafe { k.f32_on(t)(x.len(), &i, &1, &o) };
    y
}

fn run64(k: &Kernel, t: Tier, x: &[f64]) -> Vec<f64> {
    let mut y = vec![0f64; x.len()];
    let (i, o) = (x.as_ptr().cast::<u8>(), y.as_mut_ptr().cast::<u8>());
    // SAFETY: as above.
    unsafe { k.f64_on(t)(x.len(), &i, &1, &o) };
    y
}

/// Distance in units of the last place of the true value, which comes in a wider or equal format.
fn ulp32(got: f32, want: f64) -> f64 {
    if got.is_nan() && want.is_nan() || got as f64 == want || got == want as f32 {
        return 0.0;
    }
    let w = (want as f32).abs().max(f32::MIN_POSITIVE);
    (got as f64 - want).abs() / (f32::from_bits(w.to_bits() + 1) as f64 - w as f64)
}

fn ulp64(got: f64, want: f64) -> f64 {
    if got.is_nan() && want.is_nan() || got == want {
        return 0.0;
    }
    let w = want.abs().max(f64::MIN_POSITIVE);
    (got - want).abs() / (f64::from_bits(w.to_bits() + 1) - w)
}

const EDGES: [f64; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1e-30,
    -1e-30,
    1e-300,
    88.7,
    88.8,
    -87.5,
    -103.0,
    -104.5,
    709.7,
    710.0,
    -745.0,
    -746.5,
    0.625,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn check(name: &str, k: &Kernel, reference: fn(f64) -> f64, domain: fn(f64) -> bool) {
    // Every exponent of float32, 256 mantissas each.
    let singles: Vec<f32> = (0..=u16::MAX as u32)
        .map(|i| f32::from_bits(i << 16 | i.wrapping_mul(40503) & 0xffff))
        .chain((0..200_000).map(|i| (i as f32 - 100_000.0) * 1e-4))
        .chain(EDGES.iter().map(|&v| v as f32))
        .filter(|&v| domain(v as f64))
        .collect();
    let doubles: Vec<f64> =
        (0..200_000)
            .map(|i| (i as f64 - 100_000.0) * 1.000_123e-4)
            .chain((0..100_000).map(|i| {
                f64::from_bits((i as u64) << 47 | (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 18)
            }))
            .chain((0..100_000).map(|i| (i as f64 - 50_000.0) * 0.014_99))
            .chain(EDGES)
            .filter(|&v| domain(v))
            .collect();
    for &t in available() {
        let mut worst = (0.0, 0.0);
        for (&x, y) in singles.iter().zip(run32(k, t, &singles)) {
            let e = ulp32(y, reference(x as f64));
            assert!(e <= 2.0, "{name} f32 {t:?} at {x:e}: {y:e}, want {:e}, {e} ulp", reference(x as f64));
            worst.0 = f64::max(worst.0, e);
        }
        for (&x, y) in doubles.iter().zip(run64(k, t, &doubles)) {
            // The scalar reference is itself off by up to one and a half; the table below holds float64 to two.
            let e = ulp64(y, reference(x));
            assert!(e <= 3.5, "{name} f64 {t:?} at {x:e}: {y:e}, want {:e}, {e} ulp", reference(x));
            worst.1 = f64::max(worst.1, e);
        }
        println!("{name} {t:?}: {:.2} ulp in float32, {:.2} in float64", worst.0, worst.1);
    }
}

#[test]
fn exponentials_and_logarithms_are_within_two_ulp_on_every_tier() {
    let all = |_| true;
    check("exp", &const { Kernel::of::<exp, 1, 1>() }, f64::exp, all);
    check("expm1", &const { Kernel::of::<expm1, 1, 1>() }, f64::exp_m1, all);
    check("log", &const { Kernel::of::<log, 1, 1>() }, f64::ln, all);
    check("log1p", &const { Kernel::of::<log1p, 1, 1>() }, f64::ln_1p, all);
    check("tanh", &const { Kernel::of::<tanh, 1, 1>() }, f64::tanh, all);
    let logistic = |x: f64| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) };
    check("sigmoid", &const { Kernel::of::<sigmoid, 1, 1>() }, logistic, all);
}

#[test]
fn float64_is_within_two_ulp_of_the_true_value_on_every_tier() {
    let kernels = [
        ("exp", const { Kernel::of::<exp, 1, 1>() }),
        ("expm1", const { Kernel::of::<expm1, 1, 1>() }),
        ("log", const { Kernel::of::<log, 1, 1>() }),
        ("log1p", const { Kernel::of::<log1p, 1, 1>() }),
        ("tanh", const { Kernel::of::<tanh, 1, 1>() }),
        ("sigmoid", const { Kernel::of::<sigmoid, 1, 1>() }),
    ];
    let float = |h: &str| f64::from_bits(u64::from_str_radix(h, 16).unwrap());
    for (name, k) in &kernels {
        for &t in available() {
            let (mut worst, mut seen) = (0.0, 0);
            for line in include_str!("testdata.txt").lines() {
                let f: Vec<&str> = line.split(' ').collect();
                if f[0] != *name {
                    continue;
                }
                let (x, near, rest) = (float(f[1]), float(f[2]), f[3].parse::<f64>().unwrap());
                let y = run64(k, t, &[x])[0];
                let ulp = f64::from_bits(near.abs().to_bits() + 1) - near.abs();
                let e = ((y - near) / ulp - rest).abs();
                assert!(e <= 2.0, "{name} {t:?} at {x:e}: {y:e}, want {near:e}, {e} ulp");
                worst = f64::max(worst, e);
                seen += 1;
            }
            assert!(seen > 100, "{name} is in the table");
            println!("{name} {t:?}: {worst:.2} ulp in float64");
        }
    }
}

#[test]
fn rounding_is_exact_on_every_tier() {
    check("floor", &const { Kernel::of::<floor, 1, 1>() }, f64::floor, |_| true);
    check("ceil", &const { Kernel::of::<ceil, 1, 1>() }, f64::ceil, |_| true);
    check("trunc", &const { Kernel::of::<trunc, 1, 1>() }, f64::trunc, |_| true);
    check("round", &const { Kernel::of::<round_ties_even, 1, 1>() }, f64::round_ties_even, |_| true);
}

#[test]
fn tails_and_offsets_give_the_same_bits_as_full_packs() {
    let k = const { Kernel::of::<tanh, 1, 1>() };
    let x: Vec<f32> = (0..200).map(|i| (i as f32 - 100.0) * 0.037).collect();
    for &t in available() {
        let whole = run32(&k, t, &x);
        for n in 0..70 {
            for at in 0..4 {
                assert_eq!(run32(&k, t, &x[at..at + n]), whole[at..at + n], "{t:?} {n} {at}");
            }
        }
    }
}

struct Scaled;
impl Formula<2, 1> for Scaled {
    #[inline(always)]
    fn eval<L: MathLanes>([x, y]: [L; 2]) -> [L; 1] {
        [x * y + x]
    }
}

struct Less;
impl Predicate<2> for Less {
    #[inline(always)]
    fn eval<L: MathLanes>([x, y]: [L; 2]) -> L::Mask {
        x.lt(y)
    }
}

#[test]
fn repeated_inputs_in_place_outputs_and_predicates_are_right() {
    let (k, p) = (const { Kernel::of::<Scaled, 2, 1>() }, const { Kernel::predicate::<Less, 2>() });
    for &t in available() {
        for n in [1usize, 7, 8, 33] {
            let mut x: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let want: Vec<f64> = x.iter().map(|v| v * 3.0 + v).collect();
            let three = 3.0f64;
            let o = x.as_mut_ptr().cast::<u8>();
            let ins = [o.cast_const(), (&raw const three).cast()];
            // SAFETY: the first input and the output are one buffer of n elements, the second is one number.
            unsafe { k.f64_on(t)(n, ins.as_ptr(), [1u8, 0].as_ptr(), &o) };
            assert_eq!(x, want);
            let mut mask = vec![9u8; n];
            let m = mask.as_mut_ptr();
            // SAFETY: as above; the output holds n bytes.
            unsafe { p.f64_on(t)(n, ins.as_ptr(), [1u8, 0].as_ptr(), &m) };
            assert_eq!(mask, want.iter().map(|&v| (v < 3.0) as u8).collect::<Vec<_>>());
        }
    }
}
