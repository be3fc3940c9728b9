"""Gradients against finite differences. No gradient flows through τ, so it is held still: by a ceiling, or by no filter."""

import pytest
import torch

from cmrm.torch import EnvelopeLoss

STILL = [
    # Weights of the base loss have no gradient either.
    {"preset": "robust", "ceiling": -0.95, "filter_base": False, "fade": False, "limit": 1e6},
    {"preset": "paper", "ceiling": -0.95, "normaliser": "weights"},
    {"preset": "paper", "filter": "off", "lam": 3},
    {"preset": "authors", "ceiling": -50.0, "temperature": 30},
    {"preset": "authors", "margin": "loss", "ceiling": -50.0, "temperature": 30},
]


def batch():
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(12, 4, dtype=torch.float64, generator=generator)
    return logits.requires_grad_(), torch.randint(0, 4, (12,), generator=generator)


@pytest.mark.parametrize("settings", STILL, ids=str)
@pytest.mark.parametrize("base", ["cross_entropy", "focal", "gce", "ldam"])
def test_finite_differences(base, settings):
    logits, labels = batch()
    with torch.no_grad():
        logits *= 0.05 if base == "ldam" else 1
    settings = {"class_counts": [5, 4, 2, 1], "start": 0, **settings}
    fused, tensor = (EnvelopeLoss(base, backend=backend, **settings) for backend in ["auto", "tensor"])
    assert torch.autograd.gradcheck(lambda z: fused(z, labels), logits)
    assert torch.autograd.gradcheck(lambda z: tensor(z, labels), logits)
    assert torch.autograd.gradgradcheck(lambda z: tensor(z, labels), logits)


def test_the_kernel_refuses_a_second_derivative_in_words():
    logits, labels = batch()
    for loss in [EnvelopeLoss(start=0), EnvelopeLoss(lambda z, y: -z[range(12), y], preset="authors", margin="loss", start=0)]:
        with pytest.raises(RuntimeError, match="backend='tensor'"):
            torch.autograd.grad(loss(logits, labels), logits, create_graph=True)


def test_the_threshold_has_no_gradient():
    """A row that alone decides τ pulls on no other row's weight."""
    logits, labels = batch()
    loss = EnvelopeLoss(preset="paper", backend="tensor")
    held = EnvelopeLoss(preset="paper", ceiling=None)
    for each in [loss, held]:
        logits.grad = None
        each(logits, labels).backward()
        each.found = logits.grad.clone()
    torch.testing.assert_close(loss.found, held.found, rtol=1e-12, atol=1e-14)
    tau = float(loss.last.tau)
    still = EnvelopeLoss(preset="paper", alpha=0.99, ceiling=tau, backend="tensor")
    assert torch.autograd.gradcheck(lambda z: still(z, labels), logits)


def test_backward_twice_gives_the_same():
    logits, labels = batch()
    total = EnvelopeLoss(start=0)(logits, labels)
    first = torch.autograd.grad(total, logits, retain_graph=True)
    assert torch.equal(first[0], torch.autograd.grad(total, logits)[0])
