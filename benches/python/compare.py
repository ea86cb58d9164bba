"""Times one library against others, side by side: by default rgrad against PyTorch and whatever else is installed.

    python benches/python/compare.py                                  # all workloads, 1 and 2 threads
    python benches/python/compare.py --only mlp --threads 1 --rounds 9
    python benches/python/compare.py --python torch=/path/to/venv/bin/python --json results.json

Every library runs in processes of its own, started anew for each thread count and repeat; samples alternate between
them (A B C A B C ...), and medians are compared. A library, or a workload in it, that is missing is left out with the
reason. Results that differ between libraries by more than 0.1 % are reported as an error.
"""

import argparse
import fnmatch
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from workloads import WORKLOADS, Workload  # noqa: E402

KNOWN = ["rgrad", "torch", "numpy", "jax", "autograd", "mygrad"]
TOLERANCE = 1e-3


def parse_args() -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument(
        "--modules",
        nargs="+",
        default=KNOWN,
        metavar="MODULE",
        help="the library to judge, then those it is compared with; the second is the reference",
    )
    p.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="[MODULE=]PATH",
        help="interpreter for a module, or for all that have none of their own; may be repeated",
    )
    p.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    p.add_argument(
        "--only", nargs="+", default=["*"], metavar="PATTERN", help="names of workloads, * allowed"
    )
    p.add_argument("--rounds", type=int, default=7, help="samples of a process")
    p.add_argument("--repeats", type=int, default=2, help="fresh processes of a library")
    p.add_argument(
        "--clock",
        choices=["wall", "cpu"],
        default="wall",
        help="cpu counts processor time, for one thread on a machine that is busy with other things",
    )
    p.add_argument("--json", type=Path, help="write all numbers to this file")
    p.add_argument("--list", action="store_true", help="print the names of the workloads")
    return p.parse_args()


def environment(threads: int) -> dict[str, str]:
    """The environment of a worker: thread counts set for every library, nothing that slows one down."""
    env = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "RGRAD", "RAYON"):
        env[f"{name}_NUM_THREADS"] = str(threads)
    env["JAX_PLATFORMS"] = "cpu"
    return env


class Worker:
    """A process that times workloads with one library."""

    def __init__(self, python: str, module: str, threads: int, clock: str):
        command = [python, str(HERE / "worker.py"), module, str(threads), clock]
        # JAX has no setting for its threads: it takes the processors it may use.
        if module == "jax":
            command = ["taskset", "-c", f"0-{threads - 1}", *command]
        self.messages = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.messages,
            text=True,
            env=environment(threads),
        )
        self.version = self.read()["version"]

    def read(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            self.messages.seek(0)
            last = (self.messages.read().strip().splitlines() or [""])[-1]
            raise RuntimeError(f"the process ended with status {status}: {last}")
        return json.loads(line)

    def ask(self, **request) -> dict:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.read()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.messages.close()


def interpreter(args: argparse.Namespace, module: str) -> str:
    own = dict(p.split("=", 1) for p in args.python if "=" in p)
    common = [p for p in args.python if "=" not in p]
    return own.get(module) or (common[-1] if common else sys.executable)


def installed(python: str, module: str) -> bool:
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


class Comparison:
    """All samples: by workload, thread count and library."""

    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.names: list[str] = []
        self.pythons: dict[str, str] = {}
        self.versions: dict[str, str] = {}
        self.samples: dict[tuple[str, int, str], list[float]] = {}
        self.skipped: dict[tuple[str, str], str] = {}
        self.wrong: list[str] = []
        for module in args.modules:
            python = interpreter(args, module)
            if not installed(python, module):
                print(f"{module} is left out: {python} does not have it", file=sys.stderr)
                continue
            # The same library twice shows how much the measurement itself scatters.
            name = module if module not in self.names else f"{module} again"
            self.names.append(name)
            self.pythons[name] = python
        if len(self.names) < 2:
            sys.exit("nothing to compare: fewer than two of the libraries are installed")

    def module(self, name: str) -> str:
        return name.removesuffix(" again")

    def workloads(self, threads: int) -> list[Workload]:
        return [
            w
            for w in WORKLOADS.values()
            if threads in w.threads and any(fnmatch.fnmatch(w.name, p) for p in self.args.only)
        ]

    def start(self, name: str, threads: int) -> Worker:
        worker = Worker(self.pythons[name], self.module(name), threads, self.args.clock)
        self.versions[name] = worker.version
        return worker

    def run(self) -> None:
        for threads in self.args.threads:
            for _ in range(self.args.repeats):
                workers = {name: self.start(name, threads) for name in self.names}
                for w in self.workloads(threads):
                    self.sample(w, threads, workers)
                for worker in workers.values():
                    worker.close()

    def sample(self, w: Workload, threads: int, workers: dict[str, Worker]) -> None:
        """Takes the samples of one workload, alternating between the libraries."""
        ready, checks = [], {}
        for name, worker in workers.items():
            try:
                reply = worker.ask(do="prepare", name=w.name)
            except RuntimeError as error:
                reply = {"skip": str(error)}
                workers[name] = self.start(name, threads)
            if "skip" in reply:
                if self.module(name) in ("rgrad", "torch"):
                    self.skipped[w.name, name] = reply["skip"]
                continue
            ready.append(name)
            if reply["check"] is not None:
                checks[name] = reply["check"]
        if len(checks) > 1:
            values = list(checks.values())
            if not all(math.isclose(values[0], v, rel_tol=TOLERANCE) for v in values[1:]):
                self.wrong.append(f"{w.name}: results differ, {checks}")
        for _ in range(self.args.rounds):
            for name in ready:
                seconds = workers[name].ask(do="sample")["seconds"]
                self.samples.setdefault((w.name, threads, name), []).append(seconds / w.count)
        shown = ", ".join(f"{n} {duration(self.median(w, threads, n))}" for n in ready)
        print(f"{w.name}, threads {threads}: {shown}", file=sys.stderr)

    def median(self, w: Workload, threads: int, name: str) -> float | None:
        samples = self.samples.get((w.name, threads, name))
        return statistics.median(samples) if samples else None

    def ratio(self, w: Workload, threads: int, other: str) -> float | None:
        """Time of the first library over that of another: below 1 is faster."""
        a, b = self.median(w, threads, self.names[0]), self.median(w, threads, other)
        return None if a is None or b is None else a / b


def import_cost(python: str, module: str) -> tuple[float, float]:
    """Seconds of a program that only imports a module, and its largest resident memory in MB."""
    begin = time.perf_counter()
    process = subprocess.Popen([python, "-c", f"import {module}"], env=environment(1))
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def imports(c: Comparison) -> dict[str, tuple[float, float]]:
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in c.names}
    for _ in range(c.args.rounds):
        for name in c.names:
            runs[name].append(import_cost(c.pythons[name], c.module(name)))
    return {n: tuple(statistics.median(r[i] for r in rs) for i in (0, 1)) for n, rs in runs.items()}


def duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def speed(w: Workload, seconds: float | None) -> str:
    if seconds is None or not w.flops:
        return duration(seconds)
    return f"{w.flops / seconds / 1e9:.0f} GFLOP/s"


def shown(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def table(c: Comparison) -> str:
    """The comparison as a Markdown table, times at the first thread count, ratios at every one."""
    subject, reference, *others = c.names
    threads = c.args.threads
    columns = ["work", subject, reference, *(f"ratio, {n} thread{'s' * (n > 1)}" for n in threads), "goal"]
    if others:
        columns.append("other libraries")
    rows = [columns, ["---"] + ["--:"] * (len(columns) - 1 - bool(others)) + [":--"] * bool(others)]
    means: dict[int, list[float]] = {n: [] for n in threads}
    listed = {w.name: w for n in threads for w in c.workloads(n)}
    for w in WORKLOADS.values():
        if w.name not in listed:
            continue
        at = next((n for n in threads if n in w.threads), threads[0])
        ratios = {n: c.ratio(w, n, reference) for n in threads}
        if all(r is None for r in ratios.values()) and c.median(w, at, subject) is None:
            continue
        row = [w.title, speed(w, c.median(w, at, subject)), speed(w, c.median(w, at, reference))]
        row += [shown(r) for r in ratios.values()]
        row.append("" if w.target is None else f"{w.target:g}")
        if others:
            row.append(
                ", ".join(f"{o} {speed(w, m)}" for o in others if (m := c.median(w, at, o)) is not None)
            )
        rows.append(row)
        for n, r in ratios.items():
            if r is not None:
                means[n].append(r)
    mean_row = [
        "**geometric mean**",
        "",
        "",
        *(shown(geometric_mean(v)) if v else "" for v in means.values()),
        "0.35",
    ]
    rows.append(mean_row + [""] * bool(others))
    return "\n".join("| " + " | ".join(r) + " |" for r in rows)


def machine() -> str:
    cpu = "unknown processor"
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        fields = {k.strip(): v.strip() for k, v in fields.items()}
        best = [f for f in ("avx512f", "avx2") if f in fields.get("flags", "").split()]
        cpu = f"{fields.get('model name')} (family {fields.get('cpu family')}, {', '.join(best[:1])})"
    return f"{cpu}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def write_json(c: Comparison, path: Path, imported: dict) -> None:
    runs = [
        {"work": w, "threads": n, "library": name, "median": statistics.median(s), "samples": s}
        for (w, n, name), s in c.samples.items()
    ]
    skipped = [{"work": w, "library": name, "reason": reason} for (w, name), reason in c.skipped.items()]
    result = {
        "machine": machine(),
        "versions": c.versions,
        "runs": runs,
        "skipped": skipped,
        "import": imported,
    }
    path.write_text(json.dumps(result, indent=1))


def main() -> int:
    args = parse_args()
    if args.list:
        print(*WORKLOADS, sep="\n")
        return 0
    c = Comparison(args)
    c.run()
    print(machine())
    print(", ".join(f"{name} {version}" for name, version in c.versions.items()), end="\n\n")
    print(table(c), end="\n\n")
    for (work, name), reason in c.skipped.items():
        print(f"left out: {work} in {name}: {reason}")
    imported = imports(c)
    print("import: " + "; ".join(f"{n} {s:.2f} s, {m:.0f} MB" for n, (s, m) in imported.items()))
    if args.json:
        write_json(c, args.json, imported)
    for line in c.wrong:
        print("ERROR:", line, file=sys.stderr)
    return int(bool(c.wrong))


if __name__ == "__main__":
    sys.exit(main())
