"""PyTorch's speed on the training step that `cmrm-images speed` measures, as JSON lines.

ResNet-20 with option-A shortcuts, batch 128, SGD with momentum and weight decay, cross-entropy, images that stay where
they are. usage: speed.py [--cpu] [--channels-last] [--steps N] [--batch N]
"""

import argparse
import json
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.stride, self.pad = stride, (outputs - inputs) // 2

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        y = self.norm2(self.conv2(y))
        if self.stride != 1:
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.pad, self.pad))
        return F.relu(y + x, inplace=True)


class ResNet20(nn.Module):
    def __init__(self, classes=100):
        super().__init__()
        layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)]
        inputs = 16
        for outputs in (16, 32, 64):
            for place in range(3):
                layers.append(Block(inputs, outputs, 2 if place == 0 and outputs > 16 else 1))
                inputs = outputs
        self.body, self.head = nn.Sequential(*layers), nn.Linear(64, classes)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


def measure(device, mode, channels_last, tf32, batch, steps, amp=False):
    torch.backends.cudnn.allow_tf32 = tf32
    model = ResNet20().to(device)
    x = torch.rand(batch, 3, 32, 32, device=device)
    y = torch.randint(0, 100, (batch,), device=device)
    if channels_last:
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=2e-4)

    def step():
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=amp):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimiser.step()

    wait = torch.cuda.synchronize if device == "cuda" else (lambda: None)
    if mode == "graph":
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(5):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        step = graph.replay
    for _ in range(10 if device == "cuda" else 3):
        step()
    wait()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    wait()
    seconds = time.perf_counter() - start
    line = {"pytorch": torch.__version__, "mode": mode, "channels_last": channels_last, "tf32": tf32, "bf16": amp}
    print(json.dumps({**line, "batch": batch, "images_per_second": round(batch * steps / seconds)}), flush=True)


arguments = argparse.ArgumentParser()
arguments.add_argument("--cpu", action="store_true")
arguments.add_argument("--channels-last", action="store_true", help="that layout alone")
arguments.add_argument("--steps", type=int, default=300)
arguments.add_argument("--batch", type=int, default=128)
chosen = arguments.parse_args()
layouts = (True,) if chosen.channels_last else (False, True)
if chosen.cpu:
    for channels_last in layouts:
        measure("cpu", "eager", channels_last, False, chosen.batch, chosen.steps)
else:
    for channels_last in layouts:
        for tf32 in (False, True):
            for mode in ("eager", "graph"):
                measure("cuda", mode, channels_last, tf32, chosen.batch, chosen.steps)
    measure("cuda", "graph", True, True, chosen.batch, chosen.steps, amp=True)
