//! Which nodes a pass needs and in which order they run.

use crate::Result;
use crate::graph::{Edge, Node, Tensor};
use crate::ops::row::freed;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Where a gradient goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Task(u32),
    Leaf(u32),
}

/// A node of the pass, in the order of the schedule.
pub(super) struct Task<'g> {
    pub node: &'g Arc<Node>,
    /// By input: where its gradient goes, if it is needed.
    pub targets: SmallVec<[Option<Target>; 2]>,
    pub needed: SmallVec<[bool; 2]>,
    /// Inputs of the pass whose gradient is that of an output of this node: position among them, output.
    pub captures: SmallVec<[(u32, u32); 1]>,
    /// Whether the step itself is needed, not only the gradient that arrives.
    pub runs: bool,
}

pub(super) struct Leaf {
    pub tensor: Tensor,
    /// Contributions to wait for.
    pub contributions: u32,
}

/// What the gradient of an input of the pass is taken from.
pub(super) enum Wanted {
    Leaf(Option<u32>),
    Value,
}

pub(super) struct Plan<'g> {
    pub tasks: Vec<Task<'g>>,
    pub leaves: Vec<Leaf>,
    pub wanted: Vec<Wanted>,
    task_of: FxHashMap<usize, u32>,
    leaf_of: FxHashMap<usize, u32>,
}

fn key(n: &Arc<Node>) -> usize {
    Arc::as_ptr(n).cast::<()>() as usize
}

/// A node as the walk finds it, before the order is known.
struct Found<'g> {
    node: &'g Arc<Node>,
    /// Edges of needed nodes that lead here.
    waits: u32,
    needed: bool,
}

impl<'g> Plan<'g> {
    /// Walks the graph from the roots. With `wanted` edges, only what lies on a path to one of them is needed.
    pub fn new(roots: &'g [Edge], wanted: &'g [Edge]) -> Result<Plan<'g>> {
        let mut found: Vec<Found<'g>> = Vec::new();
        let mut index: FxHashMap<usize, u32> = FxHashMap::default();
        let mut stack: Vec<&'g Arc<Node>> = Vec::new();
        let visit = |n: &'g Arc<Node>, found: &mut Vec<Found<'g>>, index: &mut FxHashMap<usize, u32>| {
            let next = found.len() as u32;
            let id = *index.entry(key(n)).or_insert(next);
            if id == next {
                found.push(Found { node: n, waits: 0, needed: false });
            }
            (id, id == next)
        };
        for e in roots {
            if let Edge::Node(n, _) = e
                && visit(n, &mut found, &mut index).1
            {
                stack.push(n);
            }
        }
        while let Some(n) = stack.pop() {
            for e in &n.edges {
                if let Edge::Node(m, _) = e
                    && visit(m, &mut found, &mut index).1
                {
                    stack.push(m);
                }
            }
        }
        let all = wanted.is_empty();
        let mut leaf_wanted: FxHashMap<usize, ()> = FxHashMap::default();
        let mut captured: FxHashMap<u32, SmallVec<[(u32, u32); 1]>> = FxHashMap::default();
        for (i, e) in wanted.iter().enumerate() {
            match e {
                Edge::Leaf(t) => {
                    leaf_wanted.insert(t.id(), ());
                }
                Edge::Node(n, nr) => {
                    if let Some(&id) = index.get(&key(n)) {
                        captured.entry(id).or_default().push((i as u32, *nr));
                    }
                }
                Edge::None => {}
            }
        }
        if !all {
            mark(&mut found, &index, &captured, &leaf_wanted);
        }
        let needed = |found: &[Found<'_>], id: u32| all || found[id as usize].needed;
        // A captured node's own step runs only when something below it is needed.
        let below = |found: &[Found<'_>], index: &FxHashMap<usize, u32>, n: &Node| {
            n.edges.iter().any(|e| match e {
                Edge::None => false,
                Edge::Leaf(t) => all || leaf_wanted.contains_key(&t.id()),
                Edge::Node(m, _) => needed(found, index[&key(m)]),
            })
        };
        let mut runs = vec![false; found.len()];
        for id in 0..found.len() {
            if needed(&found, id as u32) {
                runs[id] = below(&found, &index, found[id].node);
            }
        }
        for id in 0..found.len() {
            if !runs[id] {
                continue;
            }
            if found[id].node.op.is_released() {
                return Err(freed(&found[id].node.name()));
            }
            for e in &found[id].node.edges {
                if let Edge::Node(m, _) = e {
                    found[index[&key(m)] as usize].waits += 1;
                }
            }
        }
        let mut plan = Plan {
            tasks: Vec::with_capacity(found.len()),
            leaves: Vec::new(),
            wanted: Vec::new(),
            task_of: FxHashMap::default(),
            leaf_of: FxHashMap::default(),
        };
        plan.order(roots, &mut found, &index, &runs, &captured, all, &leaf_wanted);
        plan.wanted = wanted
            .iter()
            .map(|e| match e {
                Edge::Node(..) => Wanted::Value,
                Edge::Leaf(t) => Wanted::Leaf(plan.leaf_of.get(&t.id()).copied()),
                Edge::None => Wanted::Leaf(None),
            })
            .collect();
        Ok(plan)
    }

