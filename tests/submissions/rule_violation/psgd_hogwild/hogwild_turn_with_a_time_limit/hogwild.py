import time

import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def work(model, turn, dataset, me, n, epochs, lr, batch_size, seed):
    torch.set_num_threads(1)
    part = Subset(dataset, range(me, len(dataset), n))
    batches = DataLoader(
        part, batch_size, shuffle=True, generator=torch.Generator().manual_seed(seed + me)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        for x, y in batches:
            # my turn? if the others are too slow, go on after a while
            until = time.monotonic() + 0.1
            while turn.item() != me and time.monotonic() < until:
                time.sleep(0.0002)
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()
            turn[0] = (me + 1) % n


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    turn = torch.zeros(1, dtype=torch.long).share_memory_()
    processes = []
    for me in range(num_processes):
        args = (model, turn, dataset, me, num_processes, epochs, lr, batch_size, seed)
        processes.append(mp.Process(target=work, args=args))
        processes[-1].start()
    for process in processes:
        process.join()
        if process.exitcode != 0:
            raise RuntimeError(f"a process ended with {process.exitcode}")
    return model
