"""The loss as a module among modules: epochs, copies, threads, the record of the last call."""

import copy
import doctest
import io
import pickle
import threading

import pytest
import torch

import cmrm.torch._loss
from cmrm.torch import EnvelopeLoss


def batch(rows=64, classes=5):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(rows, classes, generator=generator), torch.randint(0, classes, (rows,), generator=generator)


def test_epochs():
    half, authors, fixed = EnvelopeLoss(start=0.5), EnvelopeLoss(preset="authors"), EnvelopeLoss(start=3)
    assert [half.set_epoch(epoch, 5) for epoch in range(5)] == [False, False, True, False, False]
    assert half.active
    assert not authors.set_epoch(2, 4) and not authors.active
    assert authors.set_epoch(3, 4) and authors.active and authors.config["fresh_optimiser"]
    assert [fixed.set_epoch(epoch, 100) for epoch in range(5)] == [False, False, False, True, False]
    assert EnvelopeLoss("ldam", preset="authors", class_counts=[1, 2]).config["margin"] == "loss"


def test_new_settings_are_off_until_they_are_asked_for():
    for preset in ["paper", "authors"]:
        config = EnvelopeLoss(preset=preset).config
        assert (config["filter_base"], config["running"], config["limit"], config["fade"]) == (False, None, None, None)
    config = EnvelopeLoss(filter_base=True, running=0.5, limit=2, fade=[-0.5, 0.2]).config
    assert (config["filter_base"], config["running"], config["limit"]) == (True, 0.5, 2.0)
    assert config["fade"] == {"margin": -0.5, "share": 0.2}
    config = EnvelopeLoss(filter_base=False, running=False, limit=False, fade=False).config
    assert (config["filter_base"], config["running"], config["limit"], config["fade"]) == (False, None, None, None)


def test_a_start_that_nobody_watches_is_said_once():
    loss, (logits, labels) = EnvelopeLoss(), batch()
    with pytest.warns(UserWarning, match="set_epoch was not called"):
        loss(logits, labels)
    loss(logits, labels)
    EnvelopeLoss(preset="paper")(logits, labels)


@pytest.mark.parametrize("backend", ["auto", "tensor"])
def test_the_record_of_the_last_call(backend):
    logits, labels = batch()
    loss = EnvelopeLoss(start=0, backend=backend)
    assert loss.last is None
    total = loss(logits.requires_grad_(), labels)
    last = loss.last
    assert total.item() == pytest.approx(float(last.base) + float(last.lam) * float(last.risk), rel=1e-5)
    assert 0 < float(last.lam) < loss.config["lambda"]
    assert last.margins.shape == last.weights.shape == labels.shape
    assert not last.margins.requires_grad and not last.weights.requires_grad
    assert (last.weights[last.margins < float(last.tau) - 0.9] < 0.1).all()
    kept = last.margins.clone()
    loss(-logits, labels)
    assert torch.equal(last.margins, kept) and loss.last is not last


@pytest.mark.parametrize("base", ["ldam", "focal:1", torch.nn.CrossEntropyLoss(reduction="none")], ids=str)
def test_copies_and_files(base):
    logits, labels = batch()
    loss = EnvelopeLoss(base, lam=2, class_counts=[1, 2, 3, 4, 5], start=2)
    loss.set_epoch(2, 3)
    expected = loss(logits, labels)
    file = io.BytesIO()
    torch.save(loss, file)
    file.seek(0)
    for other in [copy.deepcopy(loss), pickle.loads(pickle.dumps(loss)), torch.load(file, weights_only=False)]:
        assert torch.equal(other(logits, labels), expected) and other.config == loss.config
    # A model that holds its loss has the same weights as one that does not.
    assert not loss.state_dict() and not list(loss.parameters())
    assert "lambda=2.0" in repr(loss)


def test_without_gradients():
    logits, labels = batch()
    with torch.no_grad():
        assert not EnvelopeLoss(start=0)(logits.requires_grad_(), labels).requires_grad


def test_threads_share_a_loss():
    loss = EnvelopeLoss(start=0)
    logits, labels = batch(2000, 40)
    expected, found = loss(logits, labels), []

    def work():
        for _ in range(20):
            found.append(torch.equal(loss(logits, labels), expected))

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(found) == 80 and all(found)


def test_one_process_needs_no_process_group():
    logits, labels = batch()
    found = [EnvelopeLoss(start=0, sync_quantile=sync)(logits.double(), labels).item() for sync in [True, False]]
    assert found[0] == pytest.approx(found[1], rel=1e-13)


def test_it_learns_through_wrong_labels():
    """Half of one class called another: the envelope's margins of wrong labels end below those of right ones."""
    torch.manual_seed(0)
    truth = torch.randint(0, 3, (600,))
    x = torch.randn(600, 8) + 2 * torch.nn.functional.one_hot(truth, 8)
    wrong = torch.rand(600) < 0.3
    labels = torch.where(wrong, (truth + torch.randint(1, 3, (600,))) % 3, truth)
    model, loss = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 3)), EnvelopeLoss()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(20):
        loss.set_epoch(epoch, 20)
        for rows in torch.randperm(600).split(100):
            optimiser.zero_grad()
            loss(model(x[rows]), labels[rows]).backward()
            optimiser.step()
    loss(model(x), labels)
    assert loss.last.margins[wrong].mean() < -0.4 < 0.4 < loss.last.margins[~wrong].mean()


def test_the_example_in_the_docstring():
    found = doctest.testmod(cmrm.torch._loss)
    assert found.attempted > 0 and found.failed == 0
