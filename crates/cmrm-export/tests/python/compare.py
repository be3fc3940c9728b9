"""Fits models of every kind with `cmrm`, exports them, and compares onnxruntime with `cmrm predict`, row by row.

    compare.py CMRM [DATA]

With DATA only on data whose name contains it. Prints the largest difference of a probability for every kind of model on every
kind of data; fails above a bound, where a label differs whose class is not tied, and where `onnx.checker` refuses a file.
"""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

import tables

# Probabilities are single precision, and their sums have another order.
BOUND = 5e-6
# A kernel machine is a sum of large terms that nearly cancel: cmrm's own single precision is as far from the exact sum.
KERNEL_BOUND = 1e-3

CMRM = Path(sys.argv[1]).resolve()
SINGLE = [["--model", "linear"], ["--model", "mlp", "--steps", "300"], ["--model", "cosine", "--loss", "ldam", "--steps", "300"]]
VOTES = [["--model", "forest"], ["--model", "boosting"], ["--model", "kernel"], ["--learners", "neighbours"]]
AUTO = [["--model", "auto"]]


def cmrm(*arguments):
    done = subprocess.run([CMRM, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, f"cmrm {arguments}: {done.stderr}"
    return done.stdout


def refused(*arguments):
    done = subprocess.run([CMRM, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 2, f"cmrm {arguments} gave {done.returncode}"
    return done.stderr


def predicted(run, data, arm, classes, folder):
    """Labels and probabilities by `cmrm predict`."""
    out = folder / "predicted.csv"
    cmrm("predict", run, data, "--arm", arm, "--probabilities", "--out", out, "--quiet")
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    p = np.array([[np.float32(row[f"p_{name}"]) for name in classes] for row in rows])
    return np.array([row["predicted_label"] for row in rows]), p


def compare(folder, name, bound, fit, data, feeds, export):
    """Fits, exports each arm, and compares; the largest difference."""
    run = folder / "run"
    cmrm("fit", *fit, "--out", run, "--quiet")
    classes = json.loads((run / "run.json").read_text())["classes"]
    worst = 0.0
    for arm in ["robust", "base"]:
        file = folder / "model.onnx"
        said = json.loads(cmrm("export", run, "--onnx", file, "--arm", arm, "--json", *export))
        onnx.checker.check_model(str(file), full_check=True)
        session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        assert [port["name"] for port in said["inputs"]] == [i.name for i in session.get_inputs()]
        taken = {i.name: feeds[i.name] for i in session.get_inputs()}
        label, p = session.run(["label", "probabilities"], taken)
        want_label, want = predicted(run, data, arm, classes, folder)
        assert p.dtype == np.float32 and p.shape == want.shape, (p.shape, want.shape)
        worst = max(worst, float(np.abs(p - want).max()))
        top = np.sort(want, axis=1)[:, ::-1]
        # Nearer than rounding, two classes are tied.
        differ = (label != want_label) & (top[:, 0] - top[:, 1] > 2 * bound)
        assert not differ.any(), f"{name}, {arm}: {differ.sum()} labels differ"
    print(f"{name:<34} {worst:.1e}  {said['bytes'] / 1e3:8.0f} KB", flush=True)
    subprocess.run(["rm", "-rf", run], check=True)
    return worst


def main():
    found = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for data in tables.all_data(folder):
            if len(sys.argv) > 2 and sys.argv[2] not in data.name:
                continue
            for settings in data.models(SINGLE, VOTES, AUTO):
                words = [word for word in settings if not word.startswith("--")]
                name = f"{data.name}: {words[0]}"
                bound = KERNEL_BOUND if words[0] in ("kernel", "auto") else BOUND
                fit = [data.train, *data.reading, *settings, "--seed", "1"]
                found.setdefault(bound, {})[name] = compare(folder, name, bound, fit, data.new, data.feeds, data.export)
        tables.check_refusals(folder, cmrm, refused)
    for bound, differences in found.items():
        worst = max(differences, key=differences.get)
        print(f"largest difference: {differences[worst]:.1e} ({worst}); bound {bound:.0e}")
        assert differences[worst] <= bound, f"{worst} differs by {differences[worst]}"


if __name__ == "__main__":
    main()
