"""Progress of a training: a bar where someone may be looking."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

# A training that is over before this many seconds needs no bar.
PATIENCE = 1.0


def teller(progress: bool | None) -> Callable[[int, int, int, str], None] | None:
    """What is called after every epoch, or every learner of a vote; nothing if nobody is to be told.

    With None there is a bar if standard error is a terminal, once the training has taken a second.
    """
    if progress is None:
        return _Bar(PATIENCE) if sys.stderr is not None and sys.stderr.isatty() else None
    return _Bar(0.0) if progress else None


class _Bar:
    """tqdm's bar, which knows terminals and notebooks; a line of text where tqdm is not installed."""

    def __init__(self, patience: float):
        self.begin = time.monotonic() + patience
        self.fold = 0
        self.bar: Any = None

    def __call__(self, done: int, of: int, fold: int, unit: str) -> None:
        if time.monotonic() < self.begin:
            return
        if self.bar is not None and fold != self.fold:
            self.bar.close()
            self.bar = None
        if self.bar is None:
            self.bar, self.fold = _open(of, fold, unit), fold
        self.bar.update(done - self.bar.n)
        if done >= of:
            self.bar.close()
            self.bar = None


def _open(of: int, fold: int, unit: str) -> Any:
    name = f"cmrm, fold {fold + 1}" if fold else "cmrm"
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Lines(name, of, unit)
    return tqdm(total=of, desc=name, unit=unit, leave=False)


class _Lines:
    """Ten lines a training."""

    def __init__(self, name: str, of: int, unit: str):
        self.name, self.of, self.unit, self.n = name, of, unit, 0

    def update(self, more: int) -> None:
        before, self.n = self.n, self.n + more
        if self.n * 10 // self.of > before * 10 // self.of:
            print(f"{self.name}: {self.unit} {self.n}/{self.of}", file=sys.stderr)

    def close(self) -> None:
        pass
