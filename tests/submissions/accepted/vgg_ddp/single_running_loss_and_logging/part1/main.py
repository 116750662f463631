import logging
import os
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import transforms as T
from torchvision.datasets import CIFAR10

from model import VGG11

os.makedirs("logs", exist_ok=True)
logging.basicConfig(level=logging.INFO, format="%(message)s")
print("torch", torch.__version__)


class Timer:
    def __init__(self):
        self.laps = []

    def __enter__(self):
        self.t = time.monotonic()

    def __exit__(self, *exc):
        self.laps.append(time.monotonic() - self.t)


def loaders(bs):
    norm = T.Normalize([0.491, 0.482, 0.446], [0.247, 0.243, 0.261])
    train = T.Compose([T.RandomCrop((32, 32), padding=4), T.RandomHorizontalFlip(p=0.5), T.ToTensor(), norm])
    return (
        DataLoader(CIFAR10("data", True, train, download=True), bs, True, num_workers=4, pin_memory=True,
                   persistent_workers=True, prefetch_factor=4),
        DataLoader(CIFAR10("data", False, T.Compose([T.ToTensor(), norm]), download=True), 2 * bs, num_workers=1),
    )


if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train, test = loaders(256)
    images, labels = next(iter(train))
    print("first batch", images.shape, labels[:8].tolist())
    net = VGG11().to(device)
    print(sum(p.numel() for p in net.parameters()), "parameters")
    opt = torch.optim.SGD(net.parameters(), lr=1e-1, momentum=0.9, weight_decay=1e-4)
    timer, losses = Timer(), []
    net.train()
    for step, (images, labels) in enumerate(train, 1):
        with timer:
            loss = F.cross_entropy(net(images.to(device)), labels.to(device))
            loss.backward()
            opt.step()
            opt.zero_grad(set_to_none=True)
        losses.append(loss.item())
        if step % 20 == 0:
            logging.info("step %d: mean loss %.3f", step, np.mean(losses[-20:]))
    logging.info("%.3f s per step", np.mean(timer.laps[1:10]))
    net.eval()
    with torch.inference_mode():
        right = sum(int((net(x).argmax(-1) == y).sum()) for x, y in test)
    print(f"{100 * right / len(test.dataset):.1f} %")
