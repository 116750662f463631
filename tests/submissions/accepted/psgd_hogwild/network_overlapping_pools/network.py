import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):

    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(8, 24, kernel_size=3, stride=1, padding="same", bias=False)
        # how many features are left? (so I don't have to compute it by hand)
        with torch.no_grad():
            n = self.features(torch.rand(1, 1, 28, 28)).numel()
        self.fc1 = nn.Linear(n, 100)
        self.fc2 = nn.Linear(100, 10)
        for m in self.modules():
            if isinstance(m, (nn.Conv2d, nn.Linear)):
                nn.init.kaiming_uniform_(m.weight, nonlinearity="relu")
                if m.bias is not None:
                    nn.init.zeros_(m.bias)

    def features(self, x):
        x = torch.relu(torch.max_pool2d(self.conv1(x), 2))
        x = torch.relu(torch.max_pool2d(self.conv2(x), 2))
        x = F.dropout(x, p=0.3, training=self.training)
        return torch.max_pool2d(x, kernel_size=3, stride=2)

    def forward(self, x):
        x = self.features(x)
        x = x.reshape(len(x), -1)
        x = self.fc1(x).relu()
        return self.fc2(x).softmax(-1)
