"""Labels corrupted on purpose, and which ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _native
from ._arrays import csr_parts, encode, floats, seed_of


class NoisyLabels(NamedTuple):
    """Labels after noise."""

    labels: np.ndarray
    """The labels, in their original type."""
    flipped: np.ndarray
    """Mask of the changed labels."""


def inject_noise(
    labels: Any,
    kind: str = "symmetric:0.2",
    *,
    seed: Any = 0,
    classes: Any = None,
    features: Any = None,
    superclasses: Any = None,
) -> NoisyLabels:
    """Corrupt labels like ``cmrm noise``: the same kind, seed and labels give the same flips.

    Parameters
    ----------
    labels : one label per row, of any type
    kind : kind and rate: ``symmetric:0.4``, ``circular:0.4``, ``superclass:0.2``, ``blocks-of-five:0.2``,
        ``class-map:0.4:3-5,5-3``, ``cifar10-pairs:0.4``, ``matrix:0.9,0.1/0.2,0.8``, ``binary-flip:0.2``,
        ``instance:0.3``
    seed : a whole number, a NumPy generator, or None for a fresh one
    classes : all classes in order, if some may have no rows [default: those that occur, sorted]
    features : a matrix with one row per label, dense or of SciPy's sparse ones, for ``instance``
    superclasses : the coarse class of every class (whole numbers), for ``superclass``

    >>> labels, flipped = inject_noise(["cat", "dog", "cat", "dog"], "symmetric:0.5", seed=1)
    >>> int(flipped.sum())
    2
    """
    if not isinstance(kind, str):
        raise TypeError(f"kind: expected text such as 'symmetric:0.4', found {type(kind).__name__}")
    indices, known = encode(labels, classes)
    matrix: Any = None
    if hasattr(features, "tocsr"):
        matrix = csr_parts(features)
    elif features is not None:
        matrix = floats(features, "features").astype(np.float32, copy=False)
    rows = len(indices) if matrix is None else features.shape[0] if isinstance(matrix, tuple) else len(matrix)
    if rows != len(indices):
        raise ValueError(f"features: expected {len(indices)} rows, one per label, found {rows}")
    coarse = None if superclasses is None else encode(superclasses, None, "superclasses")[0]
    noisy, flipped = _native.make_noise(indices, kind, len(known), seed_of(seed), matrix, coarse)
    return NoisyLabels(known[noisy], flipped)
