from multiprocessing.connection import wait

import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def gradients(model, dataset, number, num_processes, *, epochs, batch_size, seed):
    torch.set_num_threads(1)
    part = Subset(dataset, range(number, len(dataset), num_processes))
    order = torch.Generator().manual_seed(seed + number)
    for _ in range(epochs):
        for inputs, labels in DataLoader(part, batch_size, shuffle=True, generator=order):
            model.zero_grad()
            loss(model(inputs), labels).backward()
            yield [parameter.grad.numpy() for parameter in model.parameters()]


def work(pipe, *given, **settings):
    for each in gradients(*given, **settings):
        pipe.send(each)
    pipe.close()


def step(model, lr, some):
    with torch.no_grad():
        for parameter, gradient in zip(model.parameters(), some, strict=True):
            parameter -= lr * torch.from_numpy(gradient)


def hogwild(model, dataset, *, num_processes, lr, **settings):
    """Be a server: processes send gradients through pipes, and this one takes all steps."""
    if num_processes == 1:
        for some in gradients(model, dataset, 0, 1, **settings):
            step(model, lr, some)
        return model
    model.share_memory()
    pipes, processes = [], []
    for number in range(num_processes):
        ours, theirs = mp.Pipe(duplex=False)
        given = (theirs, model, dataset, number, num_processes)
        processes.append(mp.Process(target=work, args=given, kwargs=settings))
        processes[-1].start()
        theirs.close()
        pipes.append(ours)
    while pipes:
        for pipe in wait(pipes):
            try:
                step(model, lr, pipe.recv())
            except EOFError:
                pipes.remove(pipe)
    for process in processes:
        process.join()
        if process.exitcode:
            raise RuntimeError("a process failed")
    return model
