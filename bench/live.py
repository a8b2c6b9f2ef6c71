# SPDX-License-Identifier: MIT
"""Figures of libcoati-live: what a program pays for labels, events and samples."""
import tempfile

from frame import built_go, in_turns, interval, lines_of, median, middle, number_of
from peers import bench_tracer_peers


def bench_live_decode(b):
    """Decode, order and validate live events; beside it the bare walk over the same bytes."""
    for shape in ("regions", "mixed"):
        rows = lines_of(b, "bench-live-decode", shape, str(b.pairs))
        b.report(f"live-decode-{shape}", "walk", "ns/kB", 1, rows, None)
        rates = [1e6 / ours for ours, _ in rows]
        b.line(f"live-decode-{shape}/rate", median(rates), "MB/s", *interval(rates))
        b.judge(f"live-decode-{shape}/rate", interval(rates)[1] >= 200, "at least 200 MB/s")


def bench_profbuf(b):
    """A sample of 32 frames written into a profile buffer and read from it, beside the buffer of Go's profiler and beside copying alone."""
    b.report("profbuf-copy", "memcpy", "ns", 1, lines_of(b, "bench-profbuf", "copy", str(b.pairs)), 1.5)
    count = "20000" if b.smoke else "1000000"
    with tempfile.TemporaryDirectory() as folder:
        peer = built_go(folder, "profbuf.go")
        pairs = list(in_turns(b.pairs, lambda: number_of([b.program("bench-profbuf"), "batch", count]), lambda: number_of([peer, count])))
    b.report("profbuf", "go", "ns", 1, pairs, 0.5)


def bench_labels(b):
    """A label with a scope, over an empty loop: ns, of which it may cost 12."""
    loops = 1000
    rows = lines_of(b, "bench-labels", str(b.pairs))
    costs = [(ours - empty) / loops for ours, empty in rows]
    b.line("labels/scope", median(costs), "ns", *interval(costs))
    b.judge("labels/scope", interval(costs)[0] <= 12, "bar 12 ns")


def bench_tracer(b):
    """An event of the tracer, over the clock and a store of 16 bytes; switched off, over an empty loop; beside a second thread; with a stack of 16."""
    b.report("tracer/emit", "clock+store", "ns", 1, lines_of(b, "bench-tracer", "emit", str(b.pairs)), 1.25)
    rows = lines_of(b, "bench-tracer", "off", str(b.pairs))
    costs = [ours - empty for ours, empty in rows]
    b.line("tracer/off", median(costs), "ns", *interval(costs))
    b.judge("tracer/off", interval(costs)[0] <= 1, "bar 1 ns")
    b.report("tracer/two-threads", "alone", "ns", 1, lines_of(b, "bench-tracer", "threads", str(b.pairs)), None)
    rows = lines_of(b, "bench-tracer", "stack", str(b.pairs))
    costs = [deep - plain for deep, plain in rows]
    b.line("tracer/stack-16", median(costs), "ns", *interval(costs))
    b.judge("tracer/stack-16", interval(costs)[0] <= 120, "bar 120 ns over an event without")
    b.report("tracer/log", "clock+store", "ns", 1, lines_of(b, "bench-tracer", "log", str(b.pairs)), None)


def bench_tracer_snapshot(b):
    """A snapshot of a flight recorder while a thread writes on the other CPU: its time for 10 MiB, and what it does to the time of an event. The host delays events too, so windows
    without a snapshot stand beside: the difference counts."""
    rows = lines_of(b, "bench-snapshot", str(b.pairs), "2" if b.smoke else "10")
    for name, column, scale, unit in (("wall", 0, 1e-6, "ms"), ("cpu", 1, 1e-6, "ms"), ("size", 2, 2**-20, "MiB")):
        values = [r[column] * scale for r in rows]
        b.line(f"tracer-snapshot/{name}", median(values), unit, *interval(values))
    walls = [r[0] * 1e-6 * 10 * 2**20 / r[2] for r in rows]
    b.line("tracer-snapshot/wall-10-MiB", median(walls), "ms", *interval(walls))
    b.judge("tracer-snapshot/wall-10-MiB", interval(walls)[0] <= 10, "bar 10 ms")
    for name, column in (("with", 3), ("without", 4), ("longest-with", 5), ("longest-without", 6)):
        values = [r[column] * 1e-3 for r in rows]
        b.line(f"tracer-snapshot/event-{'p99.9-' if column < 5 else ''}{name}", median(values), "us", *interval(values))
    more = [(r[3] - r[4]) * 1e-3 for r in rows]
    b.line("tracer-snapshot/delay-p99.9", median(more), "us", *interval(more))
    b.judge("tracer-snapshot/delay-p99.9", interval(more)[0] < 2, "bar 2 us")


