"""Classical estimates of the share of wrong labels, from labels and out-of-sample probabilities `[rows, classes]`."""

import numpy as np
from sklearn.mixture import GaussianMixture

STEPS = 200
TINY = 1e-9


def anchor_points(observed, p, quantile):
    """Patrini and others (2017): a row that surely is of a class shows what the class is observed as.

    The surest row of a class, or the one at a quantile of its probabilities, so that one odd row does not decide.
    """
    rows, classes = p.shape
    place = max(int(np.ceil(quantile * rows)) - 1, 0)
    transition = p[[np.argsort(p[:, k], kind="stable")[place] for k in range(classes)]]
    return share_off_diagonal(transition, np.bincount(observed, minlength=classes) / rows)


def share_off_diagonal(transition, observed_shares):
    """The share of wrong labels if classes are observed as the matrix says: one minus its diagonal, weighted by the true shares."""
    shares = np.linalg.lstsq(transition.T, observed_shares, rcond=None)[0].clip(TINY)
    return 1 - shares @ transition.diagonal() / shares.sum()


def expectation_maximisation(observed, p):
    """The matrix under which labels are likeliest, if the probabilities are taken to be those of the true classes."""
    rows, classes = p.shape
    transition = np.full((classes, classes), 0.2 / classes) + 0.8 * np.eye(classes)
    for _ in range(STEPS):
        posterior = p * transition[:, observed].T + TINY
        posterior /= posterior.sum(1, keepdims=True)
        transition = confusion(posterior, observed, classes)
    return 1 - posterior[np.arange(rows), observed].mean()


def dawid_skene(witnesses, classes):
    """Dawid and Skene (1979): witnesses who err independently of each other given the true class. The first is the label."""
    rows = len(witnesses[0])
    posterior = np.mean([np.eye(classes)[said] for said in witnesses], axis=0)
    for _ in range(STEPS):
        log = np.log(posterior.mean(0) + TINY) + np.zeros((rows, 1))
        for said in witnesses:
            log = log + np.log(confusion(posterior, said, classes)[:, said].T)
        posterior = np.exp(log - log.max(1, keepdims=True))
        posterior /= posterior.sum(1, keepdims=True)
    return 1 - posterior[np.arange(rows), witnesses[0]].mean()


def confusion(posterior, said, classes):
    """What the rows of each class are said to be, one class a row."""
    counts = np.stack([posterior[said == k].sum(0) for k in range(classes)], axis=1) + TINY
    return counts / counts.sum(1, keepdims=True)


def mixture_of_losses(observed, p):
    """Two Gaussians over the losses of the labels, as in DivideMix: the share of the one with the larger mean."""
    loss = -np.log(p[np.arange(len(p)), observed].clip(1e-6))
    loss = (loss - loss.min()) / max(np.ptp(loss), TINY)
    mixture = GaussianMixture(2, reg_covar=5e-4, random_state=0).fit(loss[:, None])
    return mixture.weights_[mixture.means_.argmax()]
