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

__version__: str
bfloat16: dtype
bool: dtype
double: dtype
e: _float
float: dtype
float16: dtype
float32: dtype
float64: dtype
half: dtype
inf: _float
int: dtype
int32: dtype
int64: dtype
long: dtype
nan: _float
newaxis: None
pi: _float
uint8: dtype

class ArgumentError(ValueError, RuntimeError):
    """An argument has a value that the operation cannot take."""

class DTypeError(TypeError, RuntimeError):
    """A dtype, or the type of an argument, is not supported."""

@final
class Generator:
    """A stream of random numbers."""
    def __new__(cls, device: _Device | None = None) -> Self: ...
    def get_state(self, /) -> Any:
        """Seed and position."""
    def initial_seed(self, /) -> _int:
        """The seed."""
    def manual_seed(self, /, seed: _int) -> Self:
        """Starts the stream of a seed from its beginning."""
    def set_state(self, /, state: Any) -> None:
        """Goes to a position that `get_state` gave."""

class InternalError(RuntimeError):
    """A bug in rgrad: please report it with the program that found it."""

@final
class Node:
    """A step of the backward pass."""
    @property
    def _outputs(self) -> list[tuple[list[_int], str]]:
        """Shapes and dtypes of the outputs."""
    @property
    def _saved_bytes(self) -> _int:
        """Bytes that the step keeps saved."""
    @property
    def _sequence_nr(self) -> _int:
        """The number of the step in the order of recording."""
    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for notes of the user's, kept with the node."""
    def name(self, /) -> str:
        """The step's name, such as `MulBackward0`; `AccumulateGrad` for a leaf."""
    @property
    def next_functions(self) -> tuple[tuple[Node | None, _int], ...]:
        """Where the gradients of the inputs go: pairs of a node (or None) and the number of its output."""
    def register_hook(self, /, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(grad_inputs, grad_outputs)` after the step; what it returns replaces the former."""
    def register_prehook(self, /, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(grad_outputs)` before the step; what it returns replaces them."""
    @property
    def variable(self) -> Tensor:
        """The leaf whose gradient is accumulated."""

class OutOfMemoryError(MemoryError, RuntimeError):
    """Memory could not be had."""

@final
class RemovableHandle:
    """Removes a hook: `remove()`, or the end of a `with` block."""
    def __enter__(self, /) -> Self: ...
    def __exit__(self, /, *_args: object) -> None: ...
    @property
    def id(self) -> _int:
        """The hook's number."""
    def remove(self, /) -> None:
        """Removes the hook; a second call does nothing."""

class ScopeCapError(ScopeError):
    """A scope's limit was met."""

class ScopeClosedError(ScopeError):
    """A scope was used after its end."""

class ScopeError(RuntimeError):
    """A rule of scopes was broken."""

class ShapeError(ValueError, RuntimeError):
    """Shapes do not fit each other or the operation."""

class Size(tuple):
    """The sizes of a tensor's dimensions: a tuple that knows its product."""
    def numel(self) -> _int:
        """The number of elements of a tensor of this shape."""

class Tensor:
    """A multi-dimensional array of one dtype that records the operations on it."""
    def __new__(
        cls,
        data: Any = None,
        *,
        dtype: _dtype | None = None,
        device: _Device | None = None,
        requires_grad: _bool = False,
        _share: _bool = False,
    ) -> Self: ...
    @property
    def T(self) -> Tensor:
        """Dimensions in reverse order."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, value: _Operand, /) -> Tensor: ...
    def __and__(self, value: _Operand, /) -> Tensor: ...
    def __array__(
        self, /, dtype: npt.DTypeLike | None = None, copy: _bool | None = None
    ) -> np.ndarray[Any, Any]: ...
    def __array_ufunc__(self, /, ufunc: Any, method: Any, *inputs: Sequence[Tensor], **kwargs: Any) -> Any:
        """NumPy's functions on tensors become rgrad's, so that they are recorded."""
    def __bool__(self) -> _bool: ...
    def __complex__(self) -> complex: ...
    def __contains__(self, key: _Operand, /) -> _bool: ...
    def __copy__(self, /) -> Tensor: ...
    def __deepcopy__(self, /, memo: Any) -> Tensor: ...
    def __dlpack__(
        self,
        /,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: _bool | None = None,
    ) -> Any:
        """A DLPack capsule over the tensor's memory."""
    def __dlpack_device__(self, /) -> tuple[_int, _int]:
        """The CPU, in DLPack's terms."""
    def __eq__(self, value: _Operand, /) -> Tensor: ...  # type: ignore[override]
    def __float__(self) -> _float: ...
    def __floordiv__(self, value: _Operand, /) -> Tensor: ...
    def __format__(self, /, spec: Any) -> str:
        """Default object formatter."""
    def __ge__(self, value: _Operand, /) -> Tensor: ...
    def __getitem__(self, key: Any, /) -> Tensor: ...
    def __gt__(self, value: _Operand, /) -> Tensor: ...
    def __hash__(self) -> _int: ...
    def __iadd__(self, value: _Operand, /) -> Self: ...
    def __ifloordiv__(self, value: _Operand, /) -> Self: ...
    def __imod__(self, value: _Operand, /) -> Self: ...
    def __imul__(self, value: _Operand, /) -> Self: ...
    def __index__(self) -> _int: ...
    def __int__(self) -> _int: ...
    def __invert__(self) -> Tensor: ...
    def __ipow__(self, value: _Operand, /) -> Self: ...  # type: ignore[misc]
    def __isub__(self, value: _Operand, /) -> Self: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __itruediv__(self, value: _Operand, /) -> Self: ...
    def __le__(self, value: _Operand, /) -> Tensor: ...
    def __len__(self) -> _int: ...
    def __lt__(self, value: _Operand, /) -> Tensor: ...
    def __matmul__(self, value: _Operand, /) -> Tensor: ...
    def __mod__(self, value: _Operand, /) -> Tensor: ...
    def __mul__(self, value: _Operand, /) -> Tensor: ...
    def __ne__(self, value: _Operand, /) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __or__(self, value: _Operand, /) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, value: _Operand, mod: None = None, /) -> Tensor: ...
    def __radd__(self, value: _Operand, /) -> Tensor: ...
    def __rand__(self, value: _Operand, /) -> Tensor: ...
    def __reduce_ex__(self, /, protocol: SupportsIndex) -> Any:
        """Helper for pickle."""
    def __reversed__(self, /) -> Tensor:
        """Order of the first dimension reversed, as Python's `reversed` wants it."""
    def __rfloordiv__(self, value: _Operand, /) -> Tensor: ...
    def __rmatmul__(self, value: _Operand, /) -> Tensor: ...
    def __rmod__(self, value: _Operand, /) -> Tensor: ...
    def __rmul__(self, value: _Operand, /) -> Tensor: ...
    def __ror__(self, value: _Operand, /) -> Tensor: ...
    def __rpow__(self, value: _Operand, mod: None = None, /) -> Tensor: ...
    def __rsub__(self, value: _Operand, /) -> Tensor: ...
    def __rtruediv__(self, value: _Operand, /) -> Tensor: ...
    def __rxor__(self, value: _Operand, /) -> Tensor: ...
    def __setitem__(self, key: Any, value: _Operand, /) -> None: ...
    def __sub__(self, value: _Operand, /) -> Tensor: ...
    def __truediv__(self, value: _Operand, /) -> Tensor: ...
    def __xor__(self, value: _Operand, /) -> Tensor: ...
    @property
    def _base(self) -> Tensor | None:
        """The tensor that this one is a view of."""
    def _is_view(self, /) -> _bool:
        """Whether this tensor is a view of another."""
    @staticmethod
    def _make_subclass(cls: Any, data: Any, requires_grad: _bool = False) -> Tensor:
        """A tensor of a subclass that shares the memory of `data`."""
    @property
    def _version(self) -> _int:
        """The number of in-place writes to the memory."""
    def abs(self, /) -> Tensor:
        """Absolute value; the derivative at 0 is 0."""
    def abs_(self, /) -> Self:
        """As `abs`, in place."""
    def absolute(self, /) -> Tensor:
        """Absolute value; the derivative at 0 is 0."""
    def acos(self, /) -> Tensor:
        """Inverse cosine."""
    def acos_(self, /) -> Self:
        """As `acos`, in place."""
    def acosh(self, /) -> Tensor:
        """Inverse hyperbolic cosine."""
    def acosh_(self, /) -> Self:
        """As `acosh`, in place."""
    def add(self, /, other: _Operand, *, alpha: _Number | None = None) -> Tensor:
        """Sum with `alpha` times the other operand."""
    def add_(self, /, other: _Operand, *, alpha: _Number | None = None) -> Self:
        """As `add`, in place."""
    def addcdiv(self, /, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1.0) -> Tensor:
        """`self + value·tensor1/tensor2`."""
    def addcdiv_(self, /, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1.0) -> Self:
        """As `addcdiv`, in place."""
    def addcmul(self, /, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1.0) -> Tensor:
        """`self + value·tensor1·tensor2`."""
    def addcmul_(self, /, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1.0) -> Self:
        """As `addcmul`, in place."""
    def addmm(self, /, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1.0, alpha: _Number = 1.0) -> Tensor:
        """`beta·self + alpha·mat1·mat2`."""
    def all(
        self,
        /,
        dim: _Dims | None = None,
        keepdim: _bool = False,
        *,
        axis: _Dims | None = None,
        keepdims: _bool = False,
    ) -> Tensor:
        """Whether all elements over dimensions are true."""
    def amax(
        self,
        /,
        dim: _Dims | None = None,
        keepdim: _bool = False,
        *,
        axis: _Dims | None = None,
        keepdims: _bool = False,
    ) -> Tensor:
        """Greatest elements over dimensions, all by default; equal ones share the gradient."""
    def amin(
        self,
        /,
        dim: _Dims | None = None,
        keepdim: _bool = False,
        *,
        axis: _Dims | None = None,
        keepdims: _bool = False,
    ) -> Tensor:
        """Least elements over dimensions, all by default; equal ones share the gradient."""
    def any(
        self,
        /,
        dim: _Dims | None = None,
        keepdim: _bool = False,
        *,
        axis: _Dims | None = None,
        keepdims: _bool = False,
    ) -> Tensor:
        """Whether any element over dimensions is true."""
    def arccos(self, /) -> Tensor:
        """Inverse cosine."""
    def arccosh(self, /) -> Tensor:
        """Inverse hyperbolic cosine."""
    def arcsin(self, /) -> Tensor:
        """Inverse sine."""
    def arcsinh(self, /) -> Tensor:
        """Inverse hyperbolic sine; the derivative does not overflow for huge `x`."""
    def arctan(self, /) -> Tensor:
        """Inverse tangent."""
    def arctan2(self, /, other: _Operand) -> Tensor:
        """Angle of the point (other, self)."""
    def arctanh(self, /) -> Tensor:
        """Inverse hyperbolic tangent."""
    def argmax(
        self,
        /,
        dim: SupportsIndex | None = None,
        keepdim: _bool = False,
        *,
        axis: SupportsIndex | None = None,
        keepdims: _bool = False,
    ) -> Tensor:
        """Index of the greatest element, along a dimension or of the flattened tensor."""
    def argmin(
        self,
        /,
        dim: SupportsIndex | None = None,
        keepdim: _bool = False,
        *,
        axis: SupportsIndex | None = None,
        keepdims: _bool = False,
    ) -> Tensor:
        """Index of the least element, along a dimension or of the flattened tensor."""
    def as_strided(
        self,
        /,
        size: Sequence[SupportsIndex],
        stride: _int | Sequence[_int],
        storage_offset: _int | None = None,
    ) -> Tensor:
        """Any sizes and strides over the tensor's storage, as a view."""
    def asin(self, /) -> Tensor:
        """Inverse sine."""
    def asin_(self, /) -> Self:
        """As `asin`, in place."""
    def asinh(self, /) -> Tensor:
        """Inverse hyperbolic sine; the derivative does not overflow for huge `x`."""
    def asinh_(self, /) -> Self:
        """As `asinh`, in place."""
    def atan(self, /) -> Tensor:
        """Inverse tangent."""
    def atan2(self, /, other: _Operand) -> Tensor:
        """Angle of the point (other, self)."""
    def atan2_(self, /, other: _Operand) -> Self:
        """As `atan2`, in place."""
    def atan_(self, /) -> Self:
        """As `atan`, in place."""
    def atanh(self, /) -> Tensor:
        """Inverse hyperbolic tangent."""
    def atanh_(self, /) -> Self:
        """As `atanh`, in place."""
    def backward(
        self,
        /,
        gradient: Tensor | None = None,
        retain_graph: _bool | None = None,
        create_graph: _bool = False,
        inputs: Tensor | Sequence[Tensor] | None = None,
    ) -> None:
        """Adds the gradients of this tensor to the leaves that it depends on."""
    def bernoulli_(self, /, p: _Number = 0.5, *, generator: Generator | None = None) -> Self:
        """Fills the tensor with 1 (with probability p) and 0."""
    def bfloat16(self, /) -> Tensor:
        """In bfloat16."""
    def bmm(self, /, mat2: Tensor) -> Tensor:
        """Products of two batches of matrices."""
    def bool(self, /) -> Tensor:
        """In bool."""
    def broadcast_to(self, /, *size: Sequence[SupportsIndex]) -> Tensor:
        """As `expand`."""
    def byte(self, /) -> Tensor:
        """In uint8."""
    def ceil(self, /) -> Tensor:
        """Smallest integer not below `x`; the derivative is 0."""
    def ceil_(self, /) -> Self:
        """As `ceil`, in place."""
    def chunk(
        self, /, chunks: _int, dim: SupportsIndex = 0, *, axis: SupportsIndex | None = None
    ) -> tuple[Tensor, ...]:
        """Cuts a dimension into at most `chunks` pieces of equal size."""
    def clamp(
        self,
        /,
        min: _Operand | None = None,
        max: _Operand | None = None,
        *,
        a_min: _Operand | None = None,
        a_max: _Operand | None = None,
    ) -> Tensor:
        """Limits elements to bounds: numbers or tensors, either of which may be missing."""
    def clamp_(self, /, min: _Operand | None = None, max: _Operand | None = None) -> Self:
        """As `clamp`, in place."""
    def clamp_max(self, /, max: _Operand) -> Tensor:
        """Limits elements from above."""
    def clamp_max_(self, /, max: _Number) -> Self:
        """As `clamp_max`, in place."""
    def clamp_min(self, /, min: _Operand) -> Tensor:
        """Limits elements from below."""
    def clamp_min_(self, /, min: _Number) -> Self:
        """As `clamp_min`, in place."""
    def clip(
        self,
        /,
        min: _Operand | None = None,
        max: _Operand | None = None,
        *,
        a_min: _Operand | None = None,
        a_max: _Operand | None = None,
    ) -> Tensor:
        """As `clamp`."""
    def clone(self, /, *, memory_format: Any = None) -> Tensor:
        """A copy with history."""
    def contiguous(self, /, memory_format: Any = None) -> Tensor:
        """The tensor itself when its elements lie in row-major order, else a copy that does."""
    def copy_(self, /, src: _Operand, non_blocking: _bool = False) -> Self:
        """Copies src, broadcast and cast, over the tensor."""
    def cos(self, /) -> Tensor:
        """Cosine."""
    def cos_(self, /) -> Self:
        """As `cos`, in place."""
    def cosh(self, /) -> Tensor:
        """Hyperbolic cosine."""
    def cosh_(self, /) -> Self:
        """As `cosh`, in place."""
    def count_nonzero(self, /, dim: _Dims | None = None, *, axis: _Dims | None = None) -> Tensor:
        """Number of elements over dimensions that are not zero."""
    def cpu(self, /) -> Tensor:
        """The tensor on the CPU: itself."""
    def cumprod(
        self,
        /,
        dim: SupportsIndex | None = None,
        *,
        dtype: _dtype | None = None,
        axis: SupportsIndex | None = None,
    ) -> Tensor:
        """Running product along a dimension."""
    def cumprod_(self, /, dim: SupportsIndex, *, dtype: _dtype | None = None) -> Self:
        """As `cumprod`, in place."""
    def cumsum(
        self,
        /,
        dim: SupportsIndex | None = None,
        *,
        dtype: _dtype | None = None,
        axis: SupportsIndex | None = None,
    ) -> Tensor:
        """Running sum along a dimension."""
    def cumsum_(self, /, dim: SupportsIndex, *, dtype: _dtype | None = None) -> Self:
        """As `cumsum`, in place."""
    @property
    def data(self) -> Tensor:
        """The memory alone, with a version counter of its own: a backward pass does not see writes …"""
    @data.setter
    def data(self, value: Tensor) -> None: ...
    def data_ptr(self, /) -> _int:
        """Address of the first element."""
    def detach(self, /) -> Tensor:
        """The same memory without history."""
    def detach_(self, /) -> Self:
        """Takes the history off this tensor."""
    @property
    def device(self) -> _device:
        """Where the tensor lives: always the CPU."""
    def diagonal(self, /, offset: _int = 0, dim1: SupportsIndex = 0, dim2: SupportsIndex = 1) -> Tensor:
        """A diagonal of two dimensions as the last one, as a view."""
    def dim(self, /) -> _int:
        """Number of dimensions."""
    def div(self, /, other: _Operand, *, rounding_mode: Literal["floor", "trunc"] | None = None) -> Tensor:
        """Quotient, rounded as `rounding_mode` says: `None`, `"trunc"` or `"floor"`."""
    def div_(self, /, other: _Operand, *, rounding_mode: Literal["floor", "trunc"] | None = None) -> Self:
        """As `div`, in place."""
    def divide(self, /, other: _Operand, *, rounding_mode: Literal["floor", "trunc"] | None = None) -> Tensor:
        """As `div`."""
    def dot(self, /, tensor: Tensor) -> Tensor:
        """Inner product of two vectors."""
    def double(self, /) -> Tensor:
        """In float64."""
    @property
    def dtype(self) -> _dtype:
        """Element type."""
    def element_size(self, /) -> _int:
        """Bytes of one element."""
    def elu(self, /, alpha: _Number = 1.0, inplace: _bool = False) -> Tensor:
        """`alpha·(e^x - 1)` where negative, else `x`."""
    def eq(self, /, other: _Operand) -> Tensor:
        """Whether elements are equal."""
    def equal(self, /, other: Tensor) -> _bool:
        """Whether two tensors have the same shape and equal elements."""
    def erf(self, /) -> Tensor:
        """Error function."""
    def erf_(self, /) -> Self:
        """As `erf`, in place."""
    def erfc(self, /) -> Tensor:
        """Complementary error function, `1 - erf(x)`."""
    def erfc_(self, /) -> Self:
        """As `erfc`, in place."""
    def exp(self, /) -> Tensor:
        """Exponential, `e^x`."""
    def exp2(self, /) -> Tensor:
        """Power of two, `2^x`."""
    def exp2_(self, /) -> Self:
        """As `exp2`, in place."""
    def exp_(self, /) -> Self:
        """As `exp`, in place."""
    def expand(self, /, *sizes: Sequence[SupportsIndex]) -> Tensor:
        """Broadcast to a shape, as a view; -1 keeps a size."""
    def expand_as(self, /, other: Tensor) -> Tensor:
        """The shape of another tensor, by broadcasting."""
    def expm1(self, /) -> Tensor:
        """`e^x - 1`, accurate near zero."""
    def expm1_(self, /) -> Self:
        """As `expm1`, in place."""
    def fill_(self, /, value: _Operand) -> Self:
        """Sets every element to a number."""
    def fix(self, /) -> Tensor:
        """Integer part; the derivative is 0."""
    def flatten(self, /, start_dim: SupportsIndex = 0, end_dim: SupportsIndex = ...) -> Tensor:
        """Merges dimensions from start_dim to end_dim into one."""
    def flip(self, /, *args: Any, dims: _Dims | None = None, axis: _Dims | None = None) -> Tensor:
        """Order of elements reversed along dimensions."""
    def float(self, /) -> Tensor:
        """In float32."""
    def floor(self, /) -> Tensor:
        """Largest integer not above `x`; the derivative is 0."""
    def floor_(self, /) -> Self:
        """As `floor`, in place."""
    def floor_divide(self, /, other: _Operand) -> Tensor:
        """Quotient rounded towards minus infinity."""
    def floor_divide_(self, /, other: _Operand) -> Self:
        """As `floor_divide`, in place."""
    def fmod(self, /, other: _Operand) -> Tensor:
        """Remainder with the sign of the dividend."""
    def fmod_(self, /, other: _Operand) -> Self:
        """As `fmod`, in place."""
    def frac(self, /) -> Tensor:
        """Fractional part, with the sign of `x`."""
    def frac_(self, /) -> Self:
        """As `frac`, in place."""
    def gather(self, /, dim: SupportsIndex, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """Elements at index along a dimension, one a position of index."""
    def ge(self, /, other: _Operand) -> Tensor:
        """Whether self is at least other."""
    def gelu(self, /, *, approximate: Literal["none", "tanh"] = "none") -> Tensor:
        """Gaussian error linear unit; `approximate` is `"none"` or `"tanh"`."""
    def gelu_erf(self, /) -> Tensor:
        """Gaussian error linear unit, `x·Φ(x)`."""
    def gelu_erf_(self, /) -> Self:
        """As `gelu_erf`, in place."""
    def gelu_tanh(self, /) -> Tensor:
        """The tanh approximation of the Gaussian error linear unit."""
    def gelu_tanh_(self, /) -> Self:
        """As `gelu_tanh`, in place."""
    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have added up; `None` before the first."""
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @property
    def grad_fn(self) -> Node | None:
        """The step that made this tensor; None for a leaf."""
    def greater(self, /, other: _Operand) -> Tensor:
        """Whether self is greater."""
    def greater_equal(self, /, other: _Operand) -> Tensor:
        """Whether self is at least other."""
    def gt(self, /, other: _Operand) -> Tensor:
        """Whether self is greater."""
    def half(self, /) -> Tensor:
        """In float16."""
    def hypot(self, /, other: _Operand) -> Tensor:
        """Length of the hypotenuse."""
    def hypot_(self, /, other: _Operand) -> Self:
        """As `hypot`, in place."""
    def index_add(
        self, /, dim: SupportsIndex, index: Tensor, source: Tensor, *, alpha: _Number = 1.0
    ) -> Tensor:
        """The tensor with alpha times source added to slices at index along a dimension."""
    def index_add_(
        self, /, dim: SupportsIndex, index: Tensor, source: Tensor, *, alpha: _Number = 1.0
    ) -> Self:
        """As `index_add`, in place."""
    def index_put(
        self, /, indices: Sequence[Tensor], values: Tensor | _Number, accumulate: _bool = False
    ) -> Tensor:
        """The tensor with values put at index tensors, one a dimension."""
    def index_put_(
        self, /, indices: Sequence[Tensor], values: Tensor | _Number, accumulate: _bool = False
    ) -> Self:
        """Puts values at index tensors, one a dimension, in place."""
    def index_select(self, /, dim: SupportsIndex, index: Tensor) -> Tensor:
        """Slices at index along a dimension."""
    def int(self, /) -> Tensor:
        """In int32."""
    @property
    def is_closed(self) -> _bool:
        """Whether a scope has released the tensor."""
    def is_complex(self, /) -> _bool:
        """Whether the dtype is complex: never."""
    def is_contiguous(self, /, memory_format: Any = None) -> _bool:
        """Whether elements lie in row-major order without gaps."""
    @property
    def is_cpu(self) -> _bool:
        """Whether the tensor is on the CPU: always."""
    @property
    def is_cuda(self) -> _bool:
        """Whether the tensor is on a GPU: never."""
    def is_floating_point(self, /) -> _bool:
        """Whether the dtype is floating point."""
    def is_inference(self, /) -> _bool:
        """Whether the tensor was made in inference mode."""
    @property
    def is_leaf(self) -> _bool:
        """Whether no recorded operation made this tensor."""
    def isfinite(self, /) -> Tensor:
        """Whether `x` is neither infinite nor NaN."""
    def isinf(self, /) -> Tensor:
        """Whether `x` is infinite."""
    def isnan(self, /) -> Tensor:
        """Whether `x` is NaN."""
    def item(self, /) -> Any:
        """The number in a tensor of one element."""
    @property
    def itemsize(self) -> _int:
        """Bytes of one element."""
    def le(self, /, other: _Operand) -> Tensor:
        """Whether self is at most other."""
    def leaky_relu(self, /, negative_slope: _Number = 0.01, inplace: _bool = False) -> Tensor:
        """`x` where positive, else `negative_slope·x`."""
    def lerp(self, /, end: _Operand, weight: Tensor | _Number) -> Tensor:
        """`self + weight·(end - self)`."""
    def lerp_(self, /, end: _Operand, weight: Tensor | _Number) -> Self:
        """As `lerp`, in place."""
    def less(self, /, other: _Operand) -> Tensor:
        """Whether self is less."""
    def less_equal(self, /, other: _Operand) -> Tensor:
        """Whether self is at most other."""
    def log(self, /) -> Tensor:
        """Natural logarithm."""
    def log10(self, /) -> Tensor:
        """Logarithm to base 10."""
    def log10_(self, /) -> Self:
        """As `log10`, in place."""
    def log1p(self, /) -> Tensor:
        """`ln(1 + x)`, accurate near zero."""
    def log1p_(self, /) -> Self:
        """As `log1p`, in place."""
    def log2(self, /) -> Tensor:
        """Logarithm to base 2."""
    def log2_(self, /) -> Self:
        """As `log2`, in place."""
    def log_(self, /) -> Self:
        """As `log`, in place."""
    def log_softmax(
        self,
        /,
        dim: SupportsIndex | None = None,
        dtype: _dtype | None = None,
        *,
        axis: SupportsIndex | None = None,
        _stacklevel: _int = 3,
    ) -> Tensor:
        """`ln(e^x / Σ e^x)` along a dimension."""
    def logical_and(self, /, other: _Operand) -> Tensor:
        """Whether both are true."""
    def logical_not(self, /) -> Tensor:
        """Whether `x` is false (zero)."""
    def logical_or(self, /, other: _Operand) -> Tensor:
        """Whether either is true."""
    def logical_xor(self, /, other: _Operand) -> Tensor:
        """Whether exactly one is true."""
    def logsigmoid(self, /) -> Tensor:
        """`ln(1/(1 + e^-x))` without overflow."""
    def logsigmoid_(self, /) -> Self:
        """As `logsigmoid`, in place."""
    def logsumexp(
        self,
        /,
        dim: _Dims | None = None,
        keepdim: _bool = False,
        *,
        axis: _Dims | None = None,
        keepdims: _bool = False,
    ) -> Tensor:
        """`ln Σ e^x` over dimensions, without overflow."""
    def long(self, /) -> Tensor:
        """In int64."""
    def lt(self, /, other: _Operand) -> Tensor:
        """Whether self is less."""
    @property
    def mT(self) -> Tensor:
        """Last two dimensions exchanged."""
    def masked_fill(self, /, mask: Tensor, value: _Operand) -> Tensor:
        """The tensor with a value where a bool mask holds."""
    def masked_fill_(self, /, mask: Tensor, value: _Operand) -> Self:
        """As `masked_fill`, in place."""
    def masked_select(self, /, mask: Tensor) -> Tensor:
        """Elements where a bool mask holds."""
    def matmul(self, /, other: Tensor | np.ndarray[Any, Any]) -> Tensor:
        """Matrix product with NumPy's rules: vectors count as one row or column, leading dimensions …"""
    @overload
    def max(self, /, dim: None = None, *, other: None = None, axis: None = None) -> Tensor:
        """Greatest element; with dim, greatest elements along it and their indexes; with a tensor, …"""
    @overload
    def max(self, /, dim: Tensor) -> Tensor:
        """Greatest element; with dim, greatest elements along it and their indexes; with a tensor, …"""
    @overload
    def max(self, /, *, other: Tensor) -> Tensor:
        """Greatest element; with dim, greatest elements along it and their indexes; with a tensor, …"""
    @overload
    def max(self, /, dim: _int, keepdim: _bool = False, *, keepdims: _bool = False) -> _returns.max:
        """Greatest element; with dim, greatest elements along it and their indexes; with a tensor, …"""
    @overload
    def max(self, /, *, axis: _int, keepdim: _bool = False, keepdims: _bool = False) -> _returns.max:
        """Greatest element; with dim, greatest elements along it and their indexes; with a tensor, …"""
    def maximum(self, /, other: _Operand) -> Tensor:
        """Greater of the two; NaN wins."""
    def maximum_(self, /, other: _Operand) -> Self:
        """As `maximum`, in place."""
    def mean(
        self,
        /,
        dim: _Dims | None = None,
        keepdim: _bool = False,
        *,
        dtype: _dtype | None = None,
        axis: _Dims | None = None,
        keepdims: _bool = False,
    ) -> Tensor:
        """Mean over dimensions, all by default."""
    @overload
    def min(self, /, dim: None = None, *, other: None = None, axis: None = None) -> Tensor:
        """Least element; with dim, least elements along it and their indexes; with a tensor, the …"""
    @overload
    def min(self, /, dim: Tensor) -> Tensor:
        """Least element; with dim, least elements along it and their indexes; with a tensor, the …"""
    @overload
    def min(self, /, *, other: Tensor) -> Tensor:
        """Least element; with dim, least elements along it and their indexes; with a tensor, the …"""
    @overload
    def min(self, /, dim: _int, keepdim: _bool = False, *, keepdims: _bool = False) -> _returns.min:
        """Least element; with dim, least elements along it and their indexes; with a tensor, the …"""
    @overload
    def min(self, /, *, axis: _int, keepdim: _bool = False, keepdims: _bool = False) -> _returns.min:
        """Least element; with dim, least elements along it and their indexes; with a tensor, the …"""
    def minimum(self, /, other: _Operand) -> Tensor:
        """Lesser of the two; NaN wins."""
    def minimum_(self, /, other: _Operand) -> Self:
        """As `minimum`, in place."""
    def mm(self, /, mat2: Tensor) -> Tensor:
        """Product of two matrices."""
    def moveaxis(self, /, source: _Dims, destination: _Dims) -> Tensor:
        """As `movedim`."""
    def movedim(self, /, source: _Dims, destination: _Dims) -> Tensor:
        """Moves dimensions to other places, as a view."""
    def mul(self, /, other: _Operand) -> Tensor:
        """Product, `x·y`."""
    def mul_(self, /, other: _Operand) -> Self:
        """As `mul`, in place."""
    def multiply(self, /, other: _Operand) -> Tensor:
        """Product, `x·y`."""
    def mv(self, /, vec: Tensor) -> Tensor:
        """Product of a matrix and a vector."""
    @property
    def name(self) -> str | None:
        """A name for messages and reports."""
    @name.setter
    def name(self, value: str | None) -> None: ...
    def narrow(self, /, dim: SupportsIndex, start: SupportsIndex, length: _int) -> Tensor:
        """`length` slices from `start` along a dimension, as a view."""
    @property
    def nbytes(self) -> _int:
        """Bytes of all elements."""
    @property
    def ndim(self) -> _int:
        """Number of dimensions."""
    def ndimension(self, /) -> _int:
        """Number of dimensions."""
    def ne(self, /, other: _Operand) -> Tensor:
        """Whether elements differ."""
    def neg(self, /) -> Tensor:
        """Negation, `-x`."""
    def neg_(self, /) -> Self:
        """As `neg`, in place."""
    def negative(self, /) -> Tensor:
        """Negation, `-x`."""
    def nelement(self, /) -> _int:
        """Number of elements."""
    def new_empty(
        self,
        /,
        *size: Sequence[SupportsIndex],
        dtype: _dtype | None = None,
        device: _Device | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """A tensor of a shape, in this tensor's dtype; here its elements are zeros."""
    def new_full(
        self,
        /,
        size: Sequence[SupportsIndex],
        fill_value: _Number,
        *,
        dtype: _dtype | None = None,
        device: _Device | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """A tensor of a shape filled with one number, in this tensor's dtype."""
    def new_ones(
        self,
        /,
        *size: Sequence[SupportsIndex],
        dtype: _dtype | None = None,
        device: _Device | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Ones of a shape, in this tensor's dtype."""
    def new_tensor(
        self,
        /,
        data: Any,
        *,
        dtype: _dtype | None = None,
        device: _Device | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """A new tensor with the numbers of `data`, in this tensor's dtype."""
    def new_zeros(
        self,
        /,
        *size: Sequence[SupportsIndex],
        dtype: _dtype | None = None,
        device: _Device | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Zeros of a shape, in this tensor's dtype."""
    @overload
    def nonzero(self, /, *, as_tuple: Literal[False] = False) -> Tensor:
        """Indexes of the elements that are not zero, one row an element; or one tensor a dimension."""
    @overload
    def nonzero(self, /, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
        """Indexes of the elements that are not zero, one row an element; or one tensor a dimension."""
    def normal_(
        self, /, mean: _Number = 0.0, std: _Number = 1.0, *, generator: Generator | None = None
    ) -> Self:
        """Fills the tensor with normally distributed numbers."""
    def not_equal(self, /, other: _Operand) -> Tensor:
        """Whether elements differ."""
    def numel(self, /) -> _int:
        """Number of elements."""
    def numpy(self, /, *, force: _bool = False) -> np.ndarray[Any, Any]:
        """A NumPy array over the tensor's memory."""
    def outer(self, /, vec2: Tensor) -> Tensor:
        """Outer product of two vectors."""
    @property
    def output_nr(self) -> _int:
        """Which output of its node this tensor is."""
    def permute(self, /, *args: Any, dims: _Dims | None = None) -> Tensor:
        """Dimensions reordered, as a view."""
    def pow(self, /, other: _Operand) -> Tensor:
        """Power, `x^y`."""
    def pow_(self, /, other: _Operand) -> Self:
        """As `pow`, in place."""
    def prod(
        self,
        /,
        dim: SupportsIndex | None = None,
        keepdim: _bool = False,
        *,
        dtype: _dtype | None = None,
        axis: SupportsIndex | None = None,
        keepdims: _bool = False,
    ) -> Tensor:
        """Product of all elements, or along one dimension."""
    def ravel(self, /) -> Tensor:
        """All elements in one dimension."""
    def reciprocal(self, /) -> Tensor:
        """Reciprocal, `1/x`."""
    def reciprocal_(self, /) -> Self:
        """As `reciprocal`, in place."""
    def register_hook(self, /, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(grad)` when the gradient of this tensor is computed; what it returns replaces …"""
    def register_post_accumulate_grad_hook(self, /, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(tensor)` after a pass has added to this leaf's gradient."""
    def relu(self, /) -> Tensor:
        """Rectifier, `max(x, 0)`; the derivative at 0 is 0."""
    def relu_(self, /) -> Self:
        """As `relu`, in place."""
    def remainder(self, /, other: _Operand) -> Tensor:
        """Remainder with the sign of the divisor."""
    def remainder_(self, /, other: _Operand) -> Self:
        """As `remainder`, in place."""
    def repeat(self, /, *repeats: Sequence[SupportsIndex]) -> Tensor:
        """Repeats the tensor along each dimension."""
    @property
    def requires_grad(self) -> _bool:
        """Whether operations on this tensor are recorded."""
    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None: ...
    def requires_grad_(self, /, requires_grad: _bool = True) -> Self:
        """Makes operations on this tensor recorded, or not; returns the tensor."""
    def reshape(self, /, *shape: Sequence[SupportsIndex]) -> Tensor:
        """The same elements under another shape: a view where strides allow it, else a copy. One size …"""
    def reshape_as(self, /, other: Tensor) -> Tensor:
        """The shape of another tensor."""
    def retain_grad(self, /) -> None:
        """Makes a tensor that is not a leaf keep its gradient."""
    @property
    def retains_grad(self) -> _bool:
        """Whether a tensor that is not a leaf keeps its gradient."""
    def roll(self, /, shifts: _Dims, dims: _Dims | None = None, *, axis: _Dims | None = None) -> Tensor:
        """Elements shifted along dimensions; what leaves one end enters at the other."""
    def round(self, /) -> Tensor:
        """Nearest integer, halves to even; the derivative is 0."""
    def round_(self, /) -> Self:
        """As `round`, in place."""
    def rsqrt(self, /) -> Tensor:
        """Reciprocal square root, `1/√x`."""
    def rsqrt_(self, /) -> Self:
        """As `rsqrt`, in place."""
    def rsub(self, /, other: _Operand, *, alpha: _Number | None = None) -> Tensor:
        """`other - alpha * self`."""
    def scatter(
        self,
        /,
        dim: SupportsIndex,
        index: Tensor,
        src: _Operand | None = None,
        *,
        value: _Number | None = None,
        reduce: Literal["sum", "prod", "mean", "amax", "amin", "add", "multiply"] | None = None,
    ) -> Tensor:
        """The tensor with src (a tensor or a number) put at index along a dimension."""
    def scatter_(
        self,
        /,
        dim: SupportsIndex,
        index: Tensor,
        src: _Operand | None = None,
        *,
        value: _Number | None = None,
        reduce: Literal["sum", "prod", "mean", "amax", "amin", "add", "multiply"] | None = None,
    ) -> Self:
        """As `scatter`, in place."""
    def scatter_add(self, /, dim: SupportsIndex, index: Tensor, src: Tensor) -> Tensor:
        """The tensor with src added at index along a dimension."""
    def scatter_add_(self, /, dim: SupportsIndex, index: Tensor, src: Tensor) -> Self:
        """As `scatter_add`, in place."""
    def select(self, /, dim: SupportsIndex, index: SupportsIndex) -> Tensor:
        """One index along a dimension, as a view."""
    @property
    def shape(self) -> Size:
        """Sizes of the dimensions."""
    def sigmoid(self, /) -> Tensor:
        """Logistic function, `1/(1 + e^-x)`."""
    def sigmoid_(self, /) -> Self:
        """As `sigmoid`, in place."""
    def sign(self, /) -> Tensor:
        """Sign: -1, 0 or 1; the derivative is 0."""
    def sign_(self, /) -> Self:
        """As `sign`, in place."""
    def signbit(self, /) -> Tensor:
        """Whether `x` is negative, -0 included."""
    def silu(self, /) -> Tensor:
        """Sigmoid-weighted linear unit, `x·sigmoid(x)`."""
    def silu_(self, /) -> Self:
        """As `silu`, in place."""
    def sin(self, /) -> Tensor:
        """Sine."""
    def sin_(self, /) -> Self:
        """As `sin`, in place."""
    def sinh(self, /) -> Tensor:
        """Hyperbolic sine."""
    def sinh_(self, /) -> Self:
        """As `sinh`, in place."""
    @overload
    def size(self, /, dim: None = None) -> Size:
        """Sizes of the dimensions, or of one of them."""
    @overload
    def size(self, /, dim: SupportsIndex) -> _int:
        """Sizes of the dimensions, or of one of them."""
    def softmax(
        self,
        /,
        dim: SupportsIndex | None = None,
        dtype: _dtype | None = None,
        *,
        axis: SupportsIndex | None = None,
        _stacklevel: _int = 3,
    ) -> Tensor:
        """`e^x / Σ e^x` along a dimension."""
    def softplus(self, /, beta: _Number = 1.0, threshold: _Number = 20.0) -> Tensor:
        """`ln(1 + e^(beta·x))/beta`; `x` itself where `beta·x > threshold`."""
    def softsign(self, /) -> Tensor:
        """`x/(1 + |x|)`."""
    def softsign_(self, /) -> Self:
        """As `softsign`, in place."""
    def split(
        self,
        /,
        split_size: _int | Sequence[_int],
        dim: SupportsIndex = 0,
        *,
        axis: SupportsIndex | None = None,
    ) -> tuple[Tensor, ...]:
        """Cuts a dimension into pieces of a size, or of several sizes."""
    def split_with_sizes(
        self, /, split_sizes: Sequence[SupportsIndex], dim: SupportsIndex = 0
    ) -> tuple[Tensor, ...]:
        """Cuts a dimension into pieces of the given sizes."""
    def sqrt(self, /) -> Tensor:
        """Square root."""
    def sqrt_(self, /) -> Self:
        """As `sqrt`, in place."""
    def square(self, /) -> Tensor:
        """Square, `x²`."""
    def square_(self, /) -> Self:
        """As `square`, in place."""
    def squeeze(self, /, dim: _Dims | None = None, *, axis: _Dims | None = None) -> Tensor:
        """Dimensions of size 1 dropped, all or those named."""
    def std(
        self,
        /,
        dim: _Dims | None = None,
        unbiased: _bool | None = None,
        keepdim: _bool = False,
        *,
        correction: _int | None = None,
        axis: _Dims | None = None,
        keepdims: _bool = False,
    ) -> Tensor:
        """Standard deviation: the square root of the variance."""
    def storage_offset(self, /) -> _int:
        """Position of the first element in the storage."""
    @overload
    def stride(self, /, dim: None = None) -> tuple[_int, ...]:
        """Strides in elements, or one of them."""
    @overload
    def stride(self, /, dim: SupportsIndex) -> _int:
        """Strides in elements, or one of them."""
    def sub(self, /, other: _Operand, *, alpha: _Number | None = None) -> Tensor:
        """Difference with `alpha` times the other operand."""
    def sub_(self, /, other: _Operand, *, alpha: _Number | None = None) -> Self:
        """As `sub`, in place."""
    def subtract(self, /, other: _Operand, *, alpha: _Number | None = None) -> Tensor:
        """As `sub`."""
    def sum(
        self,
        /,
        dim: _Dims | None = None,
        keepdim: _bool = False,
        *,
        dtype: _dtype | None = None,
        axis: _Dims | None = None,
        keepdims: _bool = False,
    ) -> Tensor:
        """Sum over dimensions, all by default. Bools and integers give int64 unless dtype says otherwise."""
    def sum_to_size(self, /, *size: Sequence[SupportsIndex]) -> Tensor:
        """Summed down to a shape that could be broadcast to this one."""
    def swapaxes(self, /, axis0: SupportsIndex, axis1: SupportsIndex) -> Tensor:
        """As `transpose`."""
    def swapdims(self, /, dim0: SupportsIndex, dim1: SupportsIndex) -> Tensor:
        """As `transpose`."""
    def t(self, /) -> Tensor:
        """Transpose of a matrix; a vector or number is itself."""
    def take_along_dim(
        self, /, indices: Tensor, dim: SupportsIndex | None = None, *, axis: SupportsIndex | None = None
    ) -> Tensor:
        """Elements at index along a dimension, or of the flattened tensor."""
    def tan(self, /) -> Tensor:
        """Tangent."""
    def tan_(self, /) -> Self:
        """As `tan`, in place."""
    def tanh(self, /) -> Tensor:
        """Hyperbolic tangent."""
    def tanh_(self, /) -> Self:
        """As `tanh`, in place."""
    def threshold(self, /, threshold: _Number, value: _Number, inplace: _bool = False) -> Tensor:
        """`x` where greater than `threshold`, else `value`."""
    def to(
        self,
        /,
        *args: Any,
        dtype: _dtype | None = None,
        device: _Device | None = None,
        copy: _bool = False,
        non_blocking: _bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        """The tensor in another dtype; the tensor itself when nothing changes."""
    def tolist(self, /) -> Any:
        """The elements as nested lists; a number for a 0-d tensor."""
    def transpose(self, /, dim0: SupportsIndex, dim1: SupportsIndex) -> Tensor:
        """Two dimensions exchanged, as a view."""
    def tril(self, /, diagonal: _int = 0) -> Tensor:
        """Lower triangle of the last two dimensions."""
    def tril_(self, /, diagonal: _int = 0) -> Self:
        """As `tril`, in place."""
    def triu(self, /, diagonal: _int = 0) -> Tensor:
        """Upper triangle of the last two dimensions."""
    def triu_(self, /, diagonal: _int = 0) -> Self:
        """As `triu`, in place."""
    def true_divide(
        self, /, other: _Operand, *, rounding_mode: Literal["floor", "trunc"] | None = None
    ) -> Tensor:
        """Quotient, rounded as `rounding_mode` says: `None`, `"trunc"` or `"floor"`."""
    def trunc(self, /) -> Tensor:
        """Integer part; the derivative is 0."""
    def trunc_(self, /) -> Self:
        """As `trunc`, in place."""
    def type_as(self, /, other: Tensor) -> Tensor:
        """The dtype of another tensor, or a dtype."""
    def unbind(self, /, dim: SupportsIndex = 0, *, axis: SupportsIndex | None = None) -> tuple[Tensor, ...]:
        """The slices along a dimension."""
    def uniform_(
        self, /, from_: _Number = 0.0, to: _Number = 1.0, *, generator: Generator | None = None
    ) -> Self:
        """Fills the tensor with numbers spread evenly over [from, to)."""
    def unsqueeze(self, /, dim: SupportsIndex | None = None, *, axis: SupportsIndex | None = None) -> Tensor:
        """A dimension of size 1 added, as a view."""
    def var(
        self,
        /,
        dim: _Dims | None = None,
        unbiased: _bool | None = None,
        keepdim: _bool = False,
        *,
        correction: _int | None = None,
        axis: _Dims | None = None,
        keepdims: _bool = False,
    ) -> Tensor:
        """Variance over dimensions, all by default: squared distances from the mean divided by the …"""
    def view(self, /, *shape: Sequence[SupportsIndex]) -> Tensor:
        """The same memory under another shape; an error where strides do not allow it."""
    def view_as(self, /, other: Tensor) -> Tensor:
        """The shape of another tensor, as a view."""
    def where(self, /, condition: Tensor, other: _Operand) -> Tensor:
        """Elements of self where condition holds, else of other."""
    def zero_(self, /) -> Self:
        """Sets every element to zero."""
    __array_priority__: _float

class TensorClosedError(ScopeError):
    """A tensor was used after its scope released it."""

class _Capsule:
    """A DLPack capsule as an object with the protocol, once."""
    def __dlpack__(self, **_: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __init__(self, capsule: Any) -> None:
        """Initialize self.  See help(type(self)) for accurate signature."""
    @property
    def capsule(self) -> Any: ...

@final
class _SavedTensor:
    """A tensor kept for a backward step."""
    def __new__(cls, tensor: Tensor, is_output: _bool, name: str = ...) -> Self: ...
    def release(self, /) -> None:
        """Frees the tensor."""
    def unpack(self, /, node: Any = None) -> Tensor:
        """Gives the tensor back; an error when it was changed in place or freed."""

@final
class _Scope:
    """A scope of the core; `rgrad.scope` wraps it."""
    def __new__(cls, name: str, parent: _Scope | None = None) -> Self: ...
    def close(self, /) -> None: ...
    def enter(self, /) -> None: ...
    @property
    def is_open(self) -> _bool: ...
    def leave(self, /) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def parent(self) -> _Scope | None: ...
    @property
    def path(self) -> str: ...
    def ret(self, /, tensors: Sequence[Tensor], to: _Scope | None = None) -> None:
        """Hands tensors up; all move or none."""
    def ret_own(self, /, tensors: Sequence[Tensor]) -> None:
        """As `ret`, for those of the tensors that belong to this scope."""
    def stats(self, /) -> dict[str, _int]: ...

class device:
    """Where a tensor lives; there is only the CPU."""
    def __init__(self, type: _Device = "cpu", index: _int | None = None) -> None:
        """Initialize self.  See help(type(self)) for accurate signature."""
    @property
    def index(self) -> _int | None: ...
    @property
    def type(self) -> str: ...

@final
class dtype:
    """The type of a tensor's elements, as in ``rgrad.float32``."""
    @property
    def is_complex(self) -> _bool:
        """Whether it is complex: never."""
    @property
    def is_floating_point(self) -> _bool:
        """Whether it is floating point."""
    @property
    def is_signed(self) -> _bool:
        """Whether it is signed."""
    @property
    def itemsize(self) -> _int:
        """Bytes of one element."""

def _current_scope() -> _Scope | None: ...
def _enter_dual_level() -> _int: ...
def _exit_dual_level(level: _int) -> None: ...
def _is_anomaly_enabled() -> _bool: ...
def _is_grad_enabled() -> _bool: ...
def _is_inference_enabled() -> _bool: ...
def _live_bytes() -> _int: ...
def _make_dual(primal: Tensor, tangent: Tensor, level: _int) -> Tensor: ...
def _ops_registry() -> list[dict[str, str]]:
    """The operations of the table: name, kind, doc, formula."""

def _own_like(tensor: Tensor, like: Tensor) -> None:
    """Gives a tensor to the scope that owns another."""

def _panic_for_test() -> None:
    """Panics inside the core, for the test that a panic arrives as an exception."""

def _philox4x32(counter: Any, key: Any) -> tuple[_int, ...]:
    """One block of Philox4x32-10, for checks against known answers."""

def _rebuild(array: np.ndarray[Any, Any], dtype: _dtype, requires_grad: _bool) -> Tensor:
    """Makes a tensor from its pickled parts."""

def _record_function(
    name: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    differentiable: Sequence[_bool],
    callback: Callable[..., Any],
    materialize: _bool,
    dirty: Sequence[_bool] | None = None,
) -> tuple[Tensor, ...]:
    """Makes the outputs of a custom function anew, with one node behind them."""

def _run_backward(
    roots: Sequence[Tensor],
    cotangents: Sequence[Tensor | None],
    retain_graph: _bool,
    create_graph: _bool,
    inputs: Sequence[Tensor],
    accumulate: _bool,
    allow_unused: _bool,
) -> tuple[Tensor | None, ...] | None:
    """Runs a backward pass: see `rgrad.autograd`."""

def _set_detect_anomaly(on: _bool) -> _bool: ...
def _set_grad_enabled(on: _bool) -> _bool: ...
def _set_inference_enabled(on: _bool) -> _bool: ...
def _unpack_dual(tensor: Tensor, level: _int) -> tuple[Tensor, Tensor | None]: ...
def abs(self: Tensor, /) -> Tensor:
    """Absolute value; the derivative at 0 is 0."""

def absolute(self: Tensor, /) -> Tensor:
    """Absolute value; the derivative at 0 is 0."""

def acos(self: Tensor, /) -> Tensor:
    """Inverse cosine."""

def acosh(self: Tensor, /) -> Tensor:
    """Inverse hyperbolic cosine."""

def add(self: Tensor, /, other: _Operand, *, alpha: _Number | None = None) -> Tensor:
    """Sum with `alpha` times the other operand."""

def addcdiv(self: Tensor, /, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1.0) -> Tensor:
    """`self + value·tensor1/tensor2`."""

def addcmul(self: Tensor, /, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1.0) -> Tensor:
    """`self + value·tensor1·tensor2`."""

def addmm(
    self: Tensor, /, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1.0, alpha: _Number = 1.0
) -> Tensor:
    """`beta·self + alpha·mat1·mat2`."""

def all(
    self: Tensor,
    /,
    dim: _Dims | None = None,
    keepdim: _bool = False,
    *,
    axis: _Dims | None = None,
    keepdims: _bool = False,
) -> Tensor:
    """Whether all elements over dimensions are true."""

def amax(
    self: Tensor,
    /,
    dim: _Dims | None = None,
    keepdim: _bool = False,
    *,
    axis: _Dims | None = None,
    keepdims: _bool = False,
) -> Tensor:
    """Greatest elements over dimensions, all by default; equal ones share the gradient."""

def amin(
    self: Tensor,
    /,
    dim: _Dims | None = None,
    keepdim: _bool = False,
    *,
    axis: _Dims | None = None,
    keepdims: _bool = False,
) -> Tensor:
    """Least elements over dimensions, all by default; equal ones share the gradient."""

def any(
    self: Tensor,
    /,
    dim: _Dims | None = None,
    keepdim: _bool = False,
    *,
    axis: _Dims | None = None,
    keepdims: _bool = False,
) -> Tensor:
    """Whether any element over dimensions is true."""

def arange(
    *args: Any,
    start: _Number | None = None,
    end: _Operand | None = None,
    step: _Number | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """The numbers from `start` up to but without `end`, by `step`."""

def arccos(self: Tensor, /) -> Tensor:
    """Inverse cosine."""

def arccosh(self: Tensor, /) -> Tensor:
    """Inverse hyperbolic cosine."""

def arcsin(self: Tensor, /) -> Tensor:
    """Inverse sine."""

def arcsinh(self: Tensor, /) -> Tensor:
    """Inverse hyperbolic sine; the derivative does not overflow for huge `x`."""

def arctan(self: Tensor, /) -> Tensor:
    """Inverse tangent."""

def arctan2(self: Tensor, /, other: _Operand) -> Tensor:
    """Angle of the point (other, self)."""

def arctanh(self: Tensor, /) -> Tensor:
    """Inverse hyperbolic tangent."""

def argmax(
    self: Tensor,
    /,
    dim: SupportsIndex | None = None,
    keepdim: _bool = False,
    *,
    axis: SupportsIndex | None = None,
    keepdims: _bool = False,
) -> Tensor:
    """Index of the greatest element, along a dimension or of the flattened tensor."""

def argmin(
    self: Tensor,
    /,
    dim: SupportsIndex | None = None,
    keepdim: _bool = False,
    *,
    axis: SupportsIndex | None = None,
    keepdims: _bool = False,
) -> Tensor:
    """Index of the least element, along a dimension or of the flattened tensor."""

def as_strided(
    self: Tensor,
    /,
    size: Sequence[SupportsIndex],
    stride: _int | Sequence[_int],
    storage_offset: _int | None = None,
) -> Tensor:
    """Any sizes and strides over the tensor's storage, as a view."""

def as_tensor(data: Any, dtype: _dtype | None = None, device: _Device | None = None) -> Tensor:
    """A tensor of `data`, sharing its memory where dtype and device allow it."""

def asarray(
    obj: Any,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    copy: _bool | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """As `as_tensor`; `copy=True` never shares, `copy=False` always does or fails."""

def asin(self: Tensor, /) -> Tensor:
    """Inverse sine."""

def asinh(self: Tensor, /) -> Tensor:
    """Inverse hyperbolic sine; the derivative does not overflow for huge `x`."""

def atan(self: Tensor, /) -> Tensor:
    """Inverse tangent."""

def atan2(self: Tensor, /, other: _Operand) -> Tensor:
    """Angle of the point (other, self)."""

def atanh(self: Tensor, /) -> Tensor:
    """Inverse hyperbolic tangent."""

def bernoulli(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that each element gives, else 0."""

def bmm(self: Tensor, /, mat2: Tensor) -> Tensor:
    """Products of two batches of matrices."""

def broadcast_tensors(*tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of tensors broadcast to their common shape."""

def broadcast_to(self: Tensor, /, *size: Sequence[SupportsIndex]) -> Tensor:
    """As `expand`."""

def can_cast(from_: _dtype, to: _dtype) -> _bool:
    """Whether values of one dtype may be cast to another without changing their kind."""

def cat(tensors: Sequence[Tensor], dim: SupportsIndex = 0, *, axis: SupportsIndex | None = None) -> Tensor:
    """Joins tensors along a dimension."""

def ceil(self: Tensor, /) -> Tensor:
    """Smallest integer not below `x`; the derivative is 0."""

def chunk(
    self: Tensor, /, chunks: _int, dim: SupportsIndex = 0, *, axis: SupportsIndex | None = None
) -> tuple[Tensor, ...]:
    """Cuts a dimension into at most `chunks` pieces of equal size."""

def clamp(
    self: Tensor,
    /,
    min: _Operand | None = None,
    max: _Operand | None = None,
    *,
    a_min: _Operand | None = None,
    a_max: _Operand | None = None,
) -> Tensor:
    """Limits elements to bounds: numbers or tensors, either of which may be missing."""

def clamp_(self: Tensor, /, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
    """As `clamp`, in place."""

def clamp_max(self: Tensor, /, max: _Operand) -> Tensor:
    """Limits elements from above."""

def clamp_min(self: Tensor, /, min: _Operand) -> Tensor:
    """Limits elements from below."""

def clip(
    self: Tensor,
    /,
    min: _Operand | None = None,
    max: _Operand | None = None,
    *,
    a_min: _Operand | None = None,
    a_max: _Operand | None = None,
) -> Tensor:
    """As `clamp`."""

def clone(self: Tensor, /, *, memory_format: Any = None) -> Tensor:
    """A copy with history."""

def concat(tensors: Sequence[Tensor], dim: SupportsIndex = 0, *, axis: SupportsIndex | None = None) -> Tensor:
    """As `cat`."""

def concatenate(
    tensors: Sequence[Tensor], dim: SupportsIndex = 0, *, axis: SupportsIndex | None = None
) -> Tensor:
    """As `cat`."""

def cos(self: Tensor, /) -> Tensor:
    """Cosine."""

def cosh(self: Tensor, /) -> Tensor:
    """Hyperbolic cosine."""

def count_nonzero(self: Tensor, /, dim: _Dims | None = None, *, axis: _Dims | None = None) -> Tensor:
    """Number of elements over dimensions that are not zero."""

def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: _int = ...,
    reduce: Literal["sum", "prod", "mean", "amax", "amin", "add", "multiply"] | None = None,
    reduction: Literal["none", "mean", "sum"] = "mean",
    label_smoothing: _float = 0.0,
) -> Tensor:
    """Cross entropy of scores (N, C, …) with int64 classes (N, …) or class probabilities of the …"""

def cumprod(
    self: Tensor,
    /,
    dim: SupportsIndex | None = None,
    *,
    dtype: _dtype | None = None,
    axis: SupportsIndex | None = None,
) -> Tensor:
    """Running product along a dimension."""

def cumsum(
    self: Tensor,
    /,
    dim: SupportsIndex | None = None,
    *,
    dtype: _dtype | None = None,
    axis: SupportsIndex | None = None,
) -> Tensor:
    """Running sum along a dimension."""

def detach(self: Tensor, /) -> Tensor:
    """The same memory without history."""

def diagonal(self: Tensor, /, offset: _int = 0, dim1: SupportsIndex = 0, dim2: SupportsIndex = 1) -> Tensor:
    """A diagonal of two dimensions as the last one, as a view."""

def div(
    self: Tensor, /, other: _Operand, *, rounding_mode: Literal["floor", "trunc"] | None = None
) -> Tensor:
    """Quotient, rounded as `rounding_mode` says: `None`, `"trunc"` or `"floor"`."""

def divide(
    self: Tensor, /, other: _Operand, *, rounding_mode: Literal["floor", "trunc"] | None = None
) -> Tensor:
    """As `div`."""

def dot(self: Tensor, /, tensor: Tensor) -> Tensor:
    """Inner product of two vectors."""

def dropout(input: Tensor, p: _Number = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """Zeroes elements with probability p while training, and scales the others by 1/(1 - p)."""

def elu(self: Tensor, /, alpha: _Number = 1.0, inplace: _bool = False) -> Tensor:
    """`alpha·(e^x - 1)` where negative, else `x`."""

def empty(
    *args: Any,
    size: Sequence[SupportsIndex] | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    out: Any = None,
    layout: Any = None,
    pin_memory: _bool = False,
) -> Tensor:
    """A tensor whose elements are not chosen; here they are zeros."""

def empty_cache() -> None: ...
def empty_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of the shape and dtype of another; here its elements are zeros."""

def eq(self: Tensor, /, other: _Operand) -> Tensor:
    """Whether elements are equal."""

def equal(self: Tensor, /, other: Tensor) -> _bool:
    """Whether two tensors have the same shape and equal elements."""

def erf(self: Tensor, /) -> Tensor:
    """Error function."""

def erfc(self: Tensor, /) -> Tensor:
    """Complementary error function, `1 - erf(x)`."""

def exp(self: Tensor, /) -> Tensor:
    """Exponential, `e^x`."""

def exp2(self: Tensor, /) -> Tensor:
    """Power of two, `2^x`."""

def expm1(self: Tensor, /) -> Tensor:
    """`e^x - 1`, accurate near zero."""

def eye(
    n: _int,
    m: _int | None = None,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """A matrix with ones on the diagonal."""

def fix(self: Tensor, /) -> Tensor:
    """Integer part; the derivative is 0."""

def flatten(self: Tensor, /, start_dim: SupportsIndex = 0, end_dim: SupportsIndex = ...) -> Tensor:
    """Merges dimensions from start_dim to end_dim into one."""

def flip(self: Tensor, /, *args: Any, dims: _Dims | None = None, axis: _Dims | None = None) -> Tensor:
    """Order of elements reversed along dimensions."""

def floor(self: Tensor, /) -> Tensor:
    """Largest integer not above `x`; the derivative is 0."""

def floor_divide(self: Tensor, /, other: _Operand) -> Tensor:
    """Quotient rounded towards minus infinity."""

def fmod(self: Tensor, /, other: _Operand) -> Tensor:
    """Remainder with the sign of the dividend."""

def frac(self: Tensor, /) -> Tensor:
    """Fractional part, with the sign of `x`."""

def from_dlpack(ext_tensor: Any, *, device: _Device | None = None, copy: _bool | None = None) -> Tensor:
    """A tensor over the memory of an object with the DLPack protocol."""

def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that shares the memory of a NumPy array."""

def frombuffer(
    buffer: Any, *, dtype: _dtype, count: _int = ..., offset: _int = 0, requires_grad: _bool = False
) -> Tensor:
    """A tensor over an object's buffer: `count` elements of `dtype` from byte `offset` on."""

def full(
    size: Sequence[SupportsIndex],
    fill_value: _Number,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor filled with one number; its dtype is that of the number unless given."""

def full_like(
    input: Tensor,
    fill_value: _Number,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of the shape and dtype of another, filled with one number."""

def gather(self: Tensor, /, dim: SupportsIndex, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
    """Elements at index along a dimension, one a position of index."""

def ge(self: Tensor, /, other: _Operand) -> Tensor:
    """Whether self is at least other."""

def gelu(self: Tensor, /, *, approximate: Literal["none", "tanh"] = "none") -> Tensor:
    """Gaussian error linear unit; `approximate` is `"none"` or `"tanh"`."""

def gelu_erf(self: Tensor, /) -> Tensor:
    """Gaussian error linear unit, `x·Φ(x)`."""

def gelu_tanh(self: Tensor, /) -> Tensor:
    """The tanh approximation of the Gaussian error linear unit."""

def get_default_dtype() -> _dtype:
    """The dtype of floats that come without one."""

def get_num_threads() -> _int:
    """The number of threads of big operations and of the backward pass."""

def get_rng_state() -> Any:
    """Seed and position of the default stream."""

def greater(self: Tensor, /, other: _Operand) -> Tensor:
    """Whether self is greater."""

def greater_equal(self: Tensor, /, other: _Operand) -> Tensor:
    """Whether self is at least other."""

def gt(self: Tensor, /, other: _Operand) -> Tensor:
    """Whether self is greater."""

def hypot(self: Tensor, /, other: _Operand) -> Tensor:
    """Length of the hypotenuse."""

def index_add(
    self: Tensor, /, dim: SupportsIndex, index: Tensor, source: Tensor, *, alpha: _Number = 1.0
) -> Tensor:
    """The tensor with alpha times source added to slices at index along a dimension."""

def index_put(
    self: Tensor, /, indices: Sequence[Tensor], values: Tensor | _Number, accumulate: _bool = False
) -> Tensor:
    """The tensor with values put at index tensors, one a dimension."""

def index_select(self: Tensor, /, dim: SupportsIndex, index: Tensor) -> Tensor:
    """Slices at index along a dimension."""

def initial_seed() -> _int:
    """The seed of the default stream."""

def is_complex(self: Tensor, /) -> _bool:
    """Whether the dtype is complex: never."""

def is_floating_point(self: Tensor, /) -> _bool:
    """Whether the dtype is floating point."""

def is_tensor(obj: Any) -> _bool:
    """Whether an object is a tensor."""

def isfinite(self: Tensor, /) -> Tensor:
    """Whether `x` is neither infinite nor NaN."""

def isinf(self: Tensor, /) -> Tensor:
    """Whether `x` is infinite."""

def isnan(self: Tensor, /) -> Tensor:
    """Whether `x` is NaN."""

def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Literal["sum", "prod", "mean", "amax", "amin", "add", "multiply"] | None = None,
    reduction: Literal["none", "mean", "sum"] = "mean",
) -> Tensor:
    """Absolute differences, reduced."""

def le(self: Tensor, /, other: _Operand) -> Tensor:
    """Whether self is at most other."""

def leaky_relu(self: Tensor, /, negative_slope: _Number = 0.01, inplace: _bool = False) -> Tensor:
    """`x` where positive, else `negative_slope·x`."""

def lerp(self: Tensor, /, end: _Operand, weight: Tensor | _Number) -> Tensor:
    """`self + weight·(end - self)`."""

def less(self: Tensor, /, other: _Operand) -> Tensor:
    """Whether self is less."""

def less_equal(self: Tensor, /, other: _Operand) -> Tensor:
    """Whether self is at most other."""

def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`x·weightᵀ + bias` over the last dimension."""

def linspace(
    start: _Number,
    end: _Operand,
    steps: _int,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """`steps` numbers at equal distances from `start` to `end`, both included."""

def log(self: Tensor, /) -> Tensor:
    """Natural logarithm."""

def log10(self: Tensor, /) -> Tensor:
    """Logarithm to base 10."""

def log1p(self: Tensor, /) -> Tensor:
    """`ln(1 + x)`, accurate near zero."""

def log2(self: Tensor, /) -> Tensor:
    """Logarithm to base 2."""

def log_softmax(
    self: Tensor,
    /,
    dim: SupportsIndex | None = None,
    dtype: _dtype | None = None,
    *,
    axis: SupportsIndex | None = None,
    _stacklevel: _int = 3,
) -> Tensor:
    """`ln(e^x / Σ e^x)` along a dimension."""

def logical_and(self: Tensor, /, other: _Operand) -> Tensor:
    """Whether both are true."""

def logical_not(self: Tensor, /) -> Tensor:
    """Whether `x` is false (zero)."""

def logical_or(self: Tensor, /, other: _Operand) -> Tensor:
    """Whether either is true."""

def logical_xor(self: Tensor, /, other: _Operand) -> Tensor:
    """Whether exactly one is true."""

def logsigmoid(self: Tensor, /) -> Tensor:
    """`ln(1/(1 + e^-x))` without overflow."""

def logsumexp(
    self: Tensor,
    /,
    dim: _Dims | None = None,
    keepdim: _bool = False,
    *,
    axis: _Dims | None = None,
    keepdims: _bool = False,
) -> Tensor:
    """`ln Σ e^x` over dimensions, without overflow."""

def lt(self: Tensor, /, other: _Operand) -> Tensor:
    """Whether self is less."""

def manual_seed(seed: _int) -> None:
    """Seeds the default stream of random numbers."""

def masked_fill(self: Tensor, /, mask: Tensor, value: _Operand) -> Tensor:
    """The tensor with a value where a bool mask holds."""

def masked_select(self: Tensor, /, mask: Tensor) -> Tensor:
    """Elements where a bool mask holds."""

def matmul(self: Tensor, /, other: Tensor | np.ndarray[Any, Any]) -> Tensor:
    """Matrix product with NumPy's rules: vectors count as one row or column, leading dimensions …"""

@overload
def max(self: Tensor, /, dim: None = None, *, other: None = None, axis: None = None) -> Tensor:
    """Greatest element; with dim, greatest elements along it and their indexes; with a tensor, …"""

@overload
def max(self: Tensor, /, dim: Tensor) -> Tensor:
    """Greatest element; with dim, greatest elements along it and their indexes; with a tensor, …"""

@overload
def max(self: Tensor, /, *, other: Tensor) -> Tensor:
    """Greatest element; with dim, greatest elements along it and their indexes; with a tensor, …"""

@overload
def max(self: Tensor, /, dim: _int, keepdim: _bool = False, *, keepdims: _bool = False) -> _returns.max:
    """Greatest element; with dim, greatest elements along it and their indexes; with a tensor, …"""

@overload
def max(self: Tensor, /, *, axis: _int, keepdim: _bool = False, keepdims: _bool = False) -> _returns.max:
    """Greatest element; with dim, greatest elements along it and their indexes; with a tensor, …"""

def maximum(self: Tensor, /, other: _Operand) -> Tensor:
    """Greater of the two; NaN wins."""

def mean(
    self: Tensor,
    /,
    dim: _Dims | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    axis: _Dims | None = None,
    keepdims: _bool = False,
) -> Tensor:
    """Mean over dimensions, all by default."""

def memory_stats() -> dict[str, _int]:
    """Counters of the memory that tensors use: live, peak and cached bytes, buffers, allocations."""

@overload
def min(self: Tensor, /, dim: None = None, *, other: None = None, axis: None = None) -> Tensor:
    """Least element; with dim, least elements along it and their indexes; with a tensor, the …"""

@overload
def min(self: Tensor, /, dim: Tensor) -> Tensor:
    """Least element; with dim, least elements along it and their indexes; with a tensor, the …"""

@overload
def min(self: Tensor, /, *, other: Tensor) -> Tensor:
    """Least element; with dim, least elements along it and their indexes; with a tensor, the …"""

@overload
def min(self: Tensor, /, dim: _int, keepdim: _bool = False, *, keepdims: _bool = False) -> _returns.min:
    """Least element; with dim, least elements along it and their indexes; with a tensor, the …"""

@overload
def min(self: Tensor, /, *, axis: _int, keepdim: _bool = False, keepdims: _bool = False) -> _returns.min:
    """Least element; with dim, least elements along it and their indexes; with a tensor, the …"""

def minimum(self: Tensor, /, other: _Operand) -> Tensor:
    """Lesser of the two; NaN wins."""

def mm(self: Tensor, /, mat2: Tensor) -> Tensor:
    """Product of two matrices."""

def moveaxis(self: Tensor, /, source: _Dims, destination: _Dims) -> Tensor:
    """As `movedim`."""

def movedim(self: Tensor, /, source: _Dims, destination: _Dims) -> Tensor:
    """Moves dimensions to other places, as a view."""

def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Literal["sum", "prod", "mean", "amax", "amin", "add", "multiply"] | None = None,
    reduction: Literal["none", "mean", "sum"] = "mean",
) -> Tensor:
    """Squared differences, reduced."""

def mul(self: Tensor, /, other: _Operand) -> Tensor:
    """Product, `x·y`."""

def multiply(self: Tensor, /, other: _Operand) -> Tensor:
    """Product, `x·y`."""

def mv(self: Tensor, /, vec: Tensor) -> Tensor:
    """Product of a matrix and a vector."""

def narrow(self: Tensor, /, dim: SupportsIndex, start: SupportsIndex, length: _int) -> Tensor:
    """`length` slices from `start` along a dimension, as a view."""

def ne(self: Tensor, /, other: _Operand) -> Tensor:
    """Whether elements differ."""

def neg(self: Tensor, /) -> Tensor:
    """Negation, `-x`."""

def negative(self: Tensor, /) -> Tensor:
    """Negation, `-x`."""

def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: _int = ...,
    reduce: Literal["sum", "prod", "mean", "amax", "amin", "add", "multiply"] | None = None,
    reduction: Literal["none", "mean", "sum"] = "mean",
) -> Tensor:
    """Negative log-likelihood of classes, for log-probabilities (N, C, …) and int64 targets (N, …)."""

@overload
def nonzero(self: Tensor, /, *, as_tuple: Literal[False] = False) -> Tensor:
    """Indexes of the elements that are not zero, one row an element; or one tensor a dimension."""

@overload
def nonzero(self: Tensor, /, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
    """Indexes of the elements that are not zero, one row an element; or one tensor a dimension."""

def not_equal(self: Tensor, /, other: _Operand) -> Tensor:
    """Whether elements differ."""

def numel(self: Tensor, /) -> _int:
    """Number of elements."""

def ones(
    *args: Any,
    size: Sequence[SupportsIndex] | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    out: Any = None,
    layout: Any = None,
    pin_memory: _bool = False,
) -> Tensor:
    """A tensor of ones."""

def ones_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Ones of the shape and dtype of a tensor."""

def outer(self: Tensor, /, vec2: Tensor) -> Tensor:
    """Outer product of two vectors."""

def permute(self: Tensor, /, *args: Any, dims: _Dims | None = None) -> Tensor:
    """Dimensions reordered, as a view."""

def pow(input: Tensor, exponent: _Operand) -> Tensor:
    """Power; either argument may be a number."""

def prod(
    self: Tensor,
    /,
    dim: SupportsIndex | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    axis: SupportsIndex | None = None,
    keepdims: _bool = False,
) -> Tensor:
    """Product of all elements, or along one dimension."""

def promote_types(type1: _dtype, type2: _dtype) -> _dtype:
    """The dtype that holds values of both."""

def rand(
    *args: Any,
    size: Sequence[SupportsIndex] | None = None,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Numbers spread evenly over [0, 1)."""

def rand_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Numbers spread evenly over [0, 1), of the shape and dtype of a tensor."""

def randint(
    *args: Any,
    low: _Number | None = None,
    high: _Number | None = None,
    size: Sequence[SupportsIndex] | None = None,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Integers spread evenly over [low, high)."""

def randn(
    *args: Any,
    size: Sequence[SupportsIndex] | None = None,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Numbers of the standard normal distribution."""

def randn_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Numbers of the standard normal distribution, of the shape and dtype of a tensor."""

def randperm(
    n: _int,
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """The integers below `n` in random order."""

def ravel(self: Tensor, /) -> Tensor:
    """All elements in one dimension."""

def reciprocal(self: Tensor, /) -> Tensor:
    """Reciprocal, `1/x`."""

def relu(self: Tensor, /) -> Tensor:
    """Rectifier, `max(x, 0)`; the derivative at 0 is 0."""

def relu_(self: Tensor, /) -> Tensor:
    """As `relu`, in place."""

def remainder(input: Tensor, other: _Operand) -> Tensor:
    """Remainder with the sign of the divisor; either argument may be a number."""

def reset_peak_memory() -> None: ...
def reshape(self: Tensor, /, *shape: Sequence[SupportsIndex]) -> Tensor:
    """The same elements under another shape: a view where strides allow it, else a copy. One size …"""

def result_type(tensor1: Tensor | _dtype | _Number, tensor2: Tensor | _dtype | _Number) -> _dtype:
    """The dtype of the result of an operation on two tensors or numbers."""

def roll(self: Tensor, /, shifts: _Dims, dims: _Dims | None = None, *, axis: _Dims | None = None) -> Tensor:
    """Elements shifted along dimensions; what leaves one end enters at the other."""

def round(self: Tensor, /) -> Tensor:
    """Nearest integer, halves to even; the derivative is 0."""

def rsqrt(self: Tensor, /) -> Tensor:
    """Reciprocal square root, `1/√x`."""

def rsub(self: Tensor, /, other: _Operand, *, alpha: _Number | None = None) -> Tensor:
    """`other - alpha * self`."""

def scatter(
    self: Tensor,
    /,
    dim: SupportsIndex,
    index: Tensor,
    src: _Operand | None = None,
    *,
    value: _Number | None = None,
    reduce: Literal["sum", "prod", "mean", "amax", "amin", "add", "multiply"] | None = None,
) -> Tensor:
    """The tensor with src (a tensor or a number) put at index along a dimension."""

def scatter_add(self: Tensor, /, dim: SupportsIndex, index: Tensor, src: Tensor) -> Tensor:
    """The tensor with src added at index along a dimension."""

def select(self: Tensor, /, dim: SupportsIndex, index: SupportsIndex) -> Tensor:
    """One index along a dimension, as a view."""

def set_default_dtype(d: _dtype) -> None:
    """Sets the dtype of floats that come without one."""

def set_num_threads(n: _int) -> None:
    """Sets the number of threads of big operations and of the backward pass."""

def set_rng_state(state: Any) -> None:
    """Goes to a position of the default stream that `get_rng_state` gave."""

def sigmoid(self: Tensor, /) -> Tensor:
    """Logistic function, `1/(1 + e^-x)`."""

def sign(self: Tensor, /) -> Tensor:
    """Sign: -1, 0 or 1; the derivative is 0."""

def signbit(self: Tensor, /) -> Tensor:
    """Whether `x` is negative, -0 included."""

def silu(self: Tensor, /) -> Tensor:
    """Sigmoid-weighted linear unit, `x·sigmoid(x)`."""

def sin(self: Tensor, /) -> Tensor:
    """Sine."""

def sinh(self: Tensor, /) -> Tensor:
    """Hyperbolic sine."""

def softmax(
    self: Tensor,
    /,
    dim: SupportsIndex | None = None,
    dtype: _dtype | None = None,
    *,
    axis: SupportsIndex | None = None,
    _stacklevel: _int = 3,
) -> Tensor:
    """`e^x / Σ e^x` along a dimension."""

def softplus(self: Tensor, /, beta: _Number = 1.0, threshold: _Number = 20.0) -> Tensor:
    """`ln(1 + e^(beta·x))/beta`; `x` itself where `beta·x > threshold`."""

def softsign(self: Tensor, /) -> Tensor:
    """`x/(1 + |x|)`."""

def split(
    self: Tensor,
    /,
    split_size: _int | Sequence[_int],
    dim: SupportsIndex = 0,
    *,
    axis: SupportsIndex | None = None,
) -> tuple[Tensor, ...]:
    """Cuts a dimension into pieces of a size, or of several sizes."""

def split_with_sizes(
    self: Tensor, /, split_sizes: Sequence[SupportsIndex], dim: SupportsIndex = 0
) -> tuple[Tensor, ...]:
    """Cuts a dimension into pieces of the given sizes."""

def sqrt(self: Tensor, /) -> Tensor:
    """Square root."""

def square(self: Tensor, /) -> Tensor:
    """Square, `x²`."""

def squeeze(self: Tensor, /, dim: _Dims | None = None, *, axis: _Dims | None = None) -> Tensor:
    """Dimensions of size 1 dropped, all or those named."""

def stack(tensors: Sequence[Tensor], dim: SupportsIndex = 0, *, axis: SupportsIndex | None = None) -> Tensor:
    """Joins tensors of one shape along a new dimension."""

def std(
    self: Tensor,
    /,
    dim: _Dims | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _int | None = None,
    axis: _Dims | None = None,
    keepdims: _bool = False,
) -> Tensor:
    """Standard deviation: the square root of the variance."""

def sub(self: Tensor, /, other: _Operand, *, alpha: _Number | None = None) -> Tensor:
    """Difference with `alpha` times the other operand."""

def subtract(self: Tensor, /, other: _Operand, *, alpha: _Number | None = None) -> Tensor:
    """As `sub`."""

def sum(
    self: Tensor,
    /,
    dim: _Dims | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    axis: _Dims | None = None,
    keepdims: _bool = False,
) -> Tensor:
    """Sum over dimensions, all by default. Bools and integers give int64 unless dtype says otherwise."""

def swapaxes(self: Tensor, /, axis0: SupportsIndex, axis1: SupportsIndex) -> Tensor:
    """As `transpose`."""

def swapdims(self: Tensor, /, dim0: SupportsIndex, dim1: SupportsIndex) -> Tensor:
    """As `transpose`."""

def t(self: Tensor, /) -> Tensor:
    """Transpose of a matrix; a vector or number is itself."""

def take_along_dim(
    self: Tensor, /, indices: Tensor, dim: SupportsIndex | None = None, *, axis: SupportsIndex | None = None
) -> Tensor:
    """Elements at index along a dimension, or of the flattened tensor."""

def tan(self: Tensor, /) -> Tensor:
    """Tangent."""

def tanh(self: Tensor, /) -> Tensor:
    """Hyperbolic tangent."""

def tensor(
    data: Any,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A new tensor with the numbers of `data`: nested sequences, a NumPy array, a number or a …"""

def threshold(self: Tensor, /, threshold: _Number, value: _Number, inplace: _bool = False) -> Tensor:
    """`x` where greater than `threshold`, else `value`."""

def transpose(self: Tensor, /, dim0: SupportsIndex, dim1: SupportsIndex) -> Tensor:
    """Two dimensions exchanged, as a view."""

def tril(self: Tensor, /, diagonal: _int = 0) -> Tensor:
    """Lower triangle of the last two dimensions."""

def triu(self: Tensor, /, diagonal: _int = 0) -> Tensor:
    """Upper triangle of the last two dimensions."""

def true_divide(
    self: Tensor, /, other: _Operand, *, rounding_mode: Literal["floor", "trunc"] | None = None
) -> Tensor:
    """Quotient, rounded as `rounding_mode` says: `None`, `"trunc"` or `"floor"`."""

def trunc(self: Tensor, /) -> Tensor:
    """Integer part; the derivative is 0."""

def unbind(
    self: Tensor, /, dim: SupportsIndex = 0, *, axis: SupportsIndex | None = None
) -> tuple[Tensor, ...]:
    """The slices along a dimension."""

def unsqueeze(
    self: Tensor, /, dim: SupportsIndex | None = None, *, axis: SupportsIndex | None = None
) -> Tensor:
    """A dimension of size 1 added, as a view."""

def var(
    self: Tensor,
    /,
    dim: _Dims | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _int | None = None,
    axis: _Dims | None = None,
    keepdims: _bool = False,
) -> Tensor:
    """Variance over dimensions, all by default: squared distances from the mean divided by the …"""

@overload
def where(condition: Tensor, input: None = None, other: None = None) -> tuple[Tensor, ...]:
    """Elements of `input` where `condition` holds, else of `other`; with the condition alone, …"""

@overload
def where(condition: Tensor, input: _Operand, other: _Operand) -> Tensor:
    """Elements of `input` where `condition` holds, else of `other`; with the condition alone, …"""

def zeros(
    *args: Any,
    size: Sequence[SupportsIndex] | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    out: Any = None,
    layout: Any = None,
    pin_memory: _bool = False,
) -> Tensor:
    """A tensor of zeros."""

def zeros_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Zeros of the shape and dtype of a tensor."""

__all__ = [
    "__version__",
    "ShapeError",
    "ArgumentError",
    "DTypeError",
    "OutOfMemoryError",
    "ScopeError",
    "ScopeClosedError",
    "ScopeCapError",
    "TensorClosedError",
    "InternalError",
    "bool",
    "uint8",
    "int32",
    "int",
    "int64",
    "long",
    "float16",
    "half",
    "bfloat16",
    "float32",
    "float",
    "float64",
    "double",
    "dtype",
    "Size",
    "device",
    "_Capsule",
    "Tensor",
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
    "neg",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "square",
    "reciprocal",
    "abs",
    "sign",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "sigmoid",
    "logsigmoid",
    "relu",
    "silu",
    "gelu_erf",
    "gelu_tanh",
    "softsign",
    "floor",
    "ceil",
    "round",
    "trunc",
    "frac",
    "mul",
    "pow",
    "maximum",
    "minimum",
    "atan2",
    "hypot",
    "floor_divide",
    "remainder",
    "fmod",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
    "logical_xor",
    "isnan",
    "isinf",
    "isfinite",
    "logical_not",
    "signbit",
    "multiply",
    "true_divide",
    "negative",
    "absolute",
    "arccos",
    "arcsin",
    "arctan",
    "arccosh",
    "arcsinh",
    "arctanh",
    "arctan2",
    "fix",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "not_equal",
    "pow",
    "remainder",
    "tensor",
    "from_numpy",
    "as_tensor",
    "asarray",
    "from_dlpack",
    "frombuffer",
    "_rebuild",
    "Node",
    "RemovableHandle",
    "_SavedTensor",
    "_run_backward",
    "_is_grad_enabled",
    "_set_grad_enabled",
    "_is_inference_enabled",
    "_set_inference_enabled",
    "_set_detect_anomaly",
    "_is_anomaly_enabled",
    "_enter_dual_level",
    "_exit_dual_level",
    "_make_dual",
    "_unpack_dual",
    "_record_function",
    "_panic_for_test",
    "_ops_registry",
    "_Scope",
    "_current_scope",
    "_own_like",
    "_live_bytes",
    "memory_stats",
    "reset_peak_memory",
    "empty_cache",
    "set_num_threads",
    "get_num_threads",
    "set_default_dtype",
    "get_default_dtype",
    "is_tensor",
    "promote_types",
    "result_type",
    "can_cast",
    "Generator",
    "zeros",
    "ones",
    "empty",
    "rand",
    "randn",
    "zeros_like",
    "ones_like",
    "empty_like",
    "rand_like",
    "randn_like",
    "full",
    "full_like",
    "arange",
    "linspace",
    "eye",
    "randint",
    "randperm",
    "bernoulli",
    "manual_seed",
    "get_rng_state",
    "set_rng_state",
    "initial_seed",
    "_philox4x32",
    "cat",
    "concat",
    "concatenate",
    "stack",
    "where",
    "broadcast_tensors",
    "linear",
    "nll_loss",
    "cross_entropy",
    "mse_loss",
    "l1_loss",
    "dropout",
    "inf",
    "nan",
    "pi",
    "e",
    "newaxis",
]
