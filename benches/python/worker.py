"""Times workloads in a process of its own: reads requests from stdin as JSON lines, answers on stdout.

Started by compare.py as ``python worker.py MODULE THREADS CLOCK``.
"""

import importlib
import json
import sys
import time
import timeit
from importlib.metadata import version

import numpy as np
from peers import PEERS
from workloads import WORKLOADS, Job

TORCH_LIKE = ("rgrad", "torch")
# One sample lasts about this long, unless one run of the statement is longer.
SAMPLE_SECONDS = 0.03


def job_of(module_name: str, module, name: str) -> Job:
    if module_name in TORCH_LIKE:
        return WORKLOADS[name].build(module)
    return PEERS[module_name][name]()


def prepare(module_name: str, module, name: str, clock):
    """Builds a workload and warms it up; gives the timer, the runs a sample, and the numbers to compare."""
    np.random.seed(0)
    job = job_of(module_name, module, name)
    check = None if job.check is None else float(job.check())
    timer = timeit.Timer(job.statement, timer=clock, globals=dict(job.names))
    timer.timeit(1)
    number, spent = 1, timer.timeit(1)
    while spent < SAMPLE_SECONDS / 2 and number < 10_000_000:
        number = max(number + 1, min(number * 10, int(number * SAMPLE_SECONDS / max(spent, 1e-9))))
        spent = timer.timeit(number)
    return timer, number, check


def main() -> None:
    module_name, threads = sys.argv[1], int(sys.argv[2])
    clock = {"wall": time.perf_counter, "cpu": time.process_time}[sys.argv[3]]
    answers = sys.stdout
    sys.stdout = sys.stderr
    module = importlib.import_module(module_name)
    if hasattr(module, "set_num_threads"):
        module.set_num_threads(threads)

    def answer(**values) -> None:
        print(json.dumps(values), file=answers, flush=True)

    answer(version=getattr(module, "__version__", None) or version(module_name))
    timer, number = None, 0
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "prepare":
            timer = None
            try:
                timer, number, check = prepare(module_name, module, request["name"], clock)
                answer(check=check, number=number)
            except Exception as error:
                answer(skip=f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
        else:
            answer(seconds=timer.timeit(number) / number)


if __name__ == "__main__":
    main()
