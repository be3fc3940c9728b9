"""Time and peak memory on a large matrix of probabilities. Each side is a process of its own that reads the same files."""

import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

# What cleanlab's side does; it reports how long the call itself took, without imports and reading.
CLEANLAB = """
import json, sys, time
import numpy as np
from cleanlab.filter import find_label_issues
probabilities, labels = np.load(sys.argv[1]), np.load(sys.argv[2])
start = time.perf_counter()
issues = find_label_issues(labels, probabilities)
print(json.dumps({"seconds": time.perf_counter() - start, "issues": int(issues.sum())}))
"""


def compare(cmrm, folder, rows, classes, repeats):
    # In a process of its own: a child starts out with the memory of its parent, and the peak would count that.
    subprocess.run([sys.executable, __file__, str(folder), str(rows), str(classes)], check=True)
    paths = folder / "p.npy", folder / "y.npy"
    matrix = 4 * rows * classes
    ours, theirs = [], []
    for _ in range(repeats):
        ours.append(run([cmrm, "audit", "--pred-probs", paths[0], "--labels", paths[1], "--json", "--quiet"]))
        theirs.append(run([sys.executable, "-c", CLEANLAB, paths[0], paths[1]]))
    ratios = sorted(b["found"]["seconds"] / a["wall"] for a, b in zip(ours, theirs))
    ratio, peak = ratios[len(ratios) // 2], max(run["peak"] for run in ours)
    print(f"\n## {rows:,} × {classes} probabilities (f32, {matrix / 1e6:.0f} MB), medians of {repeats}, in turns\n")
    print("| | seconds | peak memory | against the matrix | issues |\n|---|---|---|---|---|")
    row("`cmrm audit`, the whole process", [a["wall"] for a in ours], ours, matrix)
    row("cleanlab `find_label_issues`, the call alone", [b["found"]["seconds"] for b in theirs], theirs, matrix)
    row("cleanlab, the whole process", [b["wall"] for b in theirs], theirs, matrix)
    fast, small = ratio >= 10, peak < 1.3 * matrix
    print(f"\nOur process against cleanlab's call: {ratio:.1f}× ({ratios[0]:.1f}–{ratios[-1]:.1f}), goal 10×: {verdict(fast)}.")
    print(f"Our peak memory is {peak / matrix:.2f}× the matrix, goal below 1.3×: {verdict(small)}.")
    return fast and small


def verdict(held):
    return "held" if held else "MISSED"


def row(name, seconds, runs, matrix):
    peak = max(run["peak"] for run in runs)
    issues = runs[0]["found"]["issues"]
    print(f"| {name} | {np.median(seconds):.3f} | {peak / 1e6:.0f} MB | {peak / matrix:.2f}× | {issues} |")


def run(command):
    """Wall time, peak resident memory of the process (with its children, whichever is largest), and what it printed."""
    start = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}")
    return {"wall": wall, "peak": 1024 * usage.ru_maxrss, "found": json.loads(output)}


def write_case(folder, rows, classes):
    """A model that is right four times in five about labels of which a fifth are wrong. Written in pieces, seed 0."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, classes, rows)
    labels = np.where(rng.random(rows) < 0.2, rng.integers(0, classes, rows), truth)
    seen = np.where(rng.random(rows) < 0.2, rng.integers(0, classes, rows), truth)
    probabilities = np.lib.format.open_memmap(folder / "p.npy", "w+", np.float32, (rows, classes))
    for start in range(0, rows, 50_000):
        piece = slice(start, min(start + 50_000, rows))
        logits = rng.standard_normal((piece.stop - start, classes), np.float32)
        logits[np.arange(piece.stop - start), seen[piece]] += 4 + 2 * rng.standard_normal(piece.stop - start, np.float32)
        logits = np.exp(logits - logits.max(1, keepdims=True))
        probabilities[piece] = logits / logits.sum(1, keepdims=True)
    probabilities.flush()
    np.save(folder / "y.npy", labels)


if __name__ == "__main__":
    write_case(pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
