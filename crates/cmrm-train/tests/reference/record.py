"""Records every reference file of this folder again.

    python3 record.py            makes a throw-away environment, installs the packages, records, removes it
    python3 record.py --here     records with the packages of the running interpreter

The JSON files beside this script are its output; the Rust tests read only those. Everything runs on the CPU,
on one thread, from fixed seeds, so that a second run gives the same numbers.
"""

import pathlib
import subprocess
import sys
import tempfile
import venv

PACKAGES = ["torch==2.11.0", "numpy==2.4.6", "scipy==1.17.1", "scikit-learn==1.9.1"]
RECORDERS = ["optimiser_steps.py", "mlp_traces.py", "schedules.py", "logistic_optimum.py"]
FOLDER = pathlib.Path(__file__).resolve().parent


def record(python):
    for script in RECORDERS:
        print(script, flush=True)
        subprocess.run([python, FOLDER / script], check=True, cwd=FOLDER)


def main():
    if "--here" in sys.argv[1:]:
        record(sys.executable)
        return
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = pathlib.Path(folder) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        record(python)


if __name__ == "__main__":
    main()
