"""What keeps nested reverse-mode transforms apart.

A transform differentiates by aliases of its arguments. Results that depend on tracked tensors outside the
transform (arguments of an outer one, or captured parameters) stay differentiable; all others come back
untracked."""

from __future__ import annotations

from collections.abc import Iterable

from .._rgrad import Tensor
from ..autograd import forward_ad


class Level:
    """The aliases of one transform, and whether recording was on around it.

    ``own`` are the tensors to differentiate by, ``given`` the same with the tangents that the arguments have.
    """

    __slots__ = ("given", "outer", "own", "recording")

    def __init__(self, given: Iterable[Tensor], recording: bool) -> None:
        self.recording = recording
        given = list(given)
        for t in given:
            if not t.is_floating_point():
                raise TypeError(f"only floating point tensors can be differentiated by, got dtype {t.dtype}")
        pairs = [forward_ad.alias(t, recording) for t in given]
        self.own = [own for own, _ in pairs]
        self.given = [whole for _, whole in pairs]
        # An argument that is tracked already belongs to an outer transform or to the caller's graph.
        self.outer = recording and any(p.requires_grad for t in given for p in forward_ad.parts(t))

    def reaches_out(self, tensors: Iterable[Tensor]) -> bool:
        """Whether a result depends on a tracked tensor that is not one of the level's own."""
        return self.recording and depends_on_others(tensors, self.own)

    def close(self, t):
        """The result as the caller may see it."""
        if (
            not isinstance(t, Tensor)
            or not any(p.requires_grad for p in forward_ad.parts(t))
            or self.reaches_out((t,))
        ):
            return t
        return forward_ad.untracked(t)


def depends_on_others(tensors: Iterable[Tensor], own: list[Tensor]) -> bool:
    """Whether the graph behind ``tensors`` reaches a leaf that is not in ``own``; every node is seen once."""
    own_ids = {id(t) for t in own}
    seen = set()
    todo = []
    for t in [part for whole in tensors for part in forward_ad.parts(whole)]:
        if t.requires_grad:
            if t.grad_fn is None:
                if id(t) not in own_ids:
                    return True
            else:
                todo.append(t.grad_fn)
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None:
            if id(variable) not in own_ids:
                return True
            continue
        todo.extend([n for n, _ in node.next_functions if n is not None])
    return False
