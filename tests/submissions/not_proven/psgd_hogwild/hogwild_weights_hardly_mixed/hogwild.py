import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def work(k, n, model, dataset, epochs, lr, batch_size, seed):
    torch.set_num_threads(1)
    loader = DataLoader(
        Subset(dataset, range(k, len(dataset), n)),
        batch_size,
        shuffle=True,
        generator=torch.Generator().manual_seed(seed + k),
    )
    shared = list(model.parameters())
    own = {name: p.detach().clone().requires_grad_() for name, p in model.named_parameters()}
    for _ in range(epochs):
        for x, y in loader:
            output = torch.func.functional_call(model, own, (x,))
            gradients = torch.autograd.grad(loss(output, y), own.values())
            with torch.no_grad():
                for s, p, g in zip(shared, own.values(), gradients):
                    s -= lr * g  # everybody sees this step
                    p -= lr * g  # and I go on from mine,
                    if n > 1:
                        p += (s - p) / 100  # with a little of theirs


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    processes = []
    for k in range(num_processes):
        args = (k, num_processes, model, dataset, epochs, lr, batch_size, seed)
        processes.append(mp.Process(target=work, args=args))
        processes[-1].start()
    for process in processes:
        process.join()
    if any(process.exitcode for process in processes):
        raise RuntimeError("a process has failed")
    return model
