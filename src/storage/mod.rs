//! Reference-counted, 64-byte aligned buffers: a pool that reuses them, accounting, and memory of foreign owners.
//!
//! A buffer and its header are one allocation. The header counts references and in-place writes (the version
//! counter of autograd); views and detached tensors share both.
#![allow(unsafe_code)]

mod pool;

pub use pool::{Stats, empty_cache, reset_peak, stats};

use crate::{Error, Kind, Result};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// Alignment of every buffer: a cache line, and the widest vector register.
pub const ALIGN: usize = 64;

#[repr(C, align(64))]
pub(crate) struct Header {
    refs: AtomicUsize,
    version: AtomicU64,
    data: *mut u8,
    bytes: usize,
    /// Size class of the block, or [`FOREIGN`].
    class: u32,
    flags: AtomicU32,
    owner: Option<Box<dyn Send + Sync>>,
}

const FOREIGN: u32 = u32::MAX;
const READ_ONLY: u32 = 1;
const HEADER: usize = size_of::<Header>();
const _: () = assert!(HEADER == ALIGN);

/// A shared handle of a buffer. Cloning counts a reference; the last handle returns the block to the pool, or
/// drops the foreign owner.
pub struct Storage(NonNull<Header>);

// SAFETY: the counters are atomic; the header's other fields do not change after construction; the bytes are only
// reached through raw pointers, whose users take the responsibility for data races, as with any shared array.
unsafe impl Send for Storage {}
// SAFETY: as above.
unsafe impl Sync for Storage {}

impl Storage {
    /// A buffer of `bytes` uninitialised bytes.
    ///
    /// # Errors
    /// [`Kind::Memory`] when the system has none left.
    pub fn uninit(bytes: usize) -> Result<Storage> {
        let (block, class) = pool::allocate(bytes).ok_or_else(|| {
            Error::new(Kind::Memory, "", format!("out of memory: could not allocate {bytes} bytes"))
        })?;
        let header = block.cast::<Header>();
        // SAFETY: the block is at least HEADER + bytes long, aligned to 64, and ours alone.
        unsafe {
            header.write(Header {
                refs: AtomicUsize::new(1),
                version: AtomicU64::new(0),
                data: block.as_ptr().add(HEADER),
                bytes,
                class,
                flags: AtomicU32::new(0),
                owner: None,
            });
        }
        Ok(Storage(header))
    }

    /// A buffer of `bytes` zero bytes.
    ///
    /// # Errors
    /// [`Kind::Memory`] when the system has none left.
    pub fn zeroed(bytes: usize) -> Result<Storage> {
        let s = Storage::uninit(bytes)?;
        // SAFETY: the buffer is `bytes` long and nobody else knows it.
        unsafe { s.as_ptr().write_bytes(0, bytes) };
        Ok(s)
    }

    /// Memory that `owner` keeps alive; it is dropped with the last handle, on whatever thread that happens.
    ///
    /// # Safety
    /// `data` must be valid for reads (and for writes unless `read_only`) of `bytes` bytes until `owner` is dropped.
    pub unsafe fn foreign(
        data: *mut u8,
        bytes: usize,
        read_only: bool,
        owner: Box<dyn Send + Sync>,
    ) -> Storage {
        let header = Box::new(Header {
            refs: AtomicUsize::new(1),
            version: AtomicU64::new(0),
            data,
            bytes,
            class: FOREIGN,
            flags: AtomicU32::new(if read_only { READ_ONLY } else { 0 }),
            owner: Some(owner),
        });
        Storage(NonNull::from(Box::leak(header)))
    }

    /// The same memory with a version counter of its own: writes through it are not seen by this one's.
    pub fn alias(&self) -> Storage {
        // SAFETY: the owner is a handle of this storage, which keeps the bytes for as long as the alias lives.
        unsafe { Storage::foreign(self.as_ptr(), self.bytes(), self.is_read_only(), Box::new(self.clone())) }
    }

