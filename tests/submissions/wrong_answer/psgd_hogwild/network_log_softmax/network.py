"""The network for the digits."""

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 5)
        self.conv2 = nn.Conv2d(10, 20, 5)
        self.pool1 = nn.MaxPool2d(2)
        self.pool2 = nn.MaxPool2d(2)
        self.pool3 = nn.MaxPool2d(2)
        self.relu1, self.relu2, self.relu3 = nn.ReLU(), nn.ReLU(), nn.ReLU()
        self.dropout = nn.Dropout(p=0.5)
        self.fc1 = nn.Linear(20 * 2 * 2, 50)
        self.fc2 = nn.Linear(50, num_classes)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, images):
        out = self.relu1(self.pool1(self.conv1(images)))    # 10 x 12 x 12
        out = self.relu2(self.pool2(self.conv2(out)))       # 20 x 4 x 4
        out = self.pool3(self.dropout(out))                 # 20 x 2 x 2
        out = torch.flatten(out, 1)
        out = self.relu3(self.fc1(out))
        return self.softmax(self.fc2(out))
