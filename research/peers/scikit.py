"""scikit-learn's side of the comparison: reads jobs as lines of JSON, answers with a line of JSON each."""

import json
import sys
import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

FILES = {}


def load(path):
    if path not in FILES:
        FILES[path] = np.load(path)
    return FILES[path]


def fit(job):
    x, y = load(job["x"]), load(job["y"])
    # Both sides minimise the mean loss + l2/2 |W|^2; scikit-learn's C multiplies the sum of the losses.
    model = LogisticRegression(C=1 / (len(y) * job["l2"]), solver="lbfgs", tol=0, max_iter=job["iterations"])
    start, cpu_start = time.perf_counter(), time.process_time()
    model.fit(x, y)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    parameters = np.concatenate([model.coef_.ravel(), model.intercept_])
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "parameters": parameters.tolist()}


def main():
    warnings.filterwarnings("ignore")  # an iteration limit that is reached is the purpose here
    with threadpool_limits(int(sys.argv[1])):
        for line in sys.stdin:
            print(json.dumps(fit(json.loads(line))), flush=True)


main()
