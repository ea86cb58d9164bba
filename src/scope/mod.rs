//! The tree of owners: a scope's end releases what was made in it, at a known moment.
//!
//! A scope knows its tensors weakly, so a dropped tensor frees its memory at once. It never reads the bytes: it
//! only tells a tensor, through [`Resource`], that its time is over.

use crate::{Error, Kind, Result, bail, ensure};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// What a scope may own.
pub trait Resource: Send + Sync {
    /// Releases the memory; later use must fail with `record`'s text. Returns the bytes given up by this handle.
    fn close(&self, record: &Arc<ClosedBy>) -> usize;
    /// Bytes of the handle's buffer.
    fn nbytes(&self) -> usize;
}

/// Where and how a tensor was released.
#[derive(Debug)]
pub struct ClosedBy {
    /// Path of the scope, as in `train/epoch`.
    pub scope: String,
}

struct Entry {
    resource: Weak<dyn Resource>,
    bytes: usize,
}

#[derive(Default)]
struct Inner {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    children: Vec<Weak<Shared>>,
    open: bool,
    counts: Counts,
}

/// A snapshot of what a scope owns and has owned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tensors owned now.
    pub live_tensors: usize,
    /// The most tensors owned at once.
    pub peak_tensors: usize,
    /// Tensors ever owned.
    pub total_tensors: u64,
    /// Bytes owned now.
    pub live_bytes: usize,
    /// The most bytes owned at once.
    pub peak_bytes: usize,
    /// Tensors handed up.
    pub returned: u64,
    /// Tensors released by the end of the scope.
    pub released_tensors: u64,
    /// Bytes released by the end of the scope, its children's included.
    pub released_bytes: usize,
}

struct Shared {
    id: u64,
    name: String,
    parent: Option<Scope>,
    inner: Mutex<Inner>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.inner.get_mut().open {
            OPEN.fetch_sub(1, Ordering::Relaxed);
        }
        // Ancestors that only this scope kept are freed in a loop: deep trees must not recurse.
        let mut parent = self.parent.take();
        while let Some(p) = parent {
            parent = Arc::try_unwrap(p.0).ok().and_then(|mut s| s.parent.take());
        }
    }
}

/// A handle of a scope. The scope ends with [`Scope::close`], or when a [`Guard`] is dropped.
#[derive(Clone)]
pub struct Scope(Arc<Shared>);

static NEXT: AtomicU64 = AtomicU64::new(1);
static OPEN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static CURRENT: RefCell<Vec<Scope>> = const { RefCell::new(Vec::new()) };
}

impl Scope {
    /// Opens a scope without a parent.
    pub fn root(name: &str) -> Scope {
        Scope::make(name, None)
    }

    /// Opens a scope that ends with this one at the latest.
    ///
    /// # Errors
    /// [`Kind::ScopeClosed`] when this scope has ended.
    pub fn child(&self, name: &str) -> Result<Scope> {
        let scope = Scope::make(name, Some(self.clone()));
        let mut inner = self.0.inner.lock();
        if !inner.open {
            drop(inner);
            return Err(self.closed_error());
        }
        inner.children.retain(|c| c.strong_count() > 0);
        inner.children.push(Arc::downgrade(&scope.0));
        drop(inner);
        Ok(scope)
    }

    fn make(name: &str, parent: Option<Scope>) -> Scope {
        OPEN.fetch_add(1, Ordering::Relaxed);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let inner = Mutex::new(Inner { open: true, ..Inner::default() });
        Scope(Arc::new(Shared { id, name: name.to_string(), parent, inner }))
    }

    fn closed_error(&self) -> Error {
        Error::new(Kind::ScopeClosed, "scope", format!("scope '{}' has ended; open a new one", self.path()))
    }

    /// The name given at opening.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// A number that no other scope has.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Names from the root to this scope, joined by `/`.
    pub fn path(&self) -> String {
        let mut names = vec![self.name()];
        let mut at = self;
        while let Some(p) = &at.0.parent {
            names.push(p.name());
            at = p;
        }
        names.reverse();
        names.join("/")
    }

    /// The scope around this one.
    pub fn parent(&self) -> Option<&Scope> {
        self.0.parent.as_ref()
    }

    /// Whether the scope has not ended.
    pub fn is_open(&self) -> bool {
        self.0.inner.lock().open
    }

