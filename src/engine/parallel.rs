//! Independent nodes on several threads, with the same sums as the serial schedule.
//!
//! Every contribution to a gradient has a slot, numbered in the order of the serial schedule. When the last slot of
//! a node is filled, its contributions are added in that order and the node is ready.

use super::plan::Target;
use super::{Cotangents, Pass, Produced, Sinks, Slot};
use crate::graph::{Tensor, mode};
use crate::kernels::threads;
use crate::{Error, Result};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Elementary operations below which a node is too small to be worth a thread (about 100 µs).
const HEAVY: usize = 400_000;

/// A contribution that a task waits for: from which output of the node it is, and its value.
struct Waiting {
    slots: Vec<(u32, Slot<Tensor>)>,
    left: AtomicU32,
}

struct Shared<'p, 'a> {
    pass: &'p Pass<'a>,
    waiting: Vec<Waiting>,
    /// For each task and input, the slot of its target.
    place: Vec<Vec<u32>>,
    /// What tasks send to leaves, for the caller to add up in order.
    to_leaves: Vec<Mutex<Option<Produced>>>,
    failed: AtomicBool,
    error: Mutex<Option<Error>>,
}

/// Runs the pass in parallel when it pays and when nothing in it must run on the calling thread.
pub(super) fn try_run(
    pass: &Pass<'_>,
    buffers: &mut [Cotangents],
    sinks: &mut Sinks,
    pending: &mut [u32],
) -> Option<Result<()>> {
    let plan = pass.plan;
    if pass.options.create_graph || threads::num_threads() < 2 || threads::inside() || plan.tasks.len() < 4 {
        return None;
    }
    let mut heavy = 0usize;
    for t in &plan.tasks {
        if t.node.op.is_foreign() || t.node.has_hooks() || !t.captures.is_empty() {
            return None;
        }
        heavy += (t.runs && t.node.op.work() >= HEAVY) as usize;
    }
    if heavy < 2 || mode::current_level().is_some() || !branches(pass) {
        return None;
    }
    // Slots in the order of the serial schedule; contributions that are there already come first.
    let mut waiting: Vec<Waiting> =
        plan.tasks.iter().map(|_| Waiting { slots: Vec::new(), left: AtomicU32::new(0) }).collect();
    for (w, b) in waiting.iter_mut().zip(buffers.iter_mut()) {
        for (nr, g) in std::mem::take(b).into_iter().enumerate() {
            if let Some(g) = g {
                w.slots.push((nr as u32, Mutex::new(Some(g))));
            }
        }
    }
    let mut place: Vec<Vec<u32>> = Vec::with_capacity(plan.tasks.len());
    for t in &plan.tasks {
        let mut at = vec![u32::MAX; t.targets.len()];
        for (i, target) in t.targets.iter().enumerate() {
            if let (Some(Target::Task(to)), crate::graph::Edge::Node(_, nr)) = (target, &t.node.edges[i]) {
                let w = &mut waiting[*to as usize];
                at[i] = w.slots.len() as u32;
                w.slots.push((*nr, Mutex::new(None)));
                *w.left.get_mut() += 1;
            }
        }
        place.push(at);
    }
    let shared = Shared {
        pass,
        waiting,
        place,
        to_leaves: plan.tasks.iter().map(|_| Mutex::new(None)).collect(),
        failed: AtomicBool::new(false),
        error: Mutex::new(None),
    };
    let first: Vec<usize> =
        (0..plan.tasks.len()).filter(|&k| shared.waiting[k].left.load(Ordering::Relaxed) == 0).collect();
    threads::install(|| {
        rayon::scope(|s| {
            for k in first {
                let shared = &shared;
                s.spawn(move |s| chain(shared, k, s));
            }
        })
    });
    if let Some(e) = shared.error.into_inner() {
        return Some(Err(e));
    }
    for (k, out) in shared.to_leaves.into_iter().enumerate() {
        let out = out.into_inner();
        for (i, target) in plan.tasks[k].targets.iter().enumerate() {
            if let Some(Target::Leaf(l)) = target {
                let g = out.as_ref().and_then(|o| o[i].clone());
                if let Err(e) = pass.maybe_leaf(*l as usize, g, sinks, pending) {
                    return Some(Err(e));
                }
            }
        }
    }
    Some(Ok(()))
}

/// Whether heavy nodes can run side by side: a chain has no two.
fn branches(pass: &Pass<'_>) -> bool {
    // Longest chain of heavy work against all of it.
    let tasks = &pass.plan.tasks;
    let mut longest = vec![0usize; tasks.len()];
    let (mut total, mut critical) = (0usize, 0usize);
    for k in 0..tasks.len() {
        let w = if tasks[k].runs { tasks[k].node.op.work() } else { 0 };
        total += w;
        longest[k] += w;
        critical = critical.max(longest[k]);
        for t in tasks[k].targets.iter().flatten() {
            if let Target::Task(to) = t {
                longest[*to as usize] = longest[*to as usize].max(longest[k]);
            }
        }
    }
    total > critical + critical / 4
}

/// Runs a task and then, on the same thread, one of those that it made ready; the others are spawned.
fn chain<'s>(shared: &'s Shared<'_, '_>, first: usize, scope: &rayon::Scope<'s>) {
    let _mode = mode::Scoped::grad(false);
    let mut next = Some(first);
    while let Some(k) = next.take() {
        if shared.failed.load(Ordering::Relaxed) {
            return;
        }
        let mut ready = Vec::new();
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run_task(shared, k, &mut ready)));
        let done = done.unwrap_or_else(|_| {
            Err(Error::new(crate::Kind::Internal, "backward", "a worker panicked in the backward pass"))
        });
        if let Err(e) = done {
            shared.failed.store(true, Ordering::Relaxed);
            shared.error.lock().get_or_insert(e);
            return;
        }
        ready.sort_unstable();
        let mut ready = ready.into_iter();
        next = ready.next();
        for other in ready {
            scope.spawn(move |s| chain(shared, other, s));
        }
    }
}

fn run_task(shared: &Shared<'_, '_>, k: usize, ready: &mut Vec<usize>) -> Result<()> {
    let pass = shared.pass;
    let task = &pass.plan.tasks[k];
    let mut grads = Cotangents::new();
    for (nr, slot) in &shared.waiting[k].slots {
        if let Some(g) = slot.lock().take() {
            pass.deposit(&mut grads, task.node, *nr, g)?;
        }
    }
    let out = pass.step(k, grads, &mut Sinks::default())?;
    let mut leaves: Option<Produced> = None;
    for (i, target) in task.targets.iter().enumerate() {
        let g = out.as_ref().and_then(|o| o[i].clone());
        match target {
            Some(Target::Task(to)) => {
                let w = &shared.waiting[*to as usize];
                *w.slots[shared.place[k][i] as usize].1.lock() = g;
                if w.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                    ready.push(*to as usize);
                }
            }
            Some(Target::Leaf(_)) => {
                leaves.get_or_insert_with(|| Produced::from_elem(None, task.targets.len()))[i] = g;
            }
            None => {}
        }
    }
    *shared.to_leaves[k].lock() = leaves;
    Ok(())
}
