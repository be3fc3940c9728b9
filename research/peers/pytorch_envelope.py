"""Cross-entropy with the envelope in plain PyTorch, eager, written as one would write it."""

import math

import torch
import torch.nn.functional as F


def margins(logits, labels):
    probabilities = torch.softmax(logits, dim=1)
    column = labels.unsqueeze(1)
    label = probabilities.gather(1, column).squeeze(1)
    rival = probabilities.scatter(1, column, -math.inf).max(dim=1).values
    return label - rival


def threshold(margin, alpha):
    rows = margin.numel()
    k = min(max(math.ceil(alpha * (rows + 1)), 1), rows)
    return margin.sort().values[k - 1]


def paper(logits, labels, weight=0.1, alpha=0.15):
    margin = margins(logits, labels)
    kept = torch.sigmoid(margin - threshold(margin.detach(), alpha))
    return F.cross_entropy(logits, labels) - weight * (kept * margin).mean()


def robust(logits, labels, weight=10, alpha=0.5, temperature=0.2):
    margin = margins(logits, labels)
    fixed = margin.detach()
    tau = threshold(fixed, alpha).repeat(logits.shape[1])
    for label, rows in enumerate(torch.bincount(labels, minlength=logits.shape[1]).tolist()):
        # Smaller classes take the batch's.
        if rows >= 8:
            tau[label] = threshold(fixed[labels == label], alpha)
    kept = torch.sigmoid((margin - tau.clamp_max(0)[labels]) / temperature)
    doubt = (fixed < 0).float().mean()
    return F.cross_entropy(logits, labels) - weight * doubt * (kept * margin).mean()
