"""Views share memory, in-place operations are seen through them and counted, and gradients follow."""

import itertools

import numpy as np
import pytest
from common import T, host

VIEWS = {
    "index": lambda x: x[1],
    "slice": lambda x: x[:, 1:],
    "steps": lambda x: x[::2],
    "none": lambda x: x[None],
    "ellipsis": lambda x: x[..., 0],
    "view": lambda x: x.view(8, 3),
    "reshape": lambda x: x.reshape(-1),
    "transpose": lambda x: x.transpose(0, 1),
    "permute": lambda x: x.permute(2, 0, 1),
    "t": lambda x: x[0].t(),
    "squeeze": lambda x: x[:1].squeeze(0),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "expand": lambda x: x[:1].expand(3, 3, 4),
    "flatten": lambda x: x.flatten(),
    "narrow": lambda x: x.narrow(1, 0, 2),
    "select": lambda x: x.select(2, 1),
    "split": lambda x: x.split(1)[0],
    "chunk": lambda x: x.chunk(2)[1],
    "unbind": lambda x: x.unbind()[0],
    "diagonal": lambda x: x[0].diagonal(),
    "movedim": lambda x: x.movedim(0, 2),
    "swapaxes": lambda x: x.swapaxes(0, 2),
    "detach": lambda x: x.detach(),
    "broadcast_to": lambda x: x.broadcast_to(5, 2, 3, 4),
    "T": lambda x: x[0].T,
    "mT": lambda x: x.mT,
    "view_as": lambda x: x.view_as(T.zeros(4, 6)),
    "iteration": lambda x: next(iter(x)),
}
COPIES = {
    "clone": lambda x: x.clone(),
    "list": lambda x: x[[0, 1]],
    "mask": lambda x: x[x > -1],
    "flip": lambda x: x.flip(0),
    "roll": lambda x: x.roll(0),
    "repeat": lambda x: x.repeat(1, 1, 1),
    "cat": lambda x: T.cat([x]),
    "transposed reshape": lambda x: x.transpose(0, 2).reshape(24),
    "index_select": lambda x: x.index_select(0, T.tensor([0, 1])),
    "tril": lambda x: x.tril(9),
}


def numbered():
    return T.arange(24, dtype=T.float64).reshape(2, 3, 4)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_view_shares_memory_and_version(view):
    x = numbered()
    v = view(x)
    version = x._version
    before = host(v)
    x.add_(100)
    assert np.array_equal(host(v), before + 100)
    assert x._version == v._version == version + 1
    assert v.data_ptr() >= x.data_ptr()


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_copy_has_memory_of_its_own(copy):
    x = numbered()
    c = copy(x)
    before = host(c)
    x.add_(100)
    assert np.array_equal(host(c), before) and c._version == 0


WRITABLE = {k: v for k, v in VIEWS.items() if k not in ("expand", "broadcast_to")}


@pytest.mark.parametrize("view", WRITABLE.values(), ids=WRITABLE)
def test_write_through_a_view_reaches_the_base(view):
    x, twin = numbered(), np.arange(24.0).reshape(2, 3, 4)
    places = host(view(T.arange(24).reshape(2, 3, 4))).ravel()
    view(x).mul_(-1)
    twin.reshape(-1)[places] *= -1
    assert np.array_equal(host(x), twin)


def test_write_to_an_expanded_view_is_refused():
    v = T.zeros(1, 3).expand(2, 3)
    with pytest.raises(RuntimeError):
        v.add_(1)


def test_view_needs_strides_that_allow_it():
    x = T.zeros(2, 3, 4)
    assert x[:, :, :2].view(6, 2).shape == (6, 2) and x.transpose(0, 1).view(3, 2, 2, 2).shape == (3, 2, 2, 2)
    with pytest.raises(RuntimeError, match="reshape"):
        x.transpose(0, 1).view(24)


@pytest.mark.parametrize(
    "shape, strides, to",
    [
        ((2, 3, 4), (12, 4, 1), (6, 4)),
        ((4, 3), (3, 1), (2, 2, 3)),
        ((1, 3), (3, 1), (3,)),
        ((2, 0), (1, 1), (0, 5)),
    ],
)
def test_strides_of_a_view_are_those_of_contiguous_memory(shape, strides, to):
    assert T.zeros(*shape).stride() == strides
    assert T.zeros(*shape).view(to).is_contiguous()


