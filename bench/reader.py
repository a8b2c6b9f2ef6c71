# SPDX-License-Identifier: MIT
"""What reading costs as recordings grow: CPU time and peak memory at three sizes each, beside perf or beside a floor (recordings.c), with the slope of the
logarithms: 1 is a cost that grows as the recording does, 2 one that grows with its square."""
import os
import subprocess
import tempfile
from math import log

from frame import RECORD_PAIRS, Broken, Skip, in_turns, interval, median, perf

MOST_SLOPE = 1.1


def slope(points):
    """Of the line through (log size, log cost), by least squares."""
    xs, ys = [log(x) for x, _ in points], [log(max(y, 1)) for _, y in points]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys)) / sum((x - x_mean) ** 2 for x in xs)


def report_slope(b, name, points, bar=MOST_SLOPE):
    value = slope(points)
    b.line(f"{name}/slope", value, "", value, value)
    if bar and not b.smoke:
        b.judge(f"{name}/slope", value <= bar, f"at most {bar}")


def recording(b, folder, *words):
    file = os.path.join(folder, "-".join(words))
    if subprocess.run([b.program("bench-recordings"), words[0], file, *words[1:]], check=False).returncode:
        raise Broken("bench-recordings cannot write")
    return file


def rounds(b):
    return 1 if b.smoke else RECORD_PAIRS


def pairs_of(b, ours, peer):
    """(CPU time in ns, peak memory in bytes) of both sides in turns."""
    return list(in_turns(rounds(b), lambda: b.spawn_cpu(ours), lambda: b.spawn_cpu(peer)))


def compare(b, name, peer_name, pairs, bars):
    b.report(f"{name}/cpu", peer_name, "ms", 1e-6, [(x[0], y[0]) for x, y in pairs], bars[0])
    b.report(f"{name}/peak", peer_name, "MiB", 2**-20, [(x[1], y[1]) for x, y in pairs], bars[1])
    return median([x[0] for x, _ in pairs])


def bench_floor(b):
    """A recording of few stacks beside what reading its bytes alone takes: walking its heads, and hashing its chains."""
    sizes = (2000, 4000, 8000) if b.smoke else (500000, 1000000, 2000000)
    heads, hashes = [], []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            file = recording(b, folder, "stacks", str(size), "2000", "24")
            floor = b.program("bench-recordings")
            heads.append((size, compare(b, f"reader-dump-{size}", "heads", pairs_of(b, [b.tool, "dump", "--stats", "--threads", "1", "-i", file], [floor, "heads", file]), (2.0, None))))
            hashes.append((size, compare(b, f"reader-report-{size}", "hashes",
                                         pairs_of(b, [b.tool, "report", "--no-local", "--threads", "1", "-i", file], [floor, "hashes", file]), (2.0, None))))
            os.unlink(file)
    report_slope(b, "reader-dump", heads)
    report_slope(b, "reader-report", hashes)


def bench_threads(b):
    """What a second thread saves, in wall time, beside what it saves the floor in the same turns."""
    if len(os.sched_getaffinity(0)) < 2:
        raise Skip("two threads need two CPUs")
    size = 8000 if b.smoke else 2000000
    with tempfile.TemporaryDirectory() as folder:
        file = recording(b, folder, "stacks", str(size), "2000", "24")
        floor = b.program("bench-recordings")
        sides = {1: ([b.tool, "report", "--no-local", "--threads", "1", "-i", file], [floor, "hashes", file]),
                 2: ([b.tool, "report", "--no-local", "--threads", "2", "-i", file], [floor, "hashes", file, "2"])}
        faster, walls = [], []
        for i in range(rounds(b)):
            wall = {}
            for threads in (1, 2) if i % 2 else (2, 1):
                wall[threads] = [b.spawn(command)[0] for command in sides[threads]]
            faster.append((wall[1][0] / wall[2][0], wall[1][1] / wall[2][1]))
            walls.append(wall)
    for threads in (1, 2):
        for side, who in enumerate(("coati", "floor")):
            times = [w[threads][side] * 1e-6 for w in walls]
            b.line(f"reader-threads-{threads}/{who}", median(times), "ms", min(times), max(times))
    b.report("reader-threads/faster", "floor", "x", 1, faster, None)
    if not b.smoke:
        _, high = interval([x / y for x, y in faster])
        b.judge("reader-threads/faster", high >= 0.85, "at least 0.85 of what the floor gains")


def bench_stacks(b):
    """Stacks that all differ."""
    sizes = (1000, 2000, 4000) if b.smoke else (75000, 150000, 300000)
    points = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            file = recording(b, folder, "stacks", str(size), str(size), "24")
            pairs = pairs_of(b, [b.tool, "report", "-i", file], [perf(), "report", "--stdio", "--no-children", "-i", file])
            points.append((size, compare(b, f"reader-stacks-{size}", "perf", pairs, (1.0, 0.8))))
    report_slope(b, "reader-stacks", points)


def bench_mappings(b):
    """Mappings of code that come and go."""
    sizes = (1000, 2000, 4000) if b.smoke else (25000, 100000, 800000)
    points = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            file = recording(b, folder, "mappings", str(size))
            pairs = pairs_of(b, [b.tool, "report", "-i", file], [perf(), "report", "--stdio", "-i", file])
            points.append((size, compare(b, f"reader-mappings-{size}", "perf", pairs, (1.0, None))))
    report_slope(b, "reader-mappings", points)


