"""What the scripts share: the images, the network, the seed, and the split among clients."""

import os
import random
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

NUM_CLASSES = 10
MIN_EXAMPLES_PER_CLIENT = 10

_given = None  # the grader puts its own (train, test, split) here


class Net(nn.Module):
    """A small convolutional network for images of 3 x 32 x 32 and 10 classes."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        """Return the scores of the classes, shape (batch, 10), before any softmax."""
        x = self.pool(F.relu(self.conv1(x)))  # (batch, 6, 14, 14)
        x = self.pool(F.relu(self.conv2(x)))  # (batch, 16, 5, 5)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


class Examples(Dataset):
    """Images with their labels: data is float32 (n, 3, 32, 32), targets is int64 (n,)."""

    def __init__(self, data, targets):
        self.data = torch.as_tensor(data)
        self.targets = torch.as_tensor(targets)

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        return self.data[index], self.targets[index]

    def part(self, indices):
        """Return a data set of the examples at these indices."""
        return Examples(self.data[indices], self.targets[indices])


def require_connected():
    """Stop where srun has started several processes that MPI does not connect.

    Open MPI 5 does not support `--mpi=pmi2`: each process would be rank 0 of 1, and train alone.
    """
    number = int(os.environ.get("SLURM_STEP_NUM_TASKS", "1"))
    if number > 1 and not {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK"} & os.environ.keys():
        sys.exit(
            f"srun has started {number} processes that do not know of each other: each would be "
            f"rank 0 of 1; start them with: salloc -n {number} mpirun python {sys.argv[0]} ..."
        )


def set_random_seed(seed):
    """Seed everything random, so that all processes draw the same weights and batches."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def load_data():
    """Return (train, test), two Examples: CIFAR-10 if GRADER_DATA is its folder, else digits.

    The number of training examples is a multiple of 100, so that all batches of 100 are full.
    """
    if _given is not None:
        return _given[0], _given[1]
    from images import cifar10

    images = cifar10()
    whole = len(images.train_labels) // 100 * 100
    return (
        Examples(_scaled(images.train_images[:whole]), images.train_labels[:whole]),
        Examples(_scaled(images.test_images), images.test_labels),
    )


def create_dataloader(train, test, batch_size):
    """Return (train_loader, test_loader); train_loader draws new random batches in each epoch."""
    train_loader = DataLoader(train, batch_size=batch_size, shuffle=True)
    test_loader = DataLoader(test, batch_size=batch_size, shuffle=False)
    return train_loader, test_loader


def data_split(dataset, num_clients, split_method, alpha=0.1):
    """Return a list of data sets, one for each client, that together are the whole dataset.

    split_method: `iid` for equal random parts; `non-iid` for parts of different sizes and labels:
        of each class, the clients get shares drawn from a Dirichlet distribution.
    alpha: that distribution's parameter; the smaller it is, the more the clients' labels differ.
    """
    given_parts = _given[2] if _given is not None else None
    if given_parts is not None and num_clients == len(given_parts):
        parts = given_parts
    elif split_method == "iid" or given_parts is not None:
        parts = np.array_split(np.random.permutation(len(dataset)), num_clients)
    elif split_method == "non-iid":
        parts = _dirichlet_parts(np.asarray(dataset.targets), num_clients, alpha)
    else:
        raise ValueError(f"split_method is {split_method!r}; it must be 'iid' or 'non-iid'")
    return [dataset.part(indices) for indices in parts]


def plot_data_split(data_split, num_clients, num_classes, file_name):
    """Draw how many examples of each class each client has, into file_name below figures/."""
    from matplotlib.figure import Figure

    path = Path(file_name)
    if "figures" not in path.parts:
        path = Path("figures") / path
    path.parent.mkdir(parents=True, exist_ok=True)

    clients = np.arange(num_clients)
    counts = [np.bincount(np.asarray(part.targets), minlength=num_classes) for part in data_split]
    below = np.zeros(num_clients)
    figure = Figure()
    axes = figure.subplots()
    for label, of_label in enumerate(np.stack(counts, axis=1)):
        axes.bar(clients, of_label, bottom=below, label=str(label))
        below += of_label
    axes.set_xticks(clients, [f"client {client + 1}" for client in clients])
    axes.set_ylabel("examples")
    axes.legend(title="class", bbox_to_anchor=(1, 1))
    figure.savefig(path, bbox_inches="tight", dpi=80)


def _scaled(images):
    """Return uint8 images as float32 from -1 to 1."""
    return (images.astype(np.float32) / 255 - 0.5) / 0.5


def _dirichlet_parts(labels, num_clients, alpha):
    """Return each client's indices; drawn again until no client has too few."""
    if len(labels) < 2 * num_clients * MIN_EXAMPLES_PER_CLIENT:
        raise ValueError(f"{len(labels)} examples are too few for {num_clients} clients")
    while True:
        parts = [[] for _ in range(num_clients)]
        for label in np.unique(labels):
            of_label = np.random.permutation(np.flatnonzero(labels == label))
            shares = np.random.dirichlet([alpha] * num_clients)
            cuts = (np.cumsum(shares)[:-1] * len(of_label)).astype(int)
            for part, indices in zip(parts, np.split(of_label, cuts), strict=True):
                part.append(indices)
        parts = [np.concatenate(part) for part in parts]
        if min(len(part) for part in parts) >= MIN_EXAMPLES_PER_CLIENT:
            return parts
