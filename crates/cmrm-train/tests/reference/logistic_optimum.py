"""Optima of L2-regularised logistic regression from scikit-learn.

Data: `load_digits` (1797 x 64, 10 classes) and `load_breast_cancer` (569 x 30, 2 classes), all rows, in the order of the
package. Standardised by column: minus the mean, divided by the population standard deviation (divisor n); a column with
deviation zero is divided by one (StandardScaler).

Two ways to weigh the penalty, for the same C and with an unregularised bias:
    sklearn: mean cross-entropy + |W|^2 / (2 C n)      (scikit-learn minimises C n times this)
    method:  mean cross-entropy + |W|^2 / (2 C)        (what this project uses: equal to scikit-learn's with C / n)
and, for two classes, two parametrisations:
    one_logit: one weight vector, as scikit-learn does; softmax: one weight vector per class. The softmax optimum is
    w1 = -w0 = w / 2, whose penalty is half as large, so it is scikit-learn's optimum with twice the C.
`objective` is the value at the optimum in the stated definition, `gradient` the largest entry of its gradient there.
"""

import numpy
import sklearn
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from common import grid, numbers, write


def objective(x, y, weights, bias, ridge):
    """Mean cross-entropy + ridge/2 |W|^2 of a softmax with rows of `weights`, and the largest entry of its gradient."""
    logits = x @ weights.T + bias
    logits -= logits.max(axis=1, keepdims=True)
    log_sum = numpy.log(numpy.exp(logits).sum(axis=1))
    rows = numpy.arange(len(y))
    entropy = (log_sum - logits[rows, y]).mean()
    slope = numpy.exp(logits - log_sum[:, None])
    slope[rows, y] -= 1.0
    slope /= len(y)
    gradient = max(abs(slope.T @ x + ridge * weights).max(), abs(slope.sum(axis=0)).max())
    return entropy, entropy + 0.5 * ridge * (weights**2).sum(), gradient


def fit(x, y, c):
    model = LogisticRegression(C=c, solver="lbfgs", tol=1e-10, max_iter=10000).fit(x, y)
    return model, model.coef_, model.intercept_


def optimum(x, y, c, penalty, form):
    n, classes = len(y), int(y.max()) + 1
    divisor = c * n if penalty == "sklearn" else c  # the penalty is |W|^2 / (2 divisor)
    ridge = 1.0 / divisor
    model, coef, intercept = fit(x, y, divisor / n * (2.0 if classes == 2 and form == "softmax" else 1.0))
    if classes == 2 and form == "softmax":
        weights, bias = numpy.vstack([-coef / 2.0, coef / 2.0]), numpy.array([-intercept[0] / 2.0, intercept[0] / 2.0])
        entropy, value, gradient = objective(x, y, weights, bias, ridge)
    elif classes == 2:
        weights, bias = numpy.vstack([numpy.zeros_like(coef), coef]), numpy.array([0.0, intercept[0]])
        entropy, value, _ = objective(x, y, weights, bias, ridge)
        residual = 1.0 / (1.0 + numpy.exp(-(x @ coef[0] + intercept[0]))) - y
        gradient = max(abs(x.T @ residual / n + ridge * coef[0]).max(), abs(residual.mean()))
    else:
        weights, bias = coef, intercept
        entropy, value, gradient = objective(x, y, weights, bias, ridge)
    return {
        "c": c, "penalty": penalty, "form": form, "mean_cross_entropy": entropy, "objective": value, "gradient": gradient,
        "weights_squared_norm": float((weights**2).sum()), "train_accuracy": float(model.score(x, y)),
    }, weights, bias


def record(name, x, y):
    forms = ["one_logit", "softmax"] if y.max() == 1 else ["softmax"]
    optima = [optimum(x, y, c, penalty, form)[0] for c in [1.0, 10.0] for penalty in ["sklearn", "method"] for form in forms]
    return {"name": name, "rows": x.shape[0], "columns": x.shape[1], "classes": int(y.max()) + 1, "optima": optima}


def small():
    """A problem that is stored whole: 60 rows, 4 columns, 3 classes, used as it is (not standardised)."""
    generator = numpy.random.default_rng(5)
    x = grid(generator, (60, 4), 1.0)
    y = (x @ generator.normal(0.0, 1.5, (4, 3)) + generator.normal(0.0, 1.0, (60, 3))).argmax(axis=1)
    found, weights, bias = optimum(x, y, 10.0, "method", "softmax")
    # scikit-learn leaves the common shift of the biases free; a mean of zero picks one of the optima.
    return {"features": numbers(x), "columns": 4, "classes": 3, "labels": [int(label) for label in y],
            "optimum": found, "weights": numbers(weights), "bias": numbers(bias - bias.mean())}


def main():
    sets = []
    for name, load in [("digits", load_digits), ("breast-cancer", load_breast_cancer)]:
        x, y = load(return_X_y=True)
        sets.append(record(name, StandardScaler().fit_transform(x), y))
    write("logistic_optimum.json", {
        "scikit_learn": sklearn.__version__, "standardised": "mean 0, population deviation 1, constant columns divided by 1",
        "sets": sets, "small": small(),
    })


if __name__ == "__main__":
    main()