def program_with_symbols(folder, count):
    """Whose symbol table is large, and of which one function runs."""
    source, program = os.path.join(folder, "symbols.s"), os.path.join(folder, f"symbols-{count}")
    with open(source, "w", encoding="ascii") as f:
        f.write(".text\n.globl main\n")
        for i in range(count):
            name = f"function_with_a_name_of_ordinary_length_{i:08d}"
            f.write(f".type {name},@function\n{name}:\n ret\n.size {name},1\n")
        f.write(".type main,@function\nmain:\n mov $400000000,%rcx\n1: dec %rcx\n jnz 1b\n xor %eax,%eax\n ret\n.size main,.-main\n"
                '.section .note.GNU-stack,"",@progbits\n')
    if subprocess.run(["gcc", "-no-pie", source, "-o", program], check=False).returncode:
        raise Skip("gcc cannot build the program for x86-64")
    return program


def bench_packed_report(b):
    """A packed recording of a program with many symbols, read with and without leave to look at local files."""
    points = []
    for count in (1000, 2000, 4000) if b.smoke else (30000, 300000, 3000000):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "data")
            if subprocess.run([b.tool, "record", "-q", "-o", file, "--", program_with_symbols(folder, count)], check=False).returncode:
                raise Broken("coati record fails")
            pairs = pairs_of(b, [b.tool, "report", "-i", file], [b.tool, "report", "--no-local", "-i", file])
            points.append((count, compare(b, f"reader-packed-{count}", "no-local", pairs, (1.2, 1.2))))
    report_slope(b, "reader-packed", points, 0.1)


def bench_dump_memory(b):
    """Whether memory grows with a file of four times as many records. What a dump keeps is what the reader puts in order, two rounds of the recorder: these are
    of one size here, while those of a recorder that has to wait for a CPU are larger in some runs than in others, whatever the size of the file."""
    few, many = (4096 * 5, 4096 * 20) if b.smoke else (500000, 2000000)
    with tempfile.TemporaryDirectory() as folder:
        small, large = ([b.tool, "dump", "--json", "-i", recording(b, folder, "stacks", str(count), "2000", "24")] for count in (few, many))
        pairs = pairs_of(b, large, small)
    b.report("dump-memory/peak-4-times", "quarter", "MiB", 2**-20, [(x[1], y[1]) for x, y in pairs], 1.1)


def bench_html(b):
    """A page of a recording, beside its report: of one thread at even times, which compress to nothing, and of sixteen at uneven ones."""
    sizes = (2000, 4000, 8000) if b.smoke else (175000, 350000, 700000)
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        for kind, name in (("stacks", "reader-html"), ("uneven", "reader-html-uneven")):
            points = []
            for size in sizes:
                file = recording(b, folder, kind, str(size), "2000", "24")
                ours = [b.tool, "report", "--no-local", "--html", page, "-i", file]
                pairs = pairs_of(b, ours, [b.tool, "report", "--no-local", "-i", file])
                points.append((size, compare(b, f"{name}-{size}", "report", pairs, (1.5, None))))
                os.unlink(file)
            report_slope(b, name, points)


def bench_diff(b):
    """Two recordings compared, beside a report of each."""
    sizes = (20000, 40000, 80000) if b.smoke else (250000, 500000, 1000000)
    points = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            file = recording(b, folder, "stacks", str(size), "2000", "24")
            pairs = pairs_of(b, [b.tool, "diff", "--no-local", file, file], [b.tool, "report", "--no-local", "-i", file])
            pairs = [(x, (2 * y[0], y[1])) for x, y in pairs]
            points.append((size, compare(b, f"reader-diff-{size}", "two-reports", pairs, (1.3, None))))
            os.unlink(file)
    report_slope(b, "reader-diff", points)


TIMELINE = (("trace", ["trace"]), ("tasks", ["trace", "--tasks", "request"]), ("why", ["why", "request"]),
            *((f, ["export", "-f", f, "-o", "/dev/null"]) for f in ("perfetto", "firefox", "chrome")))


def recorded_tasks(b, folder, size):
    file = os.path.join(folder, str(size))
    if subprocess.run([b.tool, "record", "-q", "--trace", "-o", file, "--", b.program("bench-tasks"), str(size)], check=False).returncode:
        raise Broken("coati record --trace fails")
    return file


def bench_timeline(b):
    """Tasks of eight events: the summary, the slowest, why they are slow, and exports. What they cost an event and a task."""
    sizes = (100, 1000, 2000) if b.smoke else (10000, 100000, 1000000)
    os.environ["COATI_EVENTS_MOST"] = "100000000"  # exports hold all events of a timeline, and refuse more than 4 million
    points = {name: [] for name, _ in TIMELINE}
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            file = recorded_tasks(b, folder, size)
            for name, words in TIMELINE:
                runs = [b.spawn_cpu([b.tool, *words, "-i", file]) for _ in range(min(rounds(b), 5))]
                cpu, peak = [x / size / 8 for x, _ in runs], [y / 2**20 for _, y in runs]
                b.line(f"timeline-{name}-{size}/event", median(cpu), "ns", min(cpu), max(cpu))
                b.line(f"timeline-{name}-{size}/peak", median(peak), "MiB", min(peak), max(peak))
                points[name].append((size, median(cpu) * size * 8, median(peak) * 2**20))
            os.unlink(file)
    if not b.smoke:
        b.judge("timeline-trace/event", points["trace"][-1][1] / sizes[-1] / 8 <= 80, "at most 80 ns")
    for name, of in points.items():
        report_slope(b, f"timeline-{name}", [(x, cpu) for x, cpu, _ in of])
        grown = (of[-1][2] - of[0][2]) / (of[-1][0] - of[0][0])
        b.line(f"timeline-{name}/task", grown, "B", grown, grown)


BENCHES = {"reader-floor": bench_floor, "reader-threads": bench_threads, "reader-stacks": bench_stacks, "reader-mappings": bench_mappings, "reader-packed": bench_packed_report,
           "dump-memory": bench_dump_memory, "reader-html": bench_html, "reader-diff": bench_diff, "timeline": bench_timeline}
