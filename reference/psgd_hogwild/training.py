"""What both trainings share: the digits, the loss, and how well a model does."""

import images
import torch
from torch.utils.data import DataLoader, TensorDataset


def digits():
    """Return (training set, test set) of pairs: an image (1, 28, 28) in 0..1, and its class."""
    found = images.mnist()
    return (
        _pairs(found.train_images, found.train_labels),
        _pairs(found.test_images, found.test_labels),
    )


def loss(probabilities, labels):
    """Return the mean over the batch of -log(probability of the right class).

    probabilities: what the model gives, shape (batch, classes). labels: shape (batch,).
    """
    of_the_right_class = probabilities.gather(1, labels.unsqueeze(1))
    # A probability that has been rounded to zero would make the loss infinite, its gradient NaN.
    return -of_the_right_class.clamp(min=1e-30).log().mean()


def accuracy(model, dataset):
    """Return the share of examples whose class the model finds most probable."""
    was_training = model.training
    model.eval()
    num_right = 0
    with torch.no_grad():
        for inputs, labels in DataLoader(dataset, batch_size=500):
            num_right += (model(inputs).argmax(dim=1) == labels).sum().item()
    model.train(was_training)
    return num_right / len(dataset)


def _pairs(pixels, classes):
    return TensorDataset(torch.from_numpy(pixels).unsqueeze(1) / 255, torch.from_numpy(classes))
