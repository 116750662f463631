"""VGG-11 with batch normalization, for images of 32 x 32 pixels and ten classes.

Simonyan and Zisserman (2015), table 1, column A: eight convolutions in five groups. Where the paper
ends with three wide linear layers, images this small need only one.
"""

from torch import nn

FIRST_CHANNELS = 64
"""Channels of the first convolution. Set a smaller number before VGG11() for a quick try."""

_GROUPS = ((1,), (2,), (4, 4), (8, 8), (8, 8))
"""Channels of each convolution, as multiples of the first one's; a max pool ends each group."""


class VGG(nn.Module):
    """Groups of convolution, batch normalization and ReLU, a max pool after each; a classifier."""

    def __init__(self, first_channels, num_classes=10):
        super().__init__()
        layers = []
        channels = 3
        for group in _GROUPS:
            for multiple in group:
                before, channels = channels, multiple * first_channels
                # No bias: batch normalization would take it away again.
                layers.append(nn.Conv2d(before, channels, kernel_size=3, padding=1, bias=False))
                layers.append(nn.BatchNorm2d(channels))
                layers.append(nn.ReLU())
            layers.append(nn.MaxPool2d(kernel_size=2))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(channels, num_classes)

    def forward(self, images):
        """Return the scores of the classes; images: (batch, 3, 32, 32)."""
        return self.classifier(self.features(images).flatten(start_dim=1))


def VGG11():
    """Return a new VGG-11 with random weights."""
    return VGG(FIRST_CHANNELS)
