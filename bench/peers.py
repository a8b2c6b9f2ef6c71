# SPDX-License-Identifier: MIT
"""An event of the tracer beside one of lttng-ust and of Go's runtime/trace, both as Debian has them."""
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

from frame import Broken, Skip, built_go, in_turns, lines_of, number_of

HERE = os.path.dirname(os.path.abspath(__file__))
MARKS = "/dev/shm"  # where every process with lttng-ust leaves a file lttng-ust-wait-*


def words_of_ordinary_user():
    """What goes before a command so that it runs without root's rights: root's daemon would have its sockets in a place for the whole machine."""
    if os.geteuid():
        return []
    if not shutil.which("setpriv"):
        raise Skip("setpriv is not here")
    user = pwd.getpwnam("nobody")
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


class Lttng:
    """A session of a daemon of its own: events of the programs that it runs stay in memory, the newest over the oldest. Nothing is left behind."""

    def __init__(self, folder):
        if not shutil.which("lttng-sessiond") or not shutil.which("lttng"):
            raise Skip("lttng-tools is not here")
        self.folder, self.user, self.daemon, self.marks = folder, words_of_ordinary_user(), None, set()
        self.environment = {**os.environ, "LTTNG_HOME": folder, "HOME": folder, "LD_LIBRARY_PATH": folder}
        if self.user:
            shutil.chown(folder, "nobody")

    def run(self, *command):
        return subprocess.run([*self.user, *command], env=self.environment, cwd=self.folder, capture_output=True, text=True, check=False)

    def ask(self, *words):
        return self.run("lttng", "--no-sessiond", *words)

    def left(self):
        return {name for name in os.listdir(MARKS) if name.startswith("lttng-ust-wait-")}

    def __enter__(self):
        self.marks = self.left()
        self.daemon = subprocess.Popen([*self.user, "lttng-sessiond", "--no-kernel", "--quiet"], env=self.environment, cwd=self.folder,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def open(self):
        for _ in range(100):
            if not self.ask("list").returncode:
                break
            if self.daemon.poll() is not None:
                raise Skip(f"lttng-sessiond ended with status {self.daemon.returncode}")
            time.sleep(0.1)
        for words in (("create", "bench", "--snapshot", f"--output={self.folder}/out"),
                      ("enable-channel", "-u", "--overwrite", "--subbuf-size=1M", "--num-subbuf=4", "memory"),
                      ("enable-event", "-u", "-c", "memory", "bench:*"), ("start",)):
            p = self.ask(*words)
            if p.returncode:
                raise Skip(f"lttng {words[0]}: {p.stderr.strip()}")

    def __exit__(self, *_):
        self.ask("destroy", "bench")
        self.close()

    def close(self):
        """The daemon ends those that it started; whatever is left of its group goes with a signal that cannot be ignored."""
        self.daemon.terminate()
        try:
            self.daemon.wait(10)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.daemon.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.daemon.wait()
        for name in self.left() - self.marks:
            os.unlink(os.path.join(MARKS, name))


def compiled(b, folder):
    """lttng.c, with our shared library beside it, so that another user can load it."""
    library = os.path.join(b.build, "src/libcoati-live.so.0")
    shutil.copy(library, folder)
    p = subprocess.run(["cc", "-O2", "-I", HERE, "-I", os.path.join(HERE, "../include"), os.path.join(HERE, "lttng.c"), library, "-llttng-ust", "-ldl",
                        "-lpthread", "-o", os.path.join(folder, "program")], capture_output=True, text=True, check=False)
    if p.returncode:
        if not os.path.exists("/usr/include/lttng/tracepoint.h"):
            raise Skip("liblttng-ust-dev is not here")
        raise Broken(f"lttng.c: {p.stderr}")
    return os.path.join(folder, "program")


def beside_lttng(b):
    with tempfile.TemporaryDirectory() as folder, Lttng(folder) as session:
        program = compiled(b, folder)
        for what in ("region", "counter"):
            p = session.run(program, what, str(b.pairs))
            if p.returncode:
                raise (Skip if p.returncode == 77 else Broken)(f"lttng.c: {p.stderr.strip() or p.returncode}")
            b.report(f"tracer-lttng-{what}", "lttng", "ns", 1, [tuple(map(float, line.split())) for line in p.stdout.splitlines()], 0.25)


def beside_go(b):
    count = "20000" if b.smoke else "400000"
    with tempfile.TemporaryDirectory() as folder:
        peer = built_go(folder, "runtime-trace.go")
        for name, ours in (("region", "emit"), ("log", "log")):
            pairs = list(in_turns(b.pairs, lambda ours=ours: lines_of(b, "bench-tracer", ours, "1")[0][0],
                                  lambda name=name: number_of([peer, name, count])))
            b.report(f"tracer-go-{name}", "go", "ns", 1, pairs, 0.25)


def bench_tracer_peers(b):
    """One event: ours and lttng-ust's in one process, ours and Go's in processes in turns."""
    skipped = []
    for part in (beside_lttng, beside_go):
        try:
            part(b)
        except Skip as why:
            skipped.append(str(why))
    if skipped:
        raise Skip("; ".join(skipped))
