import torch
from torch.utils.data import DataLoader, Subset
from training import loss


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    torch.manual_seed(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for r in range(num_processes):
        loader = DataLoader(Subset(dataset, range(r, len(dataset), num_processes)), batch_size, shuffle=True)
        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                loss(model(x), y).backward()
                optimizer.step()
    return model
