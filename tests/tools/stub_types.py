"""Types that the stub of the compiled module cannot read off it: of parameters, results and properties."""

HEADER = '''\
# Written by tests/tools/make_stubs.py from the compiled module; types come from tests/tools/stub_types.py.
"""Types of the compiled core."""

import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Self, SupportsIndex, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt

from . import _returns

_bool: TypeAlias = builtins.bool
_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_Number: TypeAlias = builtins.int | builtins.float
_Operand: TypeAlias = Tensor | builtins.int | builtins.float | np.ndarray[Any, Any] | np.generic
_Dims: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_Device: TypeAlias = device | str
# The classes by names that no attribute of Tensor hides.
_dtype: TypeAlias = dtype
_device: TypeAlias = device
'''

_PARAMETERS = {
    "_Operand": "other end exponent",
    "Tensor": "input tensor tensor1 tensor2 mat1 mat2 vec vec2 batch1 batch2 index indices mask src source target "
    "weight bias like primal tangent condition values",
    "Sequence[Tensor]": "tensors roots inputs outputs",
    "Sequence[Tensor | None]": "cotangents",
    "SupportsIndex": "protocol dim dim0 dim1 dim2 axis axis0 axis1 start_dim end_dim",
    "_Dims": "source destination dims shifts",
    "_int": "storage_offset length n m steps chunks diagonal offset level count seed ignore_index _stacklevel correction "
    "num_classes groups padding_idx",
    "_bool": "keepdim keepdims requires_grad pin_memory inplace accumulate retain_graph create_graph allow_unused on "
    "is_output sparse_grad as_tuple copy force non_blocking _share unbiased materialize largest sorted stable "
    "descending training upper left full_matrices ceil_mode count_include_pad is_causal hermitian unitriangular",
    "_Number": "start step low high alpha beta negative_slope value min max a_min a_max fill_value mean std from_ to "
    "p ord margin",
    "_float": "label_smoothing threshold eps momentum dropout_p scale rtol atol delta",
    "Sequence[SupportsIndex]": "size shape sizes repeats split_sizes normalized_shape",
    "Sequence[_bool]": "differentiable dirty",
    "object": "_args",
    "_dtype": "dtype type1 type2 d",
    "_Device": "device",
    "Generator": "generator",
    "str": "name equation indexing mode",
    "Literal['none', 'mean', 'sum']": "reduction",
    "Literal['none', 'tanh']": "approximate",
    "Literal['floor', 'trunc']": "rounding_mode",
    "Literal['sum', 'prod', 'mean', 'amax', 'amin', 'add', 'multiply']": "reduce",
    "_int | Sequence[_int]": "kernel_size stride padding dilation split_size output_size",
    "Callable[..., Any]": "hook callback",
    "Any": "data obj array ext_tensor buffer memo memory_format layout out size_average stream max_version dl_device "
    "args ufunc method kwargs spec node state capsule counter key _",
}
PARAMETERS = {name: kind for kind, names in _PARAMETERS.items() for name in names.split()}

_MANY = "_Dims"
# Types that belong to one function's parameter.
SPECIAL = {
    **{
        (f, p): _MANY
        for f in ("sum", "mean", "var", "std", "amax", "amin", "logsumexp", "squeeze")
        for p in ("dim", "axis")
    },
    **{
        (f, p): _MANY
        for f in ("any", "all", "count_nonzero", "roll", "flip")
        for p in ("dim", "axis", "dims")
    },
    **{(f, "threshold"): "_Number" for f in ("threshold", "softplus")},
    **{(f, "value"): "_Operand" for f in ("masked_fill", "masked_fill_", "fill_", "full", "copy_")},
    **{(f, "src"): "_Operand" for f in ("copy_", "scatter", "scatter_")},
    **{
        (f, p): "_Operand"
        for f in ("clamp", "clamp_", "clip", "clip_", "clamp_min", "clamp_max")
        for p in ("min", "max", "a_min", "a_max")
    },
    **{(f, "values"): "Tensor | _Number" for f in ("index_put", "index_put_")},
    **{(f, "indices"): "Sequence[Tensor]" for f in ("index_put", "index_put_")},
    **{(f, "input"): "_Operand" for f in ("where",)},
    **{(f, "weight"): "Tensor | _Number" for f in ("lerp", "lerp_")},
    **{(f, "source"): "Tensor" for f in ("index_add", "index_add_")},
    **{(f, "start"): "SupportsIndex" for f in ("narrow",)},
    **{(f, "index"): "SupportsIndex" for f in ("select",)},
    **{(f, p): "Tensor | _dtype | _Number" for f in ("result_type",) for p in ("tensor1", "tensor2")},
    ("__array__", "dtype"): "npt.DTypeLike",
    ("can_cast", "from_"): "_dtype",
    ("can_cast", "to"): "_dtype",
    ("device.__init__", "index"): "_int",
    ("device.__init__", "type"): "_Device",
    ("dot", "tensor"): "Tensor",
    ("_Scope", "parent"): "_Scope",
    ("equal", "other"): "Tensor",
    ("ret", "to"): "_Scope",
    ("_SavedTensor", "name"): "str",
    ("backward", "gradient"): "Tensor",
    ("backward", "inputs"): "Tensor | Sequence[Tensor]",
    ("Size", "iterable"): "Any",
    ("set_rng_state", "state"): "Any",
    ("size", "dim"): "SupportsIndex",
    ("_rebuild", "array"): "np.ndarray[Any, Any]",
    ("from_numpy", "array"): "np.ndarray[Any, Any]",
    ("reshape_as", "other"): "Tensor",
    ("view_as", "other"): "Tensor",
    ("expand_as", "other"): "Tensor",
    ("type_as", "other"): "Tensor",
    ("matmul", "other"): "Tensor | np.ndarray[Any, Any]",
}

