# SPDX-License-Identifier: MIT
"""coati top beside perf top: both watch the same ten threads at 99 Hz, with stacks, on a terminal of 80 by 24."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

from frame import RECORD_PAIRS, Broken, Skip, in_turns, perf

SECONDS = 9
SECONDS_SMOKE = 3


def cpu_of(pid):
    """Nanoseconds that all threads of a process ran."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total


def watch(command, seconds):
    """CPU time in all and in the last two thirds (ns), and peak memory (bytes), of a program on a terminal."""
    pid, fd = pty.fork()
    if not pid:
        os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
        os.execvp(command[0], command)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    start, drawn, steady = time.monotonic(), 0, None
    while time.monotonic() < start + seconds:
        if steady is None and time.monotonic() > start + seconds / 3:
            steady = cpu_of(pid)
        if select.select([fd], [], [], 0.1)[0]:
            try:
                drawn += len(os.read(fd, 65536))
            except OSError:
                break
    last = cpu_of(pid) if steady else 0
    os.kill(pid, signal.SIGINT)
    end = time.monotonic() + 10
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done or time.monotonic() > end:
            break
        if select.select([fd], [], [], 0.05)[0]:
            try:
                os.read(fd, 65536)
            except OSError:
                time.sleep(0.02)
    if not done:
        os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
    os.close(fd)
    if drawn < 500:
        raise Skip(f"{' '.join(command)} drew nothing (status {status})")
    return (usage.ru_utime + usage.ru_stime) * 1e9, last - (steady or 0), usage.ru_maxrss * 1024


def bench_top(b):
    """Start, steady state and memory. The bar for our own cost is 1 % of one core."""
    load = subprocess.Popen([b.program("bench-crowd")], stdout=subprocess.PIPE)
    seconds = SECONDS_SMOKE if b.smoke else SECONDS
    try:
        load.stdout.readline()
        target = ["-F", "99", "-p", str(load.pid)]
        pairs = list(in_turns(1 if b.smoke else RECORD_PAIRS, lambda: watch([b.tool, "top", *target], seconds),
                              lambda: watch([perf(), "top", "-g", *target], seconds)))
    except FileNotFoundError as error:
        raise Broken(f"{error.filename} is not there") from error
    finally:
        load.kill()
        load.wait()
    b.report("top/cpu", "perf", "ms", 1e-6, [(x[0], y[0]) for x, y in pairs], 1.0)
    b.report("top/steady-cpu", "perf", "ms", 1e-6, [(x[1], y[1]) for x, y in pairs], None)
    b.report("top/peak", "perf", "MiB", 2**-20, [(x[2], y[2]) for x, y in pairs], 1.0)
    share = max(x[1] for x, _ in pairs) / (seconds * 2 / 3 * 1e9) * 100
    b.line("top/own-share", share, "%", share, share)
    b.judge("top/own-share", share <= 1, "at most 1 % of one core")
