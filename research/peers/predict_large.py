"""A long Parquet file through a stored model, in memory that does not grow with it. Called by `predict_large`."""

import argparse
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--cmrm", required=True)
parser.add_argument("--rows", type=int, default=10_000_000)
parser.add_argument("--columns", type=int, default=50)
parser.add_argument("--threads", type=int, default=os.cpu_count())
parser.add_argument("--folder", type=pathlib.Path)
parser.add_argument("--child", nargs=4, metavar=("PEER", "MODEL", "DATA", "OUT"), help="for this script itself")
arguments = parser.parse_args()

import lightgbm
import numpy as np
import onnxruntime
import pyarrow as arrow
import pyarrow.parquet as parquet

TRAINING_ROWS = 20_000
BATCH = 100_000
NAMES = [f"x{column}" for column in range(arguments.columns)]


def lightgbm_of(file):
    """A function from columns to the probability of class 1."""
    booster = lightgbm.Booster(model_file=file)
    return lambda columns: booster.predict(np.column_stack(columns), num_threads=arguments.threads)


def onnx_of(file):
    """The same of what `cmrm export` wrote."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = arguments.threads
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    names = [port.name for port in session.get_inputs()]
    rows = lambda columns: {name: columns[NAMES.index(name)].reshape(-1, 1) for name in names}
    return lambda columns: session.run(["probabilities"], rows(columns))[0][:, 1]


def predict(peer, model, data, out):
    """Batch by batch, with the class and its probability for every row."""
    of, writer = {"lightgbm": lightgbm_of, "onnxruntime": onnx_of}[peer](model), None
    for batch in parquet.ParquetFile(data).iter_batches(batch_size=BATCH, columns=NAMES):
        p = of([column.to_numpy(zero_copy_only=False) for column in batch.columns])
        table = arrow.table({"predicted_label": (p > 0.5).astype(np.int8), "confidence": np.maximum(p, 1 - p)})
        writer = writer or parquet.ParquetWriter(out, table.schema)
        writer.write_table(table)
    writer.close()


if arguments.child:
    predict(*arguments.child)
    sys.exit()


def block(random, rows):
    x = random.normal(size=(rows, arguments.columns)).astype(np.float32)
    score = x[:, 0] * x[:, 1] + np.abs(x[:, 2]) + x[:, 3:8].sum(axis=1) - 0.8
    return x, (score + random.normal(size=rows) > 0).astype(np.int8)


def write(path, rows, seed, labels):
    random, writer = np.random.default_rng(seed), None
    for first in range(0, rows, BATCH):
        x, y = block(random, min(BATCH, rows - first))
        columns = {name: x[:, at] for at, name in enumerate(NAMES)} | ({"label": y} if labels else {})
        table = arrow.table(columns)
        # Plain single precision, as it is in memory: random numbers do not pack.
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="none", use_dictionary=False)
        writer.write_table(table)
    writer.close()


def measured(command):
    """Seconds on the clock and of all cores, and the most memory in MB."""
    done = subprocess.run(["/usr/bin/time", "-f", "%e %U %S %M", *map(str, command)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    wall, user, system, memory = map(float, done.stderr.splitlines()[-1].split())
    return wall, user + system, memory / 1024


def trees_of(run):
    """How many trees a stored model has, and how many leaves on average, by the header of its file."""
    with open(run / "model.safetensors", "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    count = lambda ending: sum(tensor["shape"][0] for name, tensor in header.items() if name.endswith(ending))
    # Three numbers a node; a tree has one leaf more than it has other nodes.
    trees, nodes = count("roots"), count("nodes") // 3
    return trees, round((nodes + trees) / 2 / trees)


with tempfile.TemporaryDirectory() as temporary:
    folder = arguments.folder or pathlib.Path(temporary)
    folder.mkdir(parents=True, exist_ok=True)
    training, data, run = folder / "training.parquet", folder / f"rows-{arguments.rows}.parquet", pathlib.Path(temporary) / "run"
    tenth = folder / f"rows-{arguments.rows // 10}.parquet"
    write(training, TRAINING_ROWS, 0, labels=True)
    for path, rows in [(data, arguments.rows), (tenth, arguments.rows // 10)]:
        if not path.exists():
            write(path, rows, 1, labels=False)
    fit = [arguments.cmrm, "fit", training, "--label", "label", "--model", "boosting", "--out", run, "--threads", arguments.threads]
    subprocess.run([*map(str, fit), "--quiet"], check=True, stdout=subprocess.DEVNULL)
    trees, leaves = trees_of(run)
    x, y = block(np.random.default_rng(0), TRAINING_ROWS)
    settings = {"objective": "binary", "num_leaves": leaves, "learning_rate": 0.05, "verbose": -1, "num_threads": arguments.threads, "seed": 0}
    booster = lightgbm.train(settings, lightgbm.Dataset(x, y), trees)
    model = pathlib.Path(temporary) / "lightgbm.txt"
    booster.save_model(model)
    exported = pathlib.Path(temporary) / "model.onnx"
    subprocess.run([arguments.cmrm, "export", run, "--onnx", exported, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    print(f"{trees} trees of {leaves} leaves")
    print("| | rows | seconds | seconds of all cores | rows a second of a core | most memory (MB) |\n|---|---:|---:|---:|---:|---:|")
    for path, rows in [(tenth, arguments.rows // 10), (data, arguments.rows)]:
        out = folder / "out.parquet"
        ours = [arguments.cmrm, "predict", run, path, "--out", out, "--quiet", "--threads", arguments.threads]
        script = [sys.executable, __file__, "--cmrm", "-", "--columns", arguments.columns, "--threads", arguments.threads, "--child"]
        theirs, onnx = script + ["lightgbm", model, path, out], script + ["onnxruntime", exported, path, out]
        for name, command in [("cmrm predict", ours), ("the same model in onnxruntime", onnx), ("LightGBM", theirs)]:
            out.unlink(missing_ok=True)
            wall, cpu, memory = measured(command)
            print(f"| {name} | {rows:,} | {wall:.1f} | {cpu:.1f} | {rows / cpu:,.0f} | {memory:.0f} |", flush=True)
        out.unlink(missing_ok=True)
