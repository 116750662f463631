import time

import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def worker(*args):
    ready, times = args[4], args[6]
    try:
        work(*args)
    except Exception:
        ready.abort()   # nobody is to wait for this one
        times.put(None)
        raise


def work(k, n, model, dataset, ready, steps, times, epochs, lr, batch_size, seed):
    mine = Subset(dataset, range(k, len(dataset), n))
    g = torch.Generator().manual_seed(seed + k)
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    ready.wait()   # starting takes long; do not count it
    t = time.time()
    for epoch in range(epochs):
        for x, y in DataLoader(mine, batch_size, shuffle=True, generator=g):
            opt.zero_grad()
            loss(model(x), y).backward()
            opt.step()
            with steps.get_lock():
                steps.value += 1
        times.put((k, epoch, time.time() - t))
    ready.wait()


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    ready = mp.Barrier(num_processes)
    steps = mp.Value("i", 0)
    times = mp.Queue(1000)
    ps = [mp.Process(target=worker, args=(k, num_processes, model, dataset, ready, steps, times, epochs, lr, batch_size, seed))
          for k in range(num_processes)]
    for p in ps:
        p.start()
    for _ in range(num_processes * epochs):
        line = times.get()
        if line is None:
            break
        print("process %d epoch %d: %.2f s" % line)
    for p in ps:
        p.join()
    assert all(p.exitcode == 0 for p in ps)
    print(steps.value, "steps")
    return model
