"""A call of the student's psgd or hogwild as main.py makes it, with a network of another form."""

from collections import OrderedDict

import numpy as np
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector
from torch.utils.data import TensorDataset

from .returned import module_of

_NUM_IMAGES = 1200
_SETTINGS = {"lr": 0.03, "batch_size": 8}


def train_on_digits(student, comm, *, function, num_processes, epochs, seed):
    """Train a network; return the loss before and after, and the weights."""
    from training import digits, loss

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    images, labels = digits()[0][:_NUM_IMAGES]
    model = _network()
    train = student.function(f"{function}.py", function)
    first = {"psgd": [comm], "hogwild": []}[function]
    own = {"num_processes": num_processes} if num_processes else {}
    losses = [_loss_of(model, loss, images, labels)]
    with student.phase():
        dataset = TensorDataset(images, labels)
        returned = train(*first, model, dataset, epochs=epochs, seed=seed, **_SETTINGS, **own)
    trained = model if returned is None else module_of(returned, function)
    losses.append(_loss_of(trained, loss, images, labels))
    weights = parameters_to_vector(trained.parameters()).detach().numpy().copy()
    return {"losses": np.array(losses, dtype=np.float64), "weights": weights}


def _network():
    # Of classes that a process that is spawned knows as well.
    layers = {"conv1": nn.Conv2d(1, 8, 5, stride=3), "tanh": nn.Tanh(), "flatten": nn.Flatten()}
    layers |= {"fc1": nn.Linear(8 * 8 * 8, 10), "softmax": nn.Softmax(dim=1)}
    return nn.Sequential(OrderedDict(layers))


def _loss_of(model, loss, images, labels):
    with torch.no_grad():
        return loss(model(images), labels).item()
