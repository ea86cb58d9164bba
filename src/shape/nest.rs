//! Loops over several layouts at once, with neighbouring dimensions merged where all strides allow it.

use super::Strides;
use smallvec::SmallVec;

/// A nest of loops over `N` operands of one shape. The innermost loop is the run; the others are walked by
/// [`Nest::for_each`]. Strides are in elements of each operand.
#[derive(Debug, Clone)]
pub struct Nest<const N: usize> {
    /// Sizes of the outer loops, outermost first.
    pub dims: SmallVec<[usize; 4]>,
    /// Strides of the outer loops, by operand.
    pub strides: [SmallVec<[isize; 4]>; N],
    /// Length of the run.
    pub len: usize,
    /// Strides within the run.
    pub steps: [isize; N],
}

impl<const N: usize> Nest<N> {
    /// Merges dimensions without reordering them: elements are visited in row-major order.
    pub fn new(dims: &[usize], strides: [&[isize]; N]) -> Nest<N> {
        let mut nest = Nest {
            dims: SmallVec::new(),
            strides: std::array::from_fn(|_| SmallVec::new()),
            len: 1,
            steps: [0; N],
        };
        if dims.contains(&0) {
            nest.len = 0;
            return nest;
        }
        for (i, &d) in dims.iter().enumerate() {
            if d != 1 {
                nest.push(d, std::array::from_fn(|k| strides[k][i]));
            }
        }
        nest.split();
        nest
    }

    /// As [`Nest::new`], with the loops sorted so that the first operand is walked with falling strides:
    /// for operations on elements whose order does not matter.
    pub fn sorted(dims: &[usize], strides: [&[isize]; N]) -> Nest<N> {
        let mut order: SmallVec<[usize; 4]> = (0..dims.len()).collect();
        let key = |i: usize| -> [usize; N] { std::array::from_fn(|k| strides[k][i].unsigned_abs()) };
        order.sort_by_key(|&i| std::cmp::Reverse(key(i)));
        let sorted: SmallVec<[usize; 4]> = order.iter().map(|&i| dims[i]).collect();
        let by: [Strides; N] = std::array::from_fn(|k| order.iter().map(|&i| strides[k][i]).collect());
        Nest::new(&sorted, std::array::from_fn(|k| &by[k][..]))
    }

    fn push(&mut self, d: usize, s: [isize; N]) {
        if let Some(last) = self.dims.last_mut()
            && (0..N).all(|k| self.strides[k][self.strides[k].len() - 1] == s[k] * d as isize)
        {
            *last *= d;
            for (v, s) in self.strides.iter_mut().zip(s) {
                *v.last_mut().expect("as long as dims") = s;
            }
            return;
        }
        self.dims.push(d);
        for (v, s) in self.strides.iter_mut().zip(s) {
            v.push(s);
        }
    }

    fn split(&mut self) {
        if let Some(d) = self.dims.pop() {
            self.len = d;
            for (step, v) in self.steps.iter_mut().zip(&mut self.strides) {
                *step = v.pop().expect("as long as dims");
            }
        }
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        if self.len == 0 { 0 } else { self.dims.iter().product() }
    }

    /// Calls `f` with the offset of each operand at the start of runs `from..to`, in order.
    #[inline]
    pub fn for_each(&self, from: usize, to: usize, mut f: impl FnMut([isize; N])) {
        if from >= to {
            return;
        }
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.dims.len());
        let mut at = [0isize; N];
        let mut rest = from;
        for d in (0..self.dims.len()).rev() {
            index[d] = rest % self.dims[d];
            rest /= self.dims[d];
            for (a, s) in at.iter_mut().zip(&self.strides) {
                *a += index[d] as isize * s[d];
            }
        }
        for _ in from..to {
            f(at);
            for d in (0..self.dims.len()).rev() {
                index[d] += 1;
                for (a, s) in at.iter_mut().zip(&self.strides) {
                    *a += s[d];
                }
                if index[d] < self.dims[d] {
                    break;
                }
                for (a, s) in at.iter_mut().zip(&self.strides) {
                    *a -= self.dims[d] as isize * s[d];
                }
                index[d] = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_loops_visit_every_element_in_order() {
        let dims = [2, 3, 4];
        let nest = Nest::new(&dims, [&[12, 4, 1], &[1, 2, 6]]);
        let mut seen = Vec::new();
        nest.for_each(0, nest.runs(), |at| {
            for i in 0..nest.len as isize {
                seen.push((at[0] + i * nest.steps[0], at[1] + i * nest.steps[1]));
            }
        });
        let want: Vec<(isize, isize)> = (0..2)
            .flat_map(|a| {
                (0..3).flat_map(move |b| (0..4).map(move |c| (12 * a + 4 * b + c, a + 2 * b + 6 * c)))
            })
            .collect();
        assert_eq!(seen, want);
        let flat = Nest::new(&dims, [&[12, 4, 1]]);
        assert_eq!((flat.len, flat.dims.len()), (24, 0));
    }

    #[test]
    fn a_walk_may_start_anywhere() {
        let nest = Nest::new(&[3, 5, 2], [&[100, 10, 3]]);
        let (mut all, mut tail) = (Vec::new(), Vec::new());
        nest.for_each(0, nest.runs(), |[a]| all.push(a));
        nest.for_each(7, nest.runs(), |[a]| tail.push(a));
        assert_eq!(all[7..], tail);
    }
}
