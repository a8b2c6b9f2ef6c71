# SPDX-License-Identifier: MIT
"""A cage for programs that may do anything: a mutant may kill the wrong process or remove the wrong file.

They run in PID, mount and IPC namespaces of their own. The file system is read-only but for a work folder and an empty
/tmp and /dev/shm; settings of the kernel are read-only, and the size of files is limited. DATA_KIB in the environment
limits memory, which a sanitizer does not stand.
"""
import os
import subprocess
import time

INSIDE = r"""
set -e
mkdir -p "$WORK/tmp"
mount --bind "$WORK" "$WORK"
mount -t tmpfs -o size=2g,mode=1777 tmpfs "$WORK/tmp"
case $WORK in /tmp/*) ;; *) mount --bind "$WORK/tmp" /tmp && TMPDIR=/tmp ;; esac
mount -t tmpfs -o size=1g,mode=1777 tmpfs /dev/shm
[ -e /sys/kernel/tracing/events ] || mount -t tracefs nodev /sys/kernel/tracing 2>/dev/null || true
mount -o remount,bind,ro / 2>/dev/null || true
mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys
ulimit -f 2097152
[ -z "${DATA_KIB-}" ] || ulimit -d "$DATA_KIB"
cd /
exec "$@"
"""


class Cage:
    def __init__(self, work, enabled=True):
        self.work, self.enabled = work, enabled
        os.makedirs(os.path.join(work, "tmp"), exist_ok=True)

    def possible(self):
        return not self.enabled or self.run(["true"], 20)[0] == 0

    def run(self, command, seconds, env=None):
        """Runs a command. Returns its status and what it said; the status is None when its time was up."""
        tmp = os.path.join(self.work, "tmp")
        full = dict(os.environ, WORK=self.work, TMPDIR=tmp, **(env or {}))
        if self.enabled:
            command = ["unshare", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc",
                       "--propagation", "private", "sh", "-c", INSIDE, "cage", *command]
        with subprocess.Popen(command, env=full, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True) as p:
            # Time in which this program did not run either (stopped or frozen) does not count.
            while seconds > 0:
                start = time.monotonic()
                try:
                    said, _ = p.communicate(timeout=1)
                    return p.returncode, said
                except subprocess.TimeoutExpired:
                    seconds -= min(2, time.monotonic() - start)
            p.kill()
            said, _ = p.communicate()
            return None, said
