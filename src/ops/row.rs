//! Elementwise rows: how a line of the table becomes kernels, derivatives, a recorded operation and documentation.

use super::expr::{Cx, Expr};
use super::{Operand, default_dtype};
use crate::dtype::{Category, DType, Promotion, Scalar};
use crate::graph::{Edge, From, Input, Meta, Node, Op, Saved, Tensor, Vjp};
use crate::kernels::elementwise::{self, In, IntRun};
use crate::kernels::simd::Kernel;
use crate::shape::{self, Dims};
use crate::{Array, Error, Kind, Result, bail, ensure};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

/// The most tensor operands of a row.
pub const MAX_OPERANDS: usize = 3;

/// How a row treats integers.
pub enum Ints {
    /// Computes in the default float dtype.
    Promote,
    /// Stays in integers, with this loop.
    Run(IntRun),
}

/// The derivative with respect to one operand.
pub struct Derivative {
    /// The operand's name.
    pub operand: &'static str,
    /// The formula as written.
    pub formula: &'static str,
    /// The fused loop over cotangent, operands, parameters and result.
    pub kernel: Kernel,
    /// The formula as recorded operations.
    pub record: for<'c> fn(Expr<'c>, &[Expr<'c>]) -> Expr<'c>,
    /// Bit `i` tells whether the formula mentions value `i` of operands, parameters, result.
    pub mentions: u32,
}

/// An elementwise operation.
pub struct Row {
    /// Name in Rust and Python.
    pub name: &'static str,
    /// What it computes.
    pub doc: &'static str,
    /// The formula of the value.
    pub formula: &'static str,
    /// Names of the tensor operands.
    pub operands: &'static [&'static str],
    /// Names of the numeric parameters.
    pub params: &'static [&'static str],
    /// The loop of the value.
    pub kernel: Kernel,
    /// What happens to integers.
    pub ints: Ints,
    /// Derivatives, one an operand.
    pub derivatives: &'static [Derivative],
}

/// Whether `word` occurs in `text` as an identifier that is not only asked for its shape.
pub const fn mentions(word: &str, text: &str) -> bool {
    let (w, t) = (word.as_bytes(), text.as_bytes());
    let mut i = 0;
    while i + w.len() <= t.len() {
        let mut j = 0;
        while j < w.len() && t[i + j] == w[j] {
            j += 1;
        }
        if j == w.len() {
            let left = i == 0 || !is_ident(t[i - 1]) && t[i - 1] != b'.';
            let end = i + w.len();
            let right = end == t.len() || !is_ident(t[end]);
            if left
                && right
                && !starts(t, end, b".dims")
                && !starts(t, end, b".ndim")
                && !starts(t, end, b".numel")
            {
                return true;
            }
        }
        i += 1;
    }
    false
}

const fn is_ident(c: u8) -> bool {
    c == b'_' || c.is_ascii_alphanumeric()
}

const fn starts(t: &[u8], mut at: usize, what: &[u8]) -> bool {
    let mut j = 0;
    while at < t.len() && j < what.len() {
        // Token streams may be printed with spaces around the dot.
        if t[at] != b' ' {
            if t[at] != what[j] {
                return false;
            }
            j += 1;
        }
        at += 1;
    }
    j == what.len()
}

/// Bit set of the names that a formula mentions.
pub const fn mention_bits(names: &[&str], text: &str) -> u32 {
    let mut bits = 0;
    let mut i = 0;
    while i < names.len() {
        if mentions(names[i], text) {
            bits |= 1 << i;
        }
        i += 1;
    }
    bits
}

