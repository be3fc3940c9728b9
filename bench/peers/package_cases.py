"""What is compared, and the goals."""

import sys
import types
import warnings

import audit_speed
import data
import numpy as np

import cmrm


def audit(bench, rows=1_000_000, classes=100):
    from cleanlab.filter import find_label_issues

    audit_speed.write_case(bench.folder, rows, classes)
    p, y = np.load(bench.folder / "p.npy"), np.load(bench.folder / "y.npy")
    ours, theirs = bench.compare(
        f"`find_label_issues`, {rows:,} × {classes}, cleanlab 2.9",
        lambda: cmrm.find_label_issues(y, p),
        lambda: find_label_issues(y, p, n_jobs=1),
        goal=10,
        repeats=min(bench.repeats, 5),
    )
    bench.remark(f"{np.sum(ours):,} and {np.sum(theirs):,} issues, {np.mean(ours == theirs):.5%} of rows alike")


def conformal(bench, rows=100_000, classes=100):
    import torch
    from cmrm import conformal

    # TorchCP imports it for a training loss; its compiled part is not to be had for every PyTorch.
    sys.modules["torchsort"] = types.SimpleNamespace(soft_rank=None, soft_sort=None)
    from mapie.classification import SplitConformalClassifier
    from sklearn.base import BaseEstimator, ClassifierMixin
    from torchcp.classification.predictor import SplitPredictor
    from torchcp.classification.score import APS, LAC

    class Given(ClassifierMixin, BaseEstimator):
        """MAPIE asks a model; this one's answers are its input."""

        def __init__(self):
            self.classes_ = np.arange(classes)

        def fit(self, X, y):
            return self

        def predict_proba(self, X):
            return X

        def predict(self, X):
            return X.argmax(1)

        def __sklearn_is_fitted__(self):
            return True

    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows + 10_000)
    logits = 1.5 * rng.standard_normal((len(y), classes), np.float32)
    # A model that is right four times in five.
    logits[np.arange(len(y)), y] += 5.5
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    # MAPIE refuses rows that are one only to single precision.
    wide = p.astype(np.float64)
    wide /= wide.sum(1, keepdims=True)
    p_torch, y_torch = torch.from_numpy(p), torch.from_numpy(y)
    for score in ["lac", "aps"]:

        def ours(p=p):
            return conformal.calibrate(p[:10_000], y[:10_000], coverage=0.9, score=score).predict(p[10_000:])

        def torchcp():
            kind = LAC(score_type="identity") if score == "lac" else APS(score_type="identity", randomized=False)
            predictor = SplitPredictor(kind, alpha=0.1)
            predictor.calculate_threshold(p_torch[:10_000], y_torch[:10_000])
            return predictor.predict_with_logits(p_torch[10_000:]).numpy().astype(bool)

        def mapie():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = SplitConformalClassifier(Given(), confidence_level=0.9, conformity_score=score, prefit=True)
                model.conformalize(wide[:10_000], y[:10_000])
                return model.predict_set(wide[10_000:])[1][:, :, 0]

        for name, mine, peer in [("TorchCP 1.2", ours, torchcp), ("MAPIE 1.6", lambda: ours(wide), mapie)]:
            found, expected = bench.compare(
                f"sets by {score.upper()}, calibrated on 10,000, {rows:,} × {classes}, {name}", mine, peer, goal=5
            )
            bench.remark(f"{found.sum(1).mean():.4f} and {expected.sum(1).mean():.4f} classes a set")


def loss(bench):
    import pytorch_envelope
    import torch
    from cmrm.torch import EnvelopeLoss

    torch.set_num_threads(1)
    for preset in ["paper", "robust"]:
        for classes in [10, 100]:
            torch.manual_seed(0)
            logits = torch.randn(128, classes, requires_grad=True)
            labels = torch.randint(0, classes, (128,))
            fused = EnvelopeLoss("cross_entropy", preset=preset, start=0)
            plain = getattr(pytorch_envelope, preset)

            def step(function):
                logits.grad = None
                total = function(logits, labels)
                total.backward()
                return total

            bench.compare(
                f"loss, `{preset}`, forward and backward, 128 × {classes}, plain PyTorch",
                lambda: step(fused),
                lambda: step(plain),
                goal=3,
                calls=500,
            )
            found, expected = (
                torch.cat([step(function).detach()[None], logits.grad.flatten()]) for function in [fused, plain]
            )
            bench.remark(f"value and gradient at most {(found - expected).abs().max():.0e} apart")


def estimator(bench):
    """Labels of which a fifth are wrong, judged by clean ones; each side with its own defaults but for what is named."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    sides = {
        "LogisticRegression": (
            lambda: cmrm.CMRMClassifier(model="linear", optimiser="lbfgs", epochs=100, l2=1e-3, n_jobs=1),
            lambda: LogisticRegression(),
        ),
        "MLPClassifier (100), 20 epochs": (
            lambda: cmrm.CMRMClassifier(hidden=(100,), epochs=20, batch_size=200, n_jobs=1),
            lambda: MLPClassifier((100,), max_iter=20, batch_size=200, random_state=0),
        ),
    }
    for rows, columns, classes in [(20_000, 50, 10), (50_000, 256, 10)]:
        x, y = data.make(rows, columns, classes)
        rng = np.random.default_rng(1)
        train, test = np.split(rng.permutation(rows), [rows - rows // 5])
        noisy = cmrm.inject_noise(y[train], "symmetric:0.2", seed=0).labels
        for name, (ours, theirs) in sides.items():

            def fit(make):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # an iteration limit that is reached
                    return make().fit(x[train], noisy)

            found = bench.compare(
                f"estimator, {rows - rows // 5:,} × {columns}, {classes} classes, scikit-learn's {name}",
                lambda: fit(ours),
                lambda: fit(theirs),
                goal=None,
                repeats=min(bench.repeats, 5),
            )
            scores = [model.score(x[test], y[test]) for model in found]
            bench.remark(f"accuracy {scores[0]:.4f} and {scores[1]:.4f}")


ALL = [audit, conformal, loss, estimator]
