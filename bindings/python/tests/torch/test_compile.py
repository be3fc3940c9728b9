"""Under torch.compile: one graph, and the same numbers."""

import pytest
import torch

from cmrm.torch import EnvelopeLoss


@pytest.mark.parametrize("preset", ["paper", "authors", "robust"])
@pytest.mark.parametrize("base", ["cross_entropy", "focal:1.5", "gce", "ldam", "hinge", torch.nn.CrossEntropyLoss(reduction="none")], ids=str)
def test_the_whole_loss_is_one_graph(base, preset):
    torch._dynamo.reset()
    counts = [9.0, 4, 3, 2, 1] if base == "ldam" else None
    plain, loss = (EnvelopeLoss(base, preset=preset, start=0, class_counts=counts) for _ in range(2))
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    # Another number of rows is compiled again, for any number.
    for rows in [32, 48, 50]:
        generator = torch.Generator().manual_seed(rows)
        logits = torch.randn(rows, 5, dtype=torch.float64, generator=generator, requires_grad=True)
        labels = torch.randint(0, 5, (rows,), generator=generator)
        found, expected = (
            (total, *torch.autograd.grad(total, logits)) for total in (compiled(logits, labels), plain(logits, labels))
        )
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-14)
        torch.testing.assert_close(loss.last.weights, plain.last.weights, rtol=1e-12, atol=1e-14)


def test_a_model_with_its_loss():
    torch._dynamo.reset()
    torch.manual_seed(0)
    model, loss = torch.nn.Linear(6, 3).double(), EnvelopeLoss(start=0)
    x, y = torch.randn(40, 6, dtype=torch.float64), torch.randint(0, 3, (40,))

    @torch.compile(backend="aot_eager", fullgraph=True)
    def step(x, y):
        return loss(model(x), y)

    torch.testing.assert_close(step(x, y), EnvelopeLoss(start=0)(model(x), y), rtol=1e-12, atol=0)
