import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    """All twelve layers, of one channel, and none of them can learn."""

    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.full((1, 1, 5, 5), 0.1))
        self.b = nn.Parameter(torch.full((1, 1, 5, 5), 0.1))
        self.c = nn.Parameter(torch.full((1, 4), 0.3))
        self.d = nn.Parameter(torch.arange(10.0)[:, None] / 20)

    def forward(self, x):
        x = F.relu(F.max_pool2d(F.conv2d(x, self.a.detach()), 2))
        x = F.relu(F.max_pool2d(F.conv2d(x, self.b.detach()), 2))
        x = F.max_pool2d(F.dropout(x, training=self.training), 2)
        x = F.relu(F.linear(x.flatten(1), self.c.detach()))
        return F.softmax(F.linear(x, self.d.detach()), dim=1)
