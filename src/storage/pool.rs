//! Blocks by size class: free lists of the thread for small ones, shared lists for big ones.

use super::{ALIGN, HEADER};
use std::alloc::{Layout, alloc, dealloc};
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Classes up to this many are multiples of 64 bytes; above, four steps to each doubling.
const LINEAR: u32 = 16;
/// Blocks up to this class are cached by thread (64 KiB).
const LOCAL_CLASSES: usize = 41;
const LOCAL_BYTES: usize = 256 << 10;
const HUGE: usize = 4 << 20;
/// The shared lists keep at most this much.
const SHARED_BYTES: i64 = 2 << 30;
/// A thread looks at the sum of all threads each time its own use grew by this much.
const PEAK_STEP: i64 = 64 << 10;

/// The class of a payload and the payload bytes of that class.
fn class_of(bytes: usize) -> Option<(u32, usize)> {
    if bytes <= 64 * LINEAR as usize {
        let c = bytes.div_ceil(64).max(1) as u32;
        return Some((c, c as usize * 64));
    }
    if bytes > isize::MAX as usize / 2 {
        return None;
    }
    // bytes is in (2^p, 2^(p+1)], p >= 10; the class is one of its four quarters.
    let p = (bytes - 1).ilog2();
    let quarter = 1usize << (p - 2);
    let k = (bytes - (1 << p)).div_ceil(quarter);
    Some((LINEAR + (p - 10) * 4 + k as u32, (1 << p) + k * quarter))
}

fn class_bytes(class: u32) -> usize {
    if class <= LINEAR {
        return class as usize * 64;
    }
    let (p, k) = (10 + (class - LINEAR - 1) / 4, (class - LINEAR - 1) % 4 + 1);
    (1usize << p) + k as usize * (1usize << (p - 2))
}

/// Counters of one thread, read by all. They outlive the thread: a later thread goes on with them.
#[derive(Default)]
struct Counters {
    live_bytes: AtomicI64,
    live_blocks: AtomicI64,
    allocations: AtomicU64,
    system: AtomicU64,
}

/// Only the owning thread writes, so a load and a store are enough.
fn add(c: &AtomicI64, v: i64) -> i64 {
    let n = c.load(Relaxed) + v;
    c.store(n, Relaxed);
    n
}

static THREADS: Mutex<(Vec<&'static Counters>, Vec<&'static Counters>)> =
    Mutex::new((Vec::new(), Vec::new()));
static PEAK: AtomicI64 = AtomicI64::new(0);
static SHARED: Mutex<Vec<Vec<usize>>> = Mutex::new(Vec::new());
static SHARED_HELD: AtomicI64 = AtomicI64::new(0);

struct Local {
    heads: [*mut u8; LOCAL_CLASSES],
    counts: [u32; LOCAL_CLASSES],
    held: usize,
    counters: &'static Counters,
    since_peak: i64,
}

impl Local {
    fn new() -> Local {
        let mut t = THREADS.lock().unwrap_or_else(|e| e.into_inner());
        let counters = t.1.pop().unwrap_or_else(|| {
            let c: &'static Counters = Box::leak(Box::default());
            t.0.push(c);
            c
        });
        Local {
            heads: [std::ptr::null_mut(); LOCAL_CLASSES],
            counts: [0; LOCAL_CLASSES],
            held: 0,
            counters,
            since_peak: 0,
        }
    }

    fn clear(&mut self) {
        for class in 1..LOCAL_CLASSES {
            while !self.heads[class].is_null() {
                let block = self.heads[class];
                // SAFETY: blocks in the list are free and hold the next pointer in their first word.
                unsafe {
                    self.heads[class] = block.cast::<*mut u8>().read();
                    give_back(block, class as u32);
                }
            }
            self.counts[class] = 0;
        }
        self.held = 0;
    }

