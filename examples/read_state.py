#!/usr/bin/env python3
"""Tells from state files of `descent` (format 3) how things stand: the status and why the run ended
so, the open work, what failed and why, and the next command to type. It reads the files alone: a
loop at work, a result brought home by `descent apply`, and the journal that tells what an edit by
hand changes lie beside them. Exit code 65: a file is no such state; 66: it cannot be read."""
import argparse
import json
import re
import sys
from decimal import Decimal
from graphlib import TopologicalSorter
from pathlib import Path

RUN, GUIDE = "descent run", 'descent guide "what it should know" --for '

class State:
    """The records of the file, each with its half in `internal`, and what follows from them."""
    def __init__(self, root):
        if "internal" not in root or not root["version"].startswith("3."):
            raise ValueError(f"version {root.get('version')}, not an agreed state of version 3")
        atoms, halves = root["work_graph"]["atoms"], {"atoms": {}, "trail": {}} | root["internal"]
        self.objective, self.corrections = root["objective"], root["corrections"]
        self.run, self.limits = root["run"] | halves["run"], self.objective.get("constraints", {})
        self.trail = [entry | halves["trail"].get(str(entry["n"]), {}) for entry in root["trail"]]
        self.atoms = {id: atoms[id] | {"status": "pending"} | halves["atoms"].get(id, {})
                      for id in atoms}
        self.tasks = {id: atom for id, atom in self.atoms.items()
                      if kind(atom) in ("task", "plan") and id not in root["bindings"]}
        self.parent = {kid: id for id, atom in self.atoms.items() for kid in kids(atom)}
        self.in_flight = [intent["atom"] for intent in self.run.get("in_flight", [])]
        waits = {id: [dep for one in self.around(id) for dep in atoms[one].get("depends_on", [])]
                 for id in atoms}
        before = {id: kids(self.atoms[id]) + waits[id] for id in atoms}
        order = list(TopologicalSorter(before).static_order())
        # Live is all but the choices that are not in force, with what is inside of them.
        self.live, self.solved = atoms.keys() - self.parent.keys(), set()
        for id in reversed(order):
            self.live.update(needed(self.atoms[id]) if id in self.live else [])
        for id in (id for id in order if id in self.live):
            members = needed(self.atoms[id])
            is_made = id in root["bindings"] or members and self.solved.issuperset(members)
            self.solved.update([id] if is_made and self.solved.issuperset(waits[id]) else [])

    def around(self, id):
        """The atom and the groups around it, the innermost first."""
        for _ in self.atoms:  # so that groups in a circle come to an end
            yield id
            if (id := self.parent.get(id)) is None:
                return

    def status(self, id):
        task = self.tasks[id]
        word = task["status"].replace("_", " ")
        if id not in self.live:
            parts = {part for group in self.live for part in self.atoms[group].get("parts", [])}
            word = "not chosen" if (parts - self.live).isdisjoint(self.around(id)) else "dropped"
        elif id in self.in_flight or needed(task):
            return "running" if id in self.in_flight else "open"
        may_rest = word in ("pending", "not chosen") and self.run["status"] != "completed"
        return "resting" if may_rest and has(task, rest="resting") else word

    def failed(self):
        """The tasks that failed, rest, or wait for a person, each with the newest reason."""
        reasons = {one["atom"]: one["reason"] for one in self.trail if one["type"] == "failure"}
        for id, task in self.tasks.items():
            is_told = has(task, ended="failed") or has(task, rest="resting")
            if id not in self.solved and (is_told or task["status"] != "pending"):
                yield {"atom": id, "status": self.status(id), "reason": reasons.get(id, "")}

    def with_status(self, status):
        return sorted(id for id, task in self.tasks.items() if task["status"] == status)

def kind(atom):
    group = "any" if "choices" in atom else "all" if "parts" in atom else "task"
    return atom.get("kind", group)

def kids(atom):
    kept = [part for fragment in atom.get("fragments", []) for part in fragment["parts"]]
    return atom.get("choices", []) + atom.get("parts", []) + kept

def needed(atom):
    """The members that resolve it: the choice in force, or the parts that no budget left open."""
    if kind(atom) == "any":
        return [choice for choice in atom["choices"] if choice == atom.get("selected")]
    dropped = atom.get("fragment", {}).get("ended", {}).get("missing", [])
    return [part for part in atom.get("parts", []) if part not in dropped]

def has(task, **facts):
    return any(facts.items() <= one.items() for one in task.get("tries", []))

def next_move(state):
    run, reason = state.run, state.run.get("reason", "")
    result = run.get("delivered") or run.get("head")
    is_changed = any(one.get("timestamp", "") > run.get("ended", "") for one in state.corrections)
    if run["status"] == "completed" and not is_changed:
        start = run.get("started_from", {}).get("commit")
        return "descent verify" if result == start else "descent apply"
    if (run["status"], reason) == ("needs_guidance", "confirmation"):
        return next(confirmations(state, result), RUN)
    if run["status"] in ("needs_guidance", "stopped") and state.with_status("in_doubt"):
        return "descent confirm"
    if is_changed or run["status"] not in ("stopped", "exhausted", "needs_guidance"):
        return RUN
    if run["status"] == "stopped":
        return run.get("moves", [RUN])[0]
    moves = run.get("moves") or ways_out(state, reason)
    return next((move for move in moves if move.startswith("descent ")), "descent edit")

