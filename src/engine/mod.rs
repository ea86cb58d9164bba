//! The backward pass: which nodes are needed, in which order they run, and where gradients go.
//!
//! Nothing here recurses over the graph. Contributions to a gradient are added in the order of the serial schedule,
//! whatever thread computed them, so the bits of a result do not depend on the number of threads.

mod accumulate;
mod parallel;
mod plan;

use crate::graph::{Edge, Meta, Node, Tensor, Vjp, mode};
use crate::{Array, Result, Scalar, bail, ensure, ops};
use accumulate::{add_into, into_leaf, own};
use parking_lot::Mutex;
use plan::{Plan, Target};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a pass does with the graph and the gradients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Saved values survive the pass.
    pub retain_graph: bool,
    /// Gradients are themselves recorded.
    pub create_graph: bool,
    /// Gradients are added to the leaves; otherwise they are returned.
    pub accumulate: bool,
    /// An input that no root depends on gives no gradient instead of an error.
    pub allow_unused: bool,
}

static INTERRUPT: OnceLock<fn() -> Result<()>> = OnceLock::new();
static ANOMALY: AtomicBool = AtomicBool::new(false);

/// Sets a function that a long pass calls about every 50 ms on the calling thread; its error ends the pass.
pub fn set_interrupt_check(f: fn() -> Result<()>) {
    let _ = INTERRUPT.set(f);
}

/// Sets whether a gradient that becomes NaN is an error that names its node.
pub fn set_detect_anomaly(on: bool) {
    ANOMALY.store(on, Ordering::Relaxed);
}

/// Whether [`set_detect_anomaly`] is on.
pub fn detect_anomaly() -> bool {
    ANOMALY.load(Ordering::Relaxed)
}

/// Calls the interrupt check now and then.
struct Watch {
    count: u32,
    last: Instant,
}

impl Watch {
    fn new() -> Watch {
        Watch { count: 0, last: Instant::now() }
    }

    #[inline]
    fn tick(&mut self) -> Result<()> {
        self.count += 1;
        if self.count.is_multiple_of(16) { self.look() } else { Ok(()) }
    }

    #[cold]
    fn look(&mut self) -> Result<()> {
        if self.last.elapsed() > Duration::from_millis(50) {
            self.last = Instant::now();
            if let Some(check) = INTERRUPT.get() {
                check()?;
            }
        }
        Ok(())
    }
}

/// Adds the gradients of a root to the leaves that it depends on, with cotangent 1.
///
/// # Errors
/// As [`run`].
pub fn backward(root: &Tensor) -> Result<()> {
    run(std::slice::from_ref(root), &[None], &[], &Options { accumulate: true, ..Options::default() })
        .map(|_| ())
}

/// Gradients of `outputs`, whose cotangents are 1, with respect to `inputs`.
///
/// # Errors
/// As [`run`].
pub fn grad(outputs: &[Tensor], inputs: &[Tensor], create_graph: bool) -> Result<Vec<Tensor>> {
    let none = vec![None; outputs.len()];
    let options = Options { create_graph, retain_graph: create_graph, ..Options::default() };
    let grads = run(outputs, &none, inputs, &options)?;
    Ok(grads.into_iter().map(|g| g.expect("unused inputs are errors here")).collect())
}

/// Checks or makes the cotangent of a root.
fn cotangent(i: usize, root: &Tensor, given: Option<&Tensor>) -> Result<Tensor> {
    let a = root.array()?;
    let Some(g) = given else {
        ensure!(
            a.numel() == 1,
            Graph,
            "backward",
            "grad can be implicitly created only for scalar outputs, but output {i} has shape {:?}; pass a gradient \
             of that shape, or reduce the output first",
            a.dims()
        );
        return Ok(Tensor::internal(Array::full(a.dims(), Scalar::Int(1), a.dtype())?));
    };
    let (dims, dtype) = (g.dims(), g.dtype());
    ensure!(
        dims.as_slice() == a.dims(),
        Graph,
        "backward",
        "Mismatch in shape: grad_output[{i}] has a shape of {:?} and output[{i}] has a shape of {:?}",
        dims.as_slice(),
        a.dims()
    );
    ensure!(
        dtype.is_float(),
        Graph,
        "backward",
        "grad_output[{i}] must have a floating point dtype, got {dtype}"
    );
    ops::cast(g, a.dtype())
}

