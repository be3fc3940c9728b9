"""The authors' recipe for the binary tables in eager PyTorch, against `cmrm-reproduce run` on the same cells.

Both arms are trained as their script does: the base arm for its steps, the warm start once more by itself, the
envelope's arm from there; full batch, Adam, everything on one thread. Their code also predicts the test half after
every step; that is timed as a second column. Times are processor time, without reading files.
"""

import argparse
import csv
import pathlib
import re
import resource
import subprocess
import tempfile
import time
import tomllib

import numpy as np
import torch
import torch.nn.functional as F

torch.set_num_threads(1)

SAMPLE = "binary-email:LR,binary-email:focal,binary-email:SVM,binary-email:GCE,binary-adult:SVM,binary-credit:SVM"


def rows_of(path, header=False):
    with open(path, newline="") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row and not row[0].startswith("|")]
    return rows[1:] if header else rows


def table(data, folder):
    """Features as numbers, and labels with the positive class as 1."""
    if data["set"] == "adult":
        rows = rows_of(folder / "adult/adult.data") + rows_of(folder / "adult/adult.test")
        rows = [row for row in rows if "?" not in row]
        columns = [column for at, column in enumerate(zip(*rows)) if at not in (2, 14)]
        labels = np.array([row[14].startswith("<=") for row in rows])
    elif data["set"] == "spambase":
        rows = rows_of(folder / "spambase/spambase.data")[1:]
        columns, labels = list(zip(*rows))[:-1], np.array([row[-1] == "0" for row in rows])
    else:
        rows = rows_of(folder / "credit-default/credit-default.csv", header=True)
        columns, labels = list(zip(*rows))[1:-1], np.array([row[-1] == "0" for row in rows])
    numbers = []
    for column in columns:
        try:
            numbers.append(np.array(column, dtype=np.float64))
        except ValueError:
            numbers.append(np.unique(column, return_inverse=True)[1].astype(np.float64))
    return np.stack(numbers, axis=1), labels.astype(np.int64)


def split(x, y, noise):
    """One half to train on, with flips, one to test on; standardised."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    mean, deviation = x[train].mean(axis=0), x[train].std(axis=0)
    scaled = lambda rows: torch.tensor((x[rows] - mean) / np.where(deviation > 0, deviation, 1), dtype=torch.float32)
    observed = y[train].copy()
    flipped = rng.choice(len(train), int(noise * len(train)), replace=False)
    observed[flipped] = 1 - observed[flipped]
    return scaled(train), torch.tensor(observed), scaled(test)


def network(inputs, hidden):
    layers = []
    for width in hidden:
        layers += [torch.nn.Linear(inputs, width), torch.nn.ReLU()]
        inputs = width
    return torch.nn.Sequential(*layers, torch.nn.Linear(inputs, 2 if hidden else 1))


def base_loss(loss, outputs, labels):
    if loss["name"] == "hinge":
        return torch.clamp(1 - outputs.view(-1) * (2 * labels - 1), min=0).mean()
    cross_entropy = F.cross_entropy(outputs, labels, reduction="none")
    if loss["name"] == "focal":
        return ((1 - torch.exp(-cross_entropy)) ** loss["gamma"] * cross_entropy).mean()
    if loss["name"] == "gce":
        return ((1 - torch.exp(-cross_entropy) ** loss["q"]) / loss["q"]).mean()
    return cross_entropy.mean()


def envelope(tails, outputs, labels):
    """Each class's tail, by index into the sorted scores, its mean excess over the threshold."""
    scores = torch.sigmoid(outputs.view(-1)) if outputs.shape[1] == 1 else torch.softmax(outputs, dim=1)[:, 1]
    positive, negative = scores[labels == 1], scores[labels == 0]
    low = positive.detach().sort().values[int(len(positive) * tails["alpha-plus"])]
    high = negative.detach().sort().values[int(len(negative) * (1 - tails["alpha-minus"]))]
    below, above = positive[positive <= low], negative[negative >= high]
    return tails["lambda-plus"] * (low - below).mean() + tails["lambda-minus"] * (above - high).mean()


