"""What the recorders share: the optimisers under test and a compact JSON writer."""

import json
import pathlib

import numpy
import torch

torch.set_num_threads(1)

# Name, base learning rate, what the Rust side parses as `OptimiserConfig`, and the PyTorch optimiser.
OPTIMISERS = [
    ("sgd", 0.1, {"kind": "sgd"}),
    ("sgd_momentum", 0.05, {"kind": "sgd", "momentum": 0.9}),
    ("sgd_momentum_decay", 0.05, {"kind": "sgd", "momentum": 0.9, "weight_decay": 0.01}),
    ("sgd_nesterov_decay", 0.05, {"kind": "sgd", "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("adam", 0.01, {"kind": "adam"}),
    ("adam_decay", 0.01, {"kind": "adam", "beta1": 0.8, "beta2": 0.99, "eps": 1e-6, "weight_decay": 0.1}),
    ("adamw", 0.01, {"kind": "adamw", "weight_decay": 0.1}),
]


def torch_optimiser(config, lr, decayed, undecayed):
    """The PyTorch optimiser of `config`; only `decayed` parameters see the weight decay."""
    decay = config.get("weight_decay", 0.0)
    groups = [{"params": decayed, "weight_decay": decay}, {"params": undecayed, "weight_decay": 0.0}]
    groups = [group for group in groups if group["params"]]
    if config["kind"] == "sgd":
        return torch.optim.SGD(
            groups, lr=lr, momentum=config.get("momentum", 0.0), nesterov=config.get("nesterov", False), foreach=False
        )
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[config["kind"]]
    betas = (config.get("beta1", 0.9), config.get("beta2", 0.999))
    return kind(groups, lr=lr, betas=betas, eps=config.get("eps", 1e-8), foreach=False, fused=False)


def grid(generator, shape, spread):
    """Random numbers on a grid of 1/256: exact in float32 and in float64, short in decimal."""
    return numpy.round(generator.normal(0.0, spread, shape) * 256.0) / 256.0


def numbers(values):
    """A flat list that parses back to the same bits in the precision of `values`."""
    if isinstance(values, torch.Tensor):
        values = values.detach().numpy()
    values = numpy.asarray(values).reshape(-1)
    if values.dtype == numpy.float32:
        return [float(str(value)) for value in values]  # shortest decimal of the float32
    return [float(value) for value in values]


def write(name, content):
    path = pathlib.Path(__file__).resolve().parent / name
    path.write_text(json.dumps(content, separators=(",", ":")) + "\n")
    print(f"  {name}: {path.stat().st_size} bytes")
