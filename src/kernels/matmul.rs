//! Matrix products, on the `gemm` crate for floats.

use super::threads;
use crate::dtype::DType;
use crate::shape::{self, Dims};
use crate::{Array, Result, bail};
use gemm::Parallelism;

/// Multiply-adds from which two threads pay.
const PARALLEL: usize = 16 << 20;

/// Product of the last two dimensions; leading ones are broadcast; vectors count as one row or column.
///
/// # Errors
/// [`crate::Kind::Shape`] when sizes do not fit; [`crate::Kind::Type`] for bool.
pub fn matmul(a: &Array, b: &Array) -> Result<Array> {
    let dtype = a.dtype();
    match (a.ndim(), b.ndim()) {
        (1, 1) => {
            let r = matmul(&a.unsqueeze(0), &b.unsqueeze(1))?;
            return r.reshape(&[]);
        }
        (1, _) => {
            let r = matmul(&a.unsqueeze(0), b)?;
            let at = r.ndim() - 2;
            return Ok(r.with_layout(r.layout().squeeze(&[at])));
        }
        (_, 1) => {
            let r = matmul(a, &b.unsqueeze(1))?;
            let mut dims = Dims::from_slice(r.dims());
            dims.pop();
            return r.reshape(&dims);
        }
        _ => {}
    }
    if dtype.is_half() {
        return matmul(&a.cast(DType::F32)?, &b.cast(DType::F32)?)?.cast(dtype);
    }
    if dtype == DType::Bool {
        bail!(Type, "", "matrix products of bool tensors are not implemented; convert them first");
    }
    let (na, nb) = (a.ndim(), b.ndim());
    let (m, k, n) = (a.dims()[na - 2], a.dims()[na - 1], b.dims()[nb - 1]);
    if b.dims()[nb - 2] != k {
        bail!(Shape, "", "shapes {:?} and {:?} cannot be multiplied", a.dims(), b.dims());
    }
    let batch = shape::broadcast(&a.dims()[..na - 2], &b.dims()[..nb - 2])?;
    let with = |x: &Array, r: usize, c: usize| {
        let mut d = batch.clone();
        d.extend_from_slice(&[r, c]);
        x.expand(&d)
    };
    let (a, b) = (with(a, m, k)?, with(b, k, n)?);
    let mut dims = batch.clone();
    dims.extend_from_slice(&[m, n]);
    if k == 0 {
        return Array::zeros(&dims, dtype);
    }
    let out = Array::uninit(&dims, dtype)?;
    if out.numel() == 0 {
        return Ok(out);
    }
    let count = shape::numel(&batch);
    let job = Job::new(&a, &b, &out, m, k, n);
    let work = m * k * n;
    if count == 1 {
        job.product(0, work >= PARALLEL && threads::num_threads() > 1 && !threads::inside());
        return Ok(out);
    }
    let grain = ((1 << 18) / work.max(1)).max(1);
    threads::for_each_chunk(count, grain, |range| {
        for i in range {
            job.product(i, false);
        }
    });
    Ok(out)
}

/// The operands of a batch of products.
struct Job {
    dtype: DType,
    a: *mut u8,
    b: *mut u8,
    out: *mut u8,
    /// `(rows, columns)` strides of a, b and out.
    strides: [(isize, isize); 3],
    batch: Dims,
    batch_strides: [shape::Strides; 3],
    sizes: (usize, usize, usize),
}

// SAFETY: the pointers are into arrays that the caller holds; each product writes its own part of the output.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

impl Job {
    fn new(a: &Array, b: &Array, out: &Array, m: usize, k: usize, n: usize) -> Job {
        let split = |x: &Array| {
            let s = x.strides();
            let l = s.len();
            (shape::Strides::from_slice(&s[..l - 2]), (s[l - 2], s[l - 1]))
        };
        let ((ba, sa), (bb, sb), (bo, so)) = (split(a), split(b), split(out));
        Job {
            dtype: a.dtype(),
            a: a.ptr(),
            b: b.ptr(),
            out: out.ptr(),
            strides: [sa, sb, so],
            batch: Dims::from_slice(&out.dims()[..out.ndim() - 2]),
            batch_strides: [ba, bb, bo],
            sizes: (m, k, n),
        }
    }

    /// Computes product `i` of the batch.
    fn product(&self, i: usize, parallel: bool) {
        let mut at = [0isize; 3];
        let mut rest = i;
        for d in (0..self.batch.len()).rev() {
            let x = (rest % self.batch[d]) as isize;
            rest /= self.batch[d];
            for (o, s) in at.iter_mut().zip(&self.batch_strides) {
                *o += x * s[d];
            }
        }
        match self.dtype {
            DType::F32 => self.float::<f32>(at, parallel, 0.0, 1.0),
            DType::F64 => self.float::<f64>(at, parallel, 0.0, 1.0),
            DType::I64 => self.integer::<i64>(at, |s, x, y| s.wrapping_add(x.wrapping_mul(y))),
            DType::I32 => self.integer::<i32>(at, |s, x, y| s.wrapping_add(x.wrapping_mul(y))),
            _ => self.integer::<u8>(at, |s, x, y| s.wrapping_add(x.wrapping_mul(y))),
        }
    }