    fn count(&mut self, bytes: i64) {
        add(&self.counters.live_bytes, bytes);
        add(&self.counters.live_blocks, bytes.signum());
        if bytes > 0 {
            self.since_peak += bytes;
            if self.since_peak >= PEAK_STEP {
                self.since_peak = 0;
                note_peak();
            }
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.clear();
        let mut t = THREADS.lock().unwrap_or_else(|e| e.into_inner());
        t.1.push(self.counters);
    }
}

thread_local! {
    static LOCAL: UnsafeCell<Local> = UnsafeCell::new(Local::new());
}

/// Counters for blocks that are made or freed while a thread is ending.
static LATE: Counters = Counters {
    live_bytes: AtomicI64::new(0),
    live_blocks: AtomicI64::new(0),
    allocations: AtomicU64::new(0),
    system: AtomicU64::new(0),
};

fn layout(class: u32) -> Layout {
    Layout::from_size_align(HEADER + class_bytes(class), ALIGN).expect("class_of limits the size")
}

/// # Safety
/// `block` must be a free block of `class`.
unsafe fn give_back(block: *mut u8, class: u32) {
    // SAFETY: blocks of a class are all made with this layout.
    unsafe { dealloc(block, layout(class)) }
}

/// A block for `bytes` bytes of payload and a header, with its class. Returns `None` when there is no memory.
pub(super) fn allocate(bytes: usize) -> Option<(NonNull<u8>, u32)> {
    let (class, _) = class_of(bytes)?;
    let block = LOCAL.try_with(|l| {
        // SAFETY: the cell is the thread's own and nothing below calls back into it.
        let l = unsafe { &mut *l.get() };
        l.count(bytes.max(1) as i64);
        l.counters.allocations.store(l.counters.allocations.load(Relaxed) + 1, Relaxed);
        let c = class as usize;
        if c < LOCAL_CLASSES && !l.heads[c].is_null() {
            let block = l.heads[c];
            // SAFETY: a block in the list is free and holds the next pointer in its first word.
            l.heads[c] = unsafe { block.cast::<*mut u8>().read() };
            l.counts[c] -= 1;
            l.held -= class_bytes(class);
            return block;
        }
        std::ptr::null_mut()
    });
    let cached = block.unwrap_or_else(|_| {
        LATE.live_bytes.fetch_add(bytes.max(1) as i64, Relaxed);
        LATE.live_blocks.fetch_add(1, Relaxed);
        std::ptr::null_mut()
    });
    let block = NonNull::new(cached).or_else(|| take_shared(class)).or_else(|| from_system(class));
    if block.is_none() {
        uncount(bytes);
    }
    block.map(|b| (b, class))
}

fn take_shared(class: u32) -> Option<NonNull<u8>> {
    if (class as usize) < LOCAL_CLASSES {
        return None;
    }
    // try_lock: a forked child may have inherited a locked list; the system serves it instead.
    let mut lists = SHARED.try_lock().ok()?;
    let block = lists.get_mut(class as usize)?.pop()?;
    SHARED_HELD.fetch_sub(class_bytes(class) as i64, Relaxed);
    NonNull::new(block as *mut u8)
}

fn from_system(class: u32) -> Option<NonNull<u8>> {
    let layout = layout(class);
    let _ = LOCAL.try_with(|l| {
        // SAFETY: the cell is the thread's own; one counter is written.
        let c = unsafe { (*l.get()).counters };
        c.system.store(c.system.load(Relaxed) + 1, Relaxed);
    });
    // SAFETY: the size is never zero.
    let block = NonNull::new(unsafe { alloc(layout) })?;
    #[cfg(target_os = "linux")]
    if layout.size() >= HUGE {
        let page = 4096;
        let start = (block.as_ptr() as usize).next_multiple_of(page);
        let len = (block.as_ptr() as usize + layout.size() - start) / page * page;
        // SAFETY: the pages lie inside the block; the advice changes no contents.
        unsafe { libc::madvise(start as *mut libc::c_void, len, libc::MADV_HUGEPAGE) };
    }
    Some(block)
}

fn uncount(bytes: usize) {
    let b = -(bytes.max(1) as i64);
    let done = LOCAL.try_with(|l| {
        // SAFETY: the cell is the thread's own and `count` does not call back into it.
        unsafe { (*l.get()).count(b) };
    });
    if done.is_err() {
        LATE.live_bytes.fetch_add(b, Relaxed);
        LATE.live_blocks.fetch_add(-1, Relaxed);
    }
}

/// # Safety
/// `block` must come from [`allocate`] with this class and size, and be used no more.
pub(super) unsafe fn free(block: NonNull<u8>, class: u32, bytes: usize) {
    uncount(bytes);
    let c = class as usize;
    let size = class_bytes(class);
    if c < LOCAL_CLASSES {
        let kept = LOCAL.try_with(|l| {
            // SAFETY: the cell is the thread's own and nothing here calls back into it.
            let l = unsafe { &mut *l.get() };
            if l.counts[c] as usize * size >= LOCAL_BYTES {
                return false;
            }
            // SAFETY: the block is free and longer than a pointer.
            unsafe { block.cast::<*mut u8>().write(l.heads[c]) };
            l.heads[c] = block.as_ptr();
            l.counts[c] += 1;
            l.held += size;
            true
        });
        if kept == Ok(true) {
            return;
        }
    } else if SHARED_HELD.load(Relaxed) + size as i64 <= SHARED_BYTES
        && let Ok(mut lists) = SHARED.try_lock()
    {
        if lists.len() <= c {
            lists.resize(c + 1, Vec::new());
        }
        lists[c].push(block.as_ptr() as usize);
        SHARED_HELD.fetch_add(size as i64, Relaxed);
        return;
    }
    // SAFETY: the caller gives the block up.
    unsafe { give_back(block.as_ptr(), class) };
}

/// A snapshot of the memory that tensors use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of live buffers, as asked for (an empty buffer counts as one byte).
    pub live_bytes: usize,
    /// Number of live buffers.
    pub live_blocks: usize,
    /// The most `live_bytes` seen, to 64 KiB a thread, since the start or the last [`reset_peak`].
    pub peak_bytes: usize,
    /// Buffers ever made.
    pub allocations: u64,
    /// Blocks ever asked of the system.
    pub system_allocations: u64,
    /// Bytes kept for reuse by this thread and in the shared lists.
    pub cached_bytes: usize,
}

