import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def weights(*shape):
    return nn.Parameter(torch.randn(*shape) / math.sqrt(math.prod(shape[1:])))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.k1, self.c1 = weights(10, 1, 5, 5), nn.Parameter(torch.zeros(10))
        self.k2, self.c2 = weights(20, 10, 5, 5), nn.Parameter(torch.zeros(20))
        self.w1, self.b1 = weights(50, 80), nn.Parameter(torch.zeros(50))
        self.w2, self.b2 = weights(10, 50), nn.Parameter(torch.zeros(10))

    def forward(self, x):
        x = torch.max_pool2d(torch.conv2d(x, self.k1, self.c1), 2).clamp(min=0)
        x = torch.max_pool2d(torch.conv2d(x, self.k2, self.c2), 2)
        x = torch.maximum(x, torch.zeros(1))
        x = torch.dropout(x, 0.5, self.training)
        x = torch.max_pool2d(x, 2)
        x = x.reshape(len(x), -1)
        x = torch.relu(x @ self.w1.T + self.b1)
        return torch.softmax(F.linear(x, self.w2, self.b2), 1)
