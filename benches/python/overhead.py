"""Splits what ``x + y`` on one element costs from Python: how much is the interpreter, the call, the value, the record.

    python benches/python/overhead.py
    python benches/python/overhead.py --module torch

Every line is the median of alternating samples in one process; compare lines of one run only.
"""

import argparse
import importlib
import statistics
import timeit

STATEMENTS = {
    "empty loop": "pass",
    "integer `i + j`": "i + j",
    "attribute `x.ndim`": "x.ndim",
    "method without a result tensor, `x.numel()`": "x.numel()",
    "new tensor, no arithmetic: `x.detach()`": "x.detach()",
    "NumPy `a + b`, 1 element": "a + b",
    "`x + y`": "x + y",
    "`x + 1.0`": "x + 1.0",
    "`x.add(y)`": "x.add(y)",
    "`add(x, y)`": "add(x, y)",
    "`p + y`, recorded": "p + y",
    "`p * y`, recorded, saves y": "p * y",
    "`tanh(p)`, recorded, saves the result": "tanh(p)",
    "`(p + y).backward()`": "(p + y).backward()",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--module", default="rgrad")
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    T = importlib.import_module(args.module)
    if hasattr(T, "set_num_threads"):
        T.set_num_threads(1)
    x, y = T.ones(1), T.ones(1)
    names = {
        "x": x,
        "y": y,
        "a": x.numpy(),
        "b": y.numpy(),
        "p": T.ones(1, requires_grad=True),
        "i": 1,
        "j": 2,
    }
    names |= {"add": T.add, "tanh": T.tanh}
    timers = {title: timeit.Timer(s, globals=names) for title, s in STATEMENTS.items()}
    samples: dict[str, list[float]] = {title: [] for title in timers}
    number = 20_000
    for _ in range(args.rounds):
        for title, timer in timers.items():
            samples[title].append(timer.timeit(number) / number)
    loop = statistics.median(samples["empty loop"])
    print(f"{args.module}: nanoseconds of one run, without the {loop * 1e9:.0f} ns of an empty loop")
    for title, seconds in samples.items():
        if title != "empty loop":
            print(f"{(statistics.median(seconds) - loop) * 1e9:8.0f}  {title}")


if __name__ == "__main__":
    main()
