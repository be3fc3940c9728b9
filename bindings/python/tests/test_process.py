"""What happens to the interpreter: interrupts, threads, forks, imports, panics."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import cmrm


def rows(count=20_000, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(count, 30)).astype(np.float32)
    return X, (X[:, 0] > 0).astype(int)


def test_ctrl_c_ends_a_training():
    X, y = rows()
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        cmrm.CMRMClassifier(epochs=1_000_000).fit(X, y)
    assert time.monotonic() - begin < 30
    timer.join()


def test_other_threads_run_meanwhile():
    X, y = rows()
    ticks = 0
    done = threading.Event()

    def count():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    begin = time.monotonic()
    cmrm.CMRMClassifier(epochs=10).fit(X, y)
    took = time.monotonic() - begin
    done.set()
    counter.join()
    # With the lock held all through there would be next to none.
    assert ticks > took * 50


def test_an_exception_while_telling_ends_the_training(monkeypatch):
    def fail(*_):
        raise LookupError("enough")

    monkeypatch.setattr("cmrm._base.teller", lambda _: fail)
    with pytest.raises(LookupError, match="enough"):
        cmrm.CMRMClassifier(epochs=1_000_000).fit(*rows(200))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_has_threads_of_its_own():
    X, y = rows(500)
    expected = cmrm.CMRMClassifier(epochs=2).fit(X, y)._fitted.model_bytes()
    code = (
        "import os, sys, numpy as np, cmrm\n"
        "X = np.random.default_rng(0).normal(size=(500, 30)).astype(np.float32); y = (X[:, 0] > 0).astype(int)\n"
        "fit = lambda: cmrm.CMRMClassifier(epochs=2).fit(X, y)._fitted.model_bytes()\n"
        "before = fit()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if fit() == before else 3)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
    assert expected


def test_importing_needs_numpy_alone():
    code = (
        "import sys\n"
        "for name in ('sklearn', 'pandas', 'polars', 'pyarrow', 'torch', 'tqdm', 'scipy'):\n"
        "    sys.modules[name] = None\n"
        "import cmrm, numpy as np\n"
        "p = np.array([[0.9, 0.1], [0.2, 0.8]])\n"
        "assert not cmrm.find_label_issues([0, 1], p).any()\n"
        "assert cmrm.conformal.calibrate(p, [0, 1], coverage=0.5).predict(p).shape == (2, 2)\n"
        "try:\n"
        "    cmrm.CMRMClassifier\n"
        "except ImportError as error:\n"
        "    assert 'pip install' in str(error), error\n"
        "else:\n"
        "    raise AssertionError('an estimator without scikit-learn')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_panic_is_an_exception():
    with pytest.raises(RuntimeError, match="a bug in cmrm, please report it: provoked"):
        cmrm._native.provoke_panic()
    # And the process goes on.
    assert cmrm.inject_noise([0, 1] * 10, "symmetric:0.5").flipped.sum() == 10
