"""Centralized training on one process: the baseline for the other scripts (given)."""

import torch
import torch.nn as nn
from utils import Net, create_dataloader, load_data, set_random_seed


def accuracy(model, loader):
    """Return the share of the loader's examples that the model classifies correctly."""
    num_right = num_examples = 0
    with torch.no_grad():
        for x, y in loader:
            num_right += (model(x).argmax(dim=1) == y).sum().item()
            num_examples += len(y)
    return num_right / num_examples


if __name__ == "__main__":
    set_random_seed(42)
    num_epochs = 3
    batch_size = 100

    train, test = load_data()
    train_loader, test_loader = create_dataloader(train, test, batch_size)

    model = Net()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    for epoch in range(num_epochs):
        running_loss = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            running_loss += loss.item()
        print(f"epoch {epoch + 1}: loss {running_loss / len(train_loader):.4f}")

    print(f"test accuracy {accuracy(model, test_loader):.1%}")
