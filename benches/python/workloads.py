"""What is timed: each workload is one function over a module with PyTorch's names.

A workload makes its data with NumPy, the same for every module, and returns ``Job``: a statement to time, the names it
uses, and a function whose numbers all modules must agree on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Job:
    statement: str
    names: dict[str, Any]
    check: Callable[[], Any] | None = None


@dataclass
class Workload:
    name: str
    title: str
    build: Callable[[Any], Job]
    target: float | None
    count: int = 1
    """How many operations one run of the statement stands for; times are given for one."""
    flops: float = 0.0
    threads: tuple[int, ...] = (1, 2)


WORKLOADS: dict[str, Workload] = {}


def workload(title: str, target: float | None = None, **options):
    """Registers a function as a workload; ``target`` is the wanted ratio to PyTorch's time."""

    def register(build):
        WORKLOADS[build.__name__] = Workload(build.__name__, title, build, target, **options)
        return build

    return register


def normal(*shape: int, seed: int = 0, scale: float = 1.0, dtype: str = "float32") -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)


def uniform(low: float, high: float, *shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def leaf(T, array: np.ndarray):
    return T.tensor(array, requires_grad=True)


def total(tensors) -> float:
    """A number that depends on every entry, to compare modules by."""
    return sum(float(np.abs(np.asarray(t.detach().numpy(), "float64")).sum()) for t in tensors)


def run(step: Callable[[], Any]) -> Job:
    """A job whose step returns tensors."""
    return Job("step()", {"step": step}, lambda: total(step()))


# --- small tensors: what an operation costs ----------------------------------------------------------------------


@workload("`x + y`, 1 element, not recorded", 0.15)
def add_plain(T):
    return Job("x + y", {"x": T.ones(1), "y": T.ones(1)})


@workload("`x + y`, 1 element, recorded", 0.15)
def add_recorded(T):
    return Job("x + y", {"x": T.ones(1, requires_grad=True), "y": T.ones(1)})


@workload("chain of 1,000 operations on 1 element, forward and backward, per operation", 0.12, count=1000)
def chain(T):
    x = leaf(T, np.full(1, 0.5, "float32"))
    a, b = T.tensor([0.999]), T.tensor([0.001])

    def step():
        x.grad = None
        y = x
        for _ in range(500):
            y = y * a + b
        y.backward()
        return [x.grad]

    return run(step)


@workload("backward alone through 1,000 operations on 64 elements, per operation", 0.10, count=1000)
def backward_alone(T):
    x = leaf(T, normal(64))
    a = T.tensor(uniform(0.99, 1.01, 64, seed=1))
    y = x
    for _ in range(500):
        y = (y * a).sin()
    g = T.ones(64)

    def step():
        return T.autograd.grad(y, [x], g, retain_graph=True)

    return run(step)


@workload(
    "Rosenbrock's function over 50 indexed elements, forward and backward, per operation", 0.15, count=49 * 11
)
def rosenbrock(T):
    x = leaf(T, uniform(-1, 1, 50))

    def step():
        loss = 0.0
        for i in range(49):
            loss = loss + (100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2)
        return T.autograd.grad(loss, [x])

    return run(step)


@workload("`tensor([1., 2., 3.]).sum().item()`", 0.2)
def create_sum_item(T):
    return Job("tensor([1.0, 2.0, 3.0]).sum().item()", {"tensor": T.tensor})


@workload("custom `Function` on 16 elements, forward and backward", 0.3)
def custom_function(T):
    class Cube(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3.0 * x * x

    x, g = leaf(T, normal(16)), T.ones(16)
    return run(lambda: T.autograd.grad(Cube.apply(x), [x], g))


# --- training of small networks ----------------------------------------------------------------------------------


@workload("MLP 2-16-16-1, batch 100: forward, backward, SGD in Python", 0.25)
def mlp_tiny(T):
    x, target = T.tensor(normal(100, 2)), T.tensor(normal(100, 1, seed=1))
    shapes = [(2, 16), (16,), (16, 16), (16,), (16, 1), (1,)]
    params = [leaf(T, normal(*s, seed=i, scale=0.3)) for i, s in enumerate(shapes)]

    def step():
        w1, b1, w2, b2, w3, b3 = params
        h = T.tanh(x @ w1 + b1)
        h = T.tanh(h @ w2 + b2)
        loss = ((h @ w3 + b3 - target) ** 2).mean()
        loss.backward()
        with T.no_grad():
            for p in params:
                p -= 1e-6 * p.grad
                p.grad = None
        return [loss]

    return run(step)


def set_weights(T, model, scale: float) -> None:
    with T.no_grad():
        for i, p in enumerate(model.parameters()):
            p.copy_(T.tensor(normal(*p.shape, seed=i, scale=scale)))


def training(T, model, optimizer, x, labels):
    def step():
        optimizer.zero_grad()
        loss = T.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return [loss]

    return run(step)


def labels_of(T, n: int, classes: int):
    return T.tensor(np.random.default_rng(5).integers(0, classes, n))


@workload("MLP 64-32-10, batch 64, Adam", 0.3)
def mlp_adam(T):
    nn = T.nn
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    set_weights(T, model, 0.1)
    return training(
        T, model, T.optim.Adam(model.parameters(), lr=1e-6), T.tensor(normal(64, 64)), labels_of(T, 64, 10)
    )


@workload("RNN, 100 steps of 32 units, batch 8, forward and backward", 0.25)
def rnn(T):
    wx, wh = (leaf(T, normal(32, 32, seed=i, scale=0.15)) for i in (1, 2))
    b = leaf(T, np.zeros(32, "float32"))
    xs = T.tensor(normal(100, 8, 32))

    def step():
        h = T.zeros(8, 32)
        for t in range(100):
            h = T.tanh(xs[t] @ wx + h @ wh + b)
        return T.autograd.grad(h.sum(), [wx, wh, b])

    return run(step)


@workload("20 Hessian-vector products of an MLP 8-16-1", 0.3, count=20)
def hvp(T):
    params = [leaf(T, normal(*s, seed=i, scale=0.3)) for i, s in enumerate([(8, 16), (16,), (16, 1)])]
    vs = [T.tensor(normal(*p.shape, seed=9)) for p in params]
    x = T.tensor(normal(32, 8))

    def step():
        w1, b1, w2 = params
        loss = (T.tanh(x @ w1 + b1) @ w2).square().mean()
        gs = T.autograd.grad(loss, params, create_graph=True)
        for _ in range(20):
            dot = sum((g * v).sum() for g, v in zip(gs, vs))
            out = T.autograd.grad(dot, params, retain_graph=True)
        return out

    return run(step)


@workload("`clip_grad_norm_` over 100 tensors of 64×64", 0.5)
def clip_norm(T):
    ps = []
    for i in range(100):
        p = T.zeros(64, 64, requires_grad=True)
        p.grad = T.tensor(normal(64, 64, seed=i))
        ps.append(p)
    clip = T.nn.utils.clip_grad_norm_
    clip(ps, 1.0)
    return Job("clip(ps, 1.0)", {"clip": clip, "ps": ps}, lambda: total(p.grad for p in ps))


@workload("AdamW over 16 tensors of 256×256", 0.8)
def adamw(T):
    ps = []
    for i in range(16):
        p = leaf(T, normal(256, 256, seed=i))
        p.grad = T.tensor(normal(256, 256, seed=i + 50))
        ps.append(p)
    optimizer = T.optim.AdamW(ps, lr=1e-9)
    optimizer.step()
    return Job("step()", {"step": optimizer.step}, lambda: total(ps))


@workload("eight independent towers of six 128×128 layers, batch 16, backward alone", 0.4, threads=(2,))
def towers(T):
    x = T.tensor(normal(16, 128))
    weights, sums = [], []
    for tower in range(8):
        h = x
        for i in range(6):
            w = leaf(T, normal(128, 128, seed=tower * 6 + i, scale=0.09))
            weights.append(w)
            h = T.tanh(h @ w)
        sums.append(h.sum())
    loss = T.stack(sums).sum()
    return run(lambda: T.autograd.grad(loss, weights, retain_graph=True))


# --- products, layers --------------------------------------------------------------------------------------------


@workload("matrix product 1024×1024, float32, forward", None, flops=2 * 1024**3)
def matmul_1024(T):
    a, b = T.tensor(normal(1024, 1024)), T.tensor(normal(1024, 1024, seed=1))
    return Job("a @ b", {"a": a, "b": b}, lambda: total([a @ b]))


@workload("matrix product 1024×1024, float64, forward", None, flops=2 * 1024**3)
def matmul_1024_double(T):
    a, b = (
        T.tensor(normal(1024, 1024, dtype="float64")),
        T.tensor(normal(1024, 1024, seed=1, dtype="float64")),
    )
    return Job("a @ b", {"a": a, "b": b}, lambda: total([a @ b]))


@workload("2,048 products of 16×16, forward and backward", 0.6)
def batched_products(T):
    a, b = leaf(T, normal(2048, 16, 16)), leaf(T, normal(2048, 16, 16, seed=1))
    g = T.tensor(normal(2048, 16, 16, seed=2))
    return run(lambda: T.autograd.grad(a @ b, [a, b], g))


@workload("MLP 784-512-256-10, batch 128, SGD with momentum", 0.6)
def mlp_large(T):
    nn = T.nn
    layers = [nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)]
    model = nn.Sequential(*layers)
    set_weights(T, model, 0.05)
    optimizer = T.optim.SGD(model.parameters(), lr=1e-6, momentum=0.9)
    return training(T, model, optimizer, T.tensor(normal(128, 784)), labels_of(T, 128, 10))


@workload("LeNet on 28×28, batch 64, SGD", 0.9)
def lenet(T):
    f = T.nn.functional
    shapes = [(6, 1, 5, 5), (6,), (16, 6, 5, 5), (16,), (120, 256), (120,), (84, 120), (84,), (10, 84), (10,)]
    params = [leaf(T, normal(*s, seed=i, scale=0.1)) for i, s in enumerate(shapes)]
    x, labels = T.tensor(normal(64, 1, 28, 28)), labels_of(T, 64, 10)
    optimizer = T.optim.SGD(params, lr=1e-6)

    def step():
        k1, c1, k2, c2, w3, b3, w4, b4, w5, b5 = params
        optimizer.zero_grad()
        h = f.max_pool2d(f.conv2d(x, k1, c1).relu(), 2)
        h = f.max_pool2d(f.conv2d(h, k2, c2).relu(), 2).flatten(1)
        h = f.linear(f.linear(h, w3, b3).relu(), w4, b4).relu()
        loss = f.cross_entropy(f.linear(h, w5, b5), labels)
        loss.backward()
        optimizer.step()
        return [loss]

    return run(step)


@workload("convolution 3×3, 32 to 64 channels, 32×32, batch 16, forward and backward", 0.9)
def conv(T):
    x, k = leaf(T, normal(16, 32, 32, 32)), leaf(T, normal(64, 32, 3, 3, scale=0.05))
    g = T.tensor(normal(16, 64, 32, 32, seed=1))
    return run(lambda: T.autograd.grad(T.nn.functional.conv2d(x, k, padding=1), [x, k], g))


@workload("transformer block, batch 16, length 64, width 128, 4 heads, forward and backward", 0.6)
def transformer(T):
    f, b, n, d, heads = T.nn.functional, 16, 64, 128, 4
    shapes = [
        (d,),
        (d,),
        (3 * d, d),
        (3 * d,),
        (d, d),
        (d,),
        (d,),
        (d,),
        (4 * d, d),
        (4 * d,),
        (d, 4 * d),
        (d,),
    ]
    params = [leaf(T, normal(*s, seed=i, scale=0.08)) for i, s in enumerate(shapes)]
    x = leaf(T, normal(b, n, d))

    def step():
        g1, e1, wqkv, bqkv, wo, bo, g2, e2, wu, bu, wd, bd = params
        h = f.layer_norm(x, (d,), g1, e1)
        q, k, v = f.linear(h, wqkv, bqkv).reshape(b, n, 3, heads, d // heads).permute(2, 0, 3, 1, 4).unbind(0)
        weights = f.softmax(q @ k.transpose(-2, -1) * (d // heads) ** -0.5, -1)
        h = x + f.linear((weights @ v).transpose(1, 2).reshape(b, n, d), wo, bo)
        out = h + f.linear(f.gelu(f.linear(f.layer_norm(h, (d,), g2, e2), wu, bu)), wd, bd)
        return T.autograd.grad(out.square().mean(), [x, *params])

    return run(step)


@workload("softmax cross-entropy 4096×1024, forward and backward", 0.8)
def cross_entropy(T):
    x, labels = leaf(T, normal(4096, 1024)), labels_of(T, 4096, 1024)
    return run(lambda: T.autograd.grad(T.nn.functional.cross_entropy(x, labels), [x]))


# --- large arrays ------------------------------------------------------------------------------------------------


@workload("`(tanh(x)·sigmoid(x) + exp(x)).sum()`, 4M float32, forward and backward", 0.5)
def activations(T):
    x = leaf(T, uniform(-2, 2, 1 << 22))
    return run(lambda: T.autograd.grad((T.tanh(x) * T.sigmoid(x) + T.exp(x)).sum(), [x]))


def black_scholes_inputs() -> list[np.ndarray]:
    ranges = [(80, 120), (90, 110), (0.1, 2.0), (0.01, 0.05), (0.1, 0.5)]
    return [uniform(low, high, 1_000_000, seed=i, dtype="float64") for i, (low, high) in enumerate(ranges)]


@workload("Black-Scholes prices of 1M options and 5 gradients, float64", 0.5)
def black_scholes(T):
    inputs = [leaf(T, a) for a in black_scholes_inputs()]

    def cdf(x):
        return 0.5 * (1.0 + T.erf(x * 0.5**0.5))

    def step():
        s, k, t, r, v = inputs
        root = v * T.sqrt(t)
        d1 = (T.log(s / k) + (r + v * v * 0.5) * t) / root
        price = s * cdf(d1) - k * T.exp(-r * t) * cdf(d1 - root)
        return T.autograd.grad(price.sum(), inputs)

    return run(step)


@workload("broadcast, mean, square over 2048×2048, forward and backward", 0.7)
def broadcast(T):
    x, row = leaf(T, normal(2048, 2048)), leaf(T, normal(2048, seed=1))
    return run(lambda: T.autograd.grad(((x - x.mean(1, keepdim=True)) * row).square().mean(), [x, row]))


@workload("transposed operands 1500×1500, forward and backward", 0.8)
def transposed(T):
    x, y = leaf(T, normal(1500, 1500)), leaf(T, normal(1500, 1500, seed=1))
    return run(lambda: T.autograd.grad((x.t() * y + x).sum(), [x, y]))


@workload("rows 8,192 of 20,000×128 (embedding), forward and backward", 0.8)
def embedding(T):
    w = leaf(T, normal(20_000, 128))
    index = T.tensor(np.random.default_rng(3).integers(0, 20_000, 8192))
    g = T.tensor(normal(8192, 128, seed=1))
    return run(lambda: T.autograd.grad(T.nn.functional.embedding(index, w), [w], g))


@workload("advanced, boolean and strided indexing of 1000×1000, forward and backward", 0.8)
def indexing(T):
    x = leaf(T, normal(1000, 1000))
    rows = T.tensor(np.random.default_rng(4).integers(0, 1000, 500))
    mask = T.tensor(normal(1000, 1000, seed=2) > 0)
    return run(lambda: T.autograd.grad(x[rows].sum() + x[mask].sum() + x[::2, 1::3].sum(), [x]))


@workload("solve, slogdet and cholesky 128×128, float64, forward and backward", 1.0)
def decompositions(T):
    a = normal(128, 128, dtype="float64")
    a, b = leaf(T, a @ a.T / 128 + np.eye(128)), leaf(T, normal(128, 8, seed=1, dtype="float64"))

    def step():
        la = T.linalg
        loss = la.solve(a, b).sum() + la.slogdet(a)[1] + la.cholesky(a).sum()
        return T.autograd.grad(loss, [a, b])

    return run(step)
