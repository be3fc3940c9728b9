"""The base losses that people use against wrong labels, by reference values and in training."""

import json
import pathlib

import pytest
import torch

from cmrm.torch import EnvelopeLoss
from cmrm.torch._rows import rows_of

FILE = pathlib.Path(__file__).parents[4] / "crates/cmrm/tests/fixtures/methods.json"
RECORDS = json.loads(FILE.read_text())["losses"]


@pytest.mark.parametrize("backend", ["auto", "tensor"])
def test_reference_values(backend):
    # VolMinNet is trained beside its matrix; ELR's targets follow below.
    records = [record for record in RECORDS if record["method"] not in ("volmin", "elr")]
    assert {record["method"] for record in records} >= {"forward", "backward", "cores", "apl", "bootstrap-soft", "bootstrap-hard"}
    for record in records:
        logits = torch.tensor(record["logits"], dtype=torch.float64, requires_grad=True)
        settings = dict(record["params"])
        assert settings.pop("A", -4.0) == -4.0
        data = {"transition": settings.pop("T", None), "class_counts": settings.pop("prior", None)}
        base = {"name": record["method"], **settings}
        loss = EnvelopeLoss(base, lam=0, filter_base=False, start=0, backend=backend, **data)
        total = loss(logits, torch.tensor(record["labels"]))
        total.backward()
        assert total.item() == pytest.approx(record["total"], rel=1e-12)
        torch.testing.assert_close(logits.grad, torch.tensor(record["grad"], dtype=torch.float64), rtol=1e-11, atol=1e-13)


def test_elr_by_reference_values():
    """With given targets, which the loss itself would remember."""
    records = [record for record in RECORDS if record["method"] == "elr"]
    assert len(records) >= 6
    for record in records:
        logits = torch.tensor(record["logits"], dtype=torch.float64, requires_grad=True)
        base = {"name": "elr", "lambda": record["params"]["lambda"], "beta": 0.7}
        targets = torch.tensor(record["params"]["target"], dtype=torch.float64)
        losses, _ = rows_of(base, None, "probability", logits, torch.tensor(record["labels"]), targets)
        losses.mean().backward()
        assert losses.tolist() == pytest.approx(record["values"], rel=1e-12)
        torch.testing.assert_close(logits.grad, torch.tensor(record["grad"], dtype=torch.float64), rtol=1e-11, atol=1e-13)


def test_elr_remembers_predictions():
    loss = EnvelopeLoss("elr", lam=0, filter_base=False, start=0)
    labels, index = torch.tensor([0, 1]), torch.tensor([3, 1])
    target = torch.zeros(2, 3, dtype=torch.float64)
    for step in range(3):
        logits = 9 * torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(step))
        s = logits.softmax(1)
        clamped = s.clamp(1e-4, 1 - 1e-4)
        target = 0.7 * target + 0.3 * clamped / clamped.sum(1, keepdim=True)
        expected = -s.log()[range(2), labels] + 3 * torch.log(1 - (s * target).sum(1))
        assert loss(logits, labels, index=index).item() == pytest.approx(expected.mean().item(), rel=1e-12)
    assert torch.equal(loss.elr_targets.values[[0, 2]], torch.zeros(2, 3, dtype=torch.float64))
    torch.testing.assert_close(loss.elr_targets.values[index], target, rtol=1e-14, atol=0)


def test_elr_in_all_spellings():
    for base in ["elr:2", {"name": "elr", "lambda": 2}, {"name": "elr", "lambda": 2.0, "beta": 0.7}]:
        assert EnvelopeLoss(base).base == {"name": "elr", "lambda": 2.0, "beta": 0.7}
    for base, words in [
        ("elr:x", "'x' is not a number"),
        ("elr:-1", "lambda of elr = -1 is out of range: expected a finite number, at least 0"),
        ({"name": "elr", "beta": 1}, r"beta of elr = 1 is out of range: expected a number in \[0, 1\)"),
        ({"name": "elr", "weight": 1}, "unknown field `weight`, expected `lambda` or `beta`"),
    ]:
        with pytest.raises(ValueError, match=words):
            EnvelopeLoss(base)


@pytest.mark.parametrize("base", ["sce", "label_smoothing", "elr"])
@pytest.mark.parametrize("size", [1e4, 80.0])
def test_large_logits(base, size):
    logits = torch.tensor([[size, -size, 0.0], [-size, size, 0.0]], requires_grad=True)
    for labels in [torch.tensor([0, 1]), torch.tensor([1, 0])]:
        (found,) = torch.autograd.grad(EnvelopeLoss(base, start=0, limit=1.0, filter_base=True)(logits, labels), logits)
        assert found.isfinite().all()


@pytest.mark.parametrize("base", ["forward", "backward", "cores:0.5", "apl", "bootstrap-soft", "bootstrap-hard"])
@pytest.mark.parametrize("preset", ["paper", "authors", "robust"])
def test_tensors_compute_what_the_kernel_does(base, preset):
    """In the envelope, in single precision, and for logits far from each other."""
    labels = torch.tensor([0, 1, 2, 2])
    data = {"transition": [[0.7, 0.3, 0.0], [0.1, 0.8, 0.1], [0.0, 0.2, 0.8]], "class_counts": [3.0, 2.0, 5.0]}
    for size in [3.0, 1e4]:
        numbers = size * torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
        found = []
        for backend in ["auto", "tensor"]:
            logits = numbers.clone().requires_grad_()
            total = EnvelopeLoss(base, preset=preset, start=0, backend=backend, **data)(logits, labels)
            total.backward()
            found.append((total.item(), logits.grad))
        assert found[0][0] == pytest.approx(found[1][0], rel=2e-5, abs=1e-6)
        torch.testing.assert_close(found[0][1], found[1][1], rtol=1e-4, atol=1e-6)


def test_a_correction_without_a_matrix_is_refused():
    with pytest.raises(ValueError, match="the loss forward needs one"):
        EnvelopeLoss("forward")
    with pytest.raises(ValueError, match="row 1 sums to 0.5"):
        EnvelopeLoss("backward", transition=torch.tensor([[1.0, 0.0], [0.0, 0.5]]))
