//! How often the steady path asks for memory: counts do not drift as times do.

use rgrad::graph::Tensor;
use rgrad::{engine, ops, storage};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all calls go to the system's allocator unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, l: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(l) }
    }
    unsafe fn dealloc(&self, p: *mut u8, l: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(p, l) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_small_recorded_addition_allocates_at_most_three_times() {
    let x = ops::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
    x.set_requires_grad(true).unwrap();
    let y = ops::from_slice(&[3.0f32, 4.0], &[2]).unwrap();
    for _ in 0..10 {
        drop(ops::add(&x, &y).unwrap());
    }
    let before = COUNT.get();
    for _ in 0..100 {
        drop(ops::add(&x, &y).unwrap());
    }
    let each = (COUNT.get() - before) as f64 / 100.0;
    assert!(each <= 3.0, "{each} allocations");
}

#[test]
fn training_steps_leave_nothing_behind() {
    let w = ops::from_slice(&[0.5f64; 64], &[8, 8]).unwrap();
    w.set_requires_grad(true).unwrap();
    let x = ops::from_slice(&[0.1f64; 64], &[8, 8]).unwrap();
    let step = |w: &Tensor| {
        let y = ops::tanh(&ops::matmul(&x, w).unwrap()).unwrap();
        engine::backward(&ops::mean(&ops::mul(&y, &y).unwrap(), &[], false, None).unwrap()).unwrap();
        let _off = rgrad::graph::mode::Scoped::grad(false);
        ops::add_scaled_(w, &w.grad().unwrap(), -0.1).unwrap();
        w.set_grad(None);
    };
    for _ in 0..10 {
        step(&w);
    }
    let live = || {
        let s = storage::stats();
        (s.live_bytes, s.live_blocks)
    };
    // Other tests run at the same time; the least of several looks is this loop's own.
    let least = |n: usize| {
        (0..n)
            .map(|_| {
                step(&w);
                live()
            })
            .min()
            .unwrap()
    };
    let first = least(2000);
    let last = least(2000);
    assert!(last.1 <= first.1 + 64, "{first:?} {last:?}");
}
