"""Runs small programs, each in a child forked from a process that only imported the module.

As a script it is that process: it reads a program, as a JSON string, from each line of
standard input and answers with its outcome, as a JSON object, on a line of standard output. `Runner` is the other end.
"""

import json
import math
import os
import signal
import subprocess
import sys

LIMIT = 60  # seconds of one program; only a hang gets there


def plain(v):
    """The value in JSON, non-finite floats as strings."""
    if v is None or isinstance(v, (bool, int, str)):
        return v
    if isinstance(v, float):
        return v + 0.0 if math.isfinite(v) else str(v)
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    if isinstance(v, dict):
        return {str(k): plain(x) for k, x in v.items()}
    raise TypeError(f"the program's result holds a {type(v).__name__}")


def close(a, b, tol):
    """Equal up to a relative tolerance for numbers, structure by structure."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        size = max(abs(a), abs(b))
        return abs(a - b) <= tol * size + (tol * 1e-3 if size > tol * 1e-3 else 0)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(close(x, y, tol) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[k], b[k], tol) for k in a)
    return type(a) is type(b) and a == b


def run_in_child(module, code):
    """What the program leaves in `out`, or its exception's classes and text, or the signal that killed it."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        signal.alarm(LIMIT)
        try:
            names = {"T": module, "__name__": "program"}
            exec(compile(code, "<program>", "exec"), names)
            outcome = {"out": plain(names.get("out"))}
        except BaseException as e:
            outcome = {"raised": [c.__name__ for c in type(e).__mro__], "text": str(e)[:300]}
        with os.fdopen(write, "w") as f:
            f.write(json.dumps(outcome))
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as f:
        text = f.read()
    _, status = os.waitpid(pid, 0)
    return json.loads(text) if text else {"killed": status & 127}


class Runner:
    """A process that runs programs one at a time."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def __call__(self, code):
        self.process.stdin.write(json.dumps(code) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


if __name__ == "__main__":
    from common import T as module

    for line in sys.stdin:
        print(json.dumps(run_in_child(module, json.loads(line))), flush=True)
