"""A trial of one agent as descent's worker: it solves an atom, is stopped in mid-tool, and goes on after kill -9."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from agents import AGENTS, Model, environment

WAIT = 120


class Bench:
    def __init__(self, name):
        self.name = name
        self.root = tempfile.mkdtemp(prefix="descent-agents.", dir=os.environ.get("AGENTS_TMP", "/var/tmp"))
        self.home = self.root + "/home"
        self.work = self.root + "/project"
        self.log = self.root + "/requests.ndjson"
        os.makedirs(self.home)
        os.makedirs(self.work)
        self.nap = "7300.%d%06d" % (os.getpid(), time.monotonic_ns() % 1000000)

    def model(self, command, port="0"):
        flags = ("--command", command, "--log", self.log, "--port", port)
        return Model(*flags)

    def configure(self, url):
        variables, args = AGENTS[self.name](self.home, url)
        self.env = environment(self.home, variables)
        lines = [
            "[agents.tried]",
            'preset = "%s"' % self.name,
            "env = %s" % json.dumps(sorted(variables)),
            "args = %s" % json.dumps(args),
            "[roles]",
            'worker = "tried"',
        ]
        with open(self.work + "/descent.toml", "w") as file:
            file.write("\n".join(lines) + "\n")

    def align(self):
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
        for command in (["init", "-q"], ["commit", "-qm", "start", "--allow-empty"]):
            subprocess.run(git + command, cwd=self.work, env=self.env, check=True)
        agreed = ["align", "proof.txt is there", "--why", "it is tried", "--check", "test -f proof.txt"]
        self.descent(*agreed, "--step", "Make proof.txt", "-y", "-q")

    def descent(self, *words):
        command = [os.environ["AGENTS_DESCENT"], *words]
        done = subprocess.run(command, cwd=self.work, env=self.env, capture_output=True, text=True, timeout=WAIT)
        if done.returncode != 0:
            raise AssertionError("descent %s: exit %d\n%s%s" % (words[0], done.returncode, done.stdout, done.stderr))
        return done.stdout

    def run(self):
        command = [os.environ["AGENTS_DESCENT"], "run"]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(command, cwd=self.work, env=self.env, text=True, start_new_session=True, **streams)

    def tools(self):
        return [tool for tool in self.processes("sleep " + self.nap) if tool[1].startswith("sleep ")]

    def processes(self, words):
        """Those whose command line or environment holds the words."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as file:
                    line = file.read().replace(b"\0", b" ").decode(errors="replace")
                with open("/proc/%s/environ" % pid, "rb") as file:
                    line += " " + file.read().decode(errors="replace")
            except OSError:
                continue
            if words in line and int(pid) != os.getpid():
                found.append((int(pid), line[:80]))
        return found

    def wait_for_tool(self, loop):
        end = time.time() + WAIT
        while not self.tools():
            if loop.poll() is not None or time.time() > end:
                loop.kill()
                raise AssertionError("the tool did not start\n" + loop.communicate()[0])
            time.sleep(0.05)

    def close(self):
        for pid, _ in self.processes(self.home) + self.tools():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        shutil.rmtree(self.root, ignore_errors=True)


def solves(bench):
    model = bench.model("echo made > proof.txt")
    try:
        bench.configure(model.url)
        bench.align()
        started = time.time()
        bench.descent("run")
        left = bench.processes(bench.home)
        assert not left, "left behind: %s" % left
        return "solved in %.1f s" % (time.time() - started)
    finally:
        model.close()


def is_stopped(bench):
    model = bench.model("touch begun; sleep " + bench.nap)
    try:
        bench.configure(model.url)
        bench.align()
        loop = bench.run()
        bench.wait_for_tool(loop)
        started = time.time()
        bench.descent("stop")
        loop.communicate(timeout=WAIT)
        left = bench.tools() + bench.processes(bench.home)
        assert not left, "left behind: %s" % left
        return "stopped in mid-tool in %.1f s, nothing left" % (time.time() - started)
    finally:
        model.close()


def goes_on(bench):
    model = bench.model("touch begun; sleep " + bench.nap)
    try:
        bench.configure(model.url)
        bench.align()
        loop = bench.run()
        bench.wait_for_tool(loop)
        # Later than the agent's own record of its session.
        time.sleep(1)
        loop.kill()
        loop.wait()
        loop.stdout.close()
    finally:
        model.close()
    port = model.url.rsplit(":", 1)[1]
    seen = count(bench.log)
    model = bench.model("echo made > proof.txt", port)
    try:
        started = time.time()
        bench.descent("run")
        left = bench.tools() + bench.processes(bench.home)
        assert not left, "left behind: %s" % left
        how = "continued" if is_continued(bench, seen) else "made again"
        return "%s after kill -9, solved in %.1f s, nothing left" % (how, time.time() - started)
    finally:
        model.close()


def count(log):
    with open(log) as file:
        return sum(1 for _ in file)


def is_continued(bench, seen):
    """Whether a request of the second run holds the tool call of the first."""
    with open(bench.log) as file:
        return any(bench.nap in line for line in list(file)[seen:])


CASES = (solves, is_stopped, goes_on)


def trial(name):
    """The number of cases that failed."""
    failed = 0
    for case in CASES:
        bench = Bench(name)
        try:
            print("%-11s %s" % (name, case(bench)), flush=True)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failed += 1
            print("%-11s FAILED %s: %s" % (name, case.__name__, error), flush=True)
        finally:
            bench.close()
    return failed
