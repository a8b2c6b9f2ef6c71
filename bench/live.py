# SPDX-License-Identifier: MIT
"""Figures of libcoati-live: what a program pays for labels, events and samples."""
import tempfile

from frame import Skip, built_go, in_turns, interval, lines_of, median, middle, number_of
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
    """A label with a scope, over an empty loop: ns, of which it may cost 12. The machine changes its speed from run to run: so the least of many short batches stands beside, and a loop
    that does two stores and two loads of thread-local memory, which a scope cannot do without."""
    rows = lines_of(b, "bench-labels", str(b.pairs))
    for name, scope, empty, least in (("scope", 0, 1, 2), ("least", 3, 4, 5)):
        costs = [r[scope] - r[empty] for r in rows]
        b.line(f"labels/{name}", median(costs), "ns", *interval(costs))
        times = [r[scope] / r[least] for r in rows]
        b.line(f"labels/{name}-over-memory", median(times), "x", *interval(times))
    costs = [r[0] - r[1] for r in rows]
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


def bench_sampler_peer(b):
    """The same with the profiler of gperftools (libgoogle-perftools4)."""
    b.report("sampler-gperftools-depth-16", "empty", "us", 1e-3, lines_of(b, "bench-sampler", "gperftools", "16", str(b.pairs)), None)


class Slices:
    """Slices of a program that computes, without and with samplers, in turns (see sampler.c)."""

    def __init__(self, b, rate):
        self.rows = lines_of(b, "bench-sampler", "slices", str(rate), "3" if b.smoke else str(10 * b.pairs))
        self.none = [(r[0] + r[3]) / 2 for r in self.rows]
        self.rate, self.has_peer, self.has_bare = rate, self.rows[0][2] > 0, self.rows[0][6] > 0

    def more(self, column):
        """What a sampler makes longer, in percent, slice by slice."""
        return [100 * (r[column] - n) / n for r, n in zip(self.rows, self.none)]

    def each(self, column):
        """CPU nanoseconds for each sample, round by round."""
        return [(r[column] - n) / max(r[column + 3], 1) for r, n in zip(self.rows, self.none)]

    def bare(self):
        """CPU nanoseconds for each interrupt of a bare timer, round by round."""
        return [(r[6] - n) * 1e9 / (r[6] * self.rate) for r, n in zip(self.rows, self.none)]

    def samples(self, column):
        """A second of CPU time."""
        return sum(r[column] for r in self.rows) * 1e9 / sum(self.none)


SAMPLERS = (("coati", 1, 4), ("gperftools", 2, 5))  # with their columns: CPU time, samples


def show_overhead(b, rate, slices):
    null = [100 * (r[3] - r[0]) / r[0] for r in slices.rows]
    b.line(f"sampler-overhead-{rate}/none", median(null), "%", *interval(null))
    for who, column, count in SAMPLERS[:1 + slices.has_peer]:
        more = slices.more(column)
        b.line(f"sampler-overhead-{rate}/{who}", median(more), "%", *interval(more))
        got = slices.samples(count)
        b.line(f"sampler-overhead-{rate}/{who}-samples", got, "/s", got, got)


def bench_sampler_overhead(b):
    """CPU time that sampling adds to a program that computes: slices of the same work without a sampler, with ours and with that of gperftools, in turns in one process. The line "none"
    compares two slices without one: what cannot be told from nothing. What a sample costs is measured where it shows, ours at the highest rate, theirs at the kernel's tick, which is all that it
    reaches; the overhead at a low rate follows from it. Our thread that folds is measured for itself and added. "interrupt" is a timer of the kernel at our rate that tells nobody: what no sampler
    that keeps such a rate can cost less than on this machine."""
    taken = {}
    for rate in (100, 250, 1000, 10000):
        taken[rate] = Slices(b, rate)
        show_overhead(b, rate, taken[rate])
    own = median([lines_of(b, "bench-sampler", "own", "1000", "200" if b.smoke else "2000")[0][0] for _ in range(1 if b.smoke else 5)])
    b.line("sampler-overhead/own-thread", 100 * own, "%", 100 * own, 100 * own)
    cost = [each + own * 1e6 for each in taken[10000].each(1)]
    b.line("sampler-cost/coati", median(cost) / 1e3, "us", *(c / 1e3 for c in interval(cost)))
    if taken[10000].has_bare:
        bare = taken[10000].bare()
        b.line("sampler-cost/interrupt", median(bare) / 1e3, "us", *(c / 1e3 for c in interval(bare)))
    parts = [more + 100 * own for more in taken[1000].more(1)]
    b.judge("sampler-overhead-1000", interval(parts)[0] <= 0.5, f"{median(parts):.3g} % with the thread, bar 0.5 %")
    if not taken[250].has_peer:
        raise Skip("libgoogle-perftools4 is not here: its part is left out")
    peer = [each for rate in (250, 1000, 10000) for each in taken[rate].each(2)]  # the same number of samples in all of them
    b.line("sampler-cost/gperftools", median(peer) / 1e3, "us", *(c / 1e3 for c in interval(peer)))
    for rate in (100, 250):
        print(f"# sampler-overhead-{rate}: by the cost of a sample {median(cost) * rate / 1e7:.3f} %, gperftools {median(peer) * rate / 1e7:.3f} %")
    low, high = interval(cost)[0] / max(interval(peer)[1], 1), interval(cost)[1] / max(interval(peer)[0], 1)
    b.line("sampler-cost/ratio", median(cost) / max(median(peer), 1), "x", low, high)
    b.judge("sampler-cost", low <= 1, "at 100 and 250 Hz: bar 1")


BENCHES = {"live-decode": bench_live_decode, "labels": bench_labels, "tracer": bench_tracer, "tracer-peers": bench_tracer_peers, "tracer-snapshot": bench_tracer_snapshot,
           "tracer-bytes": bench_tracer_bytes, "server-overhead": bench_server_overhead, "profbuf": bench_profbuf, "sampler": bench_sampler,
           "sampler-peer": bench_sampler_peer, "sampler-overhead": bench_sampler_overhead}
