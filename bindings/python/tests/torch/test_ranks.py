"""Ranks of torch.distributed together are one process on the joint batch."""

import pathlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_equal_one_process(ranks):
    worker = pathlib.Path(__file__).with_name("ranks.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", str(worker)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    # Eleven forms, four kinds of batches, with and without row weights: each to 1e-12, or the workers end with an error.
    lines = [line for line in done.stdout.splitlines() if line.count("\t") == 3]
    assert len(lines) == 88
