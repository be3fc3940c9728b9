"""Optimisers alone: a vector of ten numbers, fifty recorded gradients, the vector after some of the steps.

The last four numbers stand for biases: in the runs with `masked` they are left out of the weight decay.
From step 30 on the learning rate is a tenth, so that a change of rate is part of the trace.
"""

import numpy
import torch

from common import OPTIMISERS, grid, numbers, torch_optimiser, write

STEPS, SIZE, DECAYED, DROP_AT = 50, 10, 6, 30
SHOWN = [1, 2, 3, 10, 31, 50]


def trace(config, lr, masked, dtype, initial, gradients):
    parameter = torch.tensor(initial, dtype=dtype)
    first, last = torch.nn.Parameter(parameter[:DECAYED].clone()), torch.nn.Parameter(parameter[DECAYED:].clone())
    optimiser = torch_optimiser(config, lr, [first], [last]) if masked else torch_optimiser(config, lr, [first, last], [])
    shown = []
    for step in range(STEPS):
        if step == DROP_AT:
            for group in optimiser.param_groups:
                group["lr"] = lr / 10.0
        gradient = torch.tensor(gradients[step], dtype=dtype)
        first.grad, last.grad = gradient[:DECAYED].clone(), gradient[DECAYED:].clone()
        optimiser.step()
        if step + 1 in SHOWN:
            shown.append(numbers(torch.cat([first, last])))
    return shown


def main():
    generator = numpy.random.default_rng(11)
    initial = grid(generator, SIZE, 1.0)
    # Sizes over several orders of magnitude, and one parameter that never gets a gradient.
    gradients = grid(generator, (STEPS, SIZE), 1.0) * numpy.array([16, 8, 4, 2, 1, 1, 1, 0.25, 0.0625, 0.0])
    runs = []
    for name, lr, config in OPTIMISERS:
        for masked in [False, True] if config.get("weight_decay") else [False]:
            runs.append({
                "name": name, "lr": lr, "config": config, "masked": masked,
                "float64": trace(config, lr, masked, torch.float64, initial, gradients),
                "float32": trace(config, lr, masked, torch.float32, initial, gradients),
            })
    write("optimiser_steps.json", {
        "torch": torch.__version__, "initial": numbers(initial), "gradients": [numbers(row) for row in gradients],
        "decayed": DECAYED, "drop_at": DROP_AT, "drop_factor": 0.1, "shown": SHOWN, "runs": runs,
    })


if __name__ == "__main__":
    main()
