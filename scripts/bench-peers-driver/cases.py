"""The cases: how each is laid out, run once in a fresh directory, and held to have done all its work."""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import signal
import subprocess
import time

from meter import RUN_S_MAX, Failed, Metered

FAN, CHAIN, CHAIN_LONG, LARGE, GIT_STEPS = 300, 300, 1000, 10_000, 60
# Killed again soon after each resumption: one long run gives several resumptions.
KILLS_A_ROUND = 3
# After this a run has started; it is watched for so long.
IDLE_AFTER_S, IDLE_S = 6.0, 30.0

# What the goal asks never holds: so a run ends when, and only when, every atom was tried. It is asked after every step;
# a file asks no process, as no peer starts one to know that it goes on.
FILE_CHECK, COMMAND_CHECK = {"file": "never"}, {"command": "test -e never"}

# As descent asks of git for every commit of its own. By itself git does not sync the objects of a commit.
GIT_SYNCED = ["-c", "core.fsync=objects,reference", "-c", "core.fsyncMethod=batch"]
BARE_GIT = r"""
set -eu
repo=$1 worktree=$2 steps=$3; shift 3
for i in $(seq "$steps"); do
    git "$@" -C "$repo" worktree add --quiet -b "step$i" "$worktree"
    echo "step $i" >>"$worktree/file"
    git "$@" -C "$worktree" commit --quiet --all --message "step $i"
    git "$@" -C "$repo" merge --quiet "step$i"
    git "$@" -C "$repo" worktree remove "$worktree"
done
"""

CASES = {
    "fan": f"{FAN} /bin/true three at a time, workspace shared, beside ninja -j3",
    "chain": f"{CHAIN} /bin/true in a row, beside LangGraph (one looping node, SQLite, durability sync)",
    "chain-long": f"the same at {CHAIN_LONG:,}",
    "large": f"the fan at 1,000 and at {LARGE:,}: CPU a step, peak memory",
    "resume": "a chain of 1,000 killed with -9: the start of `descent run` to the first new effect",
    "idle": "three agents that sleep: CPU and wake-ups of the loop and its guards",
    "git": f"a chain of {GIT_STEPS} in workspace git, beside git worktree add, commit, merge, worktree remove",
}