    fn header(&self) -> &Header {
        // SAFETY: a handle holds a reference, so the header lives.
        unsafe { self.0.as_ref() }
    }

    /// Start of the bytes.
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        self.header().data
    }

    /// Length in bytes.
    pub fn bytes(&self) -> usize {
        self.header().bytes
    }

    /// Whether in-place writes are forbidden.
    pub fn is_read_only(&self) -> bool {
        self.header().flags.load(Ordering::Relaxed) & READ_ONLY != 0
    }

    /// Whether the bytes belong to somebody else, such as a NumPy array.
    pub fn is_foreign(&self) -> bool {
        self.header().class == FOREIGN
    }

    /// Number of in-place writes so far.
    #[inline]
    pub fn version(&self) -> u64 {
        self.header().version.load(Ordering::Acquire)
    }

    /// Counts an in-place write.
    pub fn bump(&self) {
        self.header().version.fetch_add(1, Ordering::AcqRel);
    }

    /// Number of handles.
    #[inline]
    pub fn refs(&self) -> usize {
        self.header().refs.load(Ordering::Acquire)
    }

    /// Whether two handles are of one buffer.
    pub fn same(&self, other: &Storage) -> bool {
        self.0 == other.0
    }

    /// An identity for reports and maps; reused after the buffer is freed.
    pub fn id(&self) -> usize {
        self.0.as_ptr() as usize
    }
}

impl Clone for Storage {
    #[inline]
    fn clone(&self) -> Storage {
        // Relaxed is enough: the new handle is made from one that already sees the buffer.
        self.header().refs.fetch_add(1, Ordering::Relaxed);
        Storage(self.0)
    }
}

impl Drop for Storage {
    #[inline]
    fn drop(&mut self) {
        if self.header().refs.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            // SAFETY: the last reference is gone, so nobody else can reach the header.
            unsafe { release(self.0) };
        }
    }
}

/// # Safety
/// `header` must come from [`Storage`] and have no references left.
unsafe fn release(header: NonNull<Header>) {
    // SAFETY: the caller gives up the header; its class tells how it was made.
    unsafe {
        let class = header.as_ref().class;
        if class == FOREIGN {
            drop(Box::from_raw(header.as_ptr()));
        } else {
            let bytes = header.as_ref().bytes;
            pool::free(header.cast(), class, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn buffers_are_aligned_and_sized() {
        for bytes in [0, 1, 63, 64, 65, 1000, 70_000, 9_000_000] {
            let s = Storage::uninit(bytes).unwrap();
            assert_eq!(s.as_ptr() as usize % ALIGN, 0);
            assert_eq!(s.bytes(), bytes);
            // SAFETY: the buffer is this long and unshared.
            unsafe { s.as_ptr().write_bytes(7, bytes) };
        }
    }

    #[test]
    fn a_foreign_owner_is_dropped_with_the_last_handle() {
        let owner = Arc::new(vec![1u8; 8]);
        // SAFETY: the vector lives in the owner and is only read.
        let s = unsafe { Storage::foreign(owner.as_ptr() as *mut u8, 8, true, Box::new(owner.clone())) };
        let t = s.clone();
        drop(s);
        assert_eq!(Arc::strong_count(&owner), 2);
        assert!(t.is_read_only() && t.is_foreign());
        drop(t);
        assert_eq!(Arc::strong_count(&owner), 1);
    }

    #[test]
    fn an_absurd_size_is_an_error() {
        assert_eq!(Storage::uninit(usize::MAX / 4).err().unwrap().kind(), Kind::Memory);
    }

    #[test]
    fn handles_may_be_dropped_on_any_thread() {
        let s = Storage::zeroed(256).unwrap();
        let handles: Vec<_> = (0..4)
            .map(|_| {
                let s = s.clone();
                std::thread::spawn(move || {
                    for _ in 0..1000 {
                        drop(s.clone());
                        drop(Storage::uninit(300).unwrap());
                    }
                })
            })
            .collect();
        for h in handles {
            h.join().unwrap();
        }
        assert_eq!(s.refs(), 1);
    }
}
