"""What the loss remembers of rows: how it is kept, saved, loaded and grown."""

import copy
import io
import pickle

import pytest
import torch

from cmrm.torch import EnvelopeLoss

SETTINGS = {"filter_base": True, "running": 0.5, "start": 0}


def batch(rows=6, classes=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, classes, generator=generator, requires_grad=True), torch.randint(0, classes, (rows,), generator=generator)


@pytest.mark.parametrize("backend", ["auto", "tensor"])
def test_it_grows_and_knows_rows_again(backend):
    loss, (logits, labels) = EnvelopeLoss(backend=backend, **SETTINGS), batch()
    assert not loss.state_dict()
    loss(logits[:2], labels[:2], index=torch.tensor([4, 1]))
    first = loss.last.margins
    values = loss.running_margins.values
    assert values.isnan().tolist() == [True, False, True, True, False] and values[[4, 1]].equal(first)
    loss(logits[2:5], labels[2:5], index=torch.tensor([7, 4, 0]))
    values = loss.running_margins.values
    assert len(values) == 8 and values[1] == first[1] and values[7] == loss.last.margins[0]
    assert values[4] == pytest.approx(0.5 * first[0].item() + 0.5 * loss.last.margins[1].item(), rel=1e-6)


@pytest.mark.parametrize("backend", ["auto", "tensor"])
def test_a_row_that_is_named_twice_keeps_its_last_margin(backend):
    loss, (logits, labels) = EnvelopeLoss(backend=backend, rows=9, **SETTINGS), batch()
    loss(logits, labels, index=torch.tensor([5, 3, 5, 3, 3, 5]))
    assert loss.running_margins.values[[3, 5]].equal(loss.last.margins[[4, 5]])


@pytest.mark.parametrize("base", ["cross_entropy", "elr"])
@pytest.mark.parametrize("backend", ["auto", "tensor"])
def test_only_training_changes_it(base, backend):
    loss, (logits, labels) = EnvelopeLoss(base, backend=backend, rows=6, **SETTINGS), batch()
    index = torch.arange(6)
    loss(logits, labels, index=index)
    kept = copy.deepcopy(loss.state_dict())
    assert kept
    with torch.no_grad():
        loss(-logits, labels, index=index)
    loss.eval()
    own = loss(-logits, labels, index=index)
    assert all(torch.equal(value, kept[name]) for name, value in loss.state_dict().items())
    # Without it the batch's own margins and predictions count.
    assert torch.equal(own, EnvelopeLoss(base, backend=backend, **SETTINGS)(-logits, labels))


def test_states():
    logits, labels = batch()
    index = torch.tensor([0, 2, 4, 6, 8, 9])
    loss = EnvelopeLoss("elr", **SETTINGS)
    loss(logits, labels, index=index)
    state = loss.state_dict()
    assert {name: tuple(value.shape) for name, value in state.items()} == {"running_margins.values": (10,), "elr_targets.values": (10, 3)}
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    loaded = torch.load(file)
    others = [EnvelopeLoss("elr", rows=rows, **SETTINGS) for rows in [None, 10, 4, 25]]
    for other in others:
        other.load_state_dict(loaded)
    others += [copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))]
    expected = loss(-logits, labels, index=index)
    for other in others:
        assert torch.equal(other(-logits, labels, index=index), expected)
        assert other.running_margins.values[:10].nan_to_num(9).equal(loss.running_margins.values.nan_to_num(9))
    assert len(others[3].running_margins.values) == 25 and others[3].running_margins.values[10:].isnan().all()
    # What was loaded is a copy.
    assert not torch.equal(loaded["elr_targets.values"], loss.elr_targets.values)


def test_states_of_other_losses():
    logits, labels = batch()
    loss = EnvelopeLoss(rows=6, **SETTINGS)
    loss(logits, labels, index=torch.arange(6))
    # From before there was a memory: no row has been met.
    loss.load_state_dict(EnvelopeLoss(start=0).state_dict())
    assert loss.running_margins.values.isnan().all()
    with pytest.raises(RuntimeError, match="running_margins.values: expected a tensor of 1 dimensions, found \\(2, 2\\)"):
        loss.load_state_dict({"running_margins.values": torch.zeros(2, 2)})
    with pytest.raises(RuntimeError, match="running_margins"):
        EnvelopeLoss(preset="paper").load_state_dict(loss.state_dict())
    elr = EnvelopeLoss("elr", start=0)
    elr.load_state_dict({"elr_targets.values": torch.zeros(6, 4)})
    with pytest.raises(ValueError, match="ELR's targets are held for 4 classes, but the logits have 3"):
        elr(logits, labels, index=torch.arange(6))


@pytest.mark.parametrize("backend", ["auto", "tensor"])
def test_refusals(backend):
    logits, labels = batch()
    for rows, index, words in [
        (6, [0, 1, 2, 3, 4, 6], "index 6 is out of range: expected row numbers of the training set, from 0 to 5, as rows=6 says"),
        (None, [0, 1, 2, 3, 4, -1], "index -1 is out of range: expected row numbers of the training set, from 0 on"),
        (6, [0, 1], r"index against rows: expected shape \(6,\), found \(2,\)"),
    ]:
        with pytest.raises(ValueError, match=words):
            EnvelopeLoss(backend=backend, rows=rows, **SETTINGS)(logits, labels, index=torch.tensor(index))
    with pytest.raises(TypeError, match="index must be row numbers"):
        EnvelopeLoss(backend=backend, **SETTINGS)(logits, labels, index=torch.rand(6))


def test_it_moves_with_its_module_and_is_no_buffer():
    loss = EnvelopeLoss(rows=6, **SETTINGS)
    assert not list(loss.running_margins.buffers())
    assert loss.double().running_margins.values.dtype is torch.float64
    assert loss.float().half().running_margins.values.dtype is torch.float32
    assert loss.to("meta").running_margins.values.is_meta
    logits, labels = batch()
    loss = EnvelopeLoss(**SETTINGS)
    loss(logits, labels, index=torch.arange(6, dtype=torch.int32))
    loss(logits.double(), labels, index=torch.arange(6))
    assert loss.running_margins.values.dtype is torch.float64


@pytest.mark.parametrize("base", ["sce", "elr", torch.nn.CrossEntropyLoss(reduction="none")], ids=str)
def test_one_graph_with_a_memory(base):
    torch._dynamo.reset()
    settings = {**SETTINGS, "lam": 10, "limit": 0.5, "fade": (-0.3, 0.9), "rows": 60}
    plain, loss = EnvelopeLoss(base, backend="tensor", **settings).double(), EnvelopeLoss(base, **settings).double()
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    for step, rows in enumerate([32, 48, 50]):
        generator = torch.Generator().manual_seed(step)
        logits = torch.randn(rows, 5, dtype=torch.float64, generator=generator, requires_grad=True)
        labels, index = torch.randint(0, 5, (rows,), generator=generator), torch.randperm(60, generator=generator)[:rows]
        found, expected = (
            (total, *torch.autograd.grad(total, logits))
            for total in (compiled(logits, labels, index=index), plain(logits, labels, index=index))
        )
        torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-13)
        torch.testing.assert_close(loss.state_dict(), plain.state_dict(), rtol=1e-12, atol=1e-14, equal_nan=True)


def test_a_graph_cannot_grow_the_memory():
    torch._dynamo.reset()
    compiled = torch.compile(EnvelopeLoss(**SETTINGS), backend="aot_eager", fullgraph=True)
    logits, labels = batch()
    with pytest.raises(Exception, match="rows=len\\(dataset\\)"):
        compiled(logits, labels, index=torch.arange(6))