class Bench:
    def __init__(self, options: argparse.Namespace, directory: str):
        self.options, self.directory = options, directory
        self.rng = random.Random(options.seed)
        self.made = 0
        home = self.fresh("home")
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "TMPDIR": self.fresh("tmp"),
            "LANG": "C.UTF-8",
            "CI": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "XDG_CACHE_HOME": f"{home}/cache",
            "XDG_STATE_HOME": f"{home}/state",
            "XDG_CONFIG_HOME": f"{home}/config",
            "XDG_DATA_HOME": f"{home}/data",
        }
        if "DESCENT_ENDING" in os.environ:
            self.env["DESCENT_ENDING"] = os.environ["DESCENT_ENDING"]
        # A peer that sends what it does elsewhere would be measured with it.
        self.env |= {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}

    def fresh(self, name: str) -> str:
        self.made += 1
        path = os.path.join(self.directory, f"{self.made:04d}-{name}")
        os.mkdir(path)
        return path

    def quietly(self, *command: str, given: str | None = None) -> str:
        done = subprocess.run(command, env=self.env, input=given, capture_output=True, text=True, timeout=RUN_S_MAX)
        if done.returncode != 0:
            raise Failed(f"{' '.join(command[:4])}: exit {done.returncode}: {(done.stderr or done.stdout)[-300:].strip()}")
        return done.stdout

    def repository(self, path: str) -> None:
        git = ["git", "-C", path]
        self.quietly(*git, "init", "--quiet", "--initial-branch", "main")
        for number in range(100):
            folder = os.path.join(path, f"folder{number % 10}")
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, f"file{number}"), "w") as file:
                file.write(f"text {number}\n" * 20)
        with open(os.path.join(path, "file"), "w") as file:
            file.write("start\n")
        self.quietly(*git, "config", "user.name", "bench")
        self.quietly(*git, "config", "user.email", "bench@localhost")
        self.quietly(*git, "add", "--all")
        self.quietly(*git, "commit", "--quiet", "--message", "start")

    def project(self, path: str, steps: int, chained: bool, workspace: str, action: str, check: dict) -> None:
        """Makes the project and agrees on its plan, which no figure counts."""
        atoms = {}
        for number in range(1, steps + 1):
            after = [f"A{number - 1:05d}"] if chained and number > 1 else []
            atoms[f"A{number:05d}"] = {"description": f"step {number}", "depends_on": after, "action": {"run": action}}
        objective = {
            "goal": "every step is made",
            "background_intent": "to measure",
            "base_case": {"all": [check]},
            "constraints": {"workspace": workspace, "max_parallel_agents": 3},
        }
        plan = json.dumps({"objective": objective, "work_graph": {"atoms": atoms}})
        self.repository(path)
        self.quietly(self.options.descent, "-C", path, "align", "-f", "-", "-y", given=plan)

    def start(self, path: str) -> Metered:
        return Metered([self.options.descent, "-C", path, "run", "--no-input"], self.env, f"{path}.out")

    def solved(self, path: str) -> int:
        return len(json.loads(self.quietly(self.options.descent, "-C", path, "status", "--json"))["resolved"])

    # Each gives the figures of one run, and fails if the run did not do all its work.

    def descent(
        self, steps: int, chained: bool, workspace: str, action: str = "/bin/true", check: dict = FILE_CHECK
    ) -> dict:
        path = self.fresh("project")
        self.project(path, steps, chained, workspace, action, check)
        os.sync()
        figures = self.start(path).end()
        exhausted = 5
        if figures["exit"] != exhausted or self.solved(path) != steps:
            raise Failed(f"descent run: exit {figures['exit']}, {self.solved(path)} of {steps} solved")
        return figures

    def ninja(self) -> dict:
        path = self.fresh("ninja")
        with open(f"{path}/build.ninja", "w") as file:
            file.write("rule step\n  command = /bin/true\n")
            file.writelines(f"build step{number}: step\n" for number in range(FAN))
        os.sync()
        figures = Metered([self.options.ninja, "-C", path, "-j3"], self.env, f"{path}.out").end()
        with open(f"{path}.out") as said:
            if figures["exit"] != 0 or f"[{FAN}/{FAN}]" not in said.read():
                raise Failed(f"ninja: exit {figures['exit']}, or not every step was made")
        return figures

    def langgraph(self, steps: int) -> dict:
        path = self.fresh("langgraph")
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "langgraph_loop.py")
        os.sync()
        command = [self.options.langgraph, script, str(steps), f"{path}/checkpoints.sqlite"]
        figures = Metered(command, self.env, f"{path}.out").end()
        with open(f"{path}.out") as said:
            text = said.read()
        if figures["exit"] != 0:
            raise Failed(f"LangGraph: exit {figures['exit']}: {text[-300:].strip()}")
        told = json.loads(text.splitlines()[-1])
        if told["steps"] != steps or told["checkpoints"] < steps:
            raise Failed(f"LangGraph: {told}")
        return figures | {"inside_ms": round(told["inside_s"] * 1000, 2)}

    def bare_git(self, settings: list[str]) -> dict:
        path = self.fresh("bare-git")
        repository = f"{path}/repository"
        os.mkdir(repository)
        self.repository(repository)
        os.sync()
        command = ["bash", "-c", BARE_GIT, "bare", repository, f"{path}/worktree", str(GIT_STEPS), *settings]
        figures = Metered(command, self.env, f"{path}.out").end()
        with open(f"{repository}/file") as merged:
            steps = len(merged.readlines()) - 1
        if figures["exit"] != 0 or steps != GIT_STEPS:
            raise Failed(f"bare git: exit {figures['exit']}, {steps} of {GIT_STEPS} merged")
        return figures

    def resume(self) -> dict:
        path = self.fresh("project")
        log = f"{path}.effects"
        open(log, "w").close()
        # The time of a resumption holds the start of a shell and of `date`, too.
        action = f'echo "$(date +%s%N) $DESCENT_ATOM" >>{shlex.quote(log)}'
        self.project(path, CHAIN_LONG, True, "shared", action, FILE_CHECK)
        load = os.getloadavg()[0]
        started_ms, before = [], []
        more = self.rng.randrange(CHAIN_LONG // 4, CHAIN_LONG * 3 // 4)
        for kill in range(KILLS_A_ROUND + 1):
            os.sync()
            run = self.start(path)
            try:
                lines = self.wait_for(log, len(before) + more, run)
                time.sleep(self.rng.uniform(0, 0.02))  # not always right after an effect
            finally:
                run.kill()
                ended = run.end()["exit"]
            if ended != -signal.SIGKILL:
                raise Failed(f"descent run: exit {ended} before it was killed")
            done = {atom for _, atom in before}
            first = next(at_ns for at_ns, atom in lines if atom not in done)
            started_ms.append(round((first - run.began_ns) / 1e6, 2))
            before = effects(log)
            more = self.rng.randrange(5, 40)
        twice = len(before) - len({atom for _, atom in before})
        return {
            "fresh_ms": started_ms[0],
            "resumed_ms": started_ms[1:],
            "made_twice": twice,
            "atoms_done": len(before) - twice,
            "load": round(load, 2),
        }

    def idle(self) -> dict:
        path = self.fresh("project")
        self.project(path, 3, False, "shared", "sleep 600", FILE_CHECK)
        run = self.start(path)
        try:
            time.sleep(IDLE_AFTER_S)
            before = run.activity()
            time.sleep(IDLE_S)
            after = run.activity()
        finally:
            run.kill()
            run.end()
        # What began or ended meanwhile is not idle.
        both = [(after[task], before[task]) for task in after if task in before]
        return {
            "cpu_percent": sum(now[0] - then[0] for now, then in both) / 1e7 / IDLE_S,
            "wakeups_s": sum(now[1] - then[1] for now, then in both) / IDLE_S,
        }

    def wait_for(self, log: str, count: int, run: Metered) -> list[tuple[int, str]]:
        until = time.monotonic() + 600
        while time.monotonic() < until and os.path.exists(f"/proc/{run.process.pid}/exe"):
            lines = effects(log)
            # One more than asked, so that a new effect is among them even if the first was made twice.
            if len(lines) > count:
                return lines
            time.sleep(0.02)
        raise Failed(f"descent run: {len(effects(log))} effects of the {count} that were waited for")

    def engines(self, case: str, round_number: int) -> dict:
        """What takes turns in a case. A peer that is not here is not in it."""
        options = self.options
        if case == "fan":
            engines = {"descent": lambda: self.descent(FAN, False, "shared")}
            return engines | ({"ninja": self.ninja} if options.ninja else {})
        if case in ("chain", "chain-long"):
            steps = CHAIN if case == "chain" else CHAIN_LONG
            engines = {"descent": lambda: self.descent(steps, True, "shared")}
            if case == "chain":
                engines["descent-command"] = lambda: self.descent(steps, True, "shared", check=COMMAND_CHECK)
            return engines | ({"langgraph": lambda: self.langgraph(steps)} if options.langgraph else {})
        if case == "large":
            engines = {"descent-1000": lambda: self.descent(1000, False, "shared")}
            is_large = round_number <= options.rounds_large
            return engines | ({"descent-10000": lambda: self.descent(LARGE, False, "shared")} if is_large else {})
        if case == "resume":
            return {"descent": self.resume}
        if case == "idle":
            return {"descent": self.idle}
        return {
            "descent": lambda: self.descent(GIT_STEPS, True, "git", 'echo "$DESCENT_ATOM" >>file'),
            "bare-git": lambda: self.bare_git([]),
            "bare-git-synced": lambda: self.bare_git(GIT_SYNCED),
        }


def effects(log: str) -> list[tuple[int, str]]:
    with open(log) as file:
        text = file.read()
    whole = text[: text.rfind("\n") + 1]
    return [(int(at_ns), atom) for at_ns, atom in (line.split() for line in whole.splitlines())]
