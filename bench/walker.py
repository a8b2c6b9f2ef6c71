# SPDX-License-Identifier: MIT
"""Stacks that are walked in the kernel (record -g bpf): how many are complete, what they cost, beside perf's copies of stacks.

Nanoseconds are those of the kernel's own statistics of BPF programs, switched on while they are needed."""
import os
import re
import resource
import shutil
import subprocess
import tempfile

from frame import RECORD_PAIRS, Broken, Skip, in_turns, is_refused, median, middle, own_recorder, perf

STATISTICS = "/proc/sys/kernel/bpf_stats_enabled"
SOURCE = """#include <regex>
#include <map>
#include <functional>
#include <iostream>
template<int N> struct F { static int f(std::map<std::string, int> &m) {
	std::regex r("a+b*(c|d)"); std::smatch s; std::string t(std::to_string(N));
	std::regex_match(t, s, r); m[t] = N;
	std::vector<std::function<int(int)>> v{[](int x) { return x + N; }};
	std::sort(v.begin(), v.end(), [](auto &a, auto &b) { return a(1) < b(1); });
	return v[0](1) + F<N - 1>::f(m); } };
template<> struct F<0> { static int f(std::map<std::string, int> &) { return 0; } };
int main() { std::map<std::string, int> m; std::cout << F<%d>::f(m); }
"""


class Statistics:
    """The kernel's time of BPF programs while it is held."""

    def __enter__(self):
        try:
            with open(STATISTICS, "r+", encoding="ascii") as f:
                self.before = f.read().strip()
                f.seek(0)  # elsewhere the kernel takes it and does nothing
                f.write("1")
        except OSError as error:
            raise Skip("kernel.bpf_stats_enabled cannot be set: run it as root") from error

    def __exit__(self, *unused):
        with open(STATISTICS, "w", encoding="ascii") as f:
            f.write(self.before)


def account(path):
    """The recorder's own account, at the end of a recording."""
    with open(path, "rb") as f:
        f.seek(max(0, os.path.getsize(path) - (1 << 20)))
        return {k.decode(): int(v) for k, v in re.findall(rb"([a-z_-]+)=(\d+)\n", f.read())}