/// Declares rows. Each becomes a module with the static `ROW`, and a public function is left to the caller.
///
/// `name(operands; parameters) => result = formula, ints(|…| …)?, d(operand, g) = formula, …;`
#[macro_export]
macro_rules! define_rows {
    ($( $(#[doc = $doc:literal])* $name:ident($($x:ident),+ $(; $($p:ident),+)?) => $y:ident = $kernel:expr
        $(, ints(|$($i:ident),+| $int:expr))? $(, d($wrt:ident, $g:ident) = $d:expr)* ; )*) => { $(
        $crate::define_rows! { @row [$($x,)+ $($($p,)+)? $y]
            $(#[doc = $doc])* $name($($x),+ $(; $($p),+)?) => $y = $kernel
            $(, ints(|$($i),+| $int))? $(, d($wrt, $g) = $d)* ; }
    )* };
    (@row $all:tt $(#[doc = $doc:literal])* $name:ident($($x:ident),+ $(; $($p:ident),+)?) => $y:ident = $kernel:expr
        $(, ints(|$($i:ident),+| $int:expr))? $(, d($wrt:ident, $g:ident) = $d:expr)* ; ) => {
        #[doc(hidden)]
        #[allow(missing_docs, unused_variables, clippy::redundant_locals, unused_imports, non_camel_case_types)]
        pub mod $name {
            use super::*;
            use $crate::kernels::simd::{Formula, Kernel, MathLanes, Lanes};
            use $crate::ops::expr::{Expr, V};
            use $crate::ops::row::{Derivative, Ints, Row, mention_bits};
            use $crate::ops::Real;

            pub const OPERANDS: &[&str] = &[$(stringify!($x)),+];
            pub const PARAMS: &[&str] = &[$($(stringify!($p)),+)?];
            const NAMES: &[&str] = &[$(stringify!($x),)+ $($(stringify!($p),)+)? stringify!($y)];
            const N: usize = OPERANDS.len() + PARAMS.len();

            pub struct Value;
            impl Formula<N, 1> for Value {
                #[inline(always)]
                fn eval<L: MathLanes>([$($x,)+ $($($p,)+)?]: [L; N]) -> [L; 1] { [$kernel] }
            }

            $( pub mod $wrt {
                use super::*;
                #[inline(always)]
                pub fn vjp<R: Real>($g: R, $all: [R; N + 1]) -> R
                where
                    f64: std::ops::Add<R, Output = R> + std::ops::Sub<R, Output = R>
                        + std::ops::Mul<R, Output = R> + std::ops::Div<R, Output = R>,
                {
                    $d
                }
                pub struct D;
                impl Formula<{ N + 2 }, 1> for D {
                    #[inline(always)]
                    fn eval<L: MathLanes>(v: [L; N + 2]) -> [L; 1] {
                        let [g, rest @ ..] = v;
                        let r = vjp(V(g), rest.map(V)).0;
                        // A result that is NaN while its cotangent is exactly zero is zero: masked values stay masked.
                        [L::select(r.is_nan() & g.eq(L::from_f64(0.0)), L::from_f64(0.0), r)]
                    }
                }
                pub fn record<'c>(g: Expr<'c>, v: &[Expr<'c>]) -> Expr<'c> {
                    let all: [Expr<'c>; N + 1] = v.try_into().expect("operands, parameters, result");
                    vjp(g, all)
                }
            } )*

            $crate::define_rows!(@ints $($($i),+ => $int)?);

            pub static ROW: Row = Row {
                name: stringify!($name),
                doc: concat!($($doc, "\n"),*),
                formula: stringify!($kernel),
                operands: OPERANDS,
                params: PARAMS,
                kernel: Kernel::of::<Value, N, 1>(),
                ints: INTS,
                derivatives: &[$( Derivative {
                    operand: stringify!($wrt),
                    formula: stringify!($d),
                    kernel: Kernel::of::<$wrt::D, { N + 2 }, 1>(),
                    record: $wrt::record,
                    mentions: mention_bits(NAMES, stringify!($d)),
                } ),*],
            };
        }
    };
    (@ints) => { pub const INTS: Ints = Ints::Promote; };
    (@ints $($i:ident),+ => $int:expr) => {
        #[allow(unsafe_code)]
        unsafe fn int_run(
            n: usize, ins: *const *const i64, strides: *const isize, out: *mut i64, stride: isize,
        ) {
            const K: usize = [$(stringify!($i)),+].len();
            for k in 0..n as isize {
                // SAFETY: the caller gives K pointers and strides that are valid for n elements.
                unsafe {
                    let v: [i64; K] = std::array::from_fn(|j| (*ins.add(j)).offset(k * *strides.add(j)).read());
                    let [$($i),+] = v;
                    out.offset(k * stride).write($int);
                }
            }
        }
        pub const INTS: Ints = Ints::Run(int_run);
    };
}

/// A recorded row with `N` saved values.
struct Recorded<const N: usize> {
    row: &'static Row,
    params: SmallVec<[f64; 2]>,
    /// Which of operands and result are saved, in that order.
    mask: u8,
    work: usize,
    saved: Mutex<Option<[Saved; N]>>,
}

impl<const N: usize> Recorded<N> {
    fn take(&self, retain: bool) -> Result<[Saved; N]> {
        let mut s = self.saved.lock();
        // A node that saved nothing can run any number of times.
        let out = if retain || N == 0 { s.clone() } else { s.take() };
        out.ok_or_else(|| freed(self.row.name))
    }
}

/// The error of a second pass over a freed node.
pub(crate) fn freed(op: &str) -> Error {
    Error::new(
        Kind::Graph,
        "backward",
        format!(
            "Trying to backward through the graph a second time: the saved values of {op} have been freed; pass \
             retain_graph=True to the first backward or grad call"
        ),
    )
}

impl<const N: usize> Op for Recorded<N> {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.row.name)
    }

    fn vjp(&self, step: Vjp<'_>) -> Result<SmallVec<[Option<Tensor>; 2]>> {
        let saved = self.take(step.retain)?;
        let mut out: SmallVec<[Option<Tensor>; 2]> = SmallVec::new();
        let Some(g) = step.grads.first().and_then(Option::as_ref) else {
            out.resize(step.needed.len(), None);
            return Ok(out);
        };
        let by_hand = step.create_graph || self.mask & RECOMPUTE != 0;
        if by_hand || g.dual().is_some() || saved.iter().any(is_dual) {
            return self.record_vjp(&step, g, &saved);
        }
        let compute = step.node.outputs[0].dtype;
        let ga = g.array()?;
        for s in &saved {
            s.check(step.node)?;
        }
        for (i, d) in self.row.derivatives.iter().enumerate() {
            if !step.needed[i] {
                out.push(None);
                continue;
            }
            if d.mentions == 0 && d.formula == "g" {
                out.push(Some(g.clone()));
                continue;
            }
            let mut ins = [In::Number(0.0); elementwise::MAX_INPUTS];
            ins[0] = In::Array(&ga);
            let mut next = 0;
            let operands = self.row.operands.len();
            for k in 0..=operands {
                if self.mask & (1 << k) != 0 {
                    let at = if k < operands { 1 + k } else { 1 + operands + self.params.len() };
                    ins[at] = match &saved[next] {
                        Saved::Array { array, .. } => In::Array(array),
                        Saved::Number(s) => In::Number(s.as_f64()),
                    };
                    next += 1;
                }
            }
            for (k, &p) in self.params.iter().enumerate() {
                ins[1 + operands + k] = In::Number(p);
            }
            let used = &ins[..2 + operands + self.params.len()];
            let layout = elementwise::result_layout(ga.dims(), &used[..1]);
            let r = Array::uninit(ga.dims(), compute)?.with_layout(layout);
            elementwise::run(&d.kernel, compute, used, &r)?;
            out.push(Some(Tensor::new(r)));
        }
        Ok(out)
    }

    fn release(&self) {
        if N > 0 {
            let old = self.saved.lock().take();
            drop(old);
        }
    }

    fn is_released(&self) -> bool {
        N > 0 && self.saved.lock().is_none()
    }

    fn work(&self) -> usize {
        self.work
    }

    fn saved_bytes(&self) -> usize {
        self.saved.lock().as_ref().map_or(0, |s| s.iter().map(Saved::bytes).sum())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn is_dual(s: &Saved) -> bool {
    matches!(s, Saved::Array { from: From::Whole(t), .. } if t.dual().is_some())
}

impl<const N: usize> Recorded<N> {
    fn record_vjp(
        &self,
        step: &Vjp<'_>,
        g: &Tensor,
        saved: &[Saved; N],
    ) -> Result<SmallVec<[Option<Tensor>; 2]>> {
        let operands = self.row.operands.len();
        let cx = Cx::new(step.node.outputs[0].dtype);
        let mut values: SmallVec<[Expr<'_>; 6]> = SmallVec::new();
        let mut whole: SmallVec<[Saved; 3]> = SmallVec::new();
        let mut next = 0;
        for k in 0..=operands {
            if k == operands {
                for &p in &self.params {
                    values.push(cx.number(p));
                }
            }
            if self.mask & (1 << k) == 0 {
                values.push(cx.ghost(Dims::new()));
                continue;
            }
            let s = &saved[next];
            next += 1;
            whole.push(s.clone());
            match s {
                Saved::Number(v) => values.push(cx.number(v.as_f64())),
                _ => values.push(cx.tensor(s.unpack(step.node, step.create_graph)?)),
            }
        }
        // With a tangent among the operands the result was not saved: it is computed again, tangent included.
        if self.mask & RECOMPUTE != 0 {
            let tensors: Vec<Saved> = whole.to_vec();
            let mut held: SmallVec<[Tensor; 3]> = SmallVec::new();
            for s in &tensors {
                held.push(s.unpack(step.node, step.create_graph)?);
            }
            let ins: SmallVec<[Operand<'_>; 3]> = tensors
                .iter()
                .zip(&held)
                .map(|(s, t)| match s {
                    Saved::Number(v) => Operand::Number(*v),
                    _ => Operand::Tensor(t),
                })
                .collect();
            let y = apply(self.row, &ins, &self.params)?;
            *values.last_mut().expect("the result") = cx.tensor(y);
        }
        let mut out = SmallVec::new();
        let meta = &step.node.outputs[0];
        for (i, d) in self.row.derivatives.iter().enumerate() {
            if !step.needed[i] {
                out.push(None);
                continue;
            }
            let e = (d.record)(cx.tensor(g.clone()), &values);
            let r = cx.finish(e, &meta.dims, meta.dtype)?;
            out.push(Some(super::guard(&r, g)?));
        }
        Ok(out)
    }
}

/// Bit of `mask`: the result is recomputed from the operands.
const RECOMPUTE: u8 = 1 << 7;

/// The dtype of the result and of the computation.
fn result_dtype(row: &Row, ins: &[Operand<'_>], got: &[Option<Input>; MAX_OPERANDS]) -> Result<DType> {
    let mut p = Promotion::default();
    for (i, o) in ins.iter().enumerate() {
        match (o, &got[i]) {
            (Operand::Number(s), _) => p.number(*s, default_dtype()),
            (_, Some(t)) => p.tensor(t.array.dtype(), t.array.ndim()),
            _ => {}
        }
    }
    let d = p.result().expect("at least one operand");
    Ok(match (&row.ints, d.category()) {
        (_, Category::Float) => d,
        (Ints::Promote, _) => default_dtype(),
        // A power of bools counts.
        (_, Category::Bool) if row.name == "square" => DType::I64,
        (Ints::Run(_), _) => d,
    })
}

/// Reads the operands and finds the shape and dtype of the result.
struct Prepared {
    got: [Option<Input>; MAX_OPERANDS],
    dims: Dims,
    dtype: DType,
    dual: bool,
}

fn prepare(row: &Row, ins: &[Operand<'_>]) -> Result<Prepared> {
    let mut got: [Option<Input>; MAX_OPERANDS] = [None, None, None];
    let mut dims: Option<Dims> = None;
    let mut same: Option<DType> = None;
    let (mut mixed, mut dual) = (false, false);
    for (slot, o) in got.iter_mut().zip(ins) {
        match o {
            Operand::Tensor(t) => {
                let i = t.input()?;
                dual |= i.dual;
                match &mut dims {
                    None => dims = Some(Dims::from_slice(i.array.dims())),
                    Some(d) if d.as_slice() == i.array.dims() => {}
                    Some(d) => *d = shape::broadcast(d, i.array.dims())?,
                }
                mixed |= same.is_some_and(|s| s != i.array.dtype());
                same = Some(i.array.dtype());
                *slot = Some(i);
            }
            Operand::Number(s) => {
                mixed |= s.category() == Category::Float && same.is_none_or(|d| !d.is_float())
            }
        }
    }
    let dtype = match same {
        Some(d) if !mixed && d.is_float() => d,
        _ => result_dtype(row, ins, &got)?,
    };
    Ok(Prepared { got, dims: dims.unwrap_or_default(), dtype, dual })
}

/// Computes the value into `out`, or into a new array.
fn compute(
    row: &Row,
    ins: &[Operand<'_>],
    got: &[Option<Input>; MAX_OPERANDS],
    params: &[f64],
    dims: &[usize],
    dtype: DType,
    out: Option<&Array>,
) -> Result<Array> {
    if !dtype.is_float() {
        let Ints::Run(f) = row.ints else { unreachable!("promoted to float") };
        if dtype == DType::Bool && matches!(row.name, "neg" | "sub") {
            bail!(Type, row.name, "is not supported on bool tensors; use logical_not or logical_xor");
        }
        if matches!(row.name, "floor_divide" | "remainder" | "fmod") {
            let zero = match (ins[1], &got[1]) {
                (_, Some(d)) => d.array.to_vec::<i64>()?.contains(&0),
                (Operand::Number(s), None) => s.as_i64() == 0,
                _ => false,
            };
            ensure!(!zero, Value, row.name, "integer division by zero (ZeroDivisionError)");
        }
        let mut values: SmallVec<[(Option<&Array>, Scalar); 4]> = SmallVec::new();
        for (o, g) in ins.iter().zip(got) {
            values.push(match (o, g) {
                (Operand::Number(s), _) => (None, *s),
                (_, g) => (g.as_ref().map(|g| &g.array), Scalar::Int(0)),
            });
        }
        values.extend(params.iter().map(|&p| (None, Scalar::Float(p))));
        let r = elementwise::run_int(f, &values, dims, dtype)?;
        return match out {
            Some(o) => o.copy_from(&r).map(|()| o.clone()),
            None => Ok(r),
        };
    }
    let mut list = [In::Number(0.0); elementwise::MAX_INPUTS];
    for (k, (o, g)) in ins.iter().zip(got).enumerate() {
        list[k] = match (o, g) {
            (Operand::Number(s), _) => In::Number(s.as_f64()),
            (_, Some(g)) => In::Array(&g.array),
            _ => unreachable!("a tensor operand was read"),
        };
    }
    for (k, &p) in params.iter().enumerate() {
        list[ins.len() + k] = In::Number(p);
    }
    let list = &list[..ins.len() + params.len()];
    let out = match out {
        Some(o) if o.dtype() == dtype => o.clone(),
        Some(o) => {
            let r = Array::uninit(dims, dtype)?;
            elementwise::run(&row.kernel, dtype, list, &r)?;
            o.copy_from(&r)?;
            return Ok(o.clone());
        }
        None => {
            let layout = elementwise::result_layout(dims, list);
            Array::uninit(dims, dtype)?.with_layout(layout)
        }
    };
    elementwise::run(&row.kernel, dtype, list, &out)?;
    Ok(out)
}

/// Applies a row: computes the value and records it where a gradient is wanted.
///
/// # Errors
/// [`Kind::Shape`] when operands cannot be broadcast; errors of reading the operands.
#[inline]
pub fn apply(row: &'static Row, ins: &[Operand<'_>], params: &[f64]) -> Result<Tensor> {
    let p = prepare(row, ins).map_err(|e| e.in_op(row.name))?;
    if p.dual {
        return super::forward_mode::row(row, ins, params, p.got);
    }
    let out = compute(row, ins, &p.got, params, &p.dims, p.dtype, None).map_err(|e| e.in_op(row.name))?;
    if !p.dtype.is_float() || p.got.iter().flatten().all(|g| !g.edge.is_some()) {
        return Ok(Tensor::new(out));
    }
    if p.got.iter().flatten().any(|g| g.inference) {
        no_inference(row, &p.got)?;
    }
    let edge = record(row, ins, p.got, params, &out, false);
    Ok(Tensor::with_edge(out, edge))
}

/// Tensors made in inference mode have no version counter to check, so they cannot be saved.
#[cold]
fn no_inference(row: &Row, got: &[Option<Input>; MAX_OPERANDS]) -> Result<()> {
    let tracked =
        got.iter().zip(row.derivatives).filter(|(g, _)| g.as_ref().is_some_and(|g| g.edge.is_some()));
    let bits = tracked.fold(0, |b, (_, d)| b | d.mentions);
    for (i, g) in got.iter().enumerate() {
        let saved = bits >> i & 1 != 0 && g.as_ref().is_some_and(|g| g.inference);
        ensure!(
            !saved,
            Graph,
            row.name,
            "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor \
             and use it in autograd."
        );
    }
    Ok(())
}

/// Records a row whose value is `out`; the operands' data are kept where a needed derivative mentions them.
pub(super) fn record(
    row: &'static Row,
    ins: &[Operand<'_>],
    got: [Option<Input>; MAX_OPERANDS],
    params: &[f64],
    out: &Array,
    whole: bool,
) -> Edge {
    let operands = ins.len();
    let mut edges: SmallVec<[Edge; 2]> = SmallVec::new();
    let mut bits = 0u32;
    let mut arrays: [Option<Array>; MAX_OPERANDS] = [None, None, None];
    for (k, g) in got.into_iter().enumerate().take(operands) {
        let edge = match g {
            Some(g) => {
                arrays[k] = Some(g.array);
                g.edge
            }
            None => Edge::None,
        };
        if edge.is_some() {
            bits |= row.derivatives[k].mentions;
        }
        edges.push(edge);
    }
    let operand_bits = (bits as u8) & ((1 << operands) - 1);
    let result_bit = (bits >> (operands + params.len()) & 1 != 0) as u8;
    let mask = match (whole, result_bit) {
        // All operands are kept with their tangents; the result comes from them again.
        (true, _) if bits == 0 => 0,
        (true, r) => ((1 << operands) - 1) | if r != 0 { RECOMPUTE } else { 0 },
        (false, r) => operand_bits | r << operands,
    };
    let mut save = |k: usize| {
        if k == operands {
            return Saved::array(out.clone(), From::Output(0));
        }
        match (&ins[k], arrays[k].take()) {
            (Operand::Number(s), _) => Saved::Number(*s),
            (Operand::Tensor(t), Some(a)) if whole => Saved::array(a, From::Whole((*t).clone())),
            (_, Some(a)) => Saved::array(a, From::Input(k as u8)),
            _ => unreachable!("a tensor operand was read"),
        }
    };
    let mut which = [0usize; MAX_OPERANDS + 1];
    let mut count = 0;
    for k in 0..=operands {
        if mask & (1 << k) != 0 {
            which[count] = k;
            count += 1;
        }
    }
    let outputs = SmallVec::from_buf([Meta::of(out)]);
    let params = SmallVec::from_slice(params);
    let work = out.numel() * 4;
    macro_rules! node {
        ($n:literal) => {{
            let saved: [Saved; $n] = std::array::from_fn(|i| save(which[i]));
            Node::new(
                Recorded::<$n> { row, params, mask, work, saved: Mutex::new(Some(saved)) },
                edges,
                outputs,
            )
        }};
    }
    let node: Arc<Node> = match count {
        0 => node!(0),
        1 => node!(1),
        2 => node!(2),
        3 => node!(3),
        _ => node!(4),
    };
    Edge::Node(node, 0)
}

/// Applies a row in place: the first operand is written over.
///
/// # Errors
/// As [`apply`]; [`Kind::Type`] when the result's kind cannot be cast to the operand's; [`Kind::Shape`] when the
/// result has another shape; [`Kind::Graph`] when the tensor may not be written.
pub fn apply_inplace(row: &'static Row, target: &Tensor, rest: &[Operand<'_>], params: &[f64]) -> Result<()> {
    let mut ins: SmallVec<[Operand<'_>; MAX_OPERANDS]> = SmallVec::new();
    ins.push(Operand::Tensor(target));
    ins.extend_from_slice(rest);
    let mut p = prepare(row, &ins).map_err(|e| e.in_op(row.name))?;
    let recorded = p.got.iter().flatten().any(|g| g.edge.is_some());
    let array = target.check_inplace(row.name, recorded)?;
    check_target(row.name, &array, &p.dims, p.dtype)?;
    if p.dual {
        // The node keeps its operands whole, so the one that is written over is copied first.
        let old = super::clone(target)?;
        let mut copied: SmallVec<[Operand<'_>; MAX_OPERANDS]> = ins.iter().copied().collect();
        copied[0] = Operand::Tensor(&old);
        let got = prepare(row, &copied)?.got;
        let r = super::forward_mode::row(row, &copied, params, got)?;
        return super::inplace::assign(target, &r);
    }
    if recorded {
        // What a derivative needs of the old value is copied before it is written over.
        let needs_old =
            p.got.iter().flatten().zip(row.derivatives).any(|(g, d)| g.edge.is_some() && d.mentions & 1 != 0);
        if needs_old && let Some(g) = &mut p.got[0] {
            g.array = array.copied()?;
        }
    }
    for g in p.got.iter_mut().flatten().skip(1) {
        let overlaps = g.array.storage().same(array.storage()) && g.array.layout() != array.layout();
        if overlaps {
            g.array = g.array.copied()?;
        }
    }
    compute(row, &ins, &p.got, params, &p.dims, p.dtype, Some(&array)).map_err(|e| e.in_op(row.name))?;
    array.storage().bump();
    if recorded && array.dtype().is_float() {
        let edge = record(row, &ins, p.got, params, &array, false);
        super::inplace::rewrite(target, edge)?;
    }
    Ok(())
}

/// Checks that a result of `dims` and `dtype` can be written to a tensor.
pub(super) fn check_target(op: &'static str, target: &Array, dims: &[usize], dtype: DType) -> Result<()> {
    ensure!(
        dims == target.dims(),
        Shape,
        op,
        "output with shape {:?} doesn't match the broadcast shape {dims:?}; an in-place operation cannot change the \
         shape",
        target.dims()
    );
    if dtype.category() > target.dtype().category() {
        bail!(
            Type,
            op,
            "result type {dtype} can't be cast to the desired output type {}; use the out-of-place form",
            target.dtype()
        );
    }
    Ok(())
}
