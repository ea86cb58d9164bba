//! Adding gradients: moved where nobody else has them, in place where they are ours alone, copied otherwise.

use crate::graph::{Tensor, mode};
use crate::{Result, ops};
use parking_lot::{ReentrantMutex, ReentrantMutexGuard};

/// Whether nobody but the caller can see the tensor's memory.
fn is_ours(t: &Tensor) -> bool {
    t.is_unique()
        && t.array().is_ok_and(|a| a.storage().refs() == 2 && a.is_contiguous() && !a.storage().is_foreign())
}

/// The sum of two contributions.
pub(super) fn add_into(old: Tensor, new: Tensor, create_graph: bool) -> Result<Tensor> {
    let plain = !create_graph && old.dual().is_none() && new.dual().is_none();
    if plain && is_ours(&old) && old.dtype() == new.dtype() {
        ops::add_(&old, &new)?;
        return Ok(old);
    }
    ops::add(&old, &new)
}

/// The tensor itself when its memory is nobody else's, else a copy.
pub(super) fn own(t: &Tensor, create_graph: bool) -> Result<Tensor> {
    // One handle is the caller's; the array below holds the second reference of the buffer.
    let alone =
        t.is_unique() && t.array().is_ok_and(|a| a.storage().refs() == 2 && !a.layout().may_overlap());
    if alone {
        let extra = t.scope().is_none();
        if extra && let Some(s) = crate::scope::current() {
            t.move_to_scope(Some(&s))?;
        }
        return Ok(t.clone());
    }
    let _mode = mode::Scoped::grad(create_graph);
    ops::clone(t)
}

/// The gradient itself when its memory is nobody else's and lies as the leaf's does, else a copy that does.
fn in_layout(leaf: &Tensor, g: Tensor) -> Result<Tensor> {
    let dense = leaf.with_layout(|l, _| (!l.may_overlap() && !l.is_contiguous()).then(|| l.clone()));
    match dense {
        Some(l) if l.span().is_some_and(|(low, high)| low == l.offset && high - low + 1 == l.numel()) => {
            let layout = crate::shape::Layout { offset: 0, ..l };
            let out = crate::Array::uninit(&layout.dims, leaf.dtype())?.with_layout(layout);
            out.copy_from(&g.array()?)?;
            Ok(Tensor::new(out))
        }
        _ if is_ours(&g) => Ok(g),
        _ => own(&g, false),
    }
}

/// Threads that accumulate into one leaf take turns. A lock by leaf would cost every tensor its size; a few shared
/// ones do. Re-entrant, because dropping an old gradient may run a user's code.
fn turn(leaf: &Tensor) -> ReentrantMutexGuard<'static, ()> {
    static TURNS: [ReentrantMutex<()>; 64] = [const { ReentrantMutex::new(()) }; 64];
    TURNS[(leaf.id() >> 6) % TURNS.len()].lock()
}

/// Adds a gradient to that of a leaf, or of a value that keeps its gradient. Returns whether it did: a leaf that no
/// longer requires gradients, or was released, takes none.
pub(super) fn into_leaf(leaf: &Tensor, g: Tensor, create_graph: bool, value: bool) -> Result<bool> {
    if leaf.is_closed() || !(value || leaf.requires_grad()) {
        return Ok(false);
    }
    let owner = leaf.scope();
    let _turn = turn(leaf);
    match leaf.grad() {
        Some(old) if !create_graph && old.dual().is_none() => {
            // The user's object goes on being the gradient.
            ops::add_(&old, &g)?;
        }
        Some(old) => {
            let sum = ops::add(&old, &g)?;
            sum.move_to_scope(owner.as_ref())?;
            leaf.set_grad(Some(sum));
        }
        None => {
            let g = if create_graph { own(&g, true)? } else { in_layout(leaf, g)? };
            g.move_to_scope(owner.as_ref())?;
            leaf.set_grad(Some(g));
        }
    }
    Ok(true)
}
