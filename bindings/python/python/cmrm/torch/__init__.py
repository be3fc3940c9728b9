"""The envelope for PyTorch: :class:`EnvelopeLoss` makes any loss of rows robust to wrong labels."""

from ._loss import EnvelopeLoss, Last

__all__ = ["EnvelopeLoss", "Last"]