    /// Whether two handles are of one scope.
    pub fn same(&self, other: &Scope) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether `other` is this scope or lies inside it.
    pub fn contains(&self, other: &Scope) -> bool {
        let mut at = Some(other);
        while let Some(s) = at {
            if s.same(self) {
                return true;
            }
            at = s.parent();
        }
        false
    }

    /// What the scope owns and has owned.
    pub fn counts(&self) -> Counts {
        self.0.inner.lock().counts
    }

    /// Takes ownership of a resource.
    ///
    /// # Errors
    /// [`Kind::ScopeClosed`] when the scope has ended.
    pub fn register(&self, resource: Weak<dyn Resource>, bytes: usize) -> Result<Registration> {
        let mut inner = self.0.inner.lock();
        if !inner.open {
            drop(inner);
            return Err(self.closed_error());
        }
        let c = &mut inner.counts;
        c.live_tensors += 1;
        c.total_tensors += 1;
        c.live_bytes += bytes;
        c.peak_tensors = c.peak_tensors.max(c.live_tensors);
        c.peak_bytes = c.peak_bytes.max(c.live_bytes);
        let entry = Some(Entry { resource, bytes });
        let slot = match inner.free.pop() {
            Some(slot) => {
                inner.entries[slot as usize] = entry;
                slot
            }
            None => {
                inner.entries.push(entry);
                (inner.entries.len() - 1) as u32
            }
        };
        Ok(Registration { scope: self.clone(), slot })
    }

    /// Ends the scope: children first, newest first, then what it owns, newest first. A second call does nothing.
    /// Returns the counts at the end.
    pub fn close(&self) -> Counts {
        // Children are gathered without recursion, so that deep trees cannot overflow the stack.
        let mut order = vec![self.clone()];
        let mut next = 0;
        while next < order.len() {
            let children: Vec<Scope> =
                order[next].0.inner.lock().children.iter().filter_map(Weak::upgrade).map(Scope).collect();
            order.extend(children);
            next += 1;
        }
        order.sort_by_key(|s| std::cmp::Reverse(s.0.id));
        let mut below = 0;
        for s in &order {
            below += s.close_one();
        }
        let mut inner = self.0.inner.lock();
        inner.counts.released_bytes = inner.counts.released_bytes.max(below);
        inner.counts
    }

    fn close_one(&self) -> usize {
        let entries = {
            let mut inner = self.0.inner.lock();
            if !inner.open {
                return 0;
            }
            inner.open = false;
            inner.free.clear();
            std::mem::take(&mut inner.entries)
        };
        OPEN.fetch_sub(1, Ordering::Relaxed);
        let record = Arc::new(ClosedBy { scope: self.path() });
        let (mut bytes, mut count) = (0, 0);
        for e in entries.into_iter().rev().flatten() {
            if let Some(r) = e.resource.upgrade() {
                bytes += r.close(&record);
                count += 1;
            }
        }
        let mut inner = self.0.inner.lock();
        inner.counts.live_tensors = 0;
        inner.counts.live_bytes = 0;
        inner.counts.released_tensors = count;
        inner.counts.released_bytes = bytes;
        bytes
    }

    /// Makes this scope the current one of the thread until [`Scope::leave`].
    ///
    /// # Errors
    /// [`Kind::ScopeClosed`] when the scope has ended.
    pub fn enter(&self) -> Result<()> {
        ensure!(self.is_open(), ScopeClosed, "scope", "scope '{}' has ended; open a new one", self.path());
        CURRENT.with_borrow_mut(|c| c.push(self.clone()));
        Ok(())
    }

    /// Takes this scope off the thread's stack, wherever it stands in it.
    pub fn leave(&self) {
        let taken = CURRENT.with_borrow_mut(|c| c.iter().rposition(|s| s.same(self)).map(|i| c.remove(i)));
        drop(taken);
    }
}

/// The innermost open scope of this thread. Without any scope in the process this is one relaxed load.
#[inline]
pub fn current() -> Option<Scope> {
    if OPEN.load(Ordering::Relaxed) == 0 {
        return None;
    }
    innermost()
}

#[cold]
fn innermost() -> Option<Scope> {
    CURRENT.try_with(|c| c.borrow().iter().rev().find(|s| s.is_open()).cloned()).ok().flatten()
}

/// A resource's place in its scope; leaving it unregisters the resource.
pub struct Registration {
    scope: Scope,
    slot: u32,
}

