"""Modules and optimizers: state, updates against NumPy, and models that learn."""

import math

import numpy as np
import pytest
from common import T, assert_close, host

STEPS = 12


def sgd(p, grads, lr=0.1, momentum=0.0, weight_decay=0.0, nesterov=False, dampening=0.0):
    buf = None
    for g in grads:
        g = g + weight_decay * p
        if momentum:
            buf = g if buf is None else momentum * buf + (1 - dampening) * g
            g = g + momentum * buf if nesterov else buf
        p = p - lr * g
    return p


def adam(p, grads, lr=0.1, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled=False, amsgrad=False):
    m, v, top = np.zeros_like(p), np.zeros_like(p), np.zeros_like(p)
    for k, g in enumerate(grads, 1):
        if decoupled:
            p = p * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * p
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g
        top = np.maximum(top, v)
        root = np.sqrt(top if amsgrad else v) / math.sqrt(1 - betas[1] ** k) + eps
        p = p - lr / (1 - betas[0] ** k) * m / root
    return p


def rmsprop(p, grads, lr=0.01, alpha=0.99, eps=1e-8, momentum=0.0, centered=False):
    v, mean, buf = np.zeros_like(p), np.zeros_like(p), np.zeros_like(p)
    for g in grads:
        v, mean = alpha * v + (1 - alpha) * g * g, alpha * mean + (1 - alpha) * g
        step = g / (np.sqrt(v - mean * mean if centered else v) + eps)
        if momentum:
            buf = momentum * buf + step
            step = buf
        p = p - lr * step
    return p


def adagrad(p, grads, lr=0.1, eps=1e-10, lr_decay=0.0):
    total = np.zeros_like(p)
    for k, g in enumerate(grads):
        total = total + g * g
        p = p - lr / (1 + k * lr_decay) * g / (np.sqrt(total) + eps)
    return p


OPTIMIZERS = [
    ("SGD", sgd, {"lr": 0.1}),
    ("SGD", sgd, {"lr": 0.1, "momentum": 0.9}),
    ("SGD", sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", sgd, {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    ("Adam", adam, {"lr": 0.1}),
    ("Adam", adam, {"lr": 0.01, "betas": (0.5, 0.9), "eps": 1e-4, "weight_decay": 0.1}),
    ("Adam", adam, {"lr": 0.1, "amsgrad": True}),
    ("AdamW", lambda p, g, **k: adam(p, g, decoupled=True, **k), {"lr": 0.1, "weight_decay": 0.05}),
    ("RMSprop", rmsprop, {"lr": 0.01}),
    ("RMSprop", rmsprop, {"lr": 0.01, "momentum": 0.9, "centered": True}),
    ("Adagrad", adagrad, {"lr": 0.1}),
    ("Adagrad", adagrad, {"lr": 0.1, "lr_decay": 0.1}),
]


@pytest.mark.parametrize("name, reference, options", OPTIMIZERS)
def test_optimizer_makes_the_published_updates(name, reference, options):
    rng = np.random.default_rng(0)
    start, grads = rng.normal(size=(3, 4)), [rng.normal(size=(3, 4)) for _ in range(STEPS)]
    p = T.tensor(start, requires_grad=True)
    optimizer = getattr(T.optim, name)([p], **options)
    for g in grads:
        p.grad = T.tensor(g)
        optimizer.step()
        assert np.array_equal(host(p.grad), g), "a step leaves the gradient alone"
    assert_close(host(p), reference(start, grads, **options), 1e-12)


@pytest.mark.parametrize("name, reference, options", OPTIMIZERS)
def test_optimizer_continues_from_its_state(name, reference, options):
    rng = np.random.default_rng(0)
    start, grads = rng.normal(size=4), [rng.normal(size=4) for _ in range(STEPS)]
    p = T.tensor(start, requires_grad=True)
    optimizer = getattr(T.optim, name)([p], **options)
    for k, g in enumerate(grads):
        if k == STEPS // 2:
            state = optimizer.state_dict()
            p = p.detach().clone().requires_grad_()
            optimizer = getattr(T.optim, name)([p], lr=123.0)
            optimizer.load_state_dict(state)
        p.grad = T.tensor(g)
        optimizer.step()
    assert_close(host(p), reference(start, grads, **options), 1e-12)


def test_zero_grad_and_missing_gradients():
    p, q = T.ones(2, requires_grad=True), T.ones(2, requires_grad=True)
    optimizer = T.optim.SGD([p, q], lr=1.0)
    p.sum().backward()
    optimizer.step()
    assert p.tolist() == [0, 0] and q.tolist() == [1, 1]
    optimizer.zero_grad()
    assert p.grad is None
    p.sum().backward()
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0, 0]


