//! Switches of the thread: whether operations are recorded, and whether tensors are made for inference.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    static GRAD: Cell<bool> = const { Cell::new(true) };
    static INFERENCE: Cell<bool> = const { Cell::new(false) };
    static SEQUENCE: Cell<u64> = const { Cell::new(1) };
    static LEVELS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Whether operations of this thread are recorded.
#[inline]
pub fn grad_enabled() -> bool {
    GRAD.get()
}

/// Sets whether operations of this thread are recorded; returns what it was.
pub fn set_grad_enabled(on: bool) -> bool {
    GRAD.replace(on)
}

/// Whether this thread makes inference tensors.
#[inline]
pub fn inference_enabled() -> bool {
    INFERENCE.get()
}

/// Sets whether this thread makes inference tensors; returns what it was.
pub fn set_inference_enabled(on: bool) -> bool {
    INFERENCE.replace(on)
}

/// Restores the grad mode when dropped.
///
/// ```
/// use rgrad::graph::mode;
/// {
///     let _off = mode::Scoped::grad(false);
///     assert!(!mode::grad_enabled());
/// }
/// assert!(mode::grad_enabled());
/// ```
pub struct Scoped(bool);

impl Scoped {
    /// Sets the grad mode until the guard is dropped.
    pub fn grad(on: bool) -> Scoped {
        Scoped(set_grad_enabled(on))
    }
}

impl Drop for Scoped {
    fn drop(&mut self) {
        set_grad_enabled(self.0);
    }
}

/// The next number in the order of recording of this thread.
#[inline]
pub(crate) fn next_sequence() -> u64 {
    SEQUENCE.replace(SEQUENCE.get() + 1)
}

/// Opens a level of forward mode and returns its number, which no other level ever has. Levels nest.
pub fn enter_level() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let level = NEXT.fetch_add(1, Ordering::Relaxed);
    LEVELS.with_borrow_mut(|l| l.push(level));
    level
}

/// Ends a level of forward mode. Returns whether it was open in this thread.
pub fn exit_level(level: u64) -> bool {
    LEVELS.with_borrow_mut(|l| {
        let at = l.iter().rposition(|&x| x == level);
        at.map(|i| l.remove(i)).is_some()
    })
}

/// Whether a level of forward mode is open in this thread.
pub fn level_is_active(level: u64) -> bool {
    LEVELS.with_borrow(|l| l.contains(&level))
}

/// The innermost level of forward mode of this thread.
pub fn current_level() -> Option<u64> {
    LEVELS.with_borrow(|l| l.last().copied())
}
