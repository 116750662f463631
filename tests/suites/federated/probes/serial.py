"""The training that the scripts are timed against: no submission is beside it."""

from .scripts import begin_anew


def serial_training(student, comm, *, plan, **examples):
    """Train the network on the same number of batches in one process: the yardstick."""
    import torch

    utils = student.module("utils.py")
    given = begin_anew(comm, **examples, client_of=[])
    model = utils.Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = torch.nn.CrossEntropyLoss()
    for _ in range(plan["epochs"]):
        for x, y in utils.create_dataloader(given.train, given.test, plan["batch_size"])[0]:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
    return {}
