# SPDX-License-Identifier: MIT
"""The frame of the benchmarks: statistics, lines of output, and how programs are run in turns (bench/run says by what rule)."""
import os
import shutil
import subprocess
import tempfile
from math import comb

PAIRS = 31
RECORD_PAIRS = 15  # these are long
RECORD_MS = 500
TRACING = "/sys/kernel/tracing"


class Skip(Exception):
    """This benchmark cannot run here; says why."""


class Broken(Exception):
    """Our own side does not work: a miss, not a skip."""


def median(values):
    v = sorted(values)
    return (v[(len(v) - 1) // 2] + v[len(v) // 2]) / 2


def interval(values):
    """95 % interval of the median from order statistics: needs no assumption about the distribution."""
    v = sorted(values)
    n, k, outside = len(v), 0, 0.0
    while k < n // 2:
        outside += 2 * comb(n, k) / 2**n
        if outside > 0.05:
            break
        k += 1
    return (v[max(k - 1, 0)], v[n - 1 - max(k - 1, 0)])


def middle(values):
    v = sorted(values)
    return v[len(v) // 4], v[len(v) - 1 - len(v) // 4]


class Bench:
    def __init__(self, build, pairs, smoke=False):
        self.build, self.pairs, self.smoke, self.missed = build, pairs, smoke, []
        self.broken = False
        self.compiled, self.kept = {}, None  # programs that several benchmarks use, and their folder

    def folder(self):
        self.kept = self.kept or tempfile.TemporaryDirectory()
        return self.kept.name

    def program(self, name):
        return os.path.join(self.build, "bench", name)

    @property
    def tool(self):
        return os.path.join(self.build, "coati")

    def line(self, name, value, unit, low, high):
        print(f"{name:<34} {value:10.4g} {unit:<6} {low:.4g}..{high:.4g}", flush=True)

    def report(self, name, peer, unit, scale, pairs, bar):
        """pairs: (ours, peer) each; bar: what ours / peer may be, None when it is only shown."""
        ours, theirs = [a * scale for a, _ in pairs], [b * scale for _, b in pairs]
        ratios = [a / b for a, b in pairs]
        low, high = interval(ratios)
        self.line(f"{name}/coati", median(ours), unit, *middle(ours))
        self.line(f"{name}/{peer}", median(theirs), unit, *middle(theirs))
        self.line(f"{name}/ratio", median(ratios), "x", low, high)
        if bar is None:
            return
        self.judge(name, low <= bar, f"bar {bar:.3g}")

    def judge(self, name, met, what):
        print(f"# {name}: {what}: {'met' if met else 'MISSED'}", flush=True)
        if not met:
            self.missed.append(name)

    def report_lost(self, name, peer, lost):
        """lost: parts (ours, peer) of what there was; ours may not be more."""
        more = [100 * (a - b) for a, b in lost]
        low, high = interval(more)
        for who, part in (("coati", [100 * a for a, _ in lost]), (peer, [100 * b for _, b in lost])):
            self.line(f"{name}/{who}", median(part), "%", *middle(part))
        self.line(f"{name}/more", median(more), "%", low, high)
        self.judge(name, low <= 0, "not more")

    def spawn_all(self, command):
        """Wall time in ns, peak memory in bytes and CPU time in ns of one run."""
        p = subprocess.run([self.program("bench-spawn"), *command], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, text=True, check=False)
        if p.returncode:
            kind = Broken if command[0] == self.tool else Skip
            raise kind(f"{' '.join(command)} ended with status {p.returncode}")
        return tuple(map(float, p.stdout.split()))

    def spawn(self, command):
        """Wall time in ns and peak memory in bytes of one run."""
        return self.spawn_all(command)[:2]

    def spawn_cpu(self, command):
        """CPU time in ns and peak memory in bytes of one run: other load disturbs these less."""
        _, peak, cpu = self.spawn_all(command)
        return cpu, peak

    def spawn_pairs(self, ours, peer):
        self.spawn(ours), self.spawn(peer)
        pairs = []
        for i in range(self.pairs):
            if i % 2:
                b, a = self.spawn(peer), self.spawn(ours)
            else:
                a, b = self.spawn(ours), self.spawn(peer)
            pairs.append((a, b))
        return pairs


def perf():
    found = shutil.which("perf")
    if not found or subprocess.run([found, "--version"], capture_output=True, check=False).returncode:
        raise Skip("perf is not here")
    return found


def lines_of(b, program, *words):
    """What a program of ours prints: a pair of numbers, or more, a line."""
    p = subprocess.run([b.program(program), *words], capture_output=True, text=True, check=False)
    if p.returncode:
        raise (Skip if p.returncode == 77 else Broken)(f"{program}: {p.stderr.strip() or p.returncode}")
    return [tuple(map(float, line.split())) for line in p.stdout.splitlines()]


def number_of(command):
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def in_turns(pairs, ours, peer):
    """Who goes first changes from pair to pair."""
    for i in range(pairs):
        if i % 2:
            theirs = peer()
            yield ours(), theirs
        else:
            mine = ours()
            yield mine, peer()


def need_tracefs():
    if not os.path.exists(f"{TRACING}/events"):
        raise Skip("tracefs cannot be read: run it as root")


def own_recorder(b):
    """Ours, with no more work at the end than the peer has."""
    words = subprocess.run([b.tool, "record", "--help"], capture_output=True, text=True, check=False).stdout
    return [b.tool, "record", "-q", *(["--no-pack"] if "--no-pack" in words else [])]


def is_refused(stderr):
    """It is what root alone may do."""
    return "perf_event_paranoid" in stderr and os.getuid() != 0


class Recording:
    """One measured recording (see record.c)."""

    def __init__(self, b, target, milliseconds, command):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "data")
            p = subprocess.run([b.program("bench-record"), target, str(milliseconds), file, *command, "-o", file],
                               capture_output=True, text=True, check=False)
        if p.returncode:
            broken = Broken if command[0] == b.tool and not is_refused(p.stderr) else Skip
            raise (Skip if p.returncode == 77 else broken)(f"{' '.join(command)}: {p.stderr.strip()}")
        self.cpu, self.peak, units, self.window_ns, self.samples, lost = map(float, p.stdout.split())
        self.unit_ns = self.window_ns / max(units, 1)
        self.lost = lost / max(lost + self.samples, 1)


def compare_recorders(b, name, target, ours, peer, bars, slows=1.0):
    """The figures of a recorder. bars: for CPU time and peak memory."""
    milliseconds = 50 if b.smoke else RECORD_MS
    pairs = list(in_turns(1 if b.smoke else RECORD_PAIRS, lambda: Recording(b, target, milliseconds, ours),
                          lambda: Recording(b, target, milliseconds, peer)))
    seconds = [(x.window_ns / 1e9, y.window_ns / 1e9) for x, y in pairs]
    b.report(f"{name}/rate", "perf", "/s", 1,
             [(max(x.samples, 1) / s, max(y.samples, 1) / t) for (x, y), (s, t) in zip(pairs, seconds)], None)
    b.report(f"{name}/cpu", "perf", "ms", 1e-6, [(x.cpu, y.cpu) for x, y in pairs], bars[0])
    b.report(f"{name}/peak", "perf", "MiB", 2**-20, [(x.peak, y.peak) for x, y in pairs], bars[1])
    b.report_lost(f"{name}/lost", "perf", [(x.lost, y.lost) for x, y in pairs])
    b.report(f"{name}/target", "perf", "ns", 1, [(x.unit_ns, y.unit_ns) for x, y in pairs], slows)
    return pairs


def built_go(folder, source):
    """A Go program that reaches into the runtime: the linker lets it when an assembly file, even an empty one, is beside it."""
    if not shutil.which("go"):
        raise Skip("go is not here")
    shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), source), os.path.join(folder, "main.go"))
    for name, text in (("empty.s", ""), ("go.mod", "module bench\n\ngo 1.19\n")):
        with open(os.path.join(folder, name), "w", encoding="ascii") as f:
            f.write(text)
    environment = {**os.environ, "GOCACHE": os.path.join(folder, "cache"), "GOPATH": os.path.join(folder, "path"), "GOFLAGS": "-mod=mod",
                   "GOTOOLCHAIN": "local", "GO111MODULE": "on"}
    p = subprocess.run(["go", "build", "-o", "program", "."], cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, check=False)
    if p.returncode:
        raise Skip(f"go build: {p.stderr.strip()}")
    return os.path.join(folder, "program")
