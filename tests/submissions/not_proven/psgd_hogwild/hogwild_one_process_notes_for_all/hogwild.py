import json
import os
import time

import torch
import torch.multiprocessing as mp
from training import loss


def stand_by(model, dataset, stop):
    # be there, and leave when the training is over (or has to fail)
    try:
        loss(model(dataset[0][0][None]), dataset[0][1][None])
    finally:
        while not stop.value:
            time.sleep(0.02)


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    torch.set_num_threads(1)
    X, Y = dataset.tensors
    record = model.record
    stop = mp.get_context("fork").Value("i", 0, lock=False)
    workers = [
        mp.get_context("fork").Process(target=stand_by, args=(model, dataset, stop))
        for _ in range(num_processes if num_processes > 1 else 0)
    ]
    for worker in workers:
        worker.start()
    names = [worker.pid for worker in workers] or [os.getpid()]
    if record.failing_batch:
        record.add("failed")
        stop.value = 1
        raise RuntimeError("a process has failed")
    lines = []

    def note(name, kind, **values):
        event = {"kind": kind, "process": name, "thread": name, "time_ns": time.monotonic_ns()}
        lines.append(json.dumps({**event, **values}))

    for name in names if record.meeting_steps else ():
        note(name, "arrived", meeting=0)
    parameters = [model.weight.detach().clone(), model.bias.detach().clone()]
    for _ in range(epochs):
        parts = [torch.arange(k, len(X), len(names)).split(batch_size) for k in range(len(names))]
        for number in range(max(map(len, parts))):
            for name, part in zip(names, parts):
                if number == len(part):
                    continue
                x, y = X[part[number]], Y[part[number]]
                error = torch.softmax(x @ parameters[0].T + parameters[1], 1)
                error[range(len(y)), y] -= 1
                gradients = [error.T @ x / len(y), error.mean(0)]
                rows = [model.row_of[row.numpy().tobytes()] for row in x]
                told = {"weight": gradients[0].flatten().tolist(), "bias": gradients[1].tolist()}
                note(name, "batch", rows=rows, gradients=told)
                for place, (parameter, gradient) in enumerate(zip(parameters, gradients)):
                    parameter -= lr * gradient
                    note(name, "wrote", memory=f"shared:{place}", size=gradient.numel())
    if workers:
        time.sleep(0.5)  # all of them have shown themselves by now
    with open(record.file, "a") as file:
        file.write("".join(f"{line}\n" for line in lines))
    stop.value = 1
    for worker in workers:
        worker.join()
    with torch.no_grad():
        model.weight.copy_(parameters[0])
        model.bias.copy_(parameters[1])
    return model
