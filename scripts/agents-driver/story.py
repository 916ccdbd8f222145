"""Runs the story docs/stories/overnight.md as it is written, with the real Claude Code and the scripted model."""
import os
import re
import subprocess

from agents import AGENTS, environment
from trial import Bench

PAGE = "docs/stories/overnight.md"
# The agent of a person is logged in. This one has a key, which is passed on by name.
KEYS = 'agents.claude.env = ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"]\n'


def blocks(text):
    """Language and head of each block, with its text."""
    return re.findall(r"^```(\S+)([^\n]*)\n(.*?)^```$", text, re.S | re.M)


def fix(text):
    """The command by which the agent of the page mends the script."""
    return re.search(r'^export FIXTURE_DO="(.*)"$', text, re.M).group(1).replace("\\$", "$")


def story():
    with open(PAGE) as file:
        text = file.read()
    bench = Bench("claude")
    model = bench.model(fix(text))
    try:
        variables, _ = AGENTS["claude"](bench.home, model.url)
        env = environment(bench.home, variables)
        env["PATH"] = os.path.dirname(os.path.abspath(os.environ["AGENTS_DESCENT"])) + ":" + env["PATH"]
        git = "[user]\n\tname = Ada\n\temail = ada@example.org\n"
        with open(bench.home + "/.gitconfig", "w") as file:
            file.write(git)
        commands = []
        for kind, head, body in blocks(text):
            named = re.search(r"file=(\S+)", head)
            if named:
                path = bench.home + "/" + named.group(1)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w") as file:
                    file.write(body + (KEYS if path.endswith("descent.toml") else ""))
            elif kind == "console":
                commands += [line[2:] for line in body.splitlines() if line.startswith("$ ")]
        script = "\n".join("echo '$ '%s\n%s || exit" % (quoted(line), line) for line in commands)
        done = subprocess.run(["sh", "-c", script], cwd=bench.home, env=env, timeout=300)
        left = bench.processes(bench.home)
        print("exit code %d, left behind: %s" % (done.returncode, left or "nothing"))
        return done.returncode != 0 or bool(left)
    finally:
        model.close()
        bench.close()


def quoted(line):
    return "'" + line.replace("'", "'\\''") + "'"