impl Registration {
    /// The owner.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Gives the resource to another scope; on failure nothing changes.
    ///
    /// # Errors
    /// [`Kind::ScopeClosed`] when either scope has ended.
    pub fn move_to(&mut self, target: &Scope) -> Result<()> {
        if target.same(&self.scope) {
            return Ok(());
        }
        let (resource, bytes) = {
            let inner = self.scope.0.inner.lock();
            match inner.entries.get(self.slot as usize) {
                Some(Some(e)) => (e.resource.clone(), e.bytes),
                _ => bail!(
                    ScopeClosed,
                    "scope",
                    "scope '{}' has ended and released the tensor",
                    self.scope.path()
                ),
            }
        };
        let moved = target.register(resource, bytes)?;
        self.scope.0.inner.lock().counts.returned += 1;
        // The old registration is dropped here and unregisters from the old scope.
        drop(std::mem::replace(self, moved));
        Ok(())
    }
}

impl Registration {
    /// Ends the ownership: the resource becomes free-standing and counts as handed up.
    pub fn give_up(self) {
        self.scope.0.inner.lock().counts.returned += 1;
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut inner = self.scope.0.inner.lock();
        if let Some(e) = inner.entries.get_mut(self.slot as usize).and_then(Option::take) {
            inner.free.push(self.slot);
            inner.counts.live_tensors -= 1;
            inner.counts.live_bytes -= e.bytes;
            drop(inner);
        }
    }
}

/// A scope that is current from [`Guard::new`] to the guard's end, which closes it.
///
/// ```
/// use rgrad::scope::{Guard, Scope};
/// let train = Guard::new(Scope::root("train")).unwrap();
/// let step = Guard::new(train.scope().child("step").unwrap()).unwrap();
/// assert_eq!(step.scope().path(), "train/step");
/// ```
pub struct Guard(Scope);

impl Guard {
    /// Makes the scope current.
    ///
    /// # Errors
    /// [`Kind::ScopeClosed`] when the scope has ended.
    pub fn new(scope: Scope) -> Result<Guard> {
        scope.enter()?;
        Ok(Guard(scope))
    }

    /// The scope.
    pub fn scope(&self) -> &Scope {
        &self.0
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.leave();
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Probe(Mutex<Vec<String>>);
    impl Resource for Probe {
        fn close(&self, record: &Arc<ClosedBy>) -> usize {
            self.0.lock().push(record.scope.clone());
            10
        }
        fn nbytes(&self) -> usize {
            10
        }
    }

    fn probe() -> (Arc<Probe>, Weak<dyn Resource>) {
        let p = Arc::new(Probe(Mutex::new(Vec::new())));
        let w: Weak<Probe> = Arc::downgrade(&p);
        (p, w)
    }

    #[test]
    fn the_end_of_a_scope_closes_what_it_still_owns_and_children_first() {
        let a = Scope::root("a");
        let b = a.child("b").unwrap();
        let ((p, pw), (q, qw)) = (probe(), probe());
        let _r = a.register(pw, 10).unwrap();
        let r = b.register(qw, 10).unwrap();
        assert_eq!(a.counts().live_tensors, 1);
        drop(r);
        assert_eq!(b.counts().live_tensors, 0);
        assert_eq!(b.counts().total_tensors, 1);
        let counts = a.close();
        assert!(!b.is_open());
        assert_eq!(counts.released_bytes, 10);
        assert_eq!(*p.0.lock(), ["a"]);
        assert!(q.0.lock().is_empty());
        assert_eq!(a.close(), counts);
        assert!(a.child("late").is_err());
    }

    #[test]
    fn moving_up_keeps_the_resource_open() {
        let a = Scope::root("a");
        let b = a.child("b").unwrap();
        let (p, w) = probe();
        let mut r = b.register(w, 10).unwrap();
        r.move_to(&a).unwrap();
        b.close();
        assert!(p.0.lock().is_empty());
        assert_eq!((a.counts().live_bytes, b.counts().returned), (10, 1));
    }

    #[test]
    fn ten_thousand_nested_scopes_close_without_recursion() {
        let root = Scope::root("0");
        let mut at = root.clone();
        for _ in 0..10_000 {
            at = at.child("x").unwrap();
        }
        root.close();
        assert!(!at.is_open());
        drop(root);
    }
}
