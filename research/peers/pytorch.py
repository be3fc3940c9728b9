"""PyTorch's side of the comparison: reads jobs as lines of JSON, answers with a line of JSON each.

Eager mode, written as one would write it. An envelope with settings is the paper's: probability margins, the k-th smallest
as threshold, sigmoid weights, mean. `robust` is our default.
"""

import json
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

import pytorch_envelope

FILES = {}


def load(path, dtype):
    if path not in FILES:
        FILES[path] = torch.from_numpy(np.load(path)).to(dtype)
    return FILES[path]


def network(inputs, hidden, classes):
    layers = []
    for width in hidden:
        layers += [torch.nn.Linear(inputs, width), torch.nn.ReLU()]
        inputs = width
    return torch.nn.Sequential(*layers, torch.nn.Linear(inputs, classes))


def envelope_risk(logits, labels, alpha, temperature):
    margin = pytorch_envelope.margins(logits, labels)
    tau = pytorch_envelope.threshold(margin.detach(), alpha)
    weight = torch.sigmoid((margin - tau) / temperature)
    return -(weight * margin).mean()


def train(job):
    x, y = load(job["x"], torch.float32), load(job["y"], torch.int64)
    (envelope,) = job["envelopes"]
    torch.manual_seed(1)
    model = network(x.shape[1], job["hidden"], job["classes"])
    optimiser = torch.optim.Adam(model.parameters(), lr=job["lr"], fused=job.get("fused", False) or None)
    rows = x.shape[0]
    batch = job["batch"] or rows

    def step(inputs, labels):
        optimiser.zero_grad()
        logits = model(inputs)
        if envelope == "robust":
            loss = pytorch_envelope.robust(logits, labels)
        else:
            loss = F.cross_entropy(logits, labels)
        if isinstance(envelope, dict):
            loss = loss + envelope["lambda"] * envelope_risk(logits, labels, envelope["alpha"], envelope["temperature"])
        loss.backward()
        optimiser.step()
        return loss.detach()

    losses = []
    start, cpu_start = time.perf_counter(), time.process_time()
    for _ in range(job["epochs"]):
        losses = []
        if job["batch"] is None:
            losses.append(step(x, y))
            continue
        order = torch.randperm(rows)
        for chosen in order.split(batch):
            losses.append(step(x[chosen], y[chosen]))
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "loss": torch.stack(losses).mean().item()}


def fit_cell(job):
    """One cell of a grid by itself: a linear softmax on all rows of a fold's training part, by L-BFGS."""
    x, y = load(job["x"], torch.float32), load(job["y"], torch.int64)
    held = torch.arange(len(y)) % job["folds"] == job["fold"]
    inputs, labels, envelope = x[~held], y[~held], job["envelope"]
    model = torch.nn.Linear(x.shape[1], job["classes"])
    torch.nn.init.zeros_(model.weight), torch.nn.init.zeros_(model.bias)
    optimiser = torch.optim.LBFGS(
        model.parameters(), max_iter=200, history_size=10, tolerance_grad=1e-5, tolerance_change=1e-7,
        line_search_fn="strong_wolfe",
    )
    evaluations = 0

    def closure():
        nonlocal evaluations
        evaluations += 1
        optimiser.zero_grad()
        logits = model(inputs)
        loss = F.cross_entropy(logits, labels) + job["l2"] / 2 * model.weight.square().sum()
        loss = loss + envelope["lambda"] * envelope_risk(logits, labels, envelope["alpha"], envelope["temperature"])
        loss.backward()
        return loss

    start, cpu_start = time.perf_counter(), time.process_time()
    optimiser.step(closure)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    with torch.no_grad():
        accuracy = (model(x[held]).argmax(dim=1) == y[held]).float().mean().item()
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "accuracy": accuracy, "evaluations": evaluations}


def main():
    torch.set_num_threads(int(sys.argv[1]))
    for line in sys.stdin:
        job = json.loads(line)
        print(json.dumps(fit_cell(job) if job["do"] == "fit_cell" else train(job)), flush=True)


main()
