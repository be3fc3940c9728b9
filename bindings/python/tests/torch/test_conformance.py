"""The library's reference values, through autograd in double precision."""

import json
import pathlib

import pytest
import torch

from cmrm.torch import EnvelopeLoss

FILE = pathlib.Path(__file__).parents[4] / "crates/cmrm/tests/fixtures/envelope.json"
RECORDS = [record for record in json.loads(FILE.read_text()) if record["kind"] == "multiclass"]


def base_of(record, case):
    match case["loss"]:
        case "focal":
            return {"name": "focal", "gamma": record["focal_gamma"]}
        case "gce":
            return {"name": "gce", "q": record["gce_q"]}
        case "ldam":
            return {"name": "ldam", **record["ldam"]}
    return "cross_entropy"


@pytest.mark.parametrize("backend", ["auto", "tensor"])
@pytest.mark.parametrize("record", RECORDS, ids=lambda record: f"{len(record['labels'])}x{record['classes']}")
def test_reference_values(record, backend):
    assert len(record["cases"]) == 99
    labels = torch.tensor(record["labels"])
    for case in record["cases"]:
        logits = torch.tensor(record["logits"], dtype=torch.float64, requires_grad=True)
        loss = EnvelopeLoss(
            base_of(record, case),
            preset="paper",
            lam=case["lam"],
            alpha=case["alpha"],
            temperature=case["temperature"],
            margin=case["margin"],
            quantile=case["quantile"],
            normaliser=case["normalise"],
            class_counts=record["class_counts"],
            backend=backend,
        )
        total = loss(logits, labels)
        total.backward()
        grad, last = logits.grad.flatten(), loss.last
        # The file measures the loss form by the row losses; here every margin is large when the label is believed.
        sign = -1 if case["margin"] == "loss" else 1
        # Sums of terms of both signs are compared relative to the size of their terms.
        size = last.margins.abs().max().item()
        weights = torch.arange(len(grad), dtype=torch.float64).cos()
        for found, expected, scale in [
            (last.tau, sign * case["tau"], size),
            (last.base, case["base_loss"], case["base_loss"]),
            (last.risk, case["risk"], size),
            (total.detach(), case["total"], case["base_loss"] + case["lam"] * size),
            (grad.norm(), case["grad_norm"], case["grad_norm"]),
            ((grad * weights).sum(), case["grad_checksum"], case["grad_norm"]),
        ]:
            assert abs(float(found) - expected) <= 1e-9 * abs(scale), case
        first = torch.tensor(case["grad_first_row"], dtype=torch.float64)
        assert (logits.grad[0] - first).abs().max() <= 1e-9 * case["grad_norm"]
        if "margins" in case:
            assert (last.margins - sign * torch.tensor(case["margins"], dtype=torch.float64)).abs().max() <= 1e-9 * size
        if "weights" in case:
            assert (last.weights - torch.tensor(case["weights"], dtype=torch.float64)).abs().max() <= 1e-9
