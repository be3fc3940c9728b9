"""The envelope for PyTorch: :class:`EnvelopeLoss` makes any per-row loss robust to wrong labels.

:mod:`cmrm.torch.callbacks` keeps the epoch that observed validation labels choose.
"""

from ._loss import EnvelopeLoss, Last

__all__ = ["EnvelopeLoss", "Last"]
