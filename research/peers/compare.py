"""Runs the engine and its peers in turns and prints one table of ratios. Called by `run`."""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

import cases
import data

HERE = pathlib.Path(__file__).parent


class Side:
    """A program that does jobs, one line of JSON at a time."""

    def __init__(self, command, threads, clock):
        self.clock = clock
        # Every library that might start threads is told how many.
        names = ["RAYON_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"]
        environment = os.environ | {name: str(threads) for name in names}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def do(self, job):
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{self.process.args} ended during {job}")
        answer = json.loads(answer)
        answer["seconds"] = answer[self.clock]
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Bench:
    """The sides, the data and the table under way."""

    def __init__(self, arguments, folder):
        threads = str(arguments.threads)
        clock = {"wall": "seconds", "cpu": "cpu_seconds"}[arguments.clock]
        self.engine = Side([arguments.engine], threads, clock)
        self.pytorch = Side([sys.executable, HERE / "pytorch.py", threads], threads, clock)
        self.scikit = Side([sys.executable, HERE / "scikit.py", threads], threads, clock)
        self.data = data.Folder(folder)
        self.repeats = arguments.repeats
        self.rows = []

    def alternate(self, first, second, repeats=None):
        """Runs two measurements in turns; the medians of both, and of their ratio first/second pair by pair."""
        first(), second()  # warm caches and lazy initialisation
        pairs = []
        for turn in range(repeats or self.repeats):
            # Who goes first changes, so that a slow drift of the machine favours neither.
            if turn % 2 == 0:
                a = first()
                b = second()
            else:
                b = second()
                a = first()
            pairs.append((a, b))
        ratios = sorted(a / b for a, b in pairs)
        return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs), ratios

    def add(self, what, ours, theirs, ratio, spread, goal, met):
        row = [what, ours, theirs, ratio, spread, goal, "yes" if met else "**no**"]
        self.rows.append(row)
        print(" · ".join(row), file=sys.stderr, flush=True)

    def close(self):
        for side in [self.engine, self.pytorch, self.scikit]:
            side.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument(
        "--clock", choices=["wall", "cpu"], default="wall", help="cpu: for one thread on a machine that others use too"
    )
    parser.add_argument("--only", default="", help="only the cases whose name contains this word")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, pathlib.Path(folder))
        for case in cases.ALL:
            if arguments.only in case.__name__:
                case(bench)
        bench.close()
    print(f"\n{platform.processor() or platform.machine()}, {arguments.threads} thread(s), {arguments.clock} clock, medians of "
          f"{arguments.repeats} turns; spread: quartiles of the ratio pair by pair\n")
    print("| case | cmrm | peer | ratio | spread | goal | met |\n|---|---|---|---|---|---|---|")
    for row in bench.rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
