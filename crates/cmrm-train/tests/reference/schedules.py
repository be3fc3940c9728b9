"""Learning rates of torch.optim.lr_scheduler, one number per tick.

Our warm-up gives (t+1)/w of the base rate at tick t < w, as the authors' code does; PyTorch's LinearLR does the same with
start_factor 1/w over w−1 ticks. SequentialLR restarts the second schedule's clock at the end of the warm-up, so milestones
given to PyTorch are shifted by w; ours count from the start of training.
"""

import warnings

import torch
from torch.optim.lr_scheduler import ConstantLR, CosineAnnealingLR, LinearLR, MultiStepLR, SequentialLR

from common import write

BASE, TOTAL = 0.1, 24


def rates(make):
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=BASE)
    schedule = make(optimiser)
    recorded = []
    for _ in range(TOTAL):
        recorded.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            schedule.step()
    return recorded


def warm(width, make):
    def build(optimiser):
        ramp = LinearLR(optimiser, start_factor=1.0 / width, end_factor=1.0, total_iters=width - 1)
        return SequentialLR(optimiser, [ramp, make(optimiser)], milestones=[width])

    return build


def main():
    cases = [
        ({"kind": "constant"}, lambda o: ConstantLR(o, factor=1.0)),
        ({"kind": "step", "milestones": [6, 7, 20], "gamma": 0.1}, lambda o: MultiStepLR(o, [6, 7, 20], 0.1)),
        ({"kind": "cosine"}, lambda o: CosineAnnealingLR(o, TOTAL)),
        ({"kind": "cosine", "floor_fraction": 0.05}, lambda o: CosineAnnealingLR(o, TOTAL, eta_min=0.05 * BASE)),
        ({"kind": "constant", "warmup_epochs": 5}, warm(5, lambda o: ConstantLR(o, factor=1.0))),
        ({"kind": "step", "milestones": [10, 18], "gamma": 0.5, "warmup_epochs": 4},
         warm(4, lambda o: MultiStepLR(o, [6, 14], 0.5))),
        ({"kind": "cosine", "floor_fraction": 0.05, "warmup_epochs": 4},
         warm(4, lambda o: CosineAnnealingLR(o, TOTAL - 4, eta_min=0.05 * BASE))),
    ]
    write("schedules.json", {
        "torch": torch.__version__, "base": BASE, "total": TOTAL,
        "cases": [{"config": config, "rates": rates(make)} for config, make in cases],
    })


if __name__ == "__main__":
    main()