    fn float<T: Copy + Send + Sync + 'static + std::ops::Mul<Output = T> + std::ops::Add<Output = T>>(
        &self,
        at: [isize; 3],
        parallel: bool,
        zero: T,
        one: T,
    ) {
        let (m, k, n) = self.sizes;
        let [(ar, ac), (br, bc), (or, oc)] = self.strides;
        // SAFETY: the offsets lie inside the batch; sizes and strides are those of the operands.
        unsafe {
            let (a, b) = (self.a.cast::<T>().offset(at[0]), self.b.cast::<T>().offset(at[1]));
            let out = self.out.cast::<T>().offset(at[2]);
            if m * n * k <= 512 {
                // A call of gemm costs more than so small a product.
                for i in 0..m as isize {
                    for j in 0..n as isize {
                        let mut s = zero;
                        for l in 0..k as isize {
                            s = s + a.offset(i * ar + l * ac).read() * b.offset(l * br + j * bc).read();
                        }
                        out.offset(i * or + j * oc).write(s);
                    }
                }
                return;
            }
            let call = |p| {
                gemm::gemm(
                    m,
                    n,
                    k,
                    out,
                    oc,
                    or,
                    false,
                    a.cast_const(),
                    ac,
                    ar,
                    b.cast_const(),
                    bc,
                    br,
                    zero,
                    one,
                    false,
                    false,
                    false,
                    p,
                )
            };
            if parallel {
                let all = Call(&call);
                threads::install(move || all.run(Parallelism::Rayon(0)));
            } else {
                call(Parallelism::None);
            }
        }
    }

    fn integer<T: Copy + Default>(&self, at: [isize; 3], f: impl Fn(T, T, T) -> T) {
        let (m, k, n) = self.sizes;
        let [(ar, ac), (br, bc), (or, oc)] = self.strides;
        // SAFETY: as in `float`.
        unsafe {
            let (a, b) = (self.a.cast::<T>().offset(at[0]), self.b.cast::<T>().offset(at[1]));
            let out = self.out.cast::<T>().offset(at[2]);
            for i in 0..m as isize {
                for j in 0..n as isize {
                    let mut s = T::default();
                    for l in 0..k as isize {
                        s = f(s, a.offset(i * ar + l * ac).read(), b.offset(l * br + j * bc).read());
                    }
                    out.offset(i * or + j * oc).write(s);
                }
            }
        }
    }
}

/// A call that may be made on a worker.
struct Call<'a, F>(&'a F);

// SAFETY: the call's pointers are valid for its duration, and only one thread makes it.
unsafe impl<F> Send for Call<'_, F> {}

impl<F: Fn(Parallelism)> Call<'_, F> {
    fn run(&self, p: Parallelism) {
        (self.0)(p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(dims: &[usize], seed: usize) -> Array {
        let n: usize = dims.iter().product();
        let v: Vec<f64> = (0..n).map(|i| (((i + seed) * 7919) % 23) as f64 - 11.0).collect();
        Array::from_slice(&v, dims).unwrap()
    }

    fn naive(a: &Array, b: &Array) -> Vec<f64> {
        let (m, k, n) = (a.dims()[0], a.dims()[1], b.dims()[1]);
        let mut out = vec![0.0; m * n];
        for i in 0..m {
            for j in 0..n {
                out[i * n + j] = (0..k).map(|l| a.at(&[i, l]).as_f64() * b.at(&[l, j]).as_f64()).sum();
            }
        }
        out
    }

    #[test]
    fn products_of_every_layout_and_dtype_agree_with_the_plain_loop() {
        for (m, k, n) in [(1, 1, 1), (3, 4, 5), (17, 33, 9), (64, 20, 48)] {
            let (a, b) = (sample(&[m, k], 1), sample(&[k, n], 2));
            let (at, bt) = (sample(&[k, m], 3).permute(&[1, 0]), sample(&[n, k], 4).permute(&[1, 0]));
            for (x, y) in [(&a, &b), (&at, &b), (&a, &bt), (&at, &bt)] {
                for d in [DType::F32, DType::F64, DType::I64, DType::I32] {
                    let r = matmul(&x.cast(d).unwrap(), &y.cast(d).unwrap()).unwrap();
                    assert_eq!(r.to_vec::<f64>().unwrap(), naive(x, y), "{m} {k} {n} {d}");
                }
            }
        }
    }

    #[test]
    fn batches_are_broadcast_and_empty_sums_are_zero() {
        let (a, b) = (sample(&[2, 1, 3, 4], 1), sample(&[5, 4, 2], 2));
        let r = matmul(&a, &b).unwrap();
        assert_eq!(r.dims(), [2, 5, 3, 2]);
        let one = matmul(&a.select(0, 1).select(0, 0), &b.select(0, 3)).unwrap();
        assert_eq!(r.select(0, 1).select(0, 3).to_vec::<f64>().unwrap(), one.to_vec::<f64>().unwrap());
        let z = matmul(&sample(&[3, 0], 1), &sample(&[0, 2], 1)).unwrap();
        assert_eq!(z.to_vec::<f64>().unwrap(), [0.0; 6]);
    }

    #[test]
    fn bits_do_not_depend_on_the_number_of_threads() {
        let n = 300;
        let f = |s: usize| {
            let v: Vec<f32> = (0..n * n).map(|i| ((i * s) % 1013) as f32 * 1e-3).collect();
            Array::from_slice(&v, &[n, n]).unwrap()
        };
        let (a, b) = (f(31), f(57));
        threads::set_num_threads(1);
        let one = matmul(&a, &b).unwrap().to_vec::<f32>().unwrap();
        threads::set_num_threads(2);
        let two = matmul(&a, &b).unwrap().to_vec::<f32>().unwrap();
        assert!(one == two);
    }
}