@pytest.mark.parametrize(
    "make",
    [
        lambda p: T.optim.SGD([], lr=0.1),
        lambda p: T.optim.SGD([p], lr=-1.0),
        lambda p: T.optim.SGD([p * 2], lr=0.1),
    ],
)
def test_optimizer_refuses_bad_arguments(make):
    with pytest.raises(ValueError):
        make(T.ones(2, requires_grad=True))


def test_groups_of_parameters():
    p, q = T.ones(1, requires_grad=True), T.ones(1, requires_grad=True)
    optimizer = T.optim.SGD([{"params": [p]}, {"params": [q], "lr": 0.5}], lr=0.1)
    (p + q).sum().backward()
    optimizer.step()
    assert p.item() == pytest.approx(0.9) and q.item() == 0.5
    optimizer.param_groups[0]["lr"] = 1.0
    optimizer.step()
    assert p.item() == pytest.approx(-0.1)


class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = T.nn.Linear(2, 8)
        self.blocks = T.nn.ModuleList([T.nn.Linear(8, 8), T.nn.Tanh()])
        self.scale = T.nn.Parameter(T.ones(1))
        self.register_buffer("count", T.zeros(1))

    def forward(self, x):
        x = self.first(x).tanh()
        for block in self.blocks:
            x = block(x)
        return x * self.scale


def test_module_finds_its_parameters_and_buffers():
    net = Net()
    names = ["scale", "first.weight", "first.bias", "blocks.0.weight", "blocks.0.bias"]
    assert sorted(n for n, _ in net.named_parameters()) == sorted(names)
    assert all(isinstance(p, T.nn.Parameter) and p.requires_grad for p in net.parameters())
    assert [n for n, _ in net.named_buffers()] == ["count"]
    assert sorted(net.state_dict()) == sorted([*names, "count"])
    assert [n for n, _ in net.named_children()] == ["first", "blocks"]


def test_state_of_a_module_can_be_loaded():
    a, b = Net(), Net()
    x = T.ones(3, 2)
    assert not T.equal(a(x), b(x))
    b.load_state_dict(a.state_dict())
    assert T.equal(a(x), b(x))
    state = a.state_dict()
    del state["scale"]
    with pytest.raises(RuntimeError, match="scale"):
        b.load_state_dict(state)
    state["scale"] = T.ones(7)
    with pytest.raises(RuntimeError, match="scale"):
        b.load_state_dict(state)


