"""Tries agents as workers. `scripts/agents` sets it up and says how it is called."""
import sys

from agents import AGENTS
from money import BY_HAND, money
from story import story
from trial import trial


def chosen(words):
    names = list(AGENTS) if words == ["all"] else words
    unknown = [name for name in names if name not in AGENTS]
    if unknown:
        sys.exit("scripts/agents: no such agent: %s; -l lists them" % unknown[0])
    return names


def main(words):
    if words[:1] == ["list"]:
        print("\n".join(AGENTS))
        return 0
    if words[:1] == ["try"]:
        failed = sum(trial(name) for name in chosen(words[1:]))
        print("%d failed" % failed)
        return 1 if failed else 0
    if words[:1] == ["money"]:
        for name in words[1:] or BY_HAND:
            money(name)
        return 0
    if words[:1] == ["story"]:
        return 1 if story() else 0
    return 2


sys.exit(main(sys.argv[1:]))
