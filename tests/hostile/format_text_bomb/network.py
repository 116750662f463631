import logging
from torch import nn

logging.basicConfig(level=logging.INFO)
log = logging.getLogger(__name__)


class Net(nn.Sequential):
    """all layers as modules, wider, 3x3 kernels"""

    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 8, 3, padding=1), nn.MaxPool2d(2), nn.ReLU(inplace=True),
            nn.Conv2d(8, 16, 3, padding=1), nn.MaxPool2d(2), nn.ReLU(inplace=True),
            nn.Dropout2d(0.2), nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16 * 9, 32), nn.ReLU(), nn.Linear(32, 10), nn.Softmax(dim=1),
        )
        log.info("%d parameters", sum(p.numel() for p in self.parameters()))
