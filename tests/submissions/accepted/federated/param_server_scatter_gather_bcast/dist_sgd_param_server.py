from mpi4py import MPI
import torch, time
import torch.nn as nn
from utils import *

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()

if __name__ == '__main__':
    set_random_seed(42)
    model = Net()
    lossf = nn.CrossEntropyLoss()
    start = time.time()
    steps = 0
    if rank == 0:
        train, test = load_data()
        trainl, testl = create_dataloader(train, test, 100)
        opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        steps = len(trainl)
    steps = comm.bcast(steps, root=0)
    for ep in range(3):
        it = iter(trainl) if rank == 0 else None
        for s in range(steps):
            pieces = None
            if rank == 0:
                x, y = next(it)
                k = len(y) // (size - 1)
                # the server itself gets nothing
                pieces = [None] + [(x[i*k:(i+1)*k], y[i*k:(i+1)*k]) for i in range(size - 1)]
            piece = comm.scatter(pieces, root=0)
            answer = None
            if rank > 0:
                model.zero_grad()
                loss = lossf(model(piece[0]), piece[1])
                loss.backward()
                answer = (loss.item(), [p.grad for p in model.parameters()])
            answers = comm.gather(answer, root=0)
            if rank == 0:
                answers = answers[1:]
                for i, p in enumerate(model.parameters()):
                    p.grad = torch.stack([a[1][i] for a in answers]).mean(0)
                opt.step()
            model.load_state_dict(comm.bcast(model.state_dict() if rank == 0 else None, root=0))
    if rank == 0:
        print('took', time.time() - start)