def record(b, folder, words, command):
    """One recording of ours: its account, its size and the CPU time of everything but the command."""
    path = os.path.join(folder, "ours.data")
    p = subprocess.run([*own_recorder(b), *words, "-o", path, "--", *command],
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if p.returncode:
        raise (Skip if is_refused(p.stderr) else Broken)(f"coati record {' '.join(words)} failed: {p.stderr.strip()}")
    a = account(path)
    if not a.get("walks"):
        raise Skip("stacks cannot be walked in the kernel here: coati doctor says why")
    return a, os.path.getsize(path)


def timed(a):
    """The same account, if the kernel measured the walks."""
    if not a["walk_ns"] or not a["walk_runs"]:
        raise Broken("the kernel's statistics have no time of the walker")
    return a


def share(a):
    """Complete stacks of those that there could be."""
    ends = sum(a.get(f"stacks_{k}", 0) for k in ("end", "gap", "unmapped", "truncated", "limit", "bad", "pointers"))
    return 100.0 * (a["stacks_end"] - a.get("stacks_guessed", 0)) / max(ends, 1)


def compiler(b, folder):
    if not shutil.which("clang++"):
        raise Skip("clang++ is not here")
    source = os.path.join(folder, "load.cpp")
    with open(source, "w", encoding="ascii") as f:
        f.write(SOURCE % (2 if b.smoke else 40))
    return ["clang++", "-O2", "-c", source, "-o", os.path.join(folder, "load.o")]


def bench_complete(b):
    """Complete stacks of clang compiling C++, at three rates, and bytes a sample."""
    with tempfile.TemporaryDirectory() as folder:
        command = compiler(b, folder)
        for rate in (1000,) if b.smoke else (1000, 3000, 10000):
            runs = [record(b, folder, ["-g", "bpf", "-F", str(rate)], command) for _ in range(1 if b.smoke else 3)]
            shares = [share(a) for a, _ in runs]
            sizes = [size / max(a["samples"], 1) for a, size in runs]
            b.line(f"kernel-stacks/complete-{rate}", median(shares), "%", *middle(shares))
            b.judge(f"kernel-stacks/complete-{rate}", b.smoke or median(shares) >= 99.8, "at least 99.8 %")
            b.line(f"kernel-stacks/bytes-{rate}", median(sizes), "B", *middle(sizes))
            b.judge(f"kernel-stacks/bytes-{rate}", b.smoke or median(sizes) <= 600, "at most 600 B a sample")


def bench_frame(b):
    """Nanoseconds a frame: context switches of one program (warm), and clang (cold)."""
    with tempfile.TemporaryDirectory() as folder, Statistics():
        flow = f"yes | head -c {20 if b.smoke else 400}M | cat | cat >/dev/null"  # a switch for each piece in a pipe
        warm = ["--off-cpu"], ["sh", "-c", flow]
        for name, (words, command), bar in (("warm", warm, 100), ("clang", ([], compiler(b, folder)), 260)):
            costs = []
            for _ in range(1 if b.smoke else 5):
                a = timed(record(b, folder, ["-g", "bpf", *words], command)[0])
                costs.append(a["walk_ns"] / max(a["walk_frames"], 1))
            b.line(f"kernel-stacks/frame-{name}", median(costs), "ns", *middle(costs))
            b.judge(f"kernel-stacks/frame-{name}", b.smoke or median(costs) <= bar, f"at most {bar} ns")


def used(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip(f"{command[0]} failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def bench_cost(b):
    """CPU time of a recorder beside clang, with what clang takes without one taken away: ours, and perf with copies of stacks."""
    with tempfile.TemporaryDirectory() as folder:
        command = compiler(b, folder)
        bare = median([used(command) for _ in range(1 if b.smoke else 5)])
        ours = [*own_recorder(b), "-g", "bpf", "-o", os.path.join(folder, "a"), "--", *command]
        peer = [perf(), "record", "-q", "-F", "50" if b.smoke else "1000", "-e", "cpu-clock", "--call-graph", "dwarf", "-o", os.path.join(folder, "b"), *command]
        pairs = list(in_turns(1 if b.smoke else RECORD_PAIRS, lambda: used(ours), lambda: used(peer)))
        b.report("kernel-stacks/cpu", "perf-dwarf", "s", 1, [(max(x - bare, 1e-3), max(y - bare, 1e-3)) for x, y in pairs], 0.3)


def deep(b, frames, seconds):
    """CPU time below so many frames."""
    program = os.path.join(b.build, "tests", "cli", "deep")
    if not os.path.exists(program):
        raise Skip("the tests are not built: meson configure -Dtests=true")
    return [program, str(frames), str(seconds)]


def bench_wide(b):
    """The whole machine beside 16 programs that compute: records that found no room in the ring buffers, and throttled samples apart."""
    hogs = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 if b.smoke else 16)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            for rate, bar in ((1000, 0.1),) if b.smoke else ((1000, 0.1), (5000, 1), (20000, 5)):
                runs = [record(b, folder, ["-a", "-g", "bpf", "-F", str(rate)], ["sleep", "0.1" if b.smoke else "3"])[0]
                        for _ in range(1 if b.smoke else 5)]
                lost = [100.0 * a["lost"] / max(a["samples"] + a["lost"], 1) for a in runs]
                b.line(f"kernel-stacks/wide-lost-{rate}", median(lost), "%", *middle(lost))
                b.line(f"kernel-stacks/wide-throttled-{rate}", *throttled(runs))
                b.judge(f"kernel-stacks/wide-lost-{rate}", b.smoke or median(lost) <= bar, f"at most {bar} %")
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def throttled(runs):
    times = [a["throttled"] for a in runs]
    return (median(times), "times", *middle(times))


def bench_overhead(b):
    """What walking adds at 999 Hz with stacks of 50 frames, from the kernel's time in the program for each sample."""
    with tempfile.TemporaryDirectory() as folder, Statistics():
        costs = []
        for _ in range(1 if b.smoke else 5):
            a = timed(record(b, folder, ["-g", "bpf", "-F", "999"], deep(b, 48, 0.1 if b.smoke else 2))[0])
            costs.append(a["walk_ns"] / a["walk_runs"])
        shares = [100.0 * ns * 999 / 1e9 for ns in costs]
        b.line("kernel-stacks/sample-50", median(costs), "ns", *middle(costs))
        b.line("kernel-stacks/overhead-999", median(shares), "%", *middle(shares))
        b.judge("kernel-stacks/overhead-999", b.smoke or median(shares) <= 1.3, "at most 1.3 %")


def bench_first(b):
    """Complete stacks of programs that live for 10 ms: all that there is are the first samples after an exec."""
    with tempfile.TemporaryDirectory() as folder:
        times = 5 if b.smoke else 200
        loop = f"i=0; while [ $i -lt {times} ]; do {' '.join(deep(b, 20, 0.01))}; i=$((i + 1)); done"
        shares = [share(record(b, folder, ["-g", "bpf", "-F", "5000"], ["sh", "-c", loop])[0]) for _ in range(1 if b.smoke else 3)]
        b.line("kernel-stacks/first-10ms", median(shares), "%", *middle(shares))
        b.judge("kernel-stacks/first-10ms", b.smoke or median(shares) >= 99, "at least 99 %")


def bench_start(b):
    """CPU time of a recording of a program that does nothing: with the walker, and with copies of stacks."""
    with tempfile.TemporaryDirectory() as folder:
        def run(how):
            return used([*own_recorder(b), "-g", how, "-o", os.path.join(folder, how), "--", "true"])
        run("bpf"), run("table")  # tables are made and kept
        pairs = list(in_turns(1 if b.smoke else RECORD_PAIRS, lambda: run("bpf"), lambda: run("table")))
        b.report("kernel-stacks/start", "table", "ms", 1e3, pairs, None)


BENCHES = {"kernel-stacks-complete": bench_complete, "kernel-stacks-frame": bench_frame, "kernel-stacks-cost": bench_cost,
           "kernel-stacks-wide": bench_wide, "kernel-stacks-overhead": bench_overhead, "kernel-stacks-first": bench_first,
           "kernel-stacks-start": bench_start}
