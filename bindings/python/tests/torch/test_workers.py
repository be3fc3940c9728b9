"""Worker processes of a DataLoader are forks of a process that has worked before."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import cmrm
from cmrm.torch import EnvelopeLoss

ROWS = 20_000
# Python warns of every fork of a process with threads.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def work():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(ROWS, 10)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    model = cmrm.CMRMClassifier(epochs=1, hidden=(8,)).fit(X, y)
    issues = cmrm.find_label_issues(y, model.predict_proba(X))
    # Large enough for threads. Forward only: PyTorch itself refuses `backward` in a fork of a process that has called it.
    loss = EnvelopeLoss(start=0)(torch.from_numpy(X).requires_grad_(), torch.from_numpy(y))
    return torch.from_numpy(model.margins_), torch.from_numpy(issues), loss.detach()


class Fits(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, _):
        return work()


def test_workers_fit_audit_and_evaluate():
    expected = work()
    # A worker that hangs is an error after the timeout.
    loader = DataLoader(Fits(), batch_size=None, num_workers=2, timeout=120, multiprocessing_context="fork")
    found = list(loader)
    assert len(found) == 4
    for result in found:
        assert all(map(torch.equal, result, expected))


def test_unaligned_tensors_are_read_like_any_others():
    generator = torch.Generator().manual_seed(0)
    logits, labels = torch.randn(50, 4, generator=generator), torch.arange(50) % 4
    weights = torch.rand(50, generator=generator)

    def unaligned(tensor):
        buffer = bytearray(b"x" + tensor.numpy().tobytes())
        return torch.frombuffer(buffer, dtype=tensor.dtype, offset=1).reshape(tensor.shape)

    for base in ["cross_entropy", lambda z, y: torch.nn.functional.cross_entropy(z, y, reduction="none")]:
        loss = EnvelopeLoss(base, start=0)
        expected = loss(logits, labels, weights)
        assert torch.equal(loss(unaligned(logits), unaligned(labels), unaligned(weights)), expected)