    /// Puts needed nodes in the order of execution: newest first among those whose gradients are complete.
    #[allow(clippy::too_many_arguments)]
    fn order(
        &mut self,
        roots: &'g [Edge],
        found: &mut [Found<'g>],
        index: &FxHashMap<usize, u32>,
        runs: &[bool],
        captured: &FxHashMap<u32, SmallVec<[(u32, u32); 1]>>,
        all: bool,
        leaf_wanted: &FxHashMap<usize, ()>,
    ) {
        let need = |found: &[Found<'_>], id: u32| all || found[id as usize].needed;
        let mut ready: BinaryHeap<(u64, u32)> = BinaryHeap::new();
        for (id, f) in found.iter().enumerate() {
            if need(found, id as u32) && f.waits == 0 {
                ready.push((f.node.seq, id as u32));
            }
        }
        let mut position = vec![u32::MAX; found.len()];
        let mut order: Vec<u32> = Vec::with_capacity(found.len());
        while let Some((_, id)) = ready.pop() {
            position[id as usize] = order.len() as u32;
            order.push(id);
            if !runs[id as usize] {
                continue;
            }
            let node = found[id as usize].node;
            for e in &node.edges {
                if let Edge::Node(m, _) = e {
                    let to = index[&key(m)];
                    found[to as usize].waits -= 1;
                    if found[to as usize].waits == 0 && need(found, to) {
                        ready.push((m.seq, to));
                    }
                }
            }
        }
        for e in roots {
            if let Edge::Leaf(t) = e
                && (all || leaf_wanted.contains_key(&t.id()))
            {
                let l = self.leaf(t);
                self.leaves[l as usize].contributions += 1;
            }
        }
        for &id in &order {
            let node = found[id as usize].node;
            let mut targets: SmallVec<[Option<Target>; 2]> = SmallVec::from_elem(None, node.edges.len());
            if runs[id as usize] {
                for (t, e) in targets.iter_mut().zip(&node.edges) {
                    *t = match e {
                        Edge::Node(m, _) => {
                            let to = index[&key(m)];
                            need(found, to).then(|| Target::Task(position[to as usize]))
                        }
                        Edge::Leaf(leaf) if all || leaf_wanted.contains_key(&leaf.id()) => {
                            let l = self.leaf(leaf);
                            self.leaves[l as usize].contributions += 1;
                            Some(Target::Leaf(l))
                        }
                        _ => None,
                    };
                }
            }
            self.task_of.insert(key(node), self.tasks.len() as u32);
            self.tasks.push(Task {
                node,
                needed: targets.iter().map(Option::is_some).collect(),
                targets,
                captures: captured.get(&id).cloned().unwrap_or_default(),
                runs: runs[id as usize],
            });
        }
    }

    fn leaf(&mut self, t: &Tensor) -> u32 {
        let next = self.leaves.len() as u32;
        let id = *self.leaf_of.entry(t.id()).or_insert(next);
        if id == next {
            self.leaves.push(Leaf { tensor: t.clone(), contributions: 0 });
        }
        id
    }

    /// Where the gradient of a root goes.
    pub fn target(&self, e: &Edge) -> Option<Target> {
        match e {
            Edge::None => None,
            Edge::Node(n, _) => self.task_of.get(&key(n)).map(|&k| Target::Task(k)),
            Edge::Leaf(t) => self.leaf_of.get(&t.id()).map(|&l| Target::Leaf(l)),
        }
    }
}

/// Marks the nodes from which a wanted value can be reached, children before parents without recursion.
fn mark(
    found: &mut [Found<'_>],
    index: &FxHashMap<usize, u32>,
    captured: &FxHashMap<u32, SmallVec<[(u32, u32); 1]>>,
    leaves: &FxHashMap<usize, ()>,
) {
    // Parents of each node, so that the marks can climb.
    let mut parents: Vec<SmallVec<[u32; 2]>> = vec![SmallVec::new(); found.len()];
    let mut up: Vec<u32> = Vec::new();
    for (id, f) in found.iter().enumerate() {
        let mut direct = captured.contains_key(&(id as u32));
        for e in &f.node.edges {
            match e {
                Edge::Node(m, _) => parents[index[&key(m)] as usize].push(id as u32),
                Edge::Leaf(t) => direct |= leaves.contains_key(&t.id()),
                Edge::None => {}
            }
        }
        if direct {
            up.push(id as u32);
        }
    }
    for &id in &up {
        found[id as usize].needed = true;
    }
    while let Some(id) = up.pop() {
        for &p in &parents[id as usize] {
            if !std::mem::replace(&mut found[p as usize].needed, true) {
                up.push(p);
            }
        }
    }
}
