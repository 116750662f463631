"""CIFAR10 without a download: the real images where GRADER_DATA holds them, else digits."""

from dataclasses import replace

from torch.utils.data import Dataset

given = None
"""Images to use instead, as `images.cifar10` returns them: grading puts its own here."""


class CIFAR10(Dataset):
    """Images of 32 x 32 pixels in ten classes; called like torchvision's class.

    An example is (image, label): the image as uint8 array (32, 32, 3) until a transform changes it.
    """

    classes = (
        *("airplane", "automobile", "bird", "cat", "deer"),
        *("dog", "frog", "horse", "ship", "truck"),
    )

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        """Take the training or the test images; `root` and `download` have no effect here."""
        self.root = root
        self.train = train
        self.transform = transform
        self.target_transform = target_transform
        found = _images()
        images = found.train_images if train else found.test_images
        labels = found.train_labels if train else found.test_labels
        self.data = images.transpose(0, 2, 3, 1)
        self.targets = labels.tolist()
        self.class_to_idx = {name: label for label, name in enumerate(self.classes)}

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        image, label = self.data[index], self.targets[index]
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            label = self.target_transform(label)
        return image, label


def _images():
    if given is not None:
        return given
    # Imported only here: with images of its own, grading does not need it.
    import images

    found = images.cifar10()
    if len(found.train_labels) > 5000:
        return found
    # An epoch of the digits would be six iterations, in which no network learns.
    return replace(
        found,
        train_images=found.train_images.repeat(8, axis=0),
        train_labels=found.train_labels.repeat(8),
    )


def __getattr__(name):
    raise AttributeError(f"this course's torchvision.datasets has CIFAR10 only, and no {name}")
