"""``backward`` and ``grad``: arguments are put in order here, the pass itself runs in the core."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from .._rgrad import Tensor, _run_backward, stack, zeros_like

Tensors = Tensor | Sequence[Tensor]


def _tuple(values, what: str) -> tuple:
    if isinstance(values, Tensor):
        return (values,)
    try:
        return tuple(values)
    except TypeError:
        raise TypeError(
            f"{what} must be a tensor or a sequence of tensors, got {type(values).__name__}"
        ) from None


def _cotangents(given, roots: tuple, what: str) -> tuple:
    if given is None:
        return (None,) * len(roots)
    given = _tuple(given, what)
    if len(given) != len(roots):
        raise RuntimeError(
            f"{what} has {len(given)} entries for {len(roots)} outputs; give one (or None) for each"
        )
    return given


def backward(
    tensors: Tensors,
    grad_tensors: Tensors | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | Mapping[Any, Tensor] | None = None,
) -> None:
    """Adds the gradients of ``tensors`` into the ``grad`` fields of the leaves they depend on.

    Parameters
    ----------
    tensors : Tensor or sequence of Tensor
        Roots; their contributions add up, and one listed twice counts twice.
    grad_tensors : Tensor, or sequence of Tensor or None, optional
        One cotangent a root, of exactly the root's shape. ``None`` stands for one where the root has one
        element.
    retain_graph : bool, optional
        Whether the graph can be run again. Default: the value of ``create_graph``.
    create_graph : bool, default False
        Whether the gradients are themselves differentiable.
    inputs : Tensor, sequence or mapping of Tensor, optional
        Only these receive gradients; they may be non-leaves.

    Raises
    ------
    RuntimeError
        When a root has no history, shapes differ, or the graph was freed by an earlier pass.

    Examples
    --------
    >>> import rgrad
    >>> x = rgrad.tensor([1.0, 2.0], requires_grad=True)
    >>> rgrad.autograd.backward([(x * x).sum(), x.sum()])
    >>> x.grad.tolist()
    [3.0, 5.0]
    """
    roots = (tensors,) if isinstance(tensors, Tensor) else _tuple(tensors, "tensors")
    cotangents = _cotangents(grad_tensors, roots, "grad_tensors")
    if inputs is None:
        inputs = ()
    else:
        inputs = _tuple(inputs.values() if isinstance(inputs, Mapping) else inputs, "inputs")
        if not inputs:
            raise RuntimeError("inputs of backward() is empty; leave it out to reach all leaves")
    _run_backward(
        roots,
        cotangents,
        create_graph if retain_graph is None else retain_graph,
        create_graph,
        inputs,
        True,
        True,
    )


def grad(
    outputs: Tensors,
    inputs: Tensors | Mapping[Any, Tensor],
    grad_outputs: Tensors | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Gradients of ``outputs`` with respect to ``inputs``; no ``grad`` field is touched.

    Parameters
    ----------
    outputs : Tensor or sequence of Tensor
        Roots; their contributions add up.
    inputs : Tensor, sequence or mapping of Tensor
        Leaves or intermediate results.
    grad_outputs : Tensor, or sequence of Tensor or None, optional
        One cotangent an output, of exactly its shape. ``None`` stands for one where the output has one
        element.
    retain_graph : bool, optional
        Whether the graph can be run again. Default: the value of ``create_graph``.
    create_graph : bool, default False
        Whether the gradients are themselves differentiable.
    only_inputs : bool, default True
        Kept for programs that pass it; always True.
    allow_unused : bool, optional
        Whether an input that no output depends on gives ``None`` rather than an error.
    is_grads_batched : bool, default False
        Whether each of ``grad_outputs`` has a leading axis of several cotangents, and each result one of
        gradients.
    materialize_grads : bool, default False
        Whether an unused input gives zeros.

    Returns
    -------
    tuple of Tensor or None
        One gradient an input, in its shape and dtype; a dict with the same keys when ``inputs`` is a mapping.

    Raises
    ------
    RuntimeError
        When an output or input has no history, an input is unused, shapes differ, or the graph was freed.
    ValueError
        When ``materialize_grads=True`` meets ``allow_unused=False``.

    Examples
    --------
    >>> import rgrad
    >>> x = rgrad.tensor(2.0, requires_grad=True)
    >>> g, = rgrad.autograd.grad(x ** 3, x, create_graph=True)
    >>> h, = rgrad.autograd.grad(g, x)
    >>> g.item(), h.item()
    (12.0, 12.0)
    """
    roots = (outputs,) if isinstance(outputs, Tensor) else _tuple(outputs, "outputs")
    keys = None
    if isinstance(inputs, Tensor):
        inputs = (inputs,)
    elif isinstance(inputs, Mapping):
        keys, inputs = list(inputs), tuple(inputs.values())
    else:
        inputs = _tuple(inputs, "inputs")
    cotangents = (
        (None,) * len(roots) if grad_outputs is None else _cotangents(grad_outputs, roots, "grad_outputs")
    )
    if retain_graph is None:
        retain_graph = create_graph
    if materialize_grads:
        if allow_unused is False:
            raise ValueError(
                "materialize_grads=True gives zeros for unused inputs, so allow_unused must not be False"
            )
        allow_unused = True
    if not only_inputs:
        warnings.warn(
            "only_inputs is ignored: gradients always flow to the inputs alone", FutureWarning, stacklevel=2
        )
    if is_grads_batched:
        result = _batched(roots, cotangents, retain_graph, create_graph, inputs, bool(allow_unused))
    else:
        result = _run_backward(
            roots, cotangents, retain_graph, create_graph, inputs, False, bool(allow_unused)
        )
    if materialize_grads:
        lead = _batch_size(roots, cotangents) if is_grads_batched else None
        result = tuple(_zeros(x, lead) if g is None else g for g, x in zip(result, inputs))
    return result if keys is None else dict(zip(keys, result))


def _zeros(x: Tensor, lead: int | None) -> Tensor:
    return zeros_like(x, requires_grad=False) if lead is None else x.new_zeros((lead, *x.shape))


def _batch_size(roots: tuple, cotangents: tuple) -> int:
    sizes = set()
    for i, (y, v) in enumerate(zip(roots, cotangents)):
        if v is None:
            raise RuntimeError(f"is_grads_batched needs a tensor for output {i}, grad_outputs has None there")
        if v.ndim == 0 or tuple(v.shape[1:]) != tuple(y.shape):
            raise RuntimeError(
                f"with is_grads_batched, grad_outputs[{i}] must have one batch axis in front of the output's shape: "
                f"got {tuple(v.shape)}, expected (batch, {', '.join(map(str, y.shape))})"
            )
        sizes.add(v.shape[0])
    if len(sizes) != 1:
        raise RuntimeError(
            f"with is_grads_batched, all grad_outputs need the same batch size, got {sorted(sizes)}"
        )
    return sizes.pop()


def _batched(roots, cotangents, retain_graph, create_graph, inputs, allow_unused):
    n = _batch_size(roots, cotangents)
    rows = []
    for i in range(n):
        keep = retain_graph or i + 1 < n
        row = tuple(v[i] for v in cotangents)
        rows.append(_run_backward(roots, row, keep, create_graph, inputs, False, allow_unused))
    if not rows:
        return tuple(x.new_zeros((0, *x.shape)) for x in inputs)
    return tuple(None if column[0] is None else stack(column) for column in zip(*rows))