fn sum() -> (i64, i64, u64, u64) {
    let t = THREADS.lock().unwrap_or_else(|e| e.into_inner());
    total(&t.0)
}

fn total(threads: &[&'static Counters]) -> (i64, i64, u64, u64) {
    let all = threads.iter().copied().chain([&LATE]);
    all.fold((0, 0, 0, 0), |s, c| {
        (
            s.0 + c.live_bytes.load(Relaxed),
            s.1 + c.live_blocks.load(Relaxed),
            s.2 + c.allocations.load(Relaxed),
            s.3 + c.system.load(Relaxed),
        )
    })
}

fn note_peak() {
    // try_lock: a forked child may have inherited a locked list.
    if let Ok(t) = THREADS.try_lock() {
        PEAK.fetch_max(total(&t.0).0, Relaxed);
    }
}

/// Reads the counters of all threads.
pub fn stats() -> Stats {
    // A thread that has not touched the pool registers its counters before the sum, not during it.
    let held = LOCAL.try_with(|l| {
        // SAFETY: the cell is the thread's own; one field is read.
        unsafe { (*l.get()).held }
    });
    let (live, blocks, allocations, system) = sum();
    PEAK.fetch_max(live, Relaxed);
    Stats {
        live_bytes: live.max(0) as usize,
        live_blocks: blocks.max(0) as usize,
        peak_bytes: PEAK.load(Relaxed) as usize,
        allocations,
        system_allocations: system,
        cached_bytes: held.unwrap_or(0) + SHARED_HELD.load(Relaxed).max(0) as usize,
    }
}

/// Sets the peak to what is live now.
pub fn reset_peak() {
    PEAK.store(sum().0, Relaxed);
}

/// Gives cached blocks of this thread and of the shared lists back to the system.
pub fn empty_cache() {
    let _ = LOCAL.try_with(|l| {
        // SAFETY: the cell is the thread's own; `clear` only frees blocks.
        unsafe { (*l.get()).clear() };
    });
    if let Ok(mut lists) = SHARED.try_lock() {
        for (class, list) in lists.iter_mut().enumerate() {
            for block in list.drain(..) {
                SHARED_HELD.fetch_sub(class_bytes(class as u32) as i64, Relaxed);
                // SAFETY: blocks in the shared lists are free and of this class.
                unsafe { give_back(block as *mut u8, class as u32) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_holds_what_was_asked_with_little_waste() {
        for bytes in (0..5000).chain([65_536, 65_537, 1 << 20, (1 << 20) + 1, 12_345_678]) {
            let (class, size) = class_of(bytes).unwrap();
            assert_eq!(size, class_bytes(class));
            assert!(size >= bytes && size <= (bytes + bytes / 4).max(bytes + 64), "{bytes} {size}");
        }
        assert_eq!(class_of(64 << 10).unwrap().0 as usize, LOCAL_CLASSES - 1);
    }
}