/// Runs a backward pass from `roots` with their cotangents (`None` is 1 for a root of one element).
///
/// With `inputs`, only nodes on a path to one of them run. Returns the gradients of the inputs, in order, unless
/// they are accumulated.
///
/// # Errors
/// [`crate::Kind::Graph`] when a root requires no gradient, shapes do not fit, saved values are freed or were
/// changed in place, or an input is unused; any error of a rule or hook.
pub fn run(
    roots: &[Tensor],
    cotangents: &[Option<Tensor>],
    inputs: &[Tensor],
    options: &Options,
) -> Result<Vec<Option<Tensor>>> {
    let _mode = mode::Scoped::grad(options.create_graph);
    ensure!(
        roots.len() == cotangents.len(),
        Graph,
        "backward",
        "got {} tensors and {} gradients",
        roots.len(),
        cotangents.len()
    );
    let mut edges = Vec::with_capacity(roots.len());
    let mut seeds = Vec::with_capacity(roots.len());
    for (i, (r, g)) in roots.iter().zip(cotangents).enumerate() {
        ensure!(
            r.requires_grad(),
            Graph,
            "backward",
            "element {i} of tensors does not require grad and does not have a grad_fn"
        );
        seeds.push(cotangent(i, r, g.as_ref())?);
        edges.push(r.edge());
    }
    let wanted: Vec<Edge> = inputs
        .iter()
        .enumerate()
        .map(|(i, t)| {
            ensure!(
                t.requires_grad(),
                Graph,
                "grad",
                "One of the differentiated Tensors does not require grad: input {i}, of shape {:?}",
                t.dims().as_slice()
            );
            Ok(t.edge())
        })
        .collect::<Result<_>>()?;
    let plan = Plan::new(&edges, &wanted)?;
    let pass = Pass { plan: &plan, options, inputs };
    let results = pass.run(&edges, seeds)?;
    if options.accumulate {
        return Ok(Vec::new());
    }
    for (i, r) in results.iter().enumerate() {
        ensure!(
            r.is_some() || options.allow_unused,
            Graph,
            "grad",
            "One of the differentiated Tensors appears to not have been used in the graph: input {i}, of shape {:?}. \
             Set allow_unused=True if this is the desired behavior",
            inputs[i].dims().as_slice()
        );
    }
    // What users get shares memory with nothing else.
    results.into_iter().map(|g| g.map(|g| own(&g, options.create_graph)).transpose()).collect()
}

/// The state of a running pass.
struct Pass<'a> {
    plan: &'a Plan<'a>,
    options: &'a Options,
    inputs: &'a [Tensor],
}

/// Cotangents of a node, one an output.
type Cotangents = SmallVec<[Option<Tensor>; 1]>;

/// Gradients of leaves and of captured values, added up in the serial order.
#[derive(Default)]
struct Sinks {
    leaves: Vec<Option<Tensor>>,
    captured: Vec<Option<Tensor>>,
}

