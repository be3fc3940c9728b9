"""Ctrl-C: however long an epoch or a prediction takes, it ends soon."""

import os
import signal
import subprocess
import sys
import time

import pytest

# Seconds until Ctrl-C has its effect. What is interrupted would take ten and more on two cores; on a busy machine a
# product that is under way may take one.
SOON = 4

PREPARE = """
import time
import numpy as np
import cmrm

def rows(count):
    X = np.random.default_rng(0).normal(size=(count, 32)).astype(np.float32)
    return X, (X[:, 0] > 0).astype(int)

FEW = {"presets": ["robust"], "alphas": [0.5], "temperatures": [0.1], "losses": ["cross-entropy"]}
FEW |= {"learning_rates": [1e-3], "l2s": [0.0], "epoch_counts": [2], "lambdas": [1.0, 2.0]}

def classifier(kind=cmrm.CMRMClassifier, **settings):
    return kind(**{"hidden": (1024, 1024), "epochs": 2} | settings)
"""

LONG = {
    "vote": "X, y = rows(250_000)|cmrm.CMRMClassifier().fit(X, y)",
    "epoch": "X, y = rows(250_000)|classifier().fit(X, y)",
    "L-BFGS": "X, y = rows(60_000)|classifier(optimiser='lbfgs').fit(X, y)",
    "search": "X, y = rows(250_000)|classifier(cmrm.CMRMClassifierCV, folds=2, **FEW).fit(X, y)",
    "partial_fit": "X, y = rows(250_000)|classifier().partial_fit(X, y)",
    "validation": "X, y = rows(500_000)|classifier(validation_share=0.999, epochs=1).fit(X, y)",
    "predict": "X, y = rows(1_000_000); model = classifier(epochs=1).fit(X[:100], y[:100])|model.predict_proba(X)",
}


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name != "posix", reason="there are no signals here")
@pytest.mark.parametrize("what", LONG)
def test_ctrl_c_is_heard_within_an_epoch(what):
    before, work = LONG[what].split("|")
    code = f"""{PREPARE}
{before}
print("begin", flush=True)
try:
    {work}
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "begin\n"
            time.sleep(2)
            asked = time.monotonic()
            child.send_signal(signal.SIGINT)
            # The clock is the machine's, so that both processes read the same.
            heard = child.stdout.readline()
            assert heard, "it ended before it was interrupted, or without KeyboardInterrupt"
            assert float(heard) - asked < SOON
        finally:
            child.kill()
