"""Trials of one agent as descent's worker: solved, stopped in mid-tool, killed, corrected in its session, asking a person."""
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

    def model(self, command, port="0", *flags):
        return Model("--command", command, "--log", self.log, "--port", port, *flags)

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

    def align(self, *plan, check="test -f proof.txt"):
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
        for command in (["init", "-q"], ["commit", "-qm", "start", "--allow-empty"]):
            subprocess.run(git + command, cwd=self.work, env=self.env, check=True)
        agreed = ["proof.txt is there", "--why", "it is tried", "--check", check, "--step", "Make proof.txt"]
        self.descent("align", *(plan or agreed), "-y", "-q")

    def descent(self, *words, code=0):
        command = [os.environ["AGENTS_DESCENT"], *words]
        done = subprocess.run(command, cwd=self.work, env=self.env, capture_output=True, text=True, timeout=WAIT)
        if done.returncode != code:
            raise AssertionError("descent %s: exit %d\n%s%s" % (words[0], done.returncode, done.stdout, done.stderr))
        return done.stdout

    def attempts(self):
        with open(self.work + "/.descent/state.json") as file:
            return json.load(file)["run"]["spent"]["attempts"]

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

    def end(self, processes):
        for pid, _ in processes:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass

    def close(self):
        self.end(self.processes(self.home) + self.tools())
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


# A first turn that breaks the check, and a second that does not.
IN_TWO_TURNS = "if grep -q half proof.txt; then echo made > proof.txt; else echo half > proof.txt; fi"


def is_corrected(bench):
    """Killed while the check of the first turn runs."""
    model = bench.model(IN_TWO_TURNS)
    try:
        bench.configure(model.url)
        bench.align(check="grep -q made proof.txt || { test -e proof.txt && sleep %s; false; }" % bench.nap)
        loop = bench.run()
        bench.wait_for_tool(loop)
        loop.kill()
        loop.wait()
        loop.stdout.close()
        loop = bench.run()
        while loop.poll() is None:
            # A check that fails is measured twice.
            bench.end(bench.tools())
            time.sleep(0.1)
        said, _ = loop.communicate(timeout=WAIT)
        assert loop.returncode == 0, said
        why = bench.descent("why", "S1")
        assert "turn 1 of 2" in why, why
        assert bench.attempts() == 1, "%d attempts" % bench.attempts()
        return "corrected in its session, after a kill between two turns"
    finally:
        model.close()


QUESTION = {"success": False, "summary": "which colour?", "clarity": "BLOCKED", "question": "Which colour is meant?"}
TASKS = ["S1", "S2", "S3"]


def asks(bench):
    """Three questions at once, each answered in words that reach its own agent."""
    goal = {"goal": "proof.txt is there", "background_intent": "it is tried", "base_case": {"command": "test -f proof.txt"}}
    plan = bench.root + "/plan.json"
    with open(plan, "w") as file:
        json.dump({"objective": goal, "work_graph": {"atoms": {task: {"description": "Make proof.txt"} for task in TASKS}}}, file)
    model = bench.model("ls", "0", "--answer", json.dumps(QUESTION))
    try:
        bench.configure(model.url)
        bench.align("--plan", plan)
        bench.descent("run", "--set", "max_parallel_agents=3", code=6)
    finally:
        model.close()
    asked = json.loads(bench.descent("status", "--json"))["questions"]
    assert len(asked) == len(TASKS), asked
    for task in TASKS:
        bench.descent("guide", "the colour of " + task, "--for", task)
    seen = count(bench.log)
    model = bench.model("echo made > proof.txt", model.url.rsplit(":", 1)[1])
    try:
        bench.descent("run")
    finally:
        model.close()
    with open(bench.log) as file:
        told = "".join(list(file)[seen:])
    for task in TASKS:
        assert "the colour of " + task in told, "the answer to %s did not arrive" % task
    return "three questions answered, in the next prompts"


def count(log):
    with open(log) as file:
        return sum(1 for _ in file)


def is_continued(bench, seen):
    """Whether a request of the second run holds the tool call of the first."""
    with open(bench.log) as file:
        return any(bench.nap in line for line in list(file)[seen:])


CASES = (solves, is_stopped, goes_on, is_corrected, asks)


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
