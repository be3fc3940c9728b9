"""On a card: the same numbers as the kernel, and nothing that waits for the card."""

import pytest
import torch

from cmrm.torch import EnvelopeLoss

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here"),
    # PyTorch's words about itself, not about us.
    pytest.mark.filterwarnings(
        "ignore:Synchronization debug mode is a prototype", "ignore:.*is deprecated:DeprecationWarning:torch"
    ),
]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("base", ["cross_entropy", "sce", "elr"])
def test_running_margins_on_the_card(base, compiled):
    torch._dynamo.reset()
    settings = {"lam": 10, "filter_base": True, "running": 0.7, "limit": 0.5, "fade": (-0.3, 0.9), "start": 0, "rows": 200}
    plain, loss = (EnvelopeLoss(base, **settings).double() for _ in range(2))
    function = torch.compile(loss.cuda(), fullgraph=True) if compiled else loss.cuda()
    try:
        for step in range(4):
            generator = torch.Generator().manual_seed(step)
            logits = torch.randn(128, 10, dtype=torch.float64, generator=generator, requires_grad=True)
            batch = torch.randint(0, 10, (128,), generator=generator), torch.randperm(200, generator=generator)[:128]
            expected = torch.autograd.grad(plain(logits, batch[0], index=batch[1]), logits)
            card = [each.detach().cuda() for each in (logits, *batch)]
            card[0].requires_grad_()
            # The first steps allocate and compile.
            torch.cuda.set_sync_debug_mode("error" if step > 1 else "default")
            found = torch.autograd.grad(function(card[0], card[1], index=card[2]), card[0])
            torch.cuda.set_sync_debug_mode("default")
            torch.testing.assert_close(found[0].cpu(), expected[0], rtol=1e-11, atol=1e-12)
            for name, value in plain.state_dict().items():
                torch.testing.assert_close(loss.state_dict()[name].cpu(), value, rtol=1e-11, atol=1e-12, equal_nan=True)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def evaluate(function, loss, logits, labels, row_weights):
    logits = logits.detach().requires_grad_()
    total = function(logits, labels, row_weights)
    total.backward()
    return total.detach(), logits.grad, loss.last.margins, loss.last.weights


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("preset", ["paper", "authors", "robust"])
@pytest.mark.parametrize("base", ["cross_entropy", "focal", "gce", "ldam"])
def test_the_card_agrees_with_the_kernel(base, preset, compiled):
    torch._dynamo.reset()
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(128, 10, dtype=torch.float64, generator=generator) / (10 if base == "ldam" else 1)
    labels = torch.randint(0, 10, (128,), generator=generator)
    batch = logits, labels, torch.rand(128, dtype=torch.float64, generator=generator)
    on_card = [each.cuda() for each in batch]
    plain, loss = (EnvelopeLoss(base, preset=preset, start=0, class_counts=range(1, 11)) for _ in range(2))
    function = torch.compile(loss.cuda(), fullgraph=True) if compiled else loss.cuda()
    evaluate(function, loss, *on_card)
    torch.cuda.set_sync_debug_mode("error")
    try:
        found = evaluate(function, loss, *on_card)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    for card, kernel in zip(found, evaluate(plain, plain, *batch), strict=True):
        torch.testing.assert_close(card.cpu(), kernel, rtol=1e-11, atol=1e-12)
