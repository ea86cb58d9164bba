"""A function with a derivative of its own, checked against finite differences and registered.

Run it with ``python examples/custom_function.py``.
"""

import rgrad


@rgrad.register_function("leaky_relu2", check=True)
class LeakyReLU(rgrad.autograd.Function):
    """x where x is positive, otherwise slope · x."""

    @staticmethod
    def forward(ctx, x, slope=0.1):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return rgrad.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return rgrad.where(x > 0, g, ctx.slope * g), None


def main() -> None:
    x = rgrad.tensor([-2.0, -0.5, 0.5, 2.0], requires_grad=True)
    y = rgrad.ops.leaky_relu2(x)
    y.sum().backward()
    print("value   ", y.tolist())
    print("gradient", x.grad.tolist())
    info = rgrad.ops.list()["leaky_relu2"]
    print(f"registry {info.name}: {info.doc} ({info.kind}, from {info.source})")

    # A wrong derivative does not get in.
    class Wrong(LeakyReLU):
        @staticmethod
        def backward(ctx, g):
            return 2 * g, None

    try:
        rgrad.register_function("wrong", Wrong, check=True)
    except rgrad.autograd.GradcheckError as error:
        print("refused ", str(error).splitlines()[0])


if __name__ == "__main__":
    main()
