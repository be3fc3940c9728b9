"""The filter on the base loss, running margins, limit and fade: the definition, its properties, and both paths together."""

import itertools

import pytest
import torch
from torch.nn.functional import cross_entropy

from cmrm.torch import EnvelopeLoss

ROWS, CLASSES = 48, 5
# Each form has what it names and nothing of the preset's.
NOTHING = {"filter_base": False, "running": False, "limit": False, "fade": False}
FORMS = [
    {"filter_base": True},
    {"filter_base": True, "running": 0.7},
    {"running": 0.7, "fade": (-0.3, 0.4)},
    {"limit": 0.5},
    {"limit": 1e-3, "filter_base": True},
    {"fade": (-0.3, 0.9), "filter_base": True},
    {"fade": {"margin": 0.2, "share": 1.0}},
    {"filter_base": True, "running": 0.9, "limit": 1.0, "fade": (-0.3, 0.9)},
    {"filter_base": True, "running": 0.0, "limit": 0.2, "scope": "batch", "normaliser": "weights"},
    {"filter_base": True, "running": 0.7, "limit": 1.0, "filter": "hard"},
    {"filter_base": True, "limit": 1.0, "filter": "off", "scale": "fixed"},
    {"limit": 0.1, "margin": "logit"},
    {"limit": 0.1, "margin": "loss", "scale": "fixed", "normaliser": "weights"},
]
BASES = ["cross_entropy", "focal", "gce", "sce", "label_smoothing", "elr", "ldam", "hinge"]


def own_loss(logits, labels):
    """A loss that the library does not know."""
    return (cross_entropy(logits, labels, reduction="none") + 1).log() + 0.1 * logits.tanh().square().mean(1)


