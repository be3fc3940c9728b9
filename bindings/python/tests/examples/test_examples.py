"""Every example runs, and what it prints is true."""

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def run(name, *arguments, module=()):
    command = [sys.executable, *module, str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize(("name", "gain"), [("lightning_digits.py", 0.02), ("huggingface_trainer.py", 0.015)])
def test_a_trainer_that_calls_the_loss(name, gain):
    found = dict(re.findall(r"^(base|envelope): accuracy ([\d.]+)$", run(name), re.M))
    assert float(found["envelope"]) >= float(found["base"]) + gain, found


def test_row_numbers_and_the_chosen_epoch():
    printed = run("filtered_base.py")
    found = dict(re.findall(r"^(base|filtered): accuracy ([\d.]+)$", printed, re.M))
    assert float(found["filtered"]) >= float(found["base"]) + 0.01, found
    precision, recall = map(float, re.search(r"precision ([\d.]+), recall ([\d.]+)", printed).groups())
    assert precision > 0.9 and recall > 0.9


def test_torchrun():
    """Two ranks print what one does: each epoch's loss is that of the joint batch."""
    module = ["-m", "torch.distributed.run", "--standalone"]
    alone, together = (
        np.array(re.findall(r"epoch \d+: loss ([\d.-]+), (\d+) labels in doubt, ([\d.]+)", run("torchrun_digits.py", module=[*module, f"--nproc-per-node={ranks}"])), float)
        for ranks in [1, 2]
    )
    assert alone.shape == together.shape == (20, 3)
    # The ranks' rows of a batch are not the single process's, so training differs in its course and not in its end.
    assert together[-1, 2] > 0.9 and abs(together[-1, 2] - alone[-1, 2]) < 0.05
    assert 600 < together[-1, 1] < 800


@pytest.mark.parametrize("name", ["dask_cluster.py", "ray_cluster.py"])
def test_a_cluster_gives_what_this_process_gives(name):
    here = subprocess.run(
        [sys.executable, "-c", "from _cluster import work; work()"], cwd=EXAMPLES, capture_output=True, text=True, check=True
    ).stdout
    there = run(name)
    assert here in there and "2 workers on" in there
    best, wrong = re.search(r", ([\d.]+) of observed", here), re.search(r"([\d.]+) of them are", here)
    assert float(best[1]) > 0.6 and float(wrong[1]) > 0.85
