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
        for name, kind, mine, peer in [
            ("TorchCP 1.2", score, ours, torchcp),
            ("MAPIE 1.6 (double precision)", like_mapie, lambda: ours(wide, like_mapie), mapie),
        ]:
            kind = kind.replace("lac", "LAC").replace("aps_", "APS, ").replace("aps", "APS")
            found, expected = bench.compare(
                f"sets by {kind}, calibrated on 10,000, {rows:,} × {classes}, {name}", mine, peer, goal=5
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


def logistic(bench, rows=50_000, columns=256, classes=10, l2=1e-3):
    """The estimators as one calls them, on one objective and each to its own tolerance, which is 1e-4 on both sides."""
    import data
    from sklearn.linear_model import LogisticRegression

    paths = data.Folder(bench.folder).get(rows, columns, classes)
    x, y = np.load(paths["x"]), np.load(paths["y"])

    def ours(**settings):
        whole = {"model": "linear", "standardise": False, "validation_share": 0.0, "n_jobs": 1}
        return lambda: cmrm.CMRMClassifier(**whole, **settings).fit(x, y)

    def theirs():
        return LogisticRegression(C=1 / (rows * l2), max_iter=1000).fit(x, y)

    def least(model):
        """The objective, by what the model says of no features and of each by itself."""
        biases = model.decision_function(np.zeros((1, columns), np.float32))
        weights = (model.decision_function(np.eye(columns, dtype=np.float32)) - biases).T
        return data.objective(paths, np.concatenate([weights.ravel(), biases.ravel()]), l2)

    sides = [("the loss alone", {"lam": 0.0, "l2": l2}), ("`robust`", {"l2": l2}), ("`robust`, penalty by the rows", {})]
    for name, settings in sides:
        case = f"estimator by L-BFGS, {name}, {rows:,} × {columns}, {classes} classes, scikit-learn's LogisticRegression"
        mine, peer = bench.compare(case, ours(**settings), theirs, goal=2 if name == sides[0][0] else None)
        text = f"accuracy {mine.score(x, y):.4f} and {peer.score(x, y):.4f}"
        bench.remark(text + (f", objective {least(mine):.6f} and {least(peer):.6f}" if "lam" in settings else ""))


class Fits:
    """Fits one draw of the data after another, so that every turn is a new one, and keeps the models for judging."""

    def __init__(self, make, draws):
        self.make, self.draws, self.models, self.calls = make, draws, {}, 0

    def __call__(self):
        turn = self.calls % len(self.draws)
        self.calls += 1
        x, labels, _, _ = self.draws[turn]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an iteration limit that is reached
            self.models[turn] = self.make().fit(x, labels)

    def accuracies(self):
        return np.array([self.models[turn].score(x, y) for turn, (_, _, x, y) in enumerate(self.draws)])


def estimator(bench):
    """Labels partly made wrong, judged by right ones.

    Both sides learn from the same standardised rows: scikit-learn's hold none back, so ours holds none back either. The
    networks are alike, one hidden layer of 100. The rest is by default.
    """
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def linear_teacher(rows, columns, seed, classes=10):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((rows, columns), np.float32)
        return x, (x @ rng.standard_normal((columns, classes), np.float32)).argmax(1)

    def draw(data, share, seed):
        x, y = data(seed)
        test, train = np.split(np.random.default_rng(seed + 1).permutation(len(y)), [len(y) // 5])
        noisy = cmrm.inject_noise(y[train], f"symmetric:{share}", seed=seed).labels if share else y[train]
        return x[train], noisy, x[test], y[test]

    def ours(**settings):
        return lambda: cmrm.CMRMClassifier(validation_share=0.0, n_jobs=1, **settings)

    def logistic_regression():
        return make_pipeline(StandardScaler(), LogisticRegression())

    def network():
        return make_pipeline(StandardScaler(), MLPClassifier(random_state=0))

    sides = {
        "LogisticRegression": (ours(model="linear"), logistic_regression),
        "MLPClassifier": (ours(hidden=(100,)), network),
    }
    sets = {
        "digits": lambda seed: load_digits(return_X_y=True),
        "20,000 × 50": lambda seed: linear_teacher(25_000, 50, seed),
        "10,000 × 256": lambda seed: linear_teacher(12_500, 256, seed),
    }
    turns = min(bench.repeats, 5)
    for (what, data), share in itertools.product(sets.items(), [0.0, 0.2, 0.4]):
        draws = [draw(data, share, seed) for seed in range(turns)]
        for name, makes in sides.items():
            fits = [Fits(make, draws) for make in makes]
            case = f"estimator, {what}, {share:.0%} wrong, scikit-learn's {name}"
            bench.compare(case, *fits, goal=None, repeats=turns)
            mine, theirs = (side.accuracies() for side in fits)
            gains = 100 * (mine - theirs)
            text = f"accuracy {mine.mean():.4f} and {theirs.mean():.4f}: {gains.mean():+.2f} points, worst {gains.min():+.2f}"
            # Where no label is wrong there is nothing for the envelope to find, and no goal.
            bench.remark(text, *(["as accurate", gains.mean() >= 0] if share else []))


ALL = [audit, conformal, loss, logistic, estimator]
