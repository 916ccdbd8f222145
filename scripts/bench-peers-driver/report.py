"""What is told: one row a figure, each ratio beside its goal."""

from __future__ import annotations

import statistics

from cases import CHAIN, CHAIN_LONG, FAN, GIT_STEPS, KILLS_A_ROUND, LARGE


def spread(values: list[float], unit: str = "", digits: int = 2) -> str:
    if not values:
        return "-"
    shown = f"{statistics.median(values):.{digits}f}"
    if len(values) > 1:
        shown += f" [{min(values):.{digits}f}..{max(values):.{digits}f}]"
    return f"{shown} {unit}".strip()


class Report:
    """One row a figure. A ratio is taken round by round, and told as the median with its least and greatest."""

    def __init__(self, runs: list[dict], is_noisy: bool):
        self.runs, self.is_noisy = runs, is_noisy
        self.rows = [("what", "descent", "beside it", "ratio", "goal", "")]

    def by_round(self, case: str, engine: str, key: str, steps: int = 1) -> dict[int, float]:
        runs = [run for run in self.runs if run["case"] == case and run["engine"] == engine and key in run]
        return {run["round"]: run[key] / steps for run in runs}

    def verdict(self, value: float, goal: float, is_wall: bool) -> str:
        word = "ok" if value <= goal else "short of it"
        return f"noisy: {word}" if is_wall and self.is_noisy else word

    def ratio(self, what: str, own: dict, peer: dict, unit: str, goal: float | None = None, is_wall: bool = True) -> None:
        ratios = [own[number] / peer[number] for number in own if peer.get(number)]
        judged = goal is not None and ratios
        self.rows.append(
            (
                what,
                spread(list(own.values()), unit),
                spread(list(peer.values()), unit),
                spread(ratios),
                f"≤ {goal}" if goal is not None else "",
                self.verdict(statistics.median(ratios), goal, is_wall) if judged else "",
            )
        )

    def figure(
        self,
        what: str,
        values: list[float],
        unit: str,
        goal: float | None = None,
        is_wall: bool = True,
        digits: int = 1,
    ) -> None:
        judged = goal is not None and values
        # The median of a time; of a peak the greatest, for that is what has to fit.
        value = (statistics.median(values) if is_wall else max(values)) if values else 0.0
        verdict = self.verdict(value, goal, is_wall) if judged else ""
        self.rows.append((what, spread(values, unit, digits), "", "", f"≤ {goal} {unit}".strip() if goal is not None else "", verdict))

    def memory(self, what: str, case: str, own: str, peer: str) -> None:
        mine = self.by_round(case, own, "pss_kib", 1024)
        self.ratio(what, mine, self.by_round(case, peer, "pss_kib", 1024), "MiB")

    def case(self, case: str) -> None:
        if case == "fan":
            self.beside("fan", FAN, f"fan of {FAN}, three at a time, beside `ninja -j3`, a step", "ninja", "wall_ms", 2.0)
        elif case == "chain":
            self.in_a_row(case, CHAIN, 1.2)
            commanded = self.by_round(case, "descent-command", "wall_ms", CHAIN)
            inside = self.by_round(case, "langgraph", "inside_ms", CHAIN)
            self.ratio("… where a command checks the goal after each step", commanded, inside, "ms")
        elif case == "chain-long":
            self.in_a_row(case, CHAIN_LONG, 1.2)
        elif case == "large":
            self.large()
        elif case == "resume":
            self.resumed()
        elif case == "idle":
            self.idle()
        else:
            self.isolated()

    def in_a_row(self, case: str, steps: int, goal: float | None) -> None:
        what = f"chain of {steps:,}, beside LangGraph without its imports, a step"
        self.beside(case, steps, what, "langgraph", "inside_ms", goal)

    def beside(self, case: str, steps: int, what: str, peer: str, peer_wall: str, goal: float | None) -> None:
        own = self.by_round(case, "descent", "wall_ms", steps)
        self.ratio(what, own, self.by_round(case, peer, peer_wall, steps), "ms", goal)
        if peer_wall != "wall_ms":
            self.ratio("… with its imports", own, self.by_round(case, peer, "wall_ms", steps), "ms")
        self.ratio(
            "… CPU a step, of the whole run",
            self.by_round(case, "descent", "cpu_ms", steps),
            self.by_round(case, peer, "cpu_ms", steps),
            "ms",
        )
        own = self.by_round(case, "descent", "cpu_ms", steps)
        self.figure("… CPU a step, beside its goal", list(own.values()), "ms", 3.5)
        self.memory("… peak memory, its own processes", case, "descent", peer)

    def large(self) -> None:
        small = self.by_round("large", "descent-1000", "cpu_ms", 1000)
        large = self.by_round("large", "descent-10000", "cpu_ms", LARGE)
        if not large:
            self.rows.append((f"{LARGE:,} atoms", "not run", "", "", "", ""))
            return
        self.ratio(f"CPU a step at {LARGE:,} atoms, beside 1,000", large, small, "ms", 1.25, is_wall=False)
        both = [number for number in large if number in small]
        marginal = {number: (large[number] * LARGE - small[number] * 1000) / (LARGE - 1000) for number in both}
        self.ratio(f"… a step more, from 1,000 to {LARGE:,}", marginal, small, "ms", is_wall=False)
        wall = self.by_round("large", "descent-10000", "wall_ms", LARGE)
        self.ratio("… wall a step", wall, self.by_round("large", "descent-1000", "wall_ms", 1000), "ms")
        pss = list(self.by_round("large", "descent-10000", "pss_kib", 1024).values())
        self.figure(f"peak memory at {LARGE:,} atoms, proportional (PSS)", pss, "MiB", 80, is_wall=False)
        rss = list(self.by_round("large", "descent-10000", "rss_kib", 1024).values())
        self.figure("… resident (RSS) of the loop", rss, "MiB", is_wall=False)
        pss = list(self.by_round("large", "descent-1000", "pss_kib", 1024).values())
        self.figure("… at 1,000 atoms (PSS)", pss, "MiB", is_wall=False)

    def resumed(self) -> None:
        runs = [run for run in self.runs if run["case"] == "resume"]
        resumed_ms = [took for run in runs for took in run["resumed_ms"]]
        twice, kills = sum(run["made_twice"] for run in runs), len(runs) * KILLS_A_ROUND
        self.figure(f"resumed at 1,000 atoms, {len(resumed_ms)} times, to the first new effect", resumed_ms, "ms", 100)
        self.figure("… a fresh start, to the first effect", [run["fresh_ms"] for run in runs], "ms", 100)
        resumed = {run["round"]: statistics.median(run["resumed_ms"]) for run in runs}
        self.ratio("… resumed, beside a fresh start", resumed, {run["round"]: run["fresh_ms"] for run in runs}, "ms", 1.3)
        self.rows.append(("… effects made twice", f"{twice} at {kills} kills", "", "", "", ""))

    def idle(self) -> None:
        runs = [run for run in self.runs if run["case"] == "idle"]
        cpu = [run["cpu_percent"] for run in runs]
        self.figure("three idle agents, CPU of the loop and its guards", cpu, "%", 0.1, is_wall=False, digits=3)
        self.figure("… wake-ups a second", [run["wakeups_s"] for run in runs], "", 2, is_wall=False)

    def isolated(self) -> None:
        own = self.by_round("git", "descent", "wall_ms", GIT_STEPS)
        bare = self.by_round("git", "bare-git", "wall_ms", GIT_STEPS)
        synced = self.by_round("git", "bare-git-synced", "wall_ms", GIT_STEPS)
        self.ratio(f"a step in `git`, chain of {GIT_STEPS}, beside bare git", own, bare, "ms", 1.15)
        self.ratio("… beside bare git that syncs as descent asks", own, synced, "ms")
        own = self.by_round("git", "descent", "cpu_ms", GIT_STEPS)
        self.ratio("… CPU a step, beside bare git", own, self.by_round("git", "bare-git", "cpu_ms", GIT_STEPS), "ms")

    def print(self) -> None:
        widths = [max(len(row[column]) for row in self.rows) for column in range(6)]
        for number, row in enumerate(self.rows):
            print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
            if number == 0:
                print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
