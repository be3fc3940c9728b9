"""The fused kernel and the tensor operations give the same, for every preset and every setting."""

import itertools

import pytest
import torch
from torch.nn.functional import cross_entropy

from cmrm.torch import EnvelopeLoss

# The plain form of the envelope; what acts on the base loss is in test_filtered_base.py.
PLAIN = {"filter_base": False, "running": False, "limit": False, "fade": False}
PRESETS = ["paper", "authors", "robust"]
BASES = ["cross_entropy", "focal", "focal:0.5", "focal:0", "focal:1", "gce", "gce:0.3", "gce:1", "ldam", "hinge"]
SETTINGS = [
    {"lam": 0.0},
    {"lam": 7.5, "alpha": 0.9},
    {"alpha": 0.01, "temperature": 1e-3},
    {"margin": "logit", "scope": "class"},
    {"margin": "logit", "ceiling": 0.5, "normaliser": "weights"},
    {"margin": "loss", "scale": "fixed"},
    {"margin": "loss", "scale": "fixed", "scope": "class", "normaliser": "weights"},
    {"quantile": "interpolated", "scope": "class"},
    {"quantile": "interpolated", "alpha": 0.999},
    {"filter": "hard"},
    {"filter": "hard", "normaliser": "weights", "scope": "class"},
    {"filter": "off", "scale": "doubt"},
    {"ceiling": float("inf")},
    {"ceiling": -0.25, "scale": "doubt", "normaliser": "weights"},
]


def own_loss(logits, labels):
    """A loss that the library does not know."""
    return (cross_entropy(logits, labels, reduction="none") + 1).log() + 0.1 * logits.tanh().square().mean(1)


def batch(rows, classes, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(rows, classes, generator=generator, dtype=dtype)
    # The first class has rows enough for a quantile of its own, most others have not.
    labels = torch.randint(0, classes, (rows,), generator=generator)
    labels[: rows // 2] = 0
    # Ties within a row and between rows.
    logits[rows // 3] = 1.0
    logits[-1] = logits[0]
    return logits, labels, torch.rand(rows, generator=generator, dtype=dtype)


def evaluate(loss, logits, labels, row_weights):
    logits = logits.clone().requires_grad_()
    total = loss(logits, labels, row_weights)
    (3 * total).backward()
    last = loss.last
    tau = float("nan") if last.tau is None else float(last.tau)
    scalars = torch.tensor([total.item(), float(last.base), float(last.risk), tau], dtype=logits.dtype)
    return scalars, last.margins, last.weights, logits.grad / 3


def assert_same(base, rows=64, classes=5, active=True, **settings):
    counts = [40, 10, 0, 5, 9][:classes] + [1] * (classes - 5) if base == "ldam" else None
    for dtype, weighted in itertools.product([torch.float64, torch.float32], [False, True]):
        logits, labels, row_weights = batch(rows, classes, dtype)
        logits = logits / 30 if base == "ldam" else logits
        found = []
        for backend in ["auto", "tensor"]:
            loss = EnvelopeLoss(base, class_counts=counts, backend=backend, start=0 if active else 1, **settings)
            loss.set_epoch(0, 2)
            found.append(evaluate(loss, logits, labels, row_weights if weighted else None))
        # A label's own gradient may be a difference of numbers near one, and LDAM multiplies it by its scale.
        tolerance = 1e-12 if dtype is torch.float64 else 2e-4
        for ours, theirs in zip(*found, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("base", [*BASES, own_loss])
def test_presets(base, preset):
    assert_same(base, preset=preset)
    assert_same(base, preset=preset, **PLAIN)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("base", ["gce", own_loss])
def test_settings(base, settings, preset):
    assert_same(base, preset=preset, **PLAIN, **settings)


@pytest.mark.parametrize("base", ["cross_entropy", "focal", "ldam", own_loss])
def test_before_the_start_there_is_the_base_loss_alone(base):
    assert_same(base, active=False)


@pytest.mark.parametrize("rows", [1, 2, 7, 300])
@pytest.mark.parametrize("classes", [5, 130])
def test_sizes(rows, classes):
    for preset in PRESETS:
        assert_same("cross_entropy", rows=rows, classes=classes, preset=preset)


def test_two_classes():
    logits, labels, _ = batch(40, 2, torch.float64)
    found = [EnvelopeLoss(base, start=0)(logits, labels % 2).item() for base in ["logistic", "cross_entropy"]]
    assert found[0] == found[1]


def test_a_large_batch_off_the_lock():
    assert_same("cross_entropy", rows=1000, classes=100)


def test_layouts_are_no_matter():
    logits, labels, weights = batch(64, 10, torch.float64)
    loss = EnvelopeLoss(start=0)
    plain = evaluate(loss, logits, labels, weights)
    turned = logits.t().contiguous().t()
    apart = torch.stack([logits, logits], dim=2)[:, :, 0]
    every_second = torch.stack([labels, labels], dim=1).flatten()[::2].to(torch.int32)
    for other in [turned, apart]:
        assert not other.is_contiguous()
        for found, expected in zip(evaluate(loss, other, every_second, weights.flip(0).flip(0)), plain, strict=True):
            assert torch.equal(found, expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single(dtype):
    logits, labels, _ = batch(64, 10, torch.float32)
    half = logits.to(dtype).requires_grad_()
    total = EnvelopeLoss(start=0)(half, labels)
    total.backward()
    assert total.dtype is torch.float32 and half.grad.dtype is dtype
    assert torch.equal(total, EnvelopeLoss(start=0)(half.detach().float(), labels))
