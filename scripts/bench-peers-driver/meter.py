"""A command, and what it cost: wall, CPU of all that it started, peak memory of its own processes.

Linux: we are a foster parent of orphans (a subreaper), so that what a run started and lost counts too.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import subprocess
import threading
import time

RUN_S_MAX = 7200.0
# What a run leaves behind ends by itself within this, or is killed and told.
STRAGGLERS_S_MAX = 10.0
SAMPLE_S = 0.1


class Failed(Exception):
    """A run that did not do its work. What it would have measured is not told."""


def foster_orphans() -> None:
    pr_set_child_subreaper = 36
    if ctypes.CDLL(None, use_errno=True).prctl(pr_set_child_subreaper, 1, 0, 0, 0) != 0:
        raise SystemExit(f"scripts/bench-peers: no subreaper: {os.strerror(ctypes.get_errno())}")


def descendants(pid: int) -> list[int]:
    found, left = [], [pid]
    while left:
        parent = left.pop()
        try:
            for task in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{task}/children") as children:
                    left.extend(map(int, children.read().split()))
        except OSError:
            continue  # it ended meanwhile
        if parent != pid:
            found.append(parent)
    return found


def kib(pid: int, file: str, key: str) -> int:
    try:
        with open(f"/proc/{pid}/{file}") as lines:
            return next((int(line.split()[1]) for line in lines if line.startswith(key)), 0)
    except OSError:
        return 0


def words(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as line:
            return line.read()
    except OSError:
        return b""


def exe(pid: int) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None


def shares_memory(pid: int, other: int) -> bool:
    """Between vfork and exec a child runs in its parent's memory, which would count twice."""
    kcmp = {"x86_64": 312, "aarch64": 272}.get(platform.machine())
    kcmp_vm = 1
    order = ctypes.CDLL(None).syscall(kcmp, pid, other, kcmp_vm, 0, 0) if kcmp else -1
    # Where the kernel may not be asked: who has the same words did not become another program yet.
    return order == 0 if order >= 0 else words(pid) == words(other)


class Sampler(threading.Thread):
    """Peak memory of the processes that run the program of `pid`; what they start has programs of its own."""

    def __init__(self, pid: int):
        super().__init__(daemon=True)
        self.pid, self.pss_kib, self.rss_kib = pid, 0, 0
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(SAMPLE_S):
            own = exe(self.pid)
            if own is None:
                continue
            family = [self.pid]
            for pid in descendants(self.pid):
                if exe(pid) == own and not any(shares_memory(pid, other) for other in family):
                    family.append(pid)
            self.pss_kib = max(self.pss_kib, sum(kib(pid, "smaps_rollup", "Pss:") for pid in family))
            # The kernel keeps the peak, so nothing between two samples is missed.
            self.rss_kib = max(self.rss_kib, kib(self.pid, "status", "VmHWM:"))


class Metered:
    """A command under way, in a session of its own. `end` gives its figures."""

    def __init__(self, command: list[str], env: dict, output: str):
        self.what = " ".join(command[:4])
        self.load = os.getloadavg()[0]
        self.cpu_before = cpu_of_children_s()
        with open(output, "wb") as out:
            self.began_ns = time.time_ns()
            self.began = time.perf_counter()
            self.process = subprocess.Popen(
                command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )
        self.sampler = Sampler(self.process.pid)
        self.sampler.start()

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)

    def activity(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Of each thread of the program and its guards: nanoseconds of CPU, and how often it woke."""
        own, found = exe(self.process.pid), {}
        for pid in [self.process.pid, *descendants(self.process.pid)]:
            if exe(pid) != own:
                continue
            for task in map(int, os.listdir(f"/proc/{pid}/task")):
                with open(f"/proc/{pid}/task/{task}/schedstat") as stat:
                    cpu_ns = int(stat.read().split()[0])
                found[pid, task] = (cpu_ns, kib(pid, f"task/{task}/status", "voluntary_ctxt_switches:"))
        return found

    def end(self) -> dict:
        timer = threading.Timer(RUN_S_MAX, self.kill)
        timer.daemon = True
        timer.start()
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid == self.process.pid:
                break
        wall_s = time.perf_counter() - self.began
        timer.cancel()
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.sampler.over.set()
        self.sampler.join()
        stragglers = reap_all()
        figures = {
            "exit": self.process.returncode,
            "wall_ms": round(wall_s * 1000, 2),
            "cpu_ms": round((cpu_of_children_s() - self.cpu_before) * 1000, 2),
            "pss_kib": self.sampler.pss_kib,
            "rss_kib": self.sampler.rss_kib,
            "load": round(self.load, 2),
        }
        if stragglers:
            raise Failed(f"{self.what}: {stragglers} processes left running, killed")
        return figures


def cpu_of_children_s() -> float:
    """Of all that ended and was waited for, by us or by one of them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def reap_all() -> int:
    """Waits for every orphan that came to us; gives how many had to be killed."""
    until, killed = time.monotonic() + STRAGGLERS_S_MAX, set()
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return len(killed)
        if pid == 0:
            if time.monotonic() > until:
                for left in descendants(os.getpid()):
                    killed.add(left)
                    os.kill(left, signal.SIGKILL)
            time.sleep(0.005)


def end_everything() -> None:
    until = time.monotonic() + STRAGGLERS_S_MAX
    while (left := descendants(os.getpid())) and time.monotonic() < until:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        reap_all()