def ways_out(state, reason):
    if reason == "no_choice":
        blocked = [id for id in state.with_status("invalid") if id in state.live]
        return [GUIDE + id for id in blocked] + causes(state) + plan_again(state)
    if reason == "guidance":
        return [GUIDE + id for id in state.with_status("needs_guidance")]
    limit = {"abandoned": "planning.changes", "passes": "planning.passes"}.get(reason, reason)
    law = " --set law=show" if reason == "abandoned" else ""
    return [twice(state, limit) + law if "." in limit else "descent status"]

def causes(state):
    """The tasks that failed whatever is chosen, then the outermost groups with a failure."""
    alone, groups = [], set()
    if any(entry["type"] == "refuted" for entry in state.trail):
        groups = {id for id in state.atoms.keys() - state.parent if kind(state.atoms[id]) == "any"}
    for id in (id for id, task in state.tasks.items() if has(task, ended="failed")):
        choices = [group for group in state.around(id) if kind(state.atoms[group]) == "any"]
        alone += [] if choices else [id]
        groups.update(choices[-1:])
    return [f"descent why {id}" for id in alone + sorted(groups)]

def plan_again(state):
    """The limit that keeps planning steps from being planned once more."""
    plans = [plan for plan in state.tasks.values() if kind(plan) == "plan"]
    rounds = sum(one.get("rounds", 0) for plan in plans for one in plan.get("tries", []))
    most, grant = state.limits.get("planning", {}).get("changes", 10), state.run.get("grant", {})
    left = grant["left"] if "attempts" in grant else most - rounds - grant.get("tried", 0)
    limit = "planning.refinements" if left > 0 else "planning.changes"
    is_limited = any(needed(plan) and "grant" not in plan for plan in plans)
    return [twice(state, limit)] if is_limited or left <= 0 and "attempts" in grant else []

def twice(state, limit):
    """The command that doubles a limit, or what was used of it."""
    (record, key), spent = limit.split("."), state.run["spent"]
    minutes = sum(int(number) * {"h": 60, "m": 1}[unit]
                  for number, unit in re.findall(r"(\d+)([hm])", spent["active"]))
    if key == "time":
        return f"{RUN} --set {limit}={2 * (minutes + 1)}m"
    allowed = {"changes": 10, "refinements": 3} | state.limits.get(record, {})
    used = spent | {"tokens": sum(spent.get("tokens", {}).values()),
                    "iterations": max(state.run.get("iteration", 0), 1),
                    "passes": state.run.get("passes", {}).get("allocated", 1)}
    value = 2 * max(Decimal(allowed.get(key, 0)), Decimal(used.get(key, 0))) or 1
    return f"{RUN} --set {limit}=" + re.sub(r"(\.\d\d+?)0+$", r"\1", str(value))

def confirmations(state, result):
    """The commands for the assertions that nobody confirmed for this result."""
    checks = [state.objective.get("base_case", {})]
    checks += [state.tasks[id].get("checks", {}) for id in sorted(state.tasks)]
    for leaf in (leaf for check in checks for leaf in leaves(check) if "assertion" in leaf):
        name = leaf.get("name", leaf["assertion"])
        about = [one for one in state.corrections if one.get("name") in (name, leaf["assertion"])]
        words = [one for one in about if "on" not in one or one.get("commit") == result]
        is_plain = not re.search(r'["$`\\!]', name)
        quoted = f'"{name}"' if is_plain else "'" + name.replace("'", r"'\''") + "'"
        if not (words and words[-1]["holds"]):
            yield f"descent confirm {'-- ' if name.startswith('-') else ''}{quoted}"

def leaves(check):
    parts = check.get("all") or check.get("any")
    return [leaf for part in parts for leaf in leaves(part)] if parts else [check]

def view(state):
    """A part of what `descent status --json` tells, by the same keys."""
    ending = {key: state.run[key] for key in ("reason", "summary") if key in state.run}
    return {"status": state.run["status"], "goal": state.objective["goal"],
            "last_result": ending or None,
            "unresolved": [id for id in state.atoms if id in state.live and id not in state.solved],
            "in_flight": state.in_flight, "failed": list(state.failed()), "next": next_move(state)}

def text(view):
    for key, value in view.items():
        for one in value if isinstance(value, list) else [value] if value else []:
            told = ": ".join(one.values()) if isinstance(one, dict) else one
            yield f"{key:12}" + "".join(c if c.isprintable() else " " for c in told)

def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("files", nargs="+", metavar="FILE")
    options, code = parser.parse_args(), 0
    for path in options.files:
        try:
            seen = view(State(json.loads(Path(path).read_bytes(), parse_float=Decimal)))
            print(json.dumps(seen) if options.json else "\n".join(text(seen)))
        except Exception as error:  # whatever is in the file
            code = 66 if isinstance(error, OSError) else 65
            print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
    return code

if __name__ == "__main__":
    sys.exit(main())
