"""What is refused, and in which words."""

import math

import pytest
import torch

from cmrm.torch import EnvelopeLoss

Z, Y = torch.zeros(4, 3), torch.tensor([0, 1, 2, 0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"base": "l2"}, "unknown loss 'l2': expected one of cross-entropy, gce"),
        ({"base": "focal:-1"}, r"gamma = -1 is out of range: expected a finite number, at least 0"),
        ({"base": "hinge:1"}, "the loss hinge takes no parameter"),
        ({"base": {"name": "gce", "Q": 1}}, "unknown field `Q`"),
        ({"base": "ldam"}, "the list of class counts is empty"),
        ({"base": "ldam", "class_counts": [1, -1]}, "class count = -1 is out of range"),
        ({"preset": "best"}, "unknown preset 'best': expected paper, authors or robust"),
        ({"alpha": 1}, r"alpha = 1 is out of range: expected a number strictly inside \(0, 1\)"),
        ({"lam": -1}, "lambda = -1 is out of range"),
        ({"lam": math.nan}, "lambda = nan is out of range"),
        ({"temperature": 0}, "temperature = 0 is out of range"),
        ({"margin": "probabilities"}, "margin: unknown variant `probabilities`, expected one of `probability`"),
        ({"scope": "row"}, "scope: unknown variant `row`"),
        ({"start": 1.5}, r"start fraction = 1.5 is out of range: expected a number in \[0, 1\]"),
        ({"start": -1}, "start: invalid value: integer `-1`"),
        ({"ceiling": math.nan}, "ceiling = nan is out of range"),
        ({"margin": "loss"}, "scale fixed where the margin is the loss"),
        ({"running": 1}, r"running = 1 is out of range: expected a number in \[0, 1\)"),
        ({"running": "yes"}, "running: invalid type: string"),
        ({"limit": 0}, "limit = 0 is out of range: expected a finite number above 0"),
        ({"limit": math.nan}, "limit = nan is out of range"),
        ({"fade": (2, 0.1)}, r"fade margin = 2 is out of range: expected a number in \[-1, 1\]"),
        ({"fade": {"margin": -0.3, "share": 0}}, r"fade share = 0 is out of range: expected a number in \(0, 1\]"),
        ({"fade": {"margin": -0.3}}, "fade: missing field `share`"),
        ({"fade": (math.nan, 0.1)}, "fade margin = nan is out of range"),
        ({"filter_base": True, "margin": "logit"}, "margin probability with filter_base, running or fade"),
        ({"running": 0.7, "rows": 0}, "rows = 0 is out of range: expected the number of training rows, at least 1"),
        ({"backend": "cuda"}, "unknown backend 'cuda': expected auto or tensor"),
    ],
    ids=str,
)
def test_settings(arguments, words):
    with pytest.raises(ValueError, match=words):
        EnvelopeLoss(**arguments)


@pytest.mark.parametrize("arguments", [{"base": 3}, {"start": "soon"}, {"start": True}, {"alpha": [0.1]}, {"fade": 0.1}, {"fade": "no"}], ids=str)
def test_types(arguments):
    with pytest.raises(TypeError):
        EnvelopeLoss(**arguments)


@pytest.mark.parametrize("backend", ["auto", "tensor"])
@pytest.mark.parametrize(
    ("logits", "labels", "row_weights", "words"),
    [
        (Z[:0], Y[:0], None, "the batch is empty; at least one row is needed"),
        (Z[:, :1], Y, None, "classes = 1 is out of range: expected at least two classes"),
        (Z, Y[:3], None, "labels against rows of logits: expected 4, found 3"),
        (Z, Y, torch.ones(3), "row weights against rows: expected 4, found"),
        (Z[0], Y, None, r"expected logits of shape \(rows, classes\)"),
        (Z, Y[None], None, r"labels of shape \(rows,\)"),
    ],
)
def test_shapes(logits, labels, row_weights, words, backend):
    with pytest.raises(ValueError, match=words):
        EnvelopeLoss(start=0, backend=backend)(logits, labels, row_weights)


@pytest.mark.parametrize(
    ("logits", "labels", "row_weights", "words"),
    [
        (Z, torch.tensor([0, 1, 3, 0]), None, "row 2: label 3 is not below the number of classes 3"),
        (Z, torch.tensor([0, -100, 2, 0]), None, "label at row 1 is -100: expected a class index"),
        (Z, torch.tensor([0, 1, 2, 2**40]), None, "label at row 3 is 1099511627776"),
        (Z + torch.tensor([0, math.nan, 0]), Y, None, "logit at row 0, column 1 is NaN; only finite numbers are allowed"),
        (Z + torch.tensor([0, math.inf, 0]), Y, None, "logit at row 0, column 1 is inf"),
        (Z, Y, torch.tensor([1, 1, -1, 1.0]), "row weight at row 2 is -1: expected a finite number, at least 0"),
        (Z, Y, torch.zeros(4), "sum of the row weights = 0 is out of range"),
    ],
)
def test_numbers(logits, labels, row_weights, words):
    for base in ["cross_entropy", lambda z, y: z.sum(1)]:
        with pytest.raises(ValueError, match=words):
            EnvelopeLoss(base, start=0)(logits, labels, row_weights)


def test_dtypes():
    loss = EnvelopeLoss(start=0)
    with pytest.raises(TypeError, match="labels must be class indices"):
        loss(Z, Y.float())
    with pytest.raises(TypeError, match="logits must be floating-point numbers"):
        loss(Z.long(), Y)


@pytest.mark.parametrize("backend", ["auto", "tensor"])
def test_a_base_loss_without_rows(backend):
    for base in [torch.nn.CrossEntropyLoss(), lambda z, y: z, lambda z, y: 1.0]:
        with pytest.raises(ValueError, match='one number per row.*reduction="none"'):
            EnvelopeLoss(base, start=0, backend=backend)(Z, Y)


def test_a_base_loss_that_is_not_finite():
    loss = EnvelopeLoss(lambda z, y: z[:, 0] / 0, preset="authors", margin="loss", start=0)
    with pytest.raises(ValueError, match="loss at row 0, column 0 is NaN"):
        loss(Z, Y)
    with pytest.raises(ValueError, match="row 2: label 7 is not below the number of classes 3"):
        EnvelopeLoss(lambda z, y: z[:, 0], preset="authors", margin="loss", start=0)(Z, torch.tensor([0, 1, 7, 0]))
