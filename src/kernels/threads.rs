//! The pool of worker threads: made on first use, never for small work, and made anew in a forked child.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

static POOL: AtomicPtr<ThreadPool> = AtomicPtr::new(std::ptr::null_mut());
static THREADS: AtomicUsize = AtomicUsize::new(0);
static MAKING: Mutex<()> = Mutex::new(());

/// Number of threads that a big operation may use: what [`set_num_threads`] said, else `RGRAD_NUM_THREADS`, else
/// `RAYON_NUM_THREADS`, else what the machine has.
#[inline]
pub fn num_threads() -> usize {
    match THREADS.load(Ordering::Relaxed) {
        0 => first_count(),
        n => n,
    }
}

#[cold]
fn first_count() -> usize {
    let from = |name| std::env::var(name).ok().and_then(|v| v.parse::<usize>().ok()).filter(|&n| n > 0);
    let n = from("RGRAD_NUM_THREADS")
        .or_else(|| from("RAYON_NUM_THREADS"))
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
    THREADS.store(n, Ordering::Relaxed);
    n
}

/// Sets the number of threads. A running operation keeps the pool that it started with.
pub fn set_num_threads(n: usize) {
    THREADS.store(n.max(1), Ordering::Relaxed);
    let _making = MAKING.lock().unwrap_or_else(|e| e.into_inner());
    // The old pool is leaked: another thread may be inside it. Changing the number is rare.
    POOL.store(std::ptr::null_mut(), Ordering::Release);
}

/// After a fork the child has none of the pool's threads: it forgets the pool and makes its own when it needs one.
#[cfg(unix)]
extern "C" fn forget_pool() {
    POOL.store(std::ptr::null_mut(), Ordering::Release);
}

fn pool() -> Option<&'static ThreadPool> {
    let p = POOL.load(Ordering::Acquire);
    if !p.is_null() {
        // SAFETY: pools are leaked and never freed.
        return Some(unsafe { &*p });
    }
    // try_lock: a child may have been forked while another thread was making the pool; it then runs serially.
    let _making = MAKING.try_lock().ok()?;
    let p = POOL.load(Ordering::Acquire);
    if !p.is_null() {
        // SAFETY: as above.
        return Some(unsafe { &*p });
    }
    #[cfg(unix)]
    {
        static AT_FORK: std::sync::Once = std::sync::Once::new();
        AT_FORK.call_once(|| {
            // SAFETY: the handler only stores to an atomic.
            unsafe { libc::pthread_atfork(None, None, Some(forget_pool)) };
        });
    }
    let built = ThreadPoolBuilder::new()
        .num_threads(num_threads())
        .thread_name(|i| format!("rgrad-{i}"))
        .stack_size(4 << 20)
        .build()
        .ok()?;
    let leaked = Box::leak(Box::new(built));
    POOL.store(leaked, Ordering::Release);
    Some(leaked)
}

/// Runs `f` inside the pool, so that rayon's calls in it use the pool's threads; on this thread when there is one
/// thread only.
pub fn install<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    if num_threads() == 1 {
        return f();
    }
    match pool() {
        Some(p) => p.install(f),
        None => f(),
    }
}

/// Whether this thread is a worker of a pool.
pub fn inside() -> bool {
    rayon::current_thread_index().is_some()
}

/// Calls `f` with ranges that cover `0..n`, on several threads when `n` is at least four times `grain`, the number
/// of steps below which a thread does not pay. The cuts depend on `n` and `grain` only.
#[inline]
pub fn for_each_chunk(n: usize, grain: usize, f: impl Fn(Range<usize>) + Send + Sync) {
    if n < 4 * grain || num_threads() == 1 {
        f(0..n);
        return;
    }
    chunks(n, grain, &f);
}

#[cold]
fn chunks(n: usize, grain: usize, f: &(impl Fn(Range<usize>) + Send + Sync)) {
    use rayon::prelude::*;
    // Cuts at multiples of 64 elements, so that no two threads write to one cache line.
    let size = grain.max(n.div_ceil(64)).next_multiple_of(64);
    install(|| {
        (0..n.div_ceil(size)).into_par_iter().for_each(|i| f(i * size..((i + 1) * size).min(n)));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU8;

    #[test]
    fn chunks_cover_everything_once() {
        let seen: Vec<AtomicU8> = (0..100_001).map(|_| AtomicU8::new(0)).collect();
        for_each_chunk(seen.len(), 1000, |r| {
            for i in r {
                seen[i].fetch_add(1, Ordering::Relaxed);
            }
        });
        assert!(seen.iter().all(|s| s.load(Ordering::Relaxed) == 1));
    }
}
