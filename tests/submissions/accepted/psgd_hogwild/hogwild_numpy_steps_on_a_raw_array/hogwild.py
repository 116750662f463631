import multiprocessing as mp

import numpy as np
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils.data import DataLoader, Subset
from training import loss


def train(k, n, raw, model, dataset, epochs, lr, batch_size, seed):
    torch.set_num_threads(1)
    w = np.frombuffer(raw, dtype=np.float32)    # everybody's weights
    rng = torch.Generator().manual_seed(100 * seed + k)
    part = Subset(dataset, np.array_split(np.arange(len(dataset)), n)[k].tolist())
    for _ in range(epochs):
        for x, y in DataLoader(part, batch_size=batch_size, shuffle=True, generator=rng):
            vector_to_parameters(torch.from_numpy(w.copy()), model.parameters())
            grads = torch.autograd.grad(loss(model(x), y), list(model.parameters()))
            w -= lr * np.concatenate([g.numpy().ravel() for g in grads])


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    start = parameters_to_vector(model.parameters()).detach().numpy()
    raw = mp.RawArray("f", start.tolist())
    procs = []
    for k in range(num_processes):
        p = mp.Process(target=train, args=(k, num_processes, raw, model, dataset, epochs, lr, batch_size, seed))
        p.start()
        procs.append(p)
    for p in procs:
        p.join()
        if p.exitcode:
            raise RuntimeError(f"worker ended with {p.exitcode}")
    vector_to_parameters(torch.from_numpy(np.array(raw, dtype=np.float32)), model.parameters())
    return model
