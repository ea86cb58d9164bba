//! The Python module `rgrad._rgrad`: the only code that names pyo3.
#![allow(missing_docs)]
// What pyo3 generates inside our macros carries their spans, and with them this crate's lints.
#![allow(unsafe_op_in_unsafe_fn, unsafe_code)]

mod bind;
mod bind_nn;
mod bind_reduce;
mod bind_shape;
mod convert;
mod create;
mod door;
mod graph;
mod indexing;
mod interop;
mod operators;
mod scope;
mod tensor;

use pyo3::prelude::*;
use tensor::PyTensor;

/// Methods that are module functions as well: the function is the method, called with the tensor first.
const FUNCTIONS: &[&str] = &[
    "add",
    "sub",
    "subtract",
    "rsub",
    "div",
    "divide",
    "leaky_relu",
    "elu",
    "softplus",
    "threshold",
    "gelu",
    "addcmul",
    "addcdiv",
    "lerp",
    "sum",
    "mean",
    "var",
    "std",
    "amax",
    "amin",
    "max",
    "min",
    "argmax",
    "argmin",
    "logsumexp",
    "prod",
    "cumsum",
    "cumprod",
    "any",
    "all",
    "count_nonzero",
    "equal",
    "reshape",
    "transpose",
    "swapaxes",
    "swapdims",
    "t",
    "permute",
    "movedim",
    "moveaxis",
    "squeeze",
    "unsqueeze",
    "broadcast_to",
    "flatten",
    "ravel",
    "split",
    "split_with_sizes",
    "chunk",
    "unbind",
    "flip",
    "roll",
    "tril",
    "triu",
    "diagonal",
    "narrow",
    "select",
    "clone",
    "gather",
    "scatter_add",
    "scatter",
    "index_select",
    "index_add",
    "masked_select",
    "masked_fill",
    "nonzero",
    "take_along_dim",
    "index_put",
    "clamp",
    "clip",
    "clamp_min",
    "clamp_max",
    "matmul",
    "mm",
    "bmm",
    "mv",
    "dot",
    "outer",
    "addmm",
    "softmax",
    "log_softmax",
    "numel",
    "is_floating_point",
    "is_complex",
    "relu_",
    "clamp_",
    "detach",
    "as_strided",
];

/// PyTorch's other names of functions and methods.
const ALIASES: &[(&str, &str)] = &[
    ("multiply", "mul"),
    ("true_divide", "div"),
    ("negative", "neg"),
    ("absolute", "abs"),
    ("arccos", "acos"),
    ("arcsin", "asin"),
    ("arctan", "atan"),
    ("arccosh", "acosh"),
    ("arcsinh", "asinh"),
    ("arctanh", "atanh"),
    ("arctan2", "atan2"),
    ("fix", "trunc"),
    ("greater", "gt"),
    ("greater_equal", "ge"),
    ("less", "lt"),
    ("less_equal", "le"),
    ("not_equal", "ne"),
];

#[pymodule]
fn _rgrad(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    door::add_classes(m)?;
    convert::add(m)?;
    let class = py.get_type::<PyTensor>();
    m.add("Tensor", &class)?;
    for (alias, name) in ALIASES {
        class.setattr(*alias, class.getattr(*name)?)?;
    }
    let lists = [FUNCTIONS, bind::UNARY, bind::BINARY, bind::TESTS];
    for name in lists.into_iter().flatten().copied().chain(ALIASES.iter().map(|a| a.0)) {
        m.add(name, class.getattr(name)?)?;
    }
    macro_rules! functions {
        ($($f:path),*) => { $( m.add_function(wrap_pyfunction!($f, m)?)?; )* };
    }
    functions!(
        operators::pow,
        operators::remainder,
        convert::tensor,
        interop::from_numpy,
        interop::as_tensor,
        interop::asarray,
        interop::from_dlpack,
        interop::frombuffer,
        interop::_rebuild
    );
    graph::add(m)?;
    scope::add(m)?;
    create::add(m)?;
    bind_shape::add(m)?;
    bind_nn::add(m)?;
    for (name, v) in
        [("inf", f64::INFINITY), ("nan", f64::NAN), ("pi", std::f64::consts::PI), ("e", std::f64::consts::E)]
    {
        m.add(name, v)?;
    }
    m.add("newaxis", py.None())?;
    Ok(())
}