def train(model, row, phase, data, tails, evaluate):
    x, labels, x_test = data
    optimiser = torch.optim.Adam(model.parameters(), lr=phase["rate"])
    for _ in range(phase["steps"]):
        optimiser.zero_grad()
        outputs = model(x)
        loss = base_loss(row["loss"], outputs, labels)
        if phase.get("l2"):
            loss = loss + phase["l2"] * 0.5 * model[-1].weight.norm() ** 2
        if tails:
            loss = loss + envelope(tails, outputs, labels)
        loss.backward()
        optimiser.step()
        if evaluate:
            with torch.no_grad():
                model(x_test).argmax(dim=1)


def units_on(model, x):
    """Of the last hidden layer's units, the share that is on for some row; a dash without hidden layers."""
    if len(model) == 1:
        return "–"
    with torch.no_grad():
        return f"{(model[:-1](x) > 0).any(dim=0).double().mean().item():.0%}"


def recipe(row, data, evaluate):
    """Seconds of processor time for both arms, each by itself, and what is left of the envelope's network."""
    hidden = row.get("hidden", [512, 512])
    start = time.process_time()
    train(network(data[0].shape[1], hidden), row, row["base"], data, None, evaluate)
    model = network(data[0].shape[1], hidden)
    train(model, row, row["warm"], data, None, evaluate)
    train(model, row, row["envelope"], data, row["tails"], evaluate)
    return time.process_time() - start, units_on(model, data[0])


def ours(reproduce, text, name, folder, divide):
    """Seconds of processor time of the whole process for the same two arms of one seed, reading included."""
    text = re.sub(r"(?m)^arms = .*\n", "", text)
    text = re.sub(r"(?m)^(tails = .*)$", r'\1\narms = ["base", "penalise"]', text)
    text = re.sub(r"steps = (\d+)", lambda found: f"steps = {max(1, int(found[1]) // divide)}", text)
    with tempfile.TemporaryDirectory() as out:
        path = pathlib.Path(out) / "sample.toml"
        path.write_text(text)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [reproduce, "--threads", "1", "--quiet", "run", str(path), "--only", name, "--seeds", "1"]
        subprocess.run(command + ["--data", str(folder), "--out", out], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--reproduce", required=True)
    parser.add_argument("--only", default=SAMPLE, help="experiment:loss, several by commas")
    parser.add_argument("--divide", type=int, default=1, help="take a fraction of the steps, on both sides")
    args = parser.parse_args()
    print("| cells | cmrm, s | PyTorch, s | ratio | with a prediction of the test half each step, s | ratio | units on |")
    print("|---|---|---|---|---|---|---|")
    sums = np.zeros(3)
    for chosen in args.only.split(","):
        experiment, name = chosen.split(":")
        text = pathlib.Path(f"research/reproduce/experiments/{experiment}.toml").read_text()
        binary = tomllib.loads(text)["binary"]
        (row,) = [row for row in binary["rows"] if row["name"] == name]
        for phase in ("base", "warm", "envelope"):
            row[phase]["steps"] = max(1, row[phase]["steps"] // args.divide)
        data = split(*table(binary["data"], args.data), binary["noise"])
        # The first calls of PyTorch set up its threads and kernels.
        warm_up = {phase: row[phase] | {"steps": 2} for phase in ("base", "warm", "envelope")}
        recipe(row | warm_up, data, True)
        (plain, on), (predicting, _) = recipe(row, data, False), recipe(row, data, True)
        times = np.array([ours(args.reproduce, text, name, args.data, args.divide), plain, predicting])
        sums += times
        line = lambda t: f"{t[0]:.2f} | {t[1]:.2f} | {t[1] / t[0]:.2f}× | {t[2]:.2f} | {t[2] / t[0]:.2f}×"
        print(f"| {experiment}, {name}, base and penalise | {line(times)} | {on} |", flush=True)
    print(f"| all | {line(sums)} | |")


if __name__ == "__main__":
    main()
