"""LeNet-5, the network for handwritten digits.

LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document recognition, 1998. The
sizes of all layers are the paper's: 61,706 parameters. Three things are done as is usual today:
every map of C3 sees all six maps of S2, pooling has no parameters of its own, and the output
layer is linear under a cross entropy.

    layer    maps or units   size      weights    biases
    input          1         28 x 28               (padded by 2 on each side: the paper's 32 x 32)
    C1             6         28 x 28       150         6   5 x 5 convolution
    S2             6         14 x 14                       mean of 2 x 2
    C3            16         10 x 10      2400        16   5 x 5 convolution
    S4            16          5 x 5                        mean of 2 x 2
    C5           120          1 x 1     48,000       120   5 x 5 convolution
    F6            84                    10,080        84   fully connected
    output        10                       840        10   fully connected
"""

import torch
from torch import nn


class LeNet5(nn.Module):
    """Images (batch, 1, 28, 28) in, ten numbers (batch, 10) out: the larger, the likelier."""

    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 6, kernel_size=5, padding=2)
        self.s2 = nn.AvgPool2d(2)
        self.c3 = nn.Conv2d(6, 16, kernel_size=5)
        self.s4 = nn.AvgPool2d(2)
        self.c5 = nn.Conv2d(16, 120, kernel_size=5)
        self.f6 = nn.Linear(120, 84)
        self.output = nn.Linear(84, 10)

    def forward(self, images):
        x = self.s2(torch.tanh(self.c1(images)))
        x = self.s4(torch.tanh(self.c3(x)))
        x = torch.tanh(self.c5(x)).flatten(start_dim=1)
        x = torch.tanh(self.f6(x))
        return self.output(x)
