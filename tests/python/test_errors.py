"""Mistakes: the class of the exception and the words its text must have; no panic ever leaves the core."""

import builtins
import gc

import pytest
from common import T

one = lambda *s: T.ones(*s)
tracked = lambda *s: T.ones(*s, requires_grad=True)


def assign(x, name, value):
    setattr(x, name, value)


# What is done -> the class of the exception, and words that its text must contain.
MISTAKES = {
    "shapes that do not broadcast": (lambda: one(2, 3) + one(4), RuntimeError, ["add", "2, 3", "4"]),
    "shapes in a method": (lambda: one(2).mul(one(3)), RuntimeError, ["mul", "2", "3"]),
    "shapes in place": (lambda: one(2).add_(one(3, 2)), RuntimeError, ["add", "3, 2"]),
    "matmul": (lambda: one(2, 3) @ one(2, 3), RuntimeError, ["matmul", "2, 3"]),
    "mm of vectors": (lambda: T.mm(one(3), one(3, 2)), RuntimeError, ["mm"]),
    "reshape": (lambda: one(6).reshape(4, 2), RuntimeError, ["reshape", "6", "4, 2"]),
    "reshape twice -1": (lambda: one(6).reshape(-1, -1), RuntimeError, ["reshape", "-1"]),
    "view of strides": (lambda: one(2, 3).t().view(6), RuntimeError, ["view", "reshape"]),
    "expand": (lambda: one(3).expand(2), RuntimeError, ["expand", "3", "2"]),
    "cat shapes": (lambda: T.cat([one(2, 3), one(2, 4)]), RuntimeError, ["cat", "3", "4"]),
    "cat of nothing": (lambda: T.cat([]), (RuntimeError, ValueError), ["cat"]),
    "stack": (lambda: T.stack([one(2), one(3)]), RuntimeError, ["stack", "2", "3"]),
    "dimension": (lambda: one(2, 3).sum(2), IndexError, ["sum", "2"]),
    "dimension of transpose": (lambda: one(2, 3).transpose(0, 5), IndexError, ["transpose", "5"]),
    "negative dimension": (lambda: one(2, 3).softmax(-3), IndexError, ["softmax", "-3"]),
    "index": (lambda: one(3)[3], IndexError, ["3"]),
    "negative index": (lambda: one(3)[-4], IndexError, ["-4", "3"]),
    "index tensor": (lambda: one(3)[T.tensor([0, 7])], IndexError, ["7", "3"]),
    "too many indices": (lambda: one(3)[0, 0], IndexError, ["2", "1"]),
    "float index": (lambda: one(3)[1.5], (IndexError, TypeError), ["float"]),
    "mask shape": (lambda: one(3)[T.tensor([True, False])], IndexError, ["mask", "2", "3"]),
    "zero step": (lambda: one(3)[::0], ValueError, ["slice", "step"]),
    "assignment shape": (lambda: one(3).__setitem__(slice(None), one(2)), RuntimeError, ["2", "3"]),
    "gather index": (lambda: one(3).gather(0, T.tensor([3])), (RuntimeError, IndexError), ["gather", "3"]),
    "gather dtype": (lambda: one(3).gather(0, one(2)), RuntimeError, ["gather", "int64"]),
    "class index": (lambda: T.nn.functional.cross_entropy(one(2, 3), T.tensor([0, 3])), IndexError, ["3"]),
    "reduction name": (
        lambda: T.nn.functional.mse_loss(one(2), one(2), reduction="average"),
        ValueError,
        ["average"],
    ),
    "dtype of mean": (lambda: T.tensor([1, 2]).mean(), RuntimeError, ["mean", "int64"]),
    "in-place kind": (lambda: T.tensor([1, 2]).add_(0.5), RuntimeError, ["add", "int64", "float"]),
    "in-place bool": (lambda: T.tensor([True]).mul_(2), RuntimeError, ["bool"]),
    "text operand": (lambda: one(2) + "a", TypeError, ["str"]),
    "text argument": (lambda: T.exp("a"), TypeError, ["exp", "str"]),
    "missing argument": (lambda: T.exp(), TypeError, ["exp"]),
    "unknown keyword": (lambda: T.exp(one(2), base=2), TypeError, ["exp", "keyword"]),
    "too many arguments": (lambda: T.exp(one(2), 1, 2, 3), TypeError, ["exp"]),
    "requires_grad of integers": (lambda: T.tensor([1]).requires_grad_(), RuntimeError, ["int64"]),
    "default dtype": (lambda: T.set_default_dtype(T.int64), TypeError, ["int64"]),
    "item of many": (lambda: one(3).item(), RuntimeError, ["item", "3"]),
    "truth of many": (lambda: bool(one(2)), RuntimeError, ["bool"]),
    "len of a scalar": (lambda: len(T.tensor(1.0)), TypeError, ["0-d"]),
    "numpy of tracked": (lambda: tracked(2).numpy(), RuntimeError, ["numpy", "detach"]),
    "backward of many": (lambda: tracked(2).exp().backward(), RuntimeError, ["backward", "scalar"]),
    "backward of untracked": (lambda: one(1).backward(), RuntimeError, ["backward", "require"]),
    "cotangent shape": (lambda: tracked(2).exp().backward(one(3)), RuntimeError, ["3", "2"]),
    "grad of untracked input": (lambda: T.autograd.grad(tracked(1).exp(), one(1)), RuntimeError, ["require"]),
    "unused input": (lambda: T.autograd.grad(tracked(1).exp(), tracked(1)), RuntimeError, ["allow_unused"]),
    "write to a leaf": (lambda: tracked(2).add_(1), RuntimeError, ["add", "leaf", "no_grad"]),
    "grad shape": (lambda: assign(tracked(2), "grad", one(3)), RuntimeError, ["grad", "3", "2"]),
    "grad type": (lambda: assign(tracked(2), "grad", 1.0), TypeError, ["grad", "float"]),
    "hook on untracked": (lambda: one(2).register_hook(print), RuntimeError, ["hook", "require"]),
    "retain_grad on untracked": (lambda: one(2).retain_grad(), RuntimeError, ["retain_grad", "require"]),
    "requires_grad of a result": (
        lambda: assign(tracked(2) * 2, "requires_grad", False),
        RuntimeError,
        ["leaf", "detach"],
    ),
    "unknown device": (lambda: T.ones(2, device="cuda"), (RuntimeError, ValueError), ["cuda"]),
    "linear": (lambda: T.nn.functional.linear(one(2, 3), one(4, 2)), RuntimeError, ["linear", "3", "2"]),
    "ragged data": (lambda: T.tensor([[1, 2], [3]]), ValueError, ["tensor", "2", "1"]),
    "text data": (lambda: T.tensor("a"), TypeError, ["tensor", "str"]),
    "negative size": (lambda: T.zeros(-1), RuntimeError, ["zeros", "-1"]),
    "split": (lambda: one(5).split([2, 2]), RuntimeError, ["split", "2, 2", "5"]),
    "permute": (lambda: one(2, 3).permute(0, 0), RuntimeError, ["permute"]),
    "where condition": (lambda: T.where(one(2), one(2), one(2)), RuntimeError, ["where", "float32"]),
    "masked_fill mask": (
        lambda: one(2).masked_fill(T.tensor([1, 0]), 1.0),
        RuntimeError,
        ["masked_fill", "int64"],
    ),
    "empty maximum": (lambda: T.zeros(0).max(), RuntimeError, ["max"]),
    "integer division by zero": (
        lambda: T.tensor([1]) // T.tensor([0]),
        RuntimeError,
        ["floor_divide", "zero"],
    ),
    "deepcopy of a result": (
        lambda: __import__("copy").deepcopy(tracked(2) * 2),
        RuntimeError,
        ["deepcopy", "leaves"],
    ),
    "unknown attribute": (lambda: one(2).foo, AttributeError, ["foo"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_raises_the_class(mistake):
    do, error, _ = MISTAKES[mistake]
    with pytest.raises(error):
        do()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_text_names_the_operation_and_the_values(mistake):
    do, error, words = MISTAKES[mistake]
    with pytest.raises(error) as caught:
        do()
    text = str(caught.value)
    assert all(w.lower() in text.lower() for w in words), f"{text!r} lacks one of {words}"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_exception_is_of_a_builtin_class_or_a_subclass(mistake):
    do, error, _ = MISTAKES[mistake]
    with pytest.raises(error) as caught:
        do()
    ordinary = [c for c in type(caught.value).__mro__ if c.__name__ in vars(builtins)]
    assert ordinary[0] not in (SystemError, AssertionError, BaseException, Exception)
    assert "panicked" not in str(caught.value) and "src/" not in str(caught.value)


def test_shape_error_is_a_value_error_too():
    for do in (lambda: one(2) + one(3), lambda: one(2, 3) @ one(2, 3), lambda: one(6).reshape(4, 2)):
        with pytest.raises(ValueError):
            do()
        with pytest.raises(RuntimeError):
            do()


def test_panic_is_an_ordinary_exception_and_the_process_survives():
    for _ in range(3):
        with pytest.raises(RuntimeError) as caught:
            T._rgrad._panic_for_test()
        assert isinstance(caught.value, T.InternalError) and str(caught.value)
    x = tracked(2)
    x.exp().sum().backward()
    assert x.grad is not None


def test_many_mistakes_leave_the_library_usable():
    gc.collect()
    before = T._rgrad._live_bytes()
    for do, error, _ in MISTAKES.values():
        try:
            do()
        except error:
            pass
    gc.collect()
    assert T.is_grad_enabled() and T._rgrad._live_bytes() <= before
