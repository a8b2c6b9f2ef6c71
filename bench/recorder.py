# SPDX-License-Identifier: MIT
"""What the recorder takes as its work grows, with names packed, by its own count: CPU time and peak memory at three sizes each."""
import os
import re
import resource
import subprocess
import tempfile

from frame import Broken, median
from reader import program_with_symbols, report_slope

UNITS = {"us": 1e3, "ms": 1e6, "s": 1e9}


def own_cost(b, options, command):
    """CPU time in ns that the recorder says it took, and its peak memory in bytes."""
    with tempfile.TemporaryDirectory() as folder:
        line = [b.tool, "record", "-o", os.path.join(folder, "data"), *options, "--", *command]
        talk = os.path.join(folder, "talk")
        _, peak, _ = b.spawn_all(["sh", "-c", 'exec "$@" 2>"$0"', talk, *line])
        with open(talk, encoding="utf-8") as f:
            said = re.search(r"([0-9.]+) (us|ms|s) of own CPU time", f.read())
    if not said:
        raise Broken(f"{' '.join(line)} does not say what it took")
    return float(said[1]) * UNITS[said[2]], peak


def measure(b, name, size, options, command):
    runs = [own_cost(b, options, command) for _ in range(1 if b.smoke else 5)]
    cpu, peak = [x / 1e6 for x, _ in runs], [y / 2**20 for _, y in runs]
    b.line(f"{name}-{size}/cpu", median(cpu), "ms", min(cpu), max(cpu))
    b.line(f"{name}-{size}/peak", median(peak), "MiB", min(peak), max(peak))
    return median(cpu), median(peak)


def bench_record_tasks(b):
    """A timeline of tasks with eight events each."""
    sizes = (100, 1000, 2000) if b.smoke else (10000, 100000, 1000000)
    costs = [measure(b, "recorder-tasks", size, ["--trace"], [b.program("bench-tasks"), str(size)])[0] for size in sizes]
    report_slope(b, "recorder-tasks", [(size, cost * 1e6) for size, cost in zip(sizes, costs)])
    if not b.smoke:
        b.judge("recorder-tasks/cpu", costs[-1] <= 150, "at most 150 ms")


def bench_record_symbols(b):
    """Naming one function of a program with many symbols."""
    sizes = (1000, 2000, 4000) if b.smoke else (30000, 300000, 3000000)
    costs = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            costs.append(measure(b, "recorder-symbols", size, ["-g", "none"], [program_with_symbols(folder, size)]))
    report_slope(b, "recorder-symbols", [(size, cpu * 1e6) for size, (cpu, _) in zip(sizes, costs)])
    if not b.smoke:
        b.judge("recorder-symbols/cpu", costs[-1][0] <= 60, "at most 60 ms")
        b.judge("recorder-symbols/peak", costs[-1][1] <= 40, "at most 40 MiB")


def bench_record_mappings(b):
    """Executable mappings that come and go."""
    sizes = (100, 200, 400) if b.smoke else (25000, 100000, 800000)
    costs = [measure(b, "recorder-mappings", size, ["-g", "none"], [b.program("bench-mappings"), str(size)])[0] for size in sizes]
    report_slope(b, "recorder-mappings", [(size, cost * 1e6) for size, cost in zip(sizes, costs)])


def bench_record_threads(b):
    """Attaching to a process with many threads: until it is recorded, with the start of the tool."""
    sizes = (10, 20, 40) if b.smoke else (100, 1000, 10000)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    print(f"# recorder-threads: limit of open files {soft}, at most {hard}")
    costs = []
    for size in sizes:
        with subprocess.Popen([b.program("bench-mappings"), "threads", str(size)], stdout=subprocess.PIPE, text=True) as load:
            load.stdout.readline()
            with tempfile.TemporaryDirectory() as folder:
                line = [b.tool, "record", "-q", "-o", os.path.join(folder, "data"), "-d", "10ms", "-p", str(load.pid)]
                runs = [b.spawn_cpu(line) for _ in range(1 if b.smoke else 5)]
            load.kill()
        cpu = [x / 1e6 for x, _ in runs]
        b.line(f"recorder-threads-{size}/cpu", median(cpu), "ms", min(cpu), max(cpu))
        costs.append(median(cpu))
    report_slope(b, "recorder-threads", [(size, cost * 1e6) for size, cost in zip(sizes, costs)])
    if not b.smoke:
        b.judge("recorder-threads/cpu", costs[-1] <= 1000, "at most 1 s")


BENCHES = {"recorder-tasks": bench_record_tasks, "recorder-symbols": bench_record_symbols, "recorder-mappings": bench_record_mappings,
           "recorder-threads": bench_record_threads}
