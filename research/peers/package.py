"""The Python package against its peers, in one process and in turns; one table. Called by `python`."""

import argparse
import pathlib
import platform
import statistics
import sys
import tempfile
import time

import numpy as np

import package_cases

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


class Bench:
    """The clock, where data can lie, and the table under way."""

    def __init__(self, clock, repeats, folder):
        self.clock, self.repeats, self.folder = CLOCKS[clock], repeats, folder
        self.rows = []

    def measure(self, work, calls=1):
        """Seconds a call, and what the last one gave."""
        start = self.clock()
        for _ in range(calls):
            result = work()
        return (self.clock() - start) / calls, result

    def compare(self, what, ours, theirs, goal, calls=1, repeats=None):
        """Runs both sides in turns. Each is a function without arguments; what they give comes back, for a comparison."""
        self.measure(ours, calls), self.measure(theirs, calls)  # warm caches and lazy initialisation
        pairs = []
        for turn in range(repeats or self.repeats):
            # Who goes first changes, so that a slow drift of the machine favours neither.
            if turn % 2 == 0:
                a, found = self.measure(ours, calls)
                b, expected = self.measure(theirs, calls)
            else:
                b, expected = self.measure(theirs, calls)
                a, found = self.measure(ours, calls)
            pairs.append((a, b))
        ratios = sorted(b / a for a, b in pairs)
        ratio = ratios[len(ratios) // 2]
        quartiles = f"{ratios[len(ratios) // 4]:.1f}–{ratios[(3 * len(ratios)) // 4]:.1f}"
        times = [seconds(statistics.median(side)) for side in zip(*pairs)]
        met = "–" if goal is None else "yes" if ratio >= goal else "**no**"
        self.rows.append([what, *times, f"{ratio:.1f}×", quartiles, f"≥ {goal}×" if goal else "–", met, ""])
        return found, expected

    def remark(self, text, goal=None, met=None):
        """Says of the last comparison how alike the results are, and whether a goal other than speed is met."""
        self.rows[-1][-1] = text
        if goal:
            self.rows[-1][-3:-1] = [goal, "yes" if met else "**no**"]
        print(" · ".join(self.rows[-1]), file=sys.stderr, flush=True)


def seconds(value):
    for unit, size in [("s", 1), ("ms", 1e-3), ("µs", 1e-6)]:
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall", help="cpu: for a machine that others use too")
    parser.add_argument("--only", default="", help="only the cases whose name contains this word")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.clock, arguments.repeats, pathlib.Path(folder))
        for case in package_cases.ALL:
            if arguments.only in case.__name__:
                case(bench)
    print(f"\n{platform.processor() or platform.machine()}, one thread, {arguments.clock} clock, NumPy {np.__version__}, medians of "
          f"{arguments.repeats} turns (the audit and the estimators five); spread: quartiles of the ratio pair by pair\n")
    print("| case | cmrm | peer | ratio | spread | goal | met | results |\n|---|---|---|---|---|---|---|---|")
    for row in bench.rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
