"""Two services under the same load. Called by `serve`."""

import argparse
import http.client
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

parser = argparse.ArgumentParser()
parser.add_argument("--cmrm", required=True)
parser.add_argument("--one-row")
parser.add_argument("--seconds", type=int, default=4)
parser.add_argument("--connections", default="1,32,256")
parser.add_argument("--models", default="linear,forest")
parser.add_argument("--rows", type=int, default=10_000)
parser.add_argument("--columns", type=int, default=20)
arguments = parser.parse_args()
# A run of this script ends, whatever is asked for.
seconds = min(arguments.seconds, 30)
connections = [min(int(number), 1024) for number in arguments.connections.split(",")][:8]

if arguments.one_row:
    import cmrm
    import pyarrow as arrow

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

PORT = 8437
APP = '''
import pickle, sys
import numpy as np
from fastapi import FastAPI
from pydantic import BaseModel, create_model

with open(sys.argv[1], "rb") as file:
    model = pickle.load(file)
names = [f"x{column}" for column in range(model.n_features_in_)]
Row = create_model("Row", **{name: (float, ...) for name in names})
app = FastAPI()

@app.post("/predict")
def predict(row: Row):
    p = model.predict_proba(np.array([[getattr(row, name) for name in names]]))[0]
    best = int(p.argmax())
    return {"predicted_label": str(model.classes_[best]), "confidence": float(p[best])}

@app.get("/health")
def health():
    return {"status": "ok"}

import uvicorn
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
'''


def rows(folder):
    """Two classes, a fifth of the labels flipped; as arrays and as a CSV file."""
    random = np.random.default_rng(0)
    x = random.normal(size=(arguments.rows, arguments.columns)).round(4)
    y = (x[:, :5].sum(axis=1) + x[:, 0] * x[:, 1] > 0).astype(int)
    y = np.where(random.random(len(y)) < 0.2, 1 - y, y)
    names = [f"x{column}" for column in range(arguments.columns)]
    table = folder / "rows.csv"
    np.savetxt(table, np.column_stack([x, y]), delimiter=",", fmt="%.6g", header=",".join([*names, "label"]), comments="")
    return x, y, names, table


def wait(address):
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://{address}/health", timeout=1).read()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"{address} does not answer")


class Served:
    """A server process, ended with the block."""

    def __init__(self, command, address=None):
        self.command, self.address = command, address

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if self.address is None:
            self.address = self.process.stdout.readline().strip().removeprefix("http://")
        wait(self.address)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def load(self, script, number):
        """Requests a second, and the latencies that half and 99 of 100 stay below, in milliseconds."""
        threads = str(min(number, 2))
        command = ["wrk", "-t", threads, "-c", str(number), "-d", f"{seconds}s", "--latency", "-s", script, f"http://{self.address}/predict"]
        text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds + 60).stdout
        if "Non-2xx" in text or "Socket errors" in text:
            print(next(line for line in text.splitlines() if "Non-2xx" in line or "Socket errors" in line), file=sys.stderr)
        units = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}
        latency = lambda share: (lambda found: float(found[1]) * units[found[2]])(re.search(rf"{share}%\s+([\d.]+)(us|ms|s|m)", text))
        return float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]), latency(50), latency(99)


def microseconds(once):
    """For one row, the median of many."""
    times = []
    for _ in range(300):
        began = time.perf_counter()
        once()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e6


def request(connection, body):
    connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
    connection.getresponse().read()


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    x, y, names, table = rows(folder)
    body = json.dumps(dict(zip(names, x[0].tolist())))
    script = folder / "post.lua"
    script.write_text(f"wrk.method = 'POST'\nwrk.body = '{body}'\nwrk.headers['Content-Type'] = 'application/json'\n")
    (folder / "app.py").write_text(APP)
    theirs = {
        "linear": make_pipeline(StandardScaler(), LogisticRegression()),
        "forest": RandomForestClassifier(n_estimators=200, min_samples_leaf=5, n_jobs=1, random_state=0),
    }
    import pickle

    print("| model | connections | cmrm, requests/s | p50, p99 (ms) | FastAPI, requests/s | p50, p99 (ms) | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    alone = []
    for name in arguments.models.split(","):
        run = folder / f"run-{name}"
        fit = [arguments.cmrm, "fit", table, "--label", "label", "--model", name, "--out", run, "--quiet"]
        subprocess.run(fit, check=True, stdout=subprocess.DEVNULL)
        model = theirs[name].fit(x, y)
        stored = folder / f"{name}.pickle"
        stored.write_bytes(pickle.dumps(model))
        ours_command = [arguments.cmrm, "serve", run, "--port", "0", "--quiet"]
        theirs_command = [sys.executable, folder / "app.py", stored, str(PORT)]
        with Served(ours_command) as ours, Served(theirs_command, f"127.0.0.1:{PORT}") as other:
            for number in connections:
                a, b = ours.load(script, number), other.load(script, number)
                # On a busy machine none may be answered in time.
                ratio = f"{a[0] / b[0]:.1f}" if b[0] else "–"
                print(f"| {name} | {number} | {a[0]:.0f} | {a[1]:.2f}, {a[2]:.2f} | {b[0]:.0f} | {b[1]:.2f}, {b[2]:.2f} | {ratio} |", flush=True)
            if arguments.one_row:
                found = subprocess.run([arguments.one_row, run, table], capture_output=True, text=True, check=True).stdout
                loaded, row = cmrm.load(run), arrow.table({column: [value] for column, value in zip(names, x[0])})
                python = microseconds(lambda: loaded.predict_proba(row))
                served = [microseconds(lambda c=http.client.HTTPConnection(at): request(c, body)) for at in (ours.address, other.address)]
                peer = microseconds(lambda: model.predict_proba(x[:1]))
                alone.append(f"| {name} | {float(found):.0f} | {python:.0f} | {served[0]:.0f} | {peer:.0f} | {served[1]:.0f} |")
    if alone:
        print("\n| one row, µs | cmrm_run::Model | cmrm.load in Python | served | scikit-learn | served by FastAPI |\n|---|---:|---:|---:|---:|---:|")
        print("\n".join(alone))