@pytest.mark.parametrize(
    "key",
    [
        slice(None, None, 1),
        slice(1, None),
        slice(None, 2),
        slice(-3, -1),
        slice(1, 100),
        slice(3, 1),
        slice(None, None, 2),
        slice(1, 7, 3),
        slice(-100, 2),
    ],
)
def test_slices_have_the_values_and_strides_of_numpy(key):
    a = np.arange(35).reshape(7, 5)
    x = T.tensor(a)
    for index in (key, (slice(None), key), (key, key), (None, key), (..., key)):
        assert x[index].tolist() == a[index].tolist()
        if a[index].size > 1 and min(n for n in a[index].shape) > 1:
            assert x[index].stride() == tuple(s // a.itemsize for s in a[index].strides)


def test_base_and_is_view():
    x = numbered()
    assert x[0]._is_view() and not x.clone()._is_view()
    assert not T.zeros(2)._is_view() and T.zeros(2)._base is None


def test_as_strided_reads_windows():
    x = T.arange(6.0)
    assert x.as_strided((3, 2), (2, 1)).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert x.as_strided((4, 3), (1, 1)).tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]
    with pytest.raises(RuntimeError):
        x.as_strided((4, 3), (3, 1))


# ---- versions ------------------------------------------------------------------------------------


def test_every_write_counts_once():
    x = T.zeros(3)
    for i, write in enumerate(
        (
            lambda: x.add_(1),
            lambda: x.zero_(),
            lambda: x.fill_(2),
            lambda: x.copy_(T.ones(3)),
            lambda: x.__setitem__(0, 5.0),
            lambda: x[1:].mul_(2),
            lambda: x.detach().add_(1),
            lambda: x.clamp_(0, 1),
        )
    ):
        write()
        assert x._version == i + 1
    x += 1
    x *= 2
    assert x._version == 10 and x.tolist() == [4, 4, 4]


def test_refused_write_counts_nothing():
    x = T.zeros(3)
    for bad in (
        lambda: x.add_(T.ones(4)),
        lambda: x.copy_(T.ones(2)),
        lambda: x.__setitem__(5, 1.0),
        lambda: x.add_(T.ones(2, 3)),
    ):
        with pytest.raises((RuntimeError, IndexError)):
            bad()
    assert x._version == 0 and x.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "op, saves",
    [
        ("exp", "result"),
        ("sqrt", "result"),
        ("tanh", "result"),
        ("sigmoid", "result"),
        ("relu", "result"),
        ("reciprocal", "result"),
        ("sin", "input"),
        ("log", "input"),
        ("square", "input"),
        ("abs", "input"),
        ("neg", "nothing"),
        ("sum", "nothing"),
    ],
)
def test_what_an_operation_saves_is_what_may_not_change(op, saves):
    for changed, allowed in (("input", saves != "input"), ("result", saves != "result")):
        x = T.tensor([0.5, 0.25], requires_grad=True)
        a = x * 1
        y = getattr(a, op)()
        with T.no_grad():
            (a if changed == "input" else y).add_(1)
        if allowed:
            y.sum().backward()
        else:
            with pytest.raises(RuntimeError, match="(?i)modified|in-place|inplace|version"):
                y.sum().backward()
            assert x.grad is None


def test_product_saves_only_the_side_it_needs():
    x = T.tensor([2.0], requires_grad=True)
    other = T.tensor([3.0])
    a = x * 1
    y = a * other
    a.add_(1)  # needed only for the gradient of `other`, which wants none
    y.sum().backward()
    assert x.grad.tolist() == [3]


def test_error_about_a_changed_value_names_the_operation():
    x = T.tensor([0.5], requires_grad=True)
    y = x.exp()
    y.mul_(2)
    y.add_(1)
    with pytest.raises(RuntimeError, match="(?i)exp"):
        y.sum().backward()


def test_write_over_a_saved_part_is_found():
    x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = x.clone()
    y = b[:2].square()
    b[1] = 7.0
    with pytest.raises(RuntimeError):
        y.sum().backward()


# ---- gradients through writes --------------------------------------------------------------------


def test_leaf_that_requires_grad_cannot_be_written():
    x = T.ones(3, requires_grad=True)
    for write in (lambda: x.add_(1), lambda: x.__setitem__(0, 2.0), lambda: x[:2].mul_(3), lambda: x.zero_()):
        with pytest.raises(RuntimeError, match="(?i)leaf"):
            write()
    assert x.tolist() == [1, 1, 1] and x._version == 0
    with T.no_grad():
        x.add_(1)
    assert x.tolist() == [2, 2, 2] and x.is_leaf


