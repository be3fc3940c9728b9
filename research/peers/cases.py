"""What is compared, and the goals."""

import math
import statistics

import data

ENVELOPE = {"lambda": 1.0, "alpha": 0.3, "temperature": 0.2}


def spread(ratios):
    return f"{ratios[len(ratios) // 4]:.2f}–{ratios[(3 * len(ratios)) // 4]:.2f}"


def spread_percent(ratios):
    return f"{100 * (ratios[len(ratios) // 4] - 1):+.1f} – {100 * (ratios[(3 * len(ratios)) // 4] - 1):+.1f} %"


def steps(job, rows):
    return job["epochs"] * math.ceil(rows / (job["batch"] or rows))


def train_job(bench, rows, columns, hidden, classes, batch, epochs, envelopes):
    paths = bench.data.get(rows, columns, classes)
    return {"do": "train", **paths, "hidden": hidden, "batch": batch, "epochs": epochs, "lr": 1e-3, "envelopes": envelopes}


def against_pytorch(bench, what, shape, peer_epochs, our_epochs, goals, fused=False):
    """Steps per second, base and envelope; then what the envelope adds to our own step."""
    rows, columns, hidden, classes, batch = shape

    def measure(side, epochs, envelope, fused=False):
        job = train_job(bench, rows, columns, hidden, classes, batch, epochs, [envelope])
        return lambda: steps(job, rows) / side.do(job | {"fused": fused})["seconds"]

    variants = [("base", None, False)] + ([("base, PyTorch's fused Adam", None, True)] if fused else [])
    for name, envelope, fuse in variants + [("envelope", ENVELOPE, False), ("`robust`", "robust", False)]:
        ours, theirs, ratios = bench.alternate(
            measure(bench.engine, our_epochs, envelope), measure(bench.pytorch, peer_epochs, envelope, fuse)
        )
        ratio, goal = ratios[len(ratios) // 2], goals.get(name)
        bench.add(
            f"{what}, {name}", f"{ours:,.4g} steps/s", f"{theirs:,.4g} steps/s", f"{ratio:.2f}×", spread(ratios),
            f"≥ {goal}×" if goal else "–", goal is None or ratio >= goal,
        )
    base, with_envelope, ratios = bench.alternate(
        measure(bench.engine, our_epochs, None), measure(bench.engine, our_epochs, ENVELOPE), 2 * bench.repeats + 1
    )
    extra = 100 * (ratios[len(ratios) // 2] - 1)
    bench.add(
        f"{what}, envelope's extra cost", f"{1e6 / with_envelope:,.1f} µs/step", f"{1e6 / base:,.1f} µs/step (base)",
        f"{extra:+.1f} %", spread_percent(ratios), "≤ 5 %", extra <= 5,
    )


def small_mlp(bench):
    shape = (12_800, 104, [64], 2, 128)
    against_pytorch(bench, "MLP 104-64-2, batch 128", shape, 5, 50, {"base": 10, "envelope": 20, "`robust`": 20}, fused=True)


def linear_10(bench):
    against_pytorch(bench, "linear 768→10, batch 128", (12_800, 768, [], 10, 128), 5, 25, {"base": 4}, fused=True)


def linear_100(bench):
    shape = (12_800, 1536, [], 100, 128)
    against_pytorch(bench, "linear 1536→100, batch 128", shape, 3, 5, {"base": 1.6}, fused=True)


def full_batch_mlp(bench):
    rows, columns, width, classes = 22_611, 13, 512, 2
    shape = (rows, columns, [width, width], classes, None)
    against_pytorch(bench, "MLP 13-512-512-2, full batch of 22,611", shape, 3, 3, {"base": 1.0})
    # Floating-point operations of one step: forward, gradients by the weights, gradients by the hidden units.
    forward = columns * width + width * width + width * classes
    flops = 2 * rows * (2 * forward + width * width + width * classes)
    job = train_job(bench, rows, columns, [width, width], classes, None, 3, [None])
    product = {"do": "product", "rows": rows, "inner": width, "columns": width, "repeats": 5}
    ours, machine, ratios = bench.alternate(
        lambda: flops * 3 / bench.engine.do(job)["seconds"] / 1e9,
        lambda: 2 * 5 * rows * width * width / bench.engine.do(product)["seconds"] / 1e9,
    )
    share = 100 * ratios[len(ratios) // 2]
    bench.add(
        "the same, share of the f32 product rate (22,611×512×512)", f"{ours:.0f} GFLOP/s", f"{machine:.0f} GFLOP/s",
        f"{share:.0f} %", spread(ratios), "≥ 70 %", share >= 70,
    )


def logistic_10(bench):
    logistic(bench, 10)


def logistic_100(bench):
    logistic(bench, 100)


def logistic(bench, classes):
    """Time to come within 1e-4 of the least objective; each side gets the iterations it needs, found beforehand."""
    l2 = 1e-3
    paths = bench.data.get(50_000, 256, classes)

    def job(iterations):
        return {"do": "fit", **paths, "l2": l2, "iterations": iterations}

    def objective(side, iterations):
        return data.objective(paths, side.do(job(iterations))["parameters"], l2)

    target = objective(bench.engine, 400) * (1 + 1e-4)

    def needed(side):
        high = 8
        while objective(side, high) > target:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if objective(side, middle) <= target else (middle, high)
        return high

    ours_needs, theirs_needs = needed(bench.engine), needed(bench.scikit)
    ours, theirs, ratios = bench.alternate(
        lambda: 1 / bench.engine.do(job(ours_needs))["seconds"],
        lambda: 1 / bench.scikit.do(job(theirs_needs))["seconds"],
        max(3, bench.repeats // 2),
    )
    what = f"logistic regression, L-BFGS, 50,000×256, {classes} classes"
    ratio = ratios[len(ratios) // 2]
    bench.add(
        what, f"{1 / ours:.2f} s, {ours_needs} iterations", f"{1 / theirs:.2f} s, {theirs_needs} iterations",
        f"{ratio:.2f}×", spread(ratios), "≥ 2×", ratio >= 2,
    )
    # The envelope may take another path with more or fewer evaluations, so what is compared is one evaluation with its
    # gradient: steps of Adam on all rows.
    base, with_envelope, ratios = bench.alternate(
        *(
            lambda envelope=envelope: 1
            / bench.engine.do(train_job(bench, 50_000, 256, [], classes, None, 10, [envelope]))["seconds"]
            for envelope in [None, ENVELOPE]
        )
    )
    extra = 100 * (ratios[len(ratios) // 2] - 1)
    bench.add(
        f"{what}, envelope's extra cost", f"{100 / with_envelope:.1f} ms/evaluation", f"{100 / base:.1f} ms/evaluation (base)",
        f"{extra:+.1f} %", spread_percent(ratios), "≤ 5 %", extra <= 5,
    )


def many_in_batches(bench):
    many(bench, "batch 128", 12_800, 128, 20, 4)


def many_on_all_rows(bench):
    many(bench, "full batch of 50,000", 50_000, None, 10, 3)


def many(bench, what, rows, batch, single_epochs, together_epochs):
    """Thirty configurations side by side against one of them alone."""
    grid = [
        {"lambda": strength, "alpha": alpha, "temperature": temperature}
        for strength in [0.1, 0.3, 1.0, 3.0, 10.0]
        for alpha in [0.1, 0.3, 0.5]
        for temperature in [0.2, 1.0]
    ]

    def measure(epochs, envelopes):
        job = train_job(bench, rows, 256, [], 10, batch, epochs, envelopes)
        return lambda: bench.engine.do(job)["seconds"] / steps(job, rows)

    together, single, ratios = bench.alternate(measure(together_epochs, grid), measure(single_epochs, grid[:1]))
    ratio = ratios[len(ratios) // 2]
    bench.add(
        f"30 configurations together, linear 256→10, {what}", f"{1e6 * together:,.0f} µs/step",
        f"{1e6 * single:,.0f} µs/step (one alone)", f"{ratio:.2f}×", spread(ratios), "≤ 6×", ratio <= 6,
    )


def grid(bench):
    """A 5×5×3 grid with 5 folds: ours as a whole, PyTorch's from a sample of its cells, each fitted by itself."""
    folds, l2 = 5, 0.1
    paths = bench.data.get(50_000, 256, 10)
    cells = [
        {"lambda": strength, "alpha": alpha, "temperature": temperature}
        for strength in [0.1, 0.3, 1.0, 3.0, 10.0]
        for alpha in [0.05, 0.1, 0.2, 0.3, 0.5]
        for temperature in [0.1, 0.2, 1.0]
    ]
    # Every eleventh cell, folds in turn: all values of all three are among them.
    sample = [(cell, place % folds) for place, cell in enumerate(range(0, len(cells), 11))]
    ours = bench.engine.do(
        {"do": "grid", **paths, "envelopes": cells, "folds": folds, "batch": 1000, "epochs": 5, "lr": 0.01, "l2": l2}
    )
    theirs = [
        bench.pytorch.do({"do": "fit_cell", **paths, "envelope": cells[cell], "folds": folds, "fold": fold, "l2": l2})
        for cell, fold in sample
    ]
    apart = [100 * (ours["accuracies"][cell][fold] - theirs[i]["accuracy"]) for i, (cell, fold) in enumerate(sample)]
    each = statistics.mean(fit["seconds"] for fit in theirs)
    whole = each * len(cells) * folds
    ratio = whole / ours["seconds"]
    bench.add(
        f"grid of 75 cells, 5 folds, linear, 50,000×256, 10 classes (held-out accuracy against L-BFGS: "
        f"{statistics.mean(apart):+.2f} points, at most {max(map(abs, apart)):.2f} apart)",
        f"{ours['seconds']:.1f} s", f"{whole:.0f} s ({each:.2f} s a cell, {len(sample)} of 375 measured)",
        f"{ratio:.1f}×", "–", "≥ 20×", ratio >= 20,
    )


ALL = [
    small_mlp, linear_10, linear_100, full_batch_mlp, logistic_10, logistic_100, many_in_batches, many_on_all_rows,
    grid,
]