def test_modes_gradients_and_casts_of_a_module():
    net = Net()
    assert net.training and not net.eval().training and net.train().blocks[0].training
    net(T.ones(1, 2)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    assert all(p.dtype == T.float64 for p in net.double().parameters())
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


LAYERS = {
    "Linear": (lambda: T.nn.Linear(4, 3), (5, 4), lambda m, x: T.nn.functional.linear(x, m.weight, m.bias)),
    "ReLU": (lambda: T.nn.ReLU(), (5, 4), lambda m, x: T.relu(x)),
    "GELU": (lambda: T.nn.GELU(), (5, 4), lambda m, x: T.nn.functional.gelu(x)),
    "SiLU": (lambda: T.nn.SiLU(), (5, 4), lambda m, x: T.nn.functional.silu(x)),
    "LeakyReLU": (lambda: T.nn.LeakyReLU(0.2), (5, 4), lambda m, x: T.nn.functional.leaky_relu(x, 0.2)),
    "Softmax": (lambda: T.nn.Softmax(dim=1), (5, 4), lambda m, x: x.softmax(1)),
    "LogSoftmax": (lambda: T.nn.LogSoftmax(dim=1), (5, 4), lambda m, x: x.log_softmax(1)),
    "Flatten": (lambda: T.nn.Flatten(), (2, 3, 4), lambda m, x: x.reshape(2, 12)),
    "Sequential": (
        lambda: T.nn.Sequential(T.nn.Linear(4, 4), T.nn.Tanh()),
        (5, 4),
        lambda m, x: m[0](x).tanh(),
    ),
    "Identity": (lambda: T.nn.Identity(), (5,), lambda m, x: x),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_is_its_function(layer):
    make, shape, function = LAYERS[layer]
    m, x = make(), T.randn(*shape)
    assert T.equal(m(x), function(m, x))
    assert isinstance(repr(m), str) and layer in repr(m)


def test_losses_are_their_functions():
    x, y = T.randn(4, 3), T.tensor([0, 2, 1, 1])
    f = T.nn.functional
    assert T.equal(T.nn.CrossEntropyLoss()(x, y), f.cross_entropy(x, y))
    assert T.equal(T.nn.NLLLoss(reduction="sum")(x, y), f.nll_loss(x, y, reduction="sum"))
    assert T.equal(T.nn.MSELoss()(x, x * 2), f.mse_loss(x, x * 2))
    assert T.equal(T.nn.L1Loss()(x, x * 2), f.l1_loss(x, x * 2))


def test_initial_weights_have_the_spread_they_should():
    weight = host(T.nn.Linear(400, 300).weight)
    assert np.abs(weight).max() <= 1 / math.sqrt(400) and abs(weight.std() - 1 / math.sqrt(3 * 400)) < 1e-3
    x = T.empty(200, 300)
    T.nn.init.xavier_normal_(x)
    assert abs(host(x).std() - math.sqrt(2 / 500)) < 2e-3
    T.nn.init.kaiming_uniform_(x, nonlinearity="relu")
    assert abs(host(x).std() - math.sqrt(2 / 300)) < 2e-3


def test_clip_grad_norm():
    p, q = T.zeros(2, requires_grad=True), T.zeros(1, requires_grad=True)
    p.grad, q.grad = T.tensor([3.0, 0.0]), T.tensor([4.0])
    assert T.nn.utils.clip_grad_norm_([p, q], 1.0).item() == 5
    assert_close(host(p.grad), np.array([0.6, 0.0]), 1e-5)
    assert_close(host(q.grad), np.array([0.8]), 1e-5)
    assert T.nn.utils.clip_grad_norm_([p, q], 10.0).item() == pytest.approx(1, rel=1e-5)
    T.nn.utils.clip_grad_value_([p, q], 0.25)
    assert p.grad.tolist() == [0.25, 0] and q.grad.tolist() == [0.25]


def test_exclusive_or_is_learned():
    T.manual_seed(1)
    x = T.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = T.tensor([0, 1, 1, 0])
    model = T.nn.Sequential(T.nn.Linear(2, 16), T.nn.Tanh(), T.nn.Linear(16, 2))
    optimizer = T.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(200):
        optimizer.zero_grad()
        loss = T.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.01 and model(x).argmax(1).tolist() == y.tolist()


def test_training_repeats_bit_for_bit():
    def run():
        T.manual_seed(3)
        net = Net()
        optimizer = T.optim.AdamW(net.parameters(), lr=0.01)
        for _ in range(20):
            loss = net(T.randn(8, 2)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return [host(p).tobytes() for p in net.parameters()]

    assert run() == run()
