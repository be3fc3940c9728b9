"""Stubs and annotations: they are installed, and they agree with what is there."""

import ast
import subprocess
import sys
from pathlib import Path

import cmrm

PACKAGE = Path(cmrm.__file__).parent


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()


def test_every_native_name_has_a_stub():
    stub = ast.parse((PACKAGE / "_native.pyi").read_text())
    described = {node.name: node for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    described = {name: node for name, node in described.items() if not name.startswith("_")}
    constants = {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    there = {name for name in dir(cmrm._native) if not name.startswith("_")}
    assert there == set(described) | constants
    for name, node in described.items():
        if isinstance(node, ast.ClassDef):
            members = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
            missing = {m for m in vars(getattr(cmrm._native, name)) if not m.startswith("__")} - members
            assert not missing, f"{name}: {missing}"


def test_a_users_types_check(tmp_path):
    (tmp_path / "user.py").write_text(
        "import numpy as np\n"
        "import cmrm\n"
        "mask: np.ndarray = cmrm.find_label_issues([0, 1], np.eye(2))\n"
        "rate: float | None = cmrm.audit([0, 1], np.eye(2)).noise_rate\n"
        "sets: np.ndarray = cmrm.conformal.calibrate(np.eye(2), [0, 1]).predict(np.eye(2))\n"
        "model: cmrm.CMRMClassifier = cmrm.CMRMClassifier().fit(np.eye(4), [0, 1, 0, 1])\n"
        "robust: cmrm.Robust = cmrm.Robust().fit(np.eye(4), [0, 1, 0, 1])\n"
    )
    command = [sys.executable, "-m", "mypy", "--ignore-missing-imports", "user.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