impl Pass<'_> {
    fn run(&self, roots: &[Edge], seeds: Vec<Tensor>) -> Result<Vec<Option<Tensor>>> {
        let plan = self.plan;
        let mut buffers: Vec<Cotangents> = plan.tasks.iter().map(|_| Cotangents::new()).collect();
        let mut sinks =
            Sinks { leaves: vec![None; plan.leaves.len()], captured: vec![None; self.inputs.len()] };
        let mut pending: Vec<u32> = plan.leaves.iter().map(|l| l.contributions).collect();
        for (edge, seed) in roots.iter().zip(seeds) {
            match plan.target(edge) {
                Some(Target::Task(k)) => {
                    let Edge::Node(n, nr) = edge else { continue };
                    self.deposit(&mut buffers[k as usize], n, *nr, seed)?;
                }
                Some(Target::Leaf(l)) => {
                    self.leaf(l as usize, seed, &mut sinks, &mut pending)?;
                }
                None => {}
            }
        }
        if let Some(r) = parallel::try_run(self, &mut buffers, &mut sinks, &mut pending) {
            r?;
        } else {
            let mut watch = Watch::new();
            for k in 0..plan.tasks.len() {
                watch.tick()?;
                let grads = std::mem::take(&mut buffers[k]);
                let Some(out) = self.step(k, grads, &mut sinks)? else {
                    self.skip(k, &mut sinks, &mut pending)?;
                    continue;
                };
                self.distribute(k, out, &mut buffers, &mut sinks, &mut pending)?;
            }
        }
        self.collect(sinks)
    }

    fn collect(&self, mut sinks: Sinks) -> Result<Vec<Option<Tensor>>> {
        let mut out = Vec::with_capacity(self.inputs.len());
        for (i, t) in self.inputs.iter().enumerate() {
            let g = match &self.plan.wanted[i] {
                // The last to ask takes it, so that it is copied for the others only.
                plan::Wanted::Leaf(Some(l)) => {
                    let again = |w: &plan::Wanted| matches!(w, plan::Wanted::Leaf(Some(m)) if m == l);
                    let slot = &mut sinks.leaves[*l as usize];
                    if self.plan.wanted[i + 1..].iter().any(again) { slot.clone() } else { slot.take() }
                }
                plan::Wanted::Leaf(None) => None,
                plan::Wanted::Value => sinks.captured[i].take(),
            };
            if self.options.accumulate {
                if let (plan::Wanted::Value, Some(g)) = (&self.plan.wanted[i], g) {
                    into_leaf(t, g, self.options.create_graph, true)?;
                }
                continue;
            }
            out.push(g);
        }
        Ok(out)
    }

    /// Adds a contribution to the cotangents of a node.
    fn deposit(&self, to: &mut Cotangents, node: &Node, nr: u32, g: Tensor) -> Result<()> {
        if to.is_empty() {
            to.resize(node.outputs.len(), None);
        }
        let slot = &mut to[nr as usize];
        *slot = Some(match slot.take() {
            Some(old) => add_into(old, g, self.options.create_graph)?,
            None => g,
        });
        Ok(())
    }

    /// Runs hooks and the step of task `k`. `None` when no gradient arrived, or when nothing below it is needed.
    fn step(&self, k: usize, mut grads: Cotangents, sinks: &mut Sinks) -> Result<Option<Produced>> {
        let task = &self.plan.tasks[k];
        let node = task.node;
        if grads.iter().all(Option::is_none) {
            return Ok(None);
        }
        let hooks = if node.has_hooks() { node.hooks() } else { None };
        if let Some(h) = &hooks {
            for (_, nr, f) in &h.tensor {
                if let Some(Some(g)) = grads.get(*nr as usize)
                    && let Some(new) = f(g)?
                {
                    check_hook(&new, &node.outputs[*nr as usize])?;
                    grads[*nr as usize] = Some(new);
                }
            }
        }
        for &(input, nr) in &task.captures {
            sinks.captured[input as usize] = grads.get(nr as usize).cloned().flatten();
        }
        if let Some(h) = &hooks
            && self.options.accumulate
            && self.inputs.is_empty()
        {
            for (nr, weak) in &h.retain {
                if let (Some(t), Some(Some(g))) = (weak.upgrade(), grads.get(*nr as usize)) {
                    into_leaf(&t, g.clone(), self.options.create_graph, true)?;
                }
            }
        }
        if !task.runs {
            return Ok(None);
        }
        if let Some(h) = &hooks {
            for (_, f) in &h.pre {
                if let Some(new) = f(&grads)? {
                    ensure!(
                        new.len() == grads.len(),
                        Graph,
                        "backward",
                        "a pre-hook of {} returned {} gradients, expected {}",
                        node.name(),
                        new.len(),
                        grads.len()
                    );
                    grads = new.into();
                }
            }
        }
        let before = hooks.as_ref().filter(|h| !h.post.is_empty()).map(|_| grads.clone());
        let step = Vjp {
            node,
            grads,
            needed: &task.needed,
            create_graph: self.options.create_graph,
            retain: self.options.retain_graph,
        };
        let mut out = node.op.vjp(step)?;
        if let (Some(h), Some(before)) = (&hooks, &before) {
            for (_, f) in &h.post {
                if let Some(new) = f(&out, before)? {
                    out = new.into();
                }
            }
        }
        self.validate(node, &task.needed, &mut out)?;
        Ok(Some(out))
    }

    /// Brings what a rule returned to the shapes and dtypes of the inputs.
    fn validate(&self, node: &Arc<Node>, needed: &[bool], out: &mut Produced) -> Result<()> {
        ensure!(
            out.len() == node.edges.len(),
            Graph,
            "backward",
            "{} returned an incorrect number of gradients: expected {}, got {}",
            node.name(),
            node.edges.len(),
            out.len()
        );
        for (i, g) in out.iter_mut().enumerate() {
            if !needed[i] {
                *g = None;
                continue;
            }
            let Some(t) = g else { continue };
            let fixed = match &node.edges[i] {
                Edge::None => None,
                Edge::Node(n, nr) => fit(t, &n.outputs[*nr as usize], node, i)?,
                Edge::Leaf(l) => {
                    let meta = l.with_layout(|l, d| {
                        t.with_layout(|tl, td| {
                            (tl.dims != l.dims || td != d).then(|| Meta { dims: l.dims.clone(), dtype: d })
                        })
                    });
                    match meta {
                        Some(m) => fit(t, &m, node, i)?,
                        None => None,
                    }
                }
            };
            if fixed.is_some() {
                *g = fixed;
            }
            if detect_anomaly()
                && let Some(t) = g
            {
                let nan = ops::any(&ops::isnan(&*t)?, &[], false)?.array()?.item()?.as_bool();
                ensure!(
                    !nan,
                    Graph,
                    "backward",
                    "Function '{}' returned nan values in its {i}th output",
                    node.name()
                );
            }
        }
        Ok(())
    }

    /// Sends gradients along the edges of a task.
    fn distribute(
        &self,
        k: usize,
        out: Produced,
        buffers: &mut [Cotangents],
        sinks: &mut Sinks,
        pending: &mut [u32],
    ) -> Result<()> {
        let task = &self.plan.tasks[k];
        for (i, g) in out.into_iter().enumerate() {
            match (task.targets[i], g) {
                (Some(Target::Task(to)), Some(g)) => {
                    let Edge::Node(n, nr) = &task.node.edges[i] else { continue };
                    self.deposit(&mut buffers[to as usize], n, *nr, g)?;
                }
                (Some(Target::Leaf(l)), g) => self.maybe_leaf(l as usize, g, sinks, pending)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// A task that did not run still counts for the leaves that wait for it.
    fn skip(&self, k: usize, sinks: &mut Sinks, pending: &mut [u32]) -> Result<()> {
        for t in &self.plan.tasks[k].targets {
            if let Some(Target::Leaf(l)) = t {
                self.maybe_leaf(*l as usize, None, sinks, pending)?;
            }
        }
        Ok(())
    }

    fn leaf(&self, l: usize, g: Tensor, sinks: &mut Sinks, pending: &mut [u32]) -> Result<()> {
        self.maybe_leaf(l, Some(g), sinks, pending)
    }

    /// Adds to a leaf's total; the last contribution of the pass finishes it.
    fn maybe_leaf(&self, l: usize, g: Option<Tensor>, sinks: &mut Sinks, pending: &mut [u32]) -> Result<()> {
        if let Some(g) = g {
            let slot = &mut sinks.leaves[l];
            *slot = Some(match slot.take() {
                Some(old) => add_into(old, g, self.options.create_graph)?,
                None => g,
            });
        }
        pending[l] -= 1;
        if pending[l] > 0 {
            return Ok(());
        }
        let Some(mut g) = sinks.leaves[l].take() else { return Ok(()) };
        let leaf = &self.plan.leaves[l].tensor;
        let (hooks, post) = leaf.leaf_hooks();
        for f in hooks {
            if let Some(new) = f(&g)? {
                let meta = leaf.with_layout(|l, d| Meta { dims: l.dims.clone(), dtype: d });
                check_hook(&new, &meta)?;
                g = new;
            }
        }
        if !self.options.accumulate {
            sinks.leaves[l] = Some(g);
            return Ok(());
        }
        if into_leaf(leaf, g, self.options.create_graph, false)? {
            for f in post {
                f(leaf)?;
            }
        }
        Ok(())
    }
}

type Produced = SmallVec<[Option<Tensor>; 2]>;

fn check_hook(new: &Tensor, meta: &Meta) -> Result<()> {
    ensure!(
        new.dims() == meta.dims,
        Graph,
        "backward",
        "a hook has changed the size of a gradient: got {:?}, expected {:?}",
        new.dims().as_slice(),
        meta.dims.as_slice()
    );
    Ok(())
}

/// The gradient in the input's shape and dtype; `None` when it has them.
fn fit(g: &Tensor, meta: &Meta, node: &Node, i: usize) -> Result<Option<Tensor>> {
    let (same_dims, same_dtype) = g.with_layout(|l, d| (l.dims == meta.dims, d == meta.dtype));
    if same_dims && same_dtype {
        return Ok(None);
    }
    let mut t = g.clone();
    if !same_dims {
        let dims = t.dims();
        if !crate::shape::can_expand(&meta.dims, &dims) {
            bail!(
                Graph,
                "backward",
                "Function {} returned an invalid gradient at index {i} - got {:?} but expected shape compatible with {:?}",
                node.name(),
                dims.as_slice(),
                meta.dims.as_slice()
            );
        }
        t = ops::sum_to(&t, &meta.dims)?;
    }
    if !same_dtype {
        t = ops::cast(&t, meta.dtype)?;
    }
    Ok(Some(t))
}

/// A slot that a worker fills.
type Slot<T> = Mutex<Option<T>>;
