"""A linear model on sparse rows like those of texts: `cmrm fit` beside scikit-learn's SGDClassifier and LogisticRegression(saga).

    pip install scikit-learn, and our package (`bindings/python/run` leaves a wheel in target/wheels)
    python research/peers/sparse.py target/release/cmrm [--rows 200000] [--columns 100000] [--kept 100] [--classes 20]
    python research/peers/sparse.py target/release/cmrm --keep FOLDER && cargo run --release -p cmrm-bench --bin sparse -- FOLDER 1e-6 1e-2

Rows of unit length whose columns are as common as words: most are of all classes, a quarter are the class's own. A tenth of the labels
is replaced by any class. Printed: accuracy by clean labels of other rows, and seconds. Those of the command are of all it does, reading,
judging and report included; all others are of `fit` alone. The second line times the engine's fit alone on the same rows.
"""
import argparse, subprocess, tempfile, time
from pathlib import Path

import numpy as np
import scipy.sparse
from cmrm import CMRMClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier

OWN = 0.25
WRONG = 0.1


def draw(rows, columns, kept, classes, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=rows)
    # The logarithm of a rank is uniform: Zipf's law.
    rank = (columns ** rng.random((rows, kept)) - 1).astype(np.int64)
    own = rng.random((rows, kept)) < OWN
    # Scattered, as a hash would.
    at = np.where(own, rank * classes + labels[:, None], rank) * 7919 % columns
    values = (0.2 + rng.random((rows, kept))).astype(np.float32)
    starts = np.arange(0, rows * kept + 1, kept)
    x = scipy.sparse.csr_matrix((values.ravel(), at.ravel().astype(np.int32), starts), (rows, columns))
    x.sum_duplicates()
    lengths = np.sqrt(x.multiply(x).sum(1)).A1
    x = scipy.sparse.diags_array(1 / lengths).astype(np.float32) @ x
    seen = np.where(rng.random(rows) < WRONG, rng.integers(classes, size=rows), labels)
    return scipy.sparse.csr_matrix(x), labels, seen


def write(folder, x, seen, new, clean):
    folder.mkdir(exist_ok=True)
    for name, rows, labels in [("train", x, seen), ("test", new, clean)]:
        scipy.sparse.save_npz(folder / f"{name}.npz", rows, compressed=False)
        np.save(folder / f"{name}-labels.npy", labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=100_000)
    parser.add_argument("--kept", type=int, default=100)
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--keep", type=Path, help="a folder to write the rows to, and nothing else")
    args = parser.parse_args()
    args.command = str(Path(args.command).resolve())
    x, _, seen = draw(args.rows, args.columns, args.kept, args.classes, 1)
    new, clean, _ = draw(args.rows // 10, args.columns, args.kept, args.classes, 2)
    print(f"{x.shape[0]} x {x.shape[1]}, {x.nnz} numbers, {args.classes} classes", flush=True)

    if args.keep:
        return write(args.keep, x, seen, new, clean)

    def tell(who, seconds, accuracy, more=""):
        print(f"{who:50} accuracy {accuracy:.4f}  {seconds:7.1f} s{more}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write(folder, x, seen, new, clean)
        for more in [["--no-base"], [], ["--no-base", "--tolerance", "1e-3"]]:
            run = "run" + "".join(more)
            command = [args.command, "fit", "train.npz", "--labels", "train-labels.npy", "--model", "linear", "--l2", "1e-6", "--out", run, "--quiet"]
            clock = time.perf_counter()
            done = subprocess.run(["/usr/bin/time", "-f", "%M", *command, *more], cwd=folder, check=True, capture_output=True, text=True)
            seconds = time.perf_counter() - clock
            subprocess.run([args.command, "predict", run, "test.npz", "--out", run + ".csv", "--quiet"], cwd=folder, check=True)
            predicted = np.loadtxt(folder / (run + ".csv"), delimiter=",", skiprows=1, usecols=1, dtype=int)
            memory = f", {int(done.stderr.splitlines()[-1]) / 1024:.0f} MB"
            tell(" ".join(["cmrm fit --model linear", *more]), seconds, (predicted == clean).mean(), memory)
    for tolerance in [1e-4, 1e-3]:
        model = CMRMClassifier(model="linear", l2=1e-6, tol=tolerance)
        clock = time.perf_counter()
        model.fit(x, seen)
        tell(f"CMRMClassifier, linear, tol {tolerance:g}", time.perf_counter() - clock, (model.predict(new) == clean).mean())
    for alpha in [1e-6, 1e-5]:
        for passes in [1, 5]:
            model = SGDClassifier(loss="log_loss", alpha=alpha, max_iter=passes, tol=None, n_jobs=-1, random_state=0)
            clock = time.perf_counter()
            model.fit(x, seen)
            tell(f"SGDClassifier, alpha {alpha:g}, {passes} passes", time.perf_counter() - clock, (model.predict(new) == clean).mean())
    for c in [1, 5]:
        for passes in [1, 5, 20]:
            model = LogisticRegression(solver="saga", C=c, max_iter=passes, tol=1e-3, random_state=0)
            clock = time.perf_counter()
            model.fit(x, seen)
            tell(f"LogisticRegression(saga), C {c}, {passes} passes", time.perf_counter() - clock, (model.predict(new) == clean).mean())


if __name__ == "__main__":
    main()
