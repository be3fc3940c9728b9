"""A forked process has none of its parent's threads, and works nevertheless."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import forked
import pytest

import cmrm

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """A fitted classifier, and what all the work gives."""
    X, y, _ = forked.data()
    model = cmrm.CMRMClassifier(epochs=2, hidden=(8,)).fit(X, y)
    path = tmp_path_factory.mktemp("fork") / "expected"
    path.write_bytes(pickle.dumps((model, {name: work(model) for name, work in forked.WORK.items()})))
    return path


def run(*arguments, **variables):
    command, variables = [sys.executable, *arguments], os.environ | variables
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("before", [[], *([name] for name in forked.WORK), list(forked.WORK)], ids=str)
def test_children_work_whatever_the_parent_did_before(expected, before):
    run(forked.__file__, str(expected), *before)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the system does not list threads")
def test_no_work_is_done_on_threads_of_others(expected):
    # A pool that is not ours would be inherited by forks without its threads. Ours have a name.
    code = (
        "import sys, pickle, pathlib\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "import forked\n"
        "def threads():\n"
        "    return {task.name: (task / 'comm').read_text() for task in pathlib.Path('/proc/self/task').iterdir()}\n"
        "model = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())[0]\n"
        "before = threads()\n"
        "for name, work in forked.WORK.items():\n"
        "    work(model)\n"
        "    others = [comm for task, comm in threads().items() if task not in before and comm[:5] != 'cmrm-']\n"
        "    assert not others, (name, others)\n"
    )
    # NumPy and scikit-learn may start threads as well, unless they are told not to.
    run("-c", code, str(expected), str(Path(forked.__file__).parent), OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
