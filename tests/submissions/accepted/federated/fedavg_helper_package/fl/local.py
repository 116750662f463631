import torch
from torch import nn


def train_one_epoch(model, loader):
    opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    ce = nn.CrossEntropyLoss()
    model.train()
    for images, labels in loader:
        opt.zero_grad()
        ce(model.forward(images), labels).backward()
        opt.step()
