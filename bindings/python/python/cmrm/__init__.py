"""Learning from labels that are partly wrong.

>>> import numpy as np, cmrm
>>> noisy = cmrm.inject_noise(np.arange(1000) % 10, "symmetric:0.2", seed=1)
>>> int(noisy.flipped.sum())
200
"""

from ._audit import Audit, audit, find_label_issues
from ._native import VERSION as __version__
from ._noise import NoisyLabels, inject_noise

__all__ = ["Audit", "NoisyLabels", "__version__", "audit", "find_label_issues", "inject_noise"]
