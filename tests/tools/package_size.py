"""Prints the sizes of the wheel in a folder and of the installed package, and what importing it costs.

Exits with 1 when the wheel exceeds its limit; times are printed only, since they depend on the machine.

    python tests/tools/package_size.py dist
"""

import os
import statistics
import subprocess
import sys
import time
from importlib.metadata import files
from pathlib import Path

LIMIT = 6_000_000


def child(code: str) -> tuple[float, float]:
    """Seconds that a fresh interpreter takes for ``code``, and its largest resident memory in MB."""
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", code])
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    if status:
        sys.exit(f"{code!r} failed")
    return seconds, usage.ru_maxrss / 1024


def cost(code: str) -> tuple[float, float]:
    runs = [child(code) for _ in range(11)]
    return statistics.median(r[0] for r in runs), statistics.median(r[1] for r in runs)


def main() -> int:
    wheels = list(Path(sys.argv[1]).glob("rgrad-*.whl"))
    if len(wheels) != 1:
        sys.exit(f"expected one wheel of rgrad in {sys.argv[1]}, found {len(wheels)}")
    size = wheels[0].stat().st_size
    installed = sum(p.locate().stat().st_size for p in files("rgrad") if p.locate().exists())
    print(f"wheel {size / 1e6:.2f} MB (limit {LIMIT / 1e6:.0f} MB), installed {installed / 1e6:.2f} MB")
    base, base_memory = cost("pass")
    for module in ("numpy", "rgrad"):
        seconds, memory = cost(f"import {module}")
        print(
            f"import {module}: {seconds - base:.3f} s and {memory - base_memory:.0f} MB "
            f"more than an empty program ({base:.3f} s, {base_memory:.0f} MB)"
        )
    return int(size > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