# Results that are not a tensor.
RESULTS = {
    "_int": "dim ndimension numel nelement storage_offset data_ptr element_size get_num_threads _live_bytes "
    "initial_seed _enter_dual_level __len__ __hash__ __int__ __index__ level",
    "_bool": "equal is_contiguous is_floating_point is_complex is_inference _is_view is_tensor can_cast "
    "_is_grad_enabled _set_grad_enabled _is_inference_enabled _set_inference_enabled _is_anomaly_enabled "
    "_set_detect_anomaly __bool__ __contains__",
    "_float": "__float__",
    "complex": "__complex__",
    "str": "__repr__ __str__ __format__",
    "None": "backward set_num_threads set_default_dtype manual_seed set_rng_state set_state empty_cache "
    "reset_peak_memory retain_grad __setitem__ enter leave close ret ret_own release remove _exit_dual_level "
    "_own_like _panic_for_test __exit__ __init__",
    "Any": "get_rng_state get_state unpack_raw item tolist __dlpack__ __reduce__ __reduce_ex__ __array_ufunc__",
    "tuple[_int, _int]": "__dlpack_device__",
    "tuple[Tensor, ...]": "split split_with_sizes chunk unbind broadcast_tensors meshgrid _record_function "
    "tensor_split hsplit vsplit",
    "tuple[Tensor | None, ...] | None": "_run_backward",
    "tuple[Tensor, Tensor | None]": "_unpack_dual",
    "_dtype": "get_default_dtype promote_types result_type",
    "np.ndarray[Any, Any]": "numpy __array__",
    "dict[str, _int]": "memory_stats stats",
    "list[dict[str, str]]": "_ops_registry",
    "RemovableHandle": "register_hook register_prehook register_post_accumulate_grad_hook",
    "_Scope | None": "_current_scope",
    "Self": "requires_grad_ __enter__",
    "Iterator[Tensor]": "__iter__",
    "tuple[_int, ...]": "_philox4x32",
}
RESULTS = {name: kind for kind, names in RESULTS.items() for name in names.split()}

# Results that belong to one class's method.
SPECIAL_RESULTS = {
    ("Generator", "manual_seed"): "Self",
    ("Generator", "initial_seed"): "_int",
    ("Node", "name"): "str",
    ("Size", "numel"): "_int",
    ("_SavedTensor", "unpack"): "Tensor",
}

# Parameter lists and results of functions that one signature does not describe.
OVERLOADS = {
    name: [
        ("{self}, /, dim: None = None, *, other: None = None, axis: None = None", "Tensor"),
        ("{self}, /, dim: Tensor", "Tensor"),
        ("{self}, /, *, other: Tensor", "Tensor"),
        ("{self}, /, dim: _int, keepdim: _bool = False, *, keepdims: _bool = False", f"_returns.{name}"),
        ("{self}, /, *, axis: _int, keepdim: _bool = False, keepdims: _bool = False", f"_returns.{name}"),
    ]
    for name in ("max", "min")
}
OVERLOADS["size"] = [("{self}, /, dim: None = None", "Size"), ("{self}, /, dim: SupportsIndex", "_int")]
OVERLOADS["stride"] = [
    ("{self}, /, dim: None = None", "tuple[_int, ...]"),
    ("{self}, /, dim: SupportsIndex", "_int"),
]
OVERLOADS["nonzero"] = [
    ("{self}, /, *, as_tuple: Literal[False] = False", "Tensor"),
    ("{self}, /, *, as_tuple: Literal[True]", "tuple[Tensor, ...]"),
]
OVERLOADS["where", "function"] = [
    ("condition: Tensor, input: None = None, other: None = None", "tuple[Tensor, ...]"),
    ("condition: Tensor, input: _Operand, other: _Operand", "Tensor"),
]

PROPERTIES = {
    "Tensor": "T mT data",
    "Tensor | None": "_base grad",
    "Node | None": "grad_fn",
    "_device": "device",
    "_dtype": "dtype",
    "Size": "shape",
    "str": "path type",
    "str | None": "name",
    "_int | None": "index",
    "_int": "id itemsize nbytes ndim output_nr _version _saved_bytes _sequence_nr",
    "_bool": "is_closed is_cpu is_cuda is_complex is_floating_point is_leaf is_open is_signed requires_grad retains_grad",
    "dict[Any, Any]": "metadata",
    "Any": "capsule",
    "tuple[tuple[Node | None, _int], ...]": "next_functions",
    "list[tuple[list[_int], str]]": "_outputs",
    "_Scope | None": "parent",
}
PROPERTIES = {name: kind for kind, names in PROPERTIES.items() for name in names.split()}
SETTABLE = {"requires_grad", "grad", "data", "name"}
SPECIAL_PROPERTIES = {("Node", "variable"): "Tensor", ("_Scope", "name"): "str"}

# Special methods, beside the operators, that are declared with the signature the module gives.
OWN_SPECIAL = {
    "__array__",
    "__array_ufunc__",
    "__reversed__",
    "__dlpack__",
    "__dlpack_device__",
    "__copy__",
    "__deepcopy__",
    "__reduce_ex__",
    "__format__",
    "__enter__",
    "__exit__",
    "__init__",
}
EXTRA_MEMBERS = {"Tensor": ["__array_priority__: _float"]}
