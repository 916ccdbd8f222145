"""The driver of scripts/bench-peers: runs the cases in turns and tells the ratios.

Not here: building, and installing peers (scripts/bench-peers).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from cases import CASES, LARGE, Bench
from meter import Failed, end_everything, foster_orphans
from report import Report

FLOOR_APPENDS = 300
NOISY_FACTOR = 2.0


class Rounds:
    def __init__(self, bench: Bench):
        self.bench, self.options, self.rng = bench, bench.options, bench.rng
        self.runs: list[dict] = []
        self.failures: list[str] = []

    def record(self, case: str, engine: str, round_number: int, figures: dict) -> None:
        run = {"case": case, "engine": engine, "round": round_number} | figures
        self.runs.append(run)
        if self.options.json:
            with open(self.options.json, "a") as file:
                file.write(json.dumps(run) + "\n")

    def floor(self, when: str) -> float:
        """What nothing durable can be faster than here: the median of append and fdatasync, in milliseconds."""
        took_ms = []
        os.sync()
        with open(os.path.join(self.bench.fresh("floor"), "log"), "ab", buffering=0) as log:
            for _ in range(FLOOR_APPENDS):
                began = time.perf_counter()
                log.write(b"x" * 200)
                os.fdatasync(log.fileno())
                took_ms.append((time.perf_counter() - began) * 1000)
        median, p99 = statistics.median(took_ms), sorted(took_ms)[int(len(took_ms) * 0.99)]
        self.record("floor", when, 0, {"median_ms": round(median, 3), "p99_ms": round(p99, 3), "load": os.getloadavg()[0]})
        print(f"floor {when}: append of 200 bytes + fdatasync, median {median:.2f} ms, p99 {p99:.1f} ms, load {load()}")
        return median

    def all_rounds(self) -> None:
        for round_number in range(1, self.options.rounds + 1):
            cases = list(self.options.only)
            self.rng.shuffle(cases)
            for case in cases:
                # Those of a case run next to each other: a ratio then compares the same minute.
                engines = list(self.bench.engines(case, round_number).items())
                self.rng.shuffle(engines)
                for engine, run in engines:
                    self.once(case, engine, round_number, run)

    def once(self, case: str, engine: str, round_number: int, run) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[Kround {round_number}: {case}, {engine}", end="", file=sys.stderr, flush=True)
        try:
            self.record(case, engine, round_number, run())
        except (Failed, OSError, ValueError, KeyError, StopIteration, subprocess.TimeoutExpired) as why:
            self.failures.append(f"round {round_number}, {case}, {engine}: {why!r}")
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def load() -> str:
    return " ".join(f"{value:.1f}" for value in os.getloadavg())


def disk(path: str) -> str:
    device = os.stat(path).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    kind = "unknown"
    with open("/proc/self/mountinfo") as mounts:
        for line in mounts:
            fields = line.split()
            if fields[2] == number:
                kind = fields[fields.index("-") + 1]
    if kind == "tmpfs":
        return "tmpfs, where a sync costs nothing: choose a directory on a disk"
    name = os.path.basename(os.path.realpath(f"/sys/dev/block/{number}"))
    if re.match(r"(vd|xvd)[a-z]", name):
        return f"{kind} on a virtual disk"
    for folder in (f"/sys/dev/block/{number}/queue", f"/sys/dev/block/{number}/../queue"):
        try:
            with open(f"{folder}/rotational") as file:
                return f"{kind} on a disk that {'turns' if file.read().strip() == '1' else 'does not turn'}"
        except OSError:
            continue
    return kind


def tell_where(bench: Bench) -> None:
    options = bench.options
    now = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs"
    print(f"{now}, {machine}, load {load()}, {disk(bench.directory)}")
    versions = [bench.quietly(options.descent, "--version").strip(), bench.quietly("git", "--version").strip()]
    if options.ninja:
        versions.append("ninja " + bench.quietly(options.ninja, "--version").strip())
    if options.langgraph:
        for package in ("langgraph", "langgraph-checkpoint-sqlite"):
            ask = f"from importlib.metadata import version; print('{package}', version('{package}'))"
            versions.append(bench.quietly(options.langgraph, "-c", ask).strip())
    print(", ".join(versions))
    large = min(options.rounds, options.rounds_large)
    print(f"seed {options.seed}, rounds {options.rounds}, of which with {LARGE:,} atoms {large}")


def measure(options: argparse.Namespace, directory: str) -> int:
    bench = Bench(options, directory)
    if options.json:
        open(options.json, "w").close()
    tell_where(bench)
    rounds = Rounds(bench)
    first = rounds.floor("first")
    rounds.all_rounds()
    last = rounds.floor("last")
    is_noisy = max(first, last) > NOISY_FACTOR * min(first, last)
    if is_noisy:
        print(f"noisy: the floor moved by more than {NOISY_FACTOR:.0f} ×, so only CPU and memory can be judged")
    print()
    report = Report(rounds.runs, is_noisy)
    for case in CASES:
        if case in options.only:
            report.case(case)
    report.print()
    for failure in rounds.failures:
        print(f"scripts/bench-peers: {failure}", file=sys.stderr)
    return 1 if rounds.failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench-peers")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rounds-large", type=int, default=1)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", action="append", choices=list(CASES))
    parser.add_argument("--json")
    parser.add_argument("--descent")
    parser.add_argument("--ninja")
    parser.add_argument("--langgraph", help="a Python that has it")
    parser.add_argument("directory", nargs="?")
    options = parser.parse_args()
    if options.list:
        for case, words in CASES.items():
            print(f"{case:<11} {words}")
        return 0
    options.only = options.only or list(CASES)
    options.seed = random.randrange(1_000_000) if options.seed is None else options.seed

    def stop(number: int, _frame) -> None:
        raise SystemExit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    foster_orphans()
    sys.stdout.reconfigure(line_buffering=True)
    directory = tempfile.mkdtemp(prefix="descent-bench-peers.", dir=options.directory)
    try:
        return measure(options, directory)
    except Failed as why:
        print(f"scripts/bench-peers: {why}", file=sys.stderr)
        return 1
    finally:
        end_everything()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
