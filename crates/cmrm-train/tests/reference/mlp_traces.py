"""Fifty training steps of an 8-16-3 network (ReLU, mean cross-entropy) under each optimiser.

Layout of a weight: PyTorch's `Linear.weight`, [out, in], row after row; logits = x · Wᵀ + b. The flat parameter vector is
W1 [16, 8], b1 [16], W2 [3, 16], b2 [3]. `losses[t]` is the loss of batch t *before* step t. Weight decay acts on weights
and biases alike.
"""

import numpy
import torch

from common import OPTIMISERS, grid, numbers, torch_optimiser, write

ROWS, INPUTS, HIDDEN, CLASSES, BATCH, STEPS = 48, 8, 16, 3, 12, 50


def trace(config, lr, dtype, initial, features, labels, order):
    parameters = [torch.nn.Parameter(torch.tensor(values, dtype=dtype)) for values in initial]
    w1, b1, w2, b2 = parameters
    x, y = torch.tensor(features, dtype=dtype), torch.tensor(labels)
    optimiser = torch_optimiser(config, lr, parameters, [])
    losses = []
    for batch in order:
        optimiser.zero_grad()
        hidden = torch.relu(torch.nn.functional.linear(x[batch], w1, b1))
        loss = torch.nn.functional.cross_entropy(torch.nn.functional.linear(hidden, w2, b2), y[batch])
        loss.backward()
        losses.append(loss.detach().reshape(1))
        optimiser.step()
    final = torch.cat([parameter.detach().reshape(-1) for parameter in parameters])
    return {"losses": numbers(torch.cat(losses)), "final": numbers(final)}


def main():
    generator = numpy.random.default_rng(23)
    features = grid(generator, (ROWS, INPUTS), 1.0)
    teacher = generator.normal(0.0, 1.0, (INPUTS, CLASSES))
    labels = (features @ teacher + generator.normal(0.0, 1.0, (ROWS, CLASSES))).argmax(axis=1)
    initial = [grid(generator, (HIDDEN, INPUTS), 0.5), grid(generator, HIDDEN, 0.1),
               grid(generator, (CLASSES, HIDDEN), 0.35), grid(generator, CLASSES, 0.1)]
    order = []
    while len(order) < STEPS:
        order.extend(generator.permutation(ROWS).reshape(-1, BATCH))
    order = order[:STEPS]
    runs = [{
        "name": name, "lr": lr, "config": config,
        "float64": trace(config, lr, torch.float64, initial, features, labels, order),
        "float32": trace(config, lr, torch.float32, initial, features, labels, order),
    } for name, lr, config in OPTIMISERS]
    write("mlp_traces.json", {
        "torch": torch.__version__, "layers": [INPUTS, HIDDEN, CLASSES], "layout": "W1[out,in] b1 W2[out,in] b2",
        "features": numbers(features), "labels": [int(label) for label in labels],
        "batches": [[int(row) for row in batch] for batch in order],
        "initial": numbers(numpy.concatenate([values.reshape(-1) for values in initial])), "runs": runs,
    })


if __name__ == "__main__":
    main()