@pytest.mark.parametrize(
    "view",
    [v for k, v in WRITABLE.items() if k not in ("detach", "split", "chunk", "unbind", "iteration")],
    ids=[k for k in WRITABLE if k not in ("detach", "split", "chunk", "unbind", "iteration")],
)
def test_write_into_a_view_rewires_the_base(view):
    """Against the same program without views: the places of the view are multiplied by w, then all squared."""
    x = numbered().requires_grad_()
    w = T.tensor(3.0, dtype=T.float64, requires_grad=True)
    base = x * 1
    view(base).mul_(w)
    base.square().sum().backward()
    mask = T.zeros(2, 3, 4, dtype=T.float64)
    view(mask).add_(1)
    x2, w2 = x.detach().clone().requires_grad_(), w.detach().clone().requires_grad_()
    (x2 * T.where(mask > 0, w2, T.ones((), dtype=T.float64))).square().sum().backward()
    assert np.allclose(host(x.grad), host(x2.grad), rtol=1e-14) and np.isclose(
        w.grad.item(), w2.grad.item(), rtol=1e-14
    )


def test_older_and_sibling_views_see_the_write():
    x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
    base = x * 1
    early, sibling = base[:2], base[1:]
    early.mul_(10)
    assert sibling.tolist() == [20, 3]
    sibling.sum().backward()
    assert x.grad.tolist() == [0, 10, 1]


def test_tracked_value_written_into_a_plain_buffer_makes_it_tracked():
    x = T.tensor(2.0, requires_grad=True)
    buffer = T.zeros(3)
    assert buffer.is_leaf
    buffer[1] = x * x
    assert not buffer.is_leaf and buffer.requires_grad
    buffer.sum().backward()
    assert x.grad.item() == 4


def test_overwritten_values_get_no_gradient():
    x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y[0] = 0.0
    y[1:2].copy_(T.tensor([5.0]))
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 2]


def test_in_place_of_an_alias_of_several_outputs_is_refused():
    x = T.ones(4, requires_grad=True)
    part = (x * 1).split(2)[0]
    with pytest.raises(RuntimeError):
        part.mul_(2)


def test_detach_in_place():
    x = T.ones(2, requires_grad=True)
    y = x * 2
    assert y.detach_() is y and y.is_leaf and not y.requires_grad
    with pytest.raises(RuntimeError):
        (x * 2)[0].detach_()


def test_data_is_outside_of_the_graph():
    x = T.ones(2, requires_grad=True)
    x.data.add_(1)
    assert x.tolist() == [2, 2] and not x.data.requires_grad
    x.data = T.zeros(2)
    assert x.tolist() == [0, 0] and x.requires_grad and x.is_leaf


@pytest.mark.parametrize(
    "symbol, name",
    [
        ("+=", "__iadd__"),
        ("-=", "__isub__"),
        ("*=", "__imul__"),
        ("/=", "__itruediv__"),
        ("**=", "__ipow__"),
        ("%=", "__imod__"),
        ("//=", "__ifloordiv__"),
    ],
)
def test_augmented_assignment_works_in_place(symbol, name):
    x = T.tensor([7.0, 5.0])
    alias = x
    want = {
        "+=": [9, 7],
        "-=": [5, 3],
        "*=": [14, 10],
        "/=": [3.5, 2.5],
        "**=": [49, 25],
        "%=": [1, 1],
        "//=": [3, 2],
    }[symbol]
    x = getattr(x, name)(2)
    assert x is alias and x.tolist() == want and x._version == 1


def test_indexing_agrees_with_numpy_for_all_short_keys():
    a = np.arange(24).reshape(2, 3, 4)
    x = T.tensor(a)
    parts = [0, -1, slice(None), slice(1, None), slice(None, None, 2), None, Ellipsis, T.tensor([1, 0])]
    plain = lambda p: p.numpy() if isinstance(p, T.Tensor) else p
    tried = 0
    for key in itertools.chain(*(itertools.product(parts, repeat=n) for n in (1, 2, 3))):
        if (
            sum(k is Ellipsis for k in key) > 1
            or sum(isinstance(k, int) for k in key)
            and sum(isinstance(k, T.Tensor) for k in key)
        ):
            continue  # NumPy and PyTorch differ where integers stand beside index arrays
        if sum(isinstance(k, T.Tensor) for k in key) > 1 and any(k is None for k in key):
            continue
        np_key = tuple(map(plain, key))
        assert np.array_equal(host(x[key]), a[np_key]), key
        tried += 1
    assert tried > 250
