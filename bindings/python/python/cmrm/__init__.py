"""Learn from labels that are partly wrong.

- :class:`CMRMClassifier`, :class:`CMRMClassifierCV`: robust classifiers with scikit-learn's conventions
- :func:`load`: a classifier from the folder of a run
- :class:`Robust`: the same for any classifier that takes sample weights
- :func:`audit`, :func:`find_label_issues`: labels that look wrong, from any model's probabilities
- :func:`estimate_noise`: how many labels are wrong, and how likely each is
- :mod:`cmrm.conformal`: prediction sets
- :mod:`cmrm.torch`: the loss for PyTorch
- :func:`inject_noise`: corrupt labels on purpose, for experiments

>>> import numpy as np, cmrm
>>> noisy = cmrm.inject_noise(np.arange(1000) % 10, "symmetric:0.2", seed=1)
>>> int(noisy.flipped.sum())
200
"""

from typing import TYPE_CHECKING, Any

from . import conformal
from ._audit import Audit, audit, find_label_issues
from ._native import VERSION as __version__
from ._noise import NoisyLabels, inject_noise
from ._noise_model import NoiseEstimate, estimate_noise

if TYPE_CHECKING:
    from ._classifier import CMRMClassifier
    from ._robust import Robust
    from ._saved import load
    from ._search import CMRMClassifierCV

__all__ = [
    "Audit",
    "CMRMClassifier",
    "CMRMClassifierCV",
    "NoiseEstimate",
    "NoisyLabels",
    "Robust",
    "__version__",
    "audit",
    "conformal",
    "estimate_noise",
    "find_label_issues",
    "inject_noise",
    "load",
]


def __getattr__(name: str) -> Any:
    # The estimators need scikit-learn; everything else does not, and importing cmrm stays quick without it.
    if name == "CMRMClassifier":
        from ._classifier import CMRMClassifier

        return CMRMClassifier
    if name == "CMRMClassifierCV":
        from ._search import CMRMClassifierCV

        return CMRMClassifierCV
    if name == "Robust":
        from ._robust import Robust

        return Robust
    if name == "load":
        from ._saved import load

        return load
    raise AttributeError(f"module 'cmrm' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
