"""What descent adds to the cost of one solved task: requests and tokens, beside the same program called by hand."""
import json
import subprocess

from agents import AGENTS
from trial import WAIT, Bench

TASK = "Make proof.txt"
# By hand, with the permissions that descent gives.
BY_HAND = {
    "claude": (["claude", "-p", TASK, "--permission-mode", "acceptEdits", "--allowedTools", "Bash"], []),
    "codex": (["codex", "exec", "--skip-git-repo-check", "-c", 'sandbox_mode="workspace-write"'], [TASK]),
    "gemini": (["gemini", "--skip-trust", "--approval-mode", "yolo", "-p", TASK], []),
    "opencode": (["opencode", "run", TASK], []),
}
BYTES_OF_TOKEN = 4


def requests(bench):
    """The bytes of each request in which a turn of the model was asked for."""
    with open(bench.log) as file:
        bodies = [json.loads(line)["body"] for line in file]
    return [len(json.dumps(body)) for body in bodies if isinstance(body, dict) and body.get("tools")]


def by_hand(bench, url):
    _, args = AGENTS[bench.name](bench.home, url)
    before, after = BY_HAND[bench.name]
    done = subprocess.run(before + args + after, cwd=bench.work, env=bench.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT)
    if done.returncode != 0:
        raise AssertionError("%s: exit %d\n%s%s" % (before[0], done.returncode, done.stdout, done.stderr))


def by_descent(bench, _):
    bench.align()
    bench.descent("run")


def measured(name, way):
    bench = Bench(name)
    model = bench.model("echo made > proof.txt")
    try:
        bench.configure(model.url)
        way(bench, model.url)
        return requests(bench)
    finally:
        model.close()
        bench.close()


def money(name):
    hand, descent = (measured(name, way) for way in (by_hand, by_descent))
    added = (descent[0] - hand[0]) / BYTES_OF_TOKEN
    print(
        "%-9s requests %d by hand, %d by descent: %.2f x; tokens of the first %d and %d: %+d"
        % (name, len(hand), len(descent), len(descent) / len(hand), hand[0] / BYTES_OF_TOKEN, descent[0] / BYTES_OF_TOKEN, added),
        flush=True,
    )