def bench_tracer_bytes(b):
    """Bytes an event of programs whose work takes times that vary: in the tracer's memory, and in a recording compressed as `coati record -z` does it. The bars are for regions."""
    for shape in ("regions", "mixed", "service"):
        rows = [lines_of(b, "bench-trace-size", shape, "5000" if b.smoke else "50000")[0] for _ in range(b.pairs)]
        for name, column, bar in (("memory", 0, 6), ("recording", 1, None), ("compressed", 2, 2)):
            values = [r[column] for r in rows]
            b.line(f"tracer-bytes-{shape}/{name}", median(values), "bytes", *interval(values))
            if bar and shape == "regions":
                b.judge(f"tracer-bytes-{shape}/{name}", interval(values)[0] <= bar, f"bar {bar} bytes")


def bench_server_overhead(b):
    """examples/server on one CPU, clients on the other: requests with the recorder on (a task, two regions and a log site for each) over those with it off, slices in turns in the
    same process; and the server's CPU time for each, which the clients disturb less. Both have the cost of wake-ups in them, which depends on who sleeps when."""
    rows = lines_of(b, "bench-server", "1" if b.smoke else str(12 * b.pairs + 1), "50" if b.smoke else "110")
    for name, unit, on, off in (("rate", "/s", 0, 1), ("cpu", "ns", 2, 3)):
        b.line(f"server-overhead-{name}/on", median([r[on] for r in rows]), unit, *middle([r[on] for r in rows]))
        b.line(f"server-overhead-{name}/off", median([r[off] for r in rows]), unit, *middle([r[off] for r in rows]))
        more = [100 * (r[off] / r[on] - 1 if name == "rate" else r[on] / r[off] - 1) for r in rows]
        b.line(f"server-overhead-{name}/more", median(more), "%", *interval(more))
        b.judge(f"server-overhead-{name}", interval(more)[0] <= 1, "bar 1 %")
    events = [r[4] for r in rows]
    b.line("server-overhead/events", median(events), "each", *middle(events))


def bench_sampler(b):
    """One sample of the profiler inside a program, signal included, beside a signal handler that does nothing; and whether the rate is kept."""
    for stacks, bar in (("pointers", 1.4), ("tables", 2.0)):
        b.report(f"sampler-{stacks}-depth-16", "empty", "us", 1e-3, lines_of(b, "bench-sampler", stacks, "16", str(b.pairs)), bar)
    milliseconds = "50" if b.smoke else "1000"
    rates = [lines_of(b, "bench-sampler", "rate", "4000", milliseconds)[0][0] for _ in range(b.pairs)]
    b.line("sampler-rate-4000", median(rates), "Hz", *interval(rates))
    low, high = interval(rates)
    b.judge("sampler-rate-4000", low <= 4200 and high >= 3800, "4000 within 5 %")
    rounds = "1" if b.smoke else "5"
    parts = [cost / 1e9 * 1000 * 100 for cost in (lines_of(b, "bench-sampler", "overhead", "coati", "1000", rounds)[0][0] for _ in range(b.pairs))]
    b.line("sampler-overhead-1000", median(parts), "%", *interval(parts))
    b.judge("sampler-overhead-1000", interval(parts)[0] <= 0.5, "bar 0.5 %")


def bench_sampler_peer(b):
    """The profiler of gperftools (libgoogle-perftools4) beside ours: one sample, and CPU time for each sample in a program that computes."""
    b.report("sampler-gperftools-depth-16", "empty", "us", 1e-3, lines_of(b, "bench-sampler", "gperftools", "16", str(b.pairs)), None)
    rounds = "1" if b.smoke else "5"

    def cost(who, rate):
        return max(1.0, lines_of(b, "bench-sampler", "overhead", who, rate, rounds)[0][0])

    for rate in ("100", "250", "1000"):
        pairs = list(in_turns(b.pairs, lambda rate=rate: cost("coati", rate), lambda rate=rate: cost("gperftools", rate)))
        b.report(f"sampler-cpu-{rate}", "gperftools", "us", 1e-3, pairs, 1.0 if rate != "1000" else None)


BENCHES = {"live-decode": bench_live_decode, "labels": bench_labels, "tracer": bench_tracer, "tracer-peers": bench_tracer_peers, "tracer-snapshot": bench_tracer_snapshot,
           "tracer-bytes": bench_tracer_bytes, "server-overhead": bench_server_overhead, "profbuf": bench_profbuf, "sampler": bench_sampler,
           "sampler-peer": bench_sampler_peer}
