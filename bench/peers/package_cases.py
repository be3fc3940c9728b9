"""What is compared, and the goals."""

import itertools
import sys
import types
import warnings

import audit_speed
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

        def ours(p=p, score=score):
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
                # MAPIE draws numbers for the scores of APS.
                drawn = {"include_last_label": "randomized"} if score == "aps" else {}
                return model.predict_set(wide[10_000:], conformity_score_params=drawn)[1][:, :, 0]

        like_mapie = "aps_randomised" if score == "aps" else score
        for name, mine, peer in [("TorchCP 1.2", ours, torchcp), ("MAPIE 1.6", lambda: ours(wide, like_mapie), mapie)]:
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
    """Labels partly made wrong, judged by right ones. Both sides by their own defaults, on standardised features."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def linear_teacher(rows, columns, classes=10):
        rng = np.random.default_rng(0)
        x = rng.standard_normal((rows, columns), np.float32)
        return x, (x @ rng.standard_normal((columns, classes), np.float32)).argmax(1)

    sides = {
        "LogisticRegression": (
            lambda: cmrm.CMRMClassifier(model="linear", n_jobs=1),
            lambda: make_pipeline(StandardScaler(), LogisticRegression()),
        ),
        "MLPClassifier": (
            lambda: cmrm.CMRMClassifier(n_jobs=1),
            lambda: make_pipeline(StandardScaler(), MLPClassifier(random_state=0)),
        ),
    }
    digits = load_digits(return_X_y=True)
    sets = {"digits": digits, "20,000 × 50": linear_teacher(25_000, 50), "10,000 × 256": linear_teacher(12_500, 256)}
    for (what, (x, y)), share in itertools.product(sets.items(), [0.2, 0.4]):
        rows = np.random.default_rng(1).permutation(len(y))
        test, train = np.split(rows, [len(y) // 5])
        noisy = cmrm.inject_noise(y[train], f"symmetric:{share}", seed=0).labels
        for name, (ours, theirs) in sides.items():

            def fit(make):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # an iteration limit that is reached
                    return make().fit(x[train], noisy)

            models = bench.compare(
                f"estimator, {what}, {share:.0%} wrong, scikit-learn's {name}",
                lambda: fit(ours),
                lambda: fit(theirs),
                goal=None,
                repeats=min(bench.repeats, 3),
            )
            scores = [model.score(x[test], y[test]) for model in models]
            bench.remark(f"accuracy {scores[0]:.4f} and {scores[1]:.4f}", goal="as accurate", met=scores[0] >= scores[1])


ALL = [audit, conformal, loss, estimator]