def steps(count=3, dtype=torch.float64, rows=ROWS, seed=0):
    """Batches of half of the rows each, in another order every epoch."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, CLASSES, (rows,), generator=generator)
    # The first class has rows enough for a quantile of its own.
    labels[: rows // 2] = 0
    for _ in range(count):
        order = torch.randperm(rows, generator=generator)
        for index in order.split((rows + 1) // 2):
            logits = 2 * torch.randn(len(index), CLASSES, dtype=dtype, generator=generator)
            yield logits, labels[index], torch.rand(len(index), dtype=dtype, generator=generator), index


def made(base, **settings):
    counts = [40, 10, 0, 5, 9] if base == "ldam" else None
    loss = EnvelopeLoss(base, class_counts=counts, start=1, **{"lam": 10, **NOTHING, **settings})
    loss.set_epoch(0, 2)
    return loss


def walk(loss, *, dtype=torch.float64, weighted=False, indexed=True, shrink=1.0):
    """Everything that the loss says in its first epoch, with the envelope off, and in two with the envelope on."""
    said = []
    for step, (logits, labels, row_weights, index) in enumerate(steps(dtype=dtype)):
        loss.set_epoch(min(step // 2, 1), 2)
        logits = (logits * shrink).requires_grad_()
        total = loss(logits, labels, row_weights if weighted else None, index=index if indexed else None)
        (3 * total).backward()
        last = loss.last
        scalars = torch.tensor([float(each or 0) for each in (total.detach(), last.base, last.risk, last.lam, last.tau)], dtype=dtype)
        said += [scalars, loss.last.margins, loss.last.weights, logits.grad / 3]
    return [*said, *loss.state_dict().values()]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("base", BASES)
def test_the_kernel_and_the_tensors_agree(base, form):
    for dtype, weighted, indexed in itertools.product([torch.float64, torch.float32], [False, True], [False, True]):
        found = [
            walk(made(base, backend=backend, **form), dtype=dtype, weighted=weighted, indexed=indexed, shrink=1 / 30 if base == "ldam" else 1)
            for backend in ["auto", "tensor"]
        ]
        # As in test_paths.py: LDAM multiplies a difference of numbers near one by its scale.
        tolerance = 1e-12 if dtype is torch.float64 else 2e-4 if base == "ldam" else 2e-5
        for kernel, tensors in zip(*found, strict=True):
            torch.testing.assert_close(kernel, tensors, rtol=tolerance, atol=tolerance, equal_nan=True)


def naive(loss, base, logits, labels, row_weights, running):
    """The definition, row by row; ``running`` are the running margins of the rows or None. Returns total and gradient."""
    config = loss.config
    z = logits.clone().requires_grad_()
    losses, s = base(z, labels), z.softmax(1)
    others = s.scatter(1, labels[:, None], -1)
    margins = s.gather(1, labels[:, None])[:, 0] - others.max(1).values
    omega = torch.ones(len(z), dtype=z.dtype) if row_weights is None else row_weights

    def threshold(m, y):
        mine = m[labels == y] if config["scope"] == "class" and (labels == y).sum() >= 8 else m
        rank = min(max(-int(-config["alpha"] * (len(mine) + 1) // 1), 1), len(mine))
        return min(mine.sort().values[rank - 1].item(), config["ceiling"])

    def weights(m):
        taus = torch.tensor([threshold(m.detach(), y) for y in labels], dtype=z.dtype)
        return torch.sigmoid((m - taus) / config["temperature"])

    M = margins.detach() if running is None else running
    f = 0.0
    if config["fade"]:
        f = max(0.0, 1 - (omega[M < config["fade"]["margin"]].sum() / omega.sum()).item() / config["fade"]["share"])
    w = (f + (1 - f) * weights(M)) * omega if config["filter_base"] else omega
    B = (w * losses).sum() / w.sum()
    doubt = (omega * (margins.detach() < 0)).sum() / omega.sum()
    R = -(omega * weights(margins) * margins).sum() / omega.sum() * doubt
    by_base, by_risk = (torch.autograd.grad(each, z, retain_graph=True)[0] for each in (B, R))
    lam = config["lambda"] * (1 - f)
    if config["limit"] and by_risk.abs().sum() > 0:
        lam = min(lam, config["limit"] * (by_base.abs().sum() / by_risk.abs().sum()).item())
    return (B + lam * R).item(), by_base + lam * by_risk, lam


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", FORMS[:8], ids=str)
@pytest.mark.parametrize(
    ("base", "rows"), [("cross_entropy", lambda z, y: cross_entropy(z, y, reduction="none")), (own_loss, own_loss)], ids=["named", "own"]
)
def test_the_definition(base, rows, form, weighted):
    loss, beta, known = made(base, **form), form.get("running"), {}
    for step, (logits, labels, row_weights, index) in enumerate(steps(count=4)):
        loss.set_epoch(min(step // 2, 1), 2)
        running, row_weights = None, row_weights if weighted else None
        if beta is not None:
            s = logits.softmax(1)
            margins = s.gather(1, labels[:, None])[:, 0] - s.scatter(1, labels[:, None], -1).max(1).values
            for i, m in zip(index.tolist(), margins.tolist(), strict=True):
                known[i] = beta * known[i] + (1 - beta) * m if i in known else m
            running = torch.tensor([known[i] for i in index.tolist()], dtype=torch.float64)
        z = logits.clone().requires_grad_()
        total = loss(z, labels, row_weights, index=index)
        total.backward()
        if not loss.active:
            continue
        expected, by_logits, lam = naive(loss, rows, logits, labels, row_weights, running)
        assert total.item() == pytest.approx(expected, rel=1e-11)
        assert float(loss.last.lam) == pytest.approx(lam, rel=1e-11)
        torch.testing.assert_close(z.grad, by_logits, rtol=1e-10, atol=1e-13)
    if beta is not None:
        assert loss.running_margins.values.tolist() == pytest.approx([known[i] for i in range(ROWS)], rel=1e-12)


PATHS = pytest.mark.parametrize(("base", "backend"), [("cross_entropy", "auto"), ("cross_entropy", "tensor"), (own_loss, "auto")])
FULL = {"filter_base": True, "running": 0.7, "limit": 1.0, "fade": (-0.3, 0.1), "start": 0}


def gradient(loss, logits, labels, row_weights=None, index=None):
    z = logits.clone().requires_grad_()
    loss(z, labels, row_weights, index=index).backward()
    return z.grad


@PATHS
def test_without_doubt_the_step_is_the_base_losss(base, backend):
    loss, plain = (EnvelopeLoss(base, backend=backend, **settings) for settings in [FULL, {"start": 1}])
    plain.set_epoch(0, 2)
    for logits, labels, row_weights, index in steps():
        logits = logits.scatter_add(1, labels[:, None], torch.full((len(labels), 1), 9.0, dtype=logits.dtype))
        for weights in [None, row_weights]:
            assert torch.equal(gradient(loss, logits, labels, weights, index), gradient(plain, logits, labels, weights))
            assert float(loss.last.lam) == 0 and (loss.last.weights == 1).all()


@PATHS
@pytest.mark.parametrize("limit", [1e-6, 0.3, 1.0])
def test_the_risk_never_outvotes_the_base(base, backend, limit):
    settings = {"start": 0, "filter_base": True, "running": False, "fade": False, "backend": backend}
    for logits, labels, row_weights, _ in steps():
        limited, alone = EnvelopeLoss(base, lam=50, limit=limit, **settings), EnvelopeLoss(base, lam=0, **settings)
        both, by_base = (gradient(loss, logits, labels, row_weights) for loss in (limited, alone))
        assert (both - by_base).abs().sum() <= limit * by_base.abs().sum() * (1 + 1e-9)
        assert 0 < float(limited.last.lam) < 50
    # With nothing to limit the setting changes nothing.
    free, far = (EnvelopeLoss(base, limit=limit, **settings) for limit in [False, 1e9])
    assert torch.equal(gradient(free, logits, labels), gradient(far, logits, labels))


@PATHS
def test_the_order_of_rows_is_no_matter(base, backend):
    losses = [EnvelopeLoss(base, backend=backend, **FULL) for _ in range(2)]
    for logits, labels, row_weights, index in steps():
        order = torch.randperm(len(labels))
        plain = gradient(losses[0], logits, labels, row_weights, index)
        turned = gradient(losses[1], logits[order], labels[order], row_weights[order], index[order])
        torch.testing.assert_close(turned, plain[order], rtol=1e-11, atol=1e-14)


@PATHS
@pytest.mark.parametrize("rows", [1, 30])
def test_one_row_and_one_class(base, backend, rows):
    logits = torch.randn(rows, CLASSES, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    labels = torch.zeros(rows, dtype=torch.int64)
    found = gradient(EnvelopeLoss(base, backend=backend, **FULL), logits, labels, None, torch.arange(rows))
    assert found.isfinite().all() and found.abs().sum() > 0


def test_weights_are_in_range_and_normalised():
    for logits, labels, row_weights, index in steps():
        loss = EnvelopeLoss(lambda z, y: torch.ones_like(z[:, 0]) + 0 * z[:, 0], lam=0, **{**FULL, "fade": (-0.3, 0.9)})
        loss(logits, labels, row_weights, index=index)
        assert float(loss.last.base) == pytest.approx(1, abs=1e-14)
        assert ((loss.last.weights > 0) & (loss.last.weights <= 1)).all()


def test_the_second_derivative():
    logits, labels, row_weights, _ = next(steps(rows=16))
    loss = EnvelopeLoss(backend="tensor", ceiling=-0.95, start=0, filter_base=True, fade=(-0.3, 0.9))
    still = EnvelopeLoss(backend="tensor", ceiling=-0.95, start=0, filter_base=False, fade=False, limit=1e9)
    # The weights of the base loss have no gradient, so only a loss without them equals finite differences.
    assert torch.autograd.gradgradcheck(lambda z: still(z, labels, row_weights), logits.requires_grad_())
    (first,) = torch.autograd.grad(loss(logits, labels), logits, create_graph=True)
    assert torch.autograd.grad(first.square().sum(), logits)[0].isfinite().all()


def test_without_gradients_the_value_is_the_same():
    for base in ["cross_entropy", own_loss, "elr"]:
        loss = EnvelopeLoss(base, backend="tensor", start=0, limit=0.1, filter_base=True)
        logits, labels, row_weights, _ = next(steps())
        expected = loss(logits.clone().requires_grad_(), labels, row_weights)
        with torch.no_grad():
            assert torch.equal(loss(logits, labels, row_weights), expected)
        with torch.inference_mode():
            assert torch.equal(loss(logits * 1, labels * 1, row_weights), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_and_a_scaler(dtype):
    logits, labels, _, index = next(steps(dtype=torch.float32))
    half, single = logits.to(dtype).requires_grad_(), logits.to(dtype).float().requires_grad_()
    losses = [EnvelopeLoss(**FULL) for _ in range(2)]
    totals = [loss(z, labels, index=index) for loss, z in zip(losses, (half, single), strict=True)]
    assert torch.equal(*totals) and totals[0].dtype is torch.float32
    # What a GradScaler does: the loss times a large number, the gradient divided by it.
    (totals[0] * 1024).backward()
    totals[1].backward()
    assert half.grad.dtype is dtype
    torch.testing.assert_close(half.grad.float() / 1024, single.grad, rtol=2e-2, atol=1e-4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert EnvelopeLoss(**FULL)(torch.nn.Linear(CLASSES, CLASSES)(logits), labels, index=index).isfinite()
