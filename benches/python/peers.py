"""Some of the workloads for libraries that do not have PyTorch's names: NumPy alone, JAX, HIPS autograd and MyGrad.

JAX runs compiled by ``jit`` where a whole step is timed, as its users run it.
"""

import numpy as np
from workloads import Job, black_scholes_inputs, normal, uniform


def total(arrays) -> float:
    return sum(float(np.abs(np.asarray(a, "float64")).sum()) for a in arrays)


def run(step) -> Job:
    return Job("step()", {"step": step}, lambda: total(step()))


# --- NumPy: no derivatives, the floor that its users know ----------------------------------------------------------


def numpy_add():
    return Job("x + y", {"x": np.ones(1, "float32"), "y": np.ones(1, "float32")})


def numpy_matmul(dtype="float32"):
    a, b = normal(1024, 1024, dtype=dtype), normal(1024, 1024, seed=1, dtype=dtype)
    return Job("a @ b", {"a": a, "b": b}, lambda: total([a @ b]))


# --- JAX -----------------------------------------------------------------------------------------------------------


def jitted(function, arguments, *args) -> Job:
    """Gradients of a scalar function with respect to the arguments of these numbers."""
    import jax

    args = [jax.device_put(a) for a in args]
    gradient = jax.jit(jax.grad(function, argnums=arguments))
    return run(lambda: jax.block_until_ready(gradient(*args)))


def mlp_data():
    shapes = [(2, 16), (16,), (16, 16), (16,), (16, 1), (1,)]
    params = [normal(*s, seed=i, scale=0.3) for i, s in enumerate(shapes)]
    return normal(100, 2), normal(100, 1, seed=1), params


def jax_mlp():
    import jax
    import jax.numpy as jnp

    x, target, params = mlp_data()

    def loss(ps):
        w1, b1, w2, b2, w3, b3 = ps
        h = jnp.tanh(jnp.tanh(x @ w1 + b1) @ w2 + b2)
        return ((h @ w3 + b3 - target) ** 2).mean()

    @jax.jit
    def update(ps):
        value, gs = jax.value_and_grad(loss)(ps)
        return value, [p - 1e-6 * g for p, g in zip(ps, gs)]

    state = [jax.device_put(p) for p in params]

    def step():
        nonlocal state
        value, state = jax.block_until_ready(update(state))
        return [value]

    return run(step)


def jax_activations():
    import jax
    import jax.numpy as jnp

    return jitted(
        lambda x: (jnp.tanh(x) * jax.nn.sigmoid(x) + jnp.exp(x)).sum(), (0,), uniform(-2, 2, 1 << 22)
    )


def jax_black_scholes():
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    def price(s, k, t, r, v):
        def cdf(x):
            return 0.5 * (1.0 + jax.scipy.special.erf(x * 0.5**0.5))

        root = v * jnp.sqrt(t)
        d1 = (jnp.log(s / k) + (r + v * v * 0.5) * t) / root
        return (s * cdf(d1) - k * jnp.exp(-r * t) * cdf(d1 - root)).sum()

    return jitted(price, (0, 1, 2, 3, 4), *black_scholes_inputs())


def jax_matmul():
    import jax

    a, b = (jax.device_put(normal(1024, 1024, seed=i)) for i in (0, 1))
    product = jax.jit(lambda a, b: a @ b)
    return run(lambda: [jax.block_until_ready(product(a, b))])


def jax_cross_entropy():
    import jax
    import jax.numpy as jnp

    labels = np.random.default_rng(5).integers(0, 1024, 4096)

    def loss(x):
        return -jnp.take_along_axis(jax.nn.log_softmax(x, 1), labels[:, None], 1).mean()

    return jitted(loss, (0,), normal(4096, 1024))


# --- HIPS autograd -------------------------------------------------------------------------------------------------


def autograd_chain():
    import autograd

    a, b = np.array([0.999], "float32"), np.array([0.001], "float32")

    def function(x):
        for _ in range(500):
            x = x * a + b
        return x[0]

    gradient, x = autograd.grad(function), np.full(1, 0.5, "float32")
    return run(lambda: [gradient(x)])


def autograd_rosenbrock():
    import autograd

    def function(x):
        loss = 0.0
        for i in range(49):
            loss = loss + (100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2)
        return loss

    gradient, x = autograd.grad(function), uniform(-1, 1, 50)
    return run(lambda: [gradient(x)])


def autograd_mlp():
    import autograd
    import autograd.numpy as anp

    x, target, params = mlp_data()

    def loss(ps):
        w1, b1, w2, b2, w3, b3 = ps
        h = anp.tanh(anp.dot(anp.tanh(anp.dot(x, w1) + b1), w2) + b2)
        return anp.mean((anp.dot(h, w3) + b3 - target) ** 2)

    both = autograd.value_and_grad(loss)

    def step():
        value, gs = both(params)
        for p, g in zip(params, gs):
            p -= 1e-6 * g
        return [value]

    return run(step)


def autograd_black_scholes():
    import autograd
    import autograd.numpy as anp
    from autograd.scipy.special import erf

    def price(*inputs):
        s, k, t, r, v = inputs
        root = v * anp.sqrt(t)
        d1 = (anp.log(s / k) + (r + v * v * 0.5) * t) / root
        first, second = (0.5 * (1.0 + erf(d * 0.5**0.5)) for d in (d1, d1 - root))
        return anp.sum(s * first - k * anp.exp(-r * t) * second)

    inputs = black_scholes_inputs()
    gradient = autograd.grad(price, argnum=(0, 1, 2, 3, 4))
    return run(lambda: list(gradient(*inputs)))


# --- MyGrad --------------------------------------------------------------------------------------------------------


def mygrad_add():
    import mygrad

    x, y = mygrad.tensor(np.ones(1, "float32")), mygrad.tensor(np.ones(1, "float32"), constant=True)
    return Job("x + y", {"x": x, "y": y})


def mygrad_chain():
    import mygrad

    start, a, b = np.full(1, 0.5, "float32"), np.array([0.999], "float32"), np.array([0.001], "float32")

    def step():
        y = x = mygrad.tensor(start)
        for _ in range(500):
            y = y * a + b
        y.backward()
        return [x.grad]

    return run(step)


def mygrad_mlp():
    import mygrad

    x, target, arrays = mlp_data()
    params = [mygrad.tensor(a) for a in arrays]

    def step():
        w1, b1, w2, b2, w3, b3 = params
        h = mygrad.tanh(mygrad.matmul(mygrad.tanh(mygrad.matmul(x, w1) + b1), w2) + b2)
        loss = ((mygrad.matmul(h, w3) + b3 - target) ** 2).mean()
        loss.backward()
        for p in params:
            p.data -= 1e-6 * p.grad
            p.null_grad()
        return [loss.data]

    return run(step)


PEERS = {
    "numpy": {
        "add_plain": numpy_add,
        "matmul_1024": numpy_matmul,
        "matmul_1024_double": lambda: numpy_matmul("float64"),
    },
    "jax": {
        "mlp_tiny": jax_mlp,
        "activations": jax_activations,
        "black_scholes": jax_black_scholes,
        "matmul_1024": jax_matmul,
        "cross_entropy": jax_cross_entropy,
    },
    "autograd": {
        "chain": autograd_chain,
        "rosenbrock": autograd_rosenbrock,
        "mlp_tiny": autograd_mlp,
        "black_scholes": autograd_black_scholes,
    },
    "mygrad": {"add_recorded": mygrad_add, "chain": mygrad_chain, "mlp_tiny": mygrad_mlp},
}
