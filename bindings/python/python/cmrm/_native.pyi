"""What Rust offers. Private: the package's own modules check and word what goes in and out."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

VERSION: str
CLASS_ROWS: int

_Floats = NDArray[np.float32] | NDArray[np.float64]
_Labels = NDArray[np.uint32]
_Sparse = tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]
_Features = _Floats | _Sparse | Sequence[tuple[str, Any, NDArray[np.bool_] | None]]

class _Task(TypedDict):
    features: _Features
    labels: _Labels
    classes: list[str]
    weights: NDArray[np.float32] | None
    config: str
    loss: str
    threads: int | None
    keep_data: bool
    flag_anyway: bool
    tell: Callable[[int, int, int, str], None] | None

def rank_labels(
    labels: _Labels,
    probabilities: _Floats,
    score: str,
    filter: str,
    threshold: float,
    min_examples_per_class: int,
    frac_noise: float,
) -> dict[str, Any]: ...
def weigh_rows(
    labels: _Labels,
    probabilities: NDArray[np.float32],
    row_weights: NDArray[np.float32] | None = None,
    temperature: float | None = None,
) -> NDArray[np.float32]: ...
def make_noise(
    labels: _Labels,
    kind: str,
    classes: int,
    seed: int,
    features: NDArray[np.float32] | _Sparse | None = None,
    superclasses: _Labels | None = None,
) -> tuple[_Labels, NDArray[np.bool_]]: ...
def fit_rows(task: _Task) -> tuple[Fitted, dict[str, Any]]: ...
def fit_chunk(task: _Task, before: Fitted | None, passes: int) -> tuple[Fitted, dict[str, Any]]: ...
def open_run(path: str) -> tuple[Fitted, dict[str, Any]]: ...
def search_settings(task: _Task, wanted: dict[str, Any]) -> dict[str, Any]: ...
def calibrate_sets(
    probabilities: _Floats,
    labels: _Labels,
    options: dict[str, Any],
    seed: int,
    noise: float | NDArray[np.float64] | None = None,
) -> SetPredictor: ...
def estimate_noise(labels: _Labels, probabilities: NDArray[np.float32]) -> dict[str, Any]: ...
def provoke_panic() -> None: ...

class SetPredictor:
    @property
    def classes(self) -> int: ...
    @property
    def thresholds(self) -> NDArray[np.float64]: ...
    def predict(self, probabilities: _Floats, seed: int) -> NDArray[np.bool_]: ...
    @staticmethod
    def from_text(text: str) -> SetPredictor: ...

class Fitted:
    @property
    def arm_names(self) -> list[str]: ...
    @property
    def config_toml(self) -> str: ...
    @property
    def preprocess_json(self) -> str: ...
    def probabilities(self, features: _Features, arm: str | None = None) -> NDArray[np.float32]: ...
    def predict(self, features: _Features) -> _Labels: ...
    def logits(self, features: _Features, arm: str | None = None) -> NDArray[np.float32]: ...
    def sets(
        self, probabilities: NDArray[np.float32], coverage: float, score: str, calibrated_for: str | None = None
    ) -> NDArray[np.bool_]: ...
    def model_bytes(self, arm: str | None = None) -> bytes: ...
    def report(self, path: str | PathLike[str]) -> None: ...
    def save(self, path: str | PathLike[str], label_type: str | None = None) -> None: ...
    @staticmethod
    def from_parts(
        config: str,
        preprocess: str,
        classes: list[str],
        models: list[tuple[str, bytes]],
        calibration: tuple[NDArray[np.float32], _Labels, NDArray[np.float32] | None] | None,
        record: tuple[str, list[tuple[str, bytes]]] | None = None,
    ) -> Fitted: ...

class EnvelopeKernel:
    def __new__(
        cls,
        base: str | None,
        class_counts: list[float],
        preset: str,
        overrides: str,
        transition: list[list[float]] | None = None,
    ) -> EnvelopeKernel: ...
    def settings(self) -> tuple[str, str]: ...
    def constants(self) -> list[float] | None: ...
    def first_epoch(self, epochs: int) -> int: ...
    def evaluate(
        self,
        logits: _Floats,
        labels: NDArray[np.int64],
        row_weights: _Floats | None,
        grad: _Floats,
        rows: _Floats,
        active: bool,
        running: _Floats | None,
        targets: _Floats | None,
    ) -> tuple[float, float, float, float, float | None]: ...
    def couple(
        self,
        margins: _Floats,
        labels: NDArray[np.int64],
        classes: int,
        row_weights: _Floats | None,
        weights: _Floats,
        slopes: _Floats,
    ) -> tuple[float, float]: ...
