import torch
import torch.nn as nn
from mpi4py import MPI
from utils import Net, create_dataloader, load_data, set_random_seed

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()

# message kinds, server -> worker
BATCH, MODEL, QUIT = "batch", "model", "quit"


class Server:
    def __init__(self, model, lr=0.01, momentum=0.9):
        self.model = model
        self.workers = list(range(1, size))
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)

    def tell_all(self, kind, content=None):
        for w in self.workers:
            comm.send((kind, content), dest=w)

    def one_batch(self, x, y):
        n = int(len(y) / len(self.workers))
        for i, w in enumerate(self.workers):
            comm.send((BATCH, (x[i * n:(i + 1) * n], y[i * n:(i + 1) * n])), dest=w)
        answers = [comm.recv(source=w) for w in self.workers]

        losses = [a[0] for a in answers]
        for k, p in enumerate(self.model.parameters()):
            p.grad = torch.stack([a[1][k] for a in answers]).mean(dim=0)
        self.opt.step()
        return sum(losses) / len(losses)

    def train(self, loader, epochs):
        for epoch in range(epochs):
            running = 0.0
            for x, y in loader:
                running += self.one_batch(x, y)
            # give the new model to the workers
            self.tell_all(MODEL, self.model.state_dict())
            print(f"epoch {epoch + 1}: loss {running / len(loader):.4f}")
        self.tell_all(QUIT)


def worker_loop(model):
    loss_fn = nn.CrossEntropyLoss()
    while True:
        kind, content = comm.recv(source=0)
        if kind == QUIT:
            return
        if kind == MODEL:
            model.load_state_dict(content)
            continue
        x, y = content
        model.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        comm.send((loss.item(), [p.grad for p in model.parameters()]), dest=0)


def accuracy(model, loader):
    with torch.no_grad():
        hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


if __name__ == "__main__":
    set_random_seed(42)
    model = Net()
    if rank == 0:
        train, test = load_data()
        train_loader, test_loader = create_dataloader(train, test, 100)
        Server(model).train(train_loader, 3)
        print(f"test accuracy {accuracy(model, test_loader):.1%}")
    else:
        worker_loop(model)
