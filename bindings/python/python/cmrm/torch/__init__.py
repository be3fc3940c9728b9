"""The envelope for PyTorch: :class:`EnvelopeLoss` makes any per-row loss robust to wrong labels."""

from ._loss import EnvelopeLoss, Last

__all__ = ["EnvelopeLoss", "Last"]
