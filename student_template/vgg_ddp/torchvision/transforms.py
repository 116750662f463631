"""The transforms of this assignment; they take a uint8 array (height, width, 3) or a tensor."""

import numpy as np
import torch


class Compose:
    """Apply transforms one after the other."""

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image):
        for transform in self.transforms:
            image = transform(image)
        return image


class ToTensor:
    """Turn a uint8 array (height, width, 3) into a tensor (3, height, width) from 0 to 1."""

    def __call__(self, image):
        tensor = torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))
        return tensor.to(torch.get_default_dtype()) / 255


class Normalize:
    """Subtract the mean of each channel and divide by its standard deviation."""

    def __init__(self, mean, std, inplace=False):
        self.mean = torch.as_tensor(mean).reshape(-1, 1, 1)
        self.std = torch.as_tensor(std).reshape(-1, 1, 1)

    def __call__(self, tensor):
        return (tensor - self.mean.to(tensor.dtype)) / self.std.to(tensor.dtype)


class RandomHorizontalFlip:
    """Mirror the image, with probability p."""

    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, image):
        if torch.rand(1).item() >= self.p:
            return image
        return image.flip(-1) if isinstance(image, torch.Tensor) else image[:, ::-1]


class RandomCrop:
    """Put `padding` zeros around the image, then cut a piece of the given size out of it."""

    def __init__(self, size, padding=0):
        self.height, self.width = (size, size) if isinstance(size, int) else size
        self.padding = padding or 0

    def __call__(self, image):
        # Rows and columns are the last two axes of a tensor, the first two of an array.
        first = image.ndim - 2 if isinstance(image, torch.Tensor) else 0
        rows, columns = image.shape[first : first + 2]
        spare_rows = rows + 2 * self.padding - self.height
        spare_columns = columns + 2 * self.padding - self.width
        if spare_rows < 0 or spare_columns < 0:
            raise ValueError(
                f"cannot cut {self.height} x {self.width} out of {rows} x {columns} pixels with "
                f"padding {self.padding}"
            )
        top = torch.randint(spare_rows + 1, (1,)).item()
        left = torch.randint(spare_columns + 1, (1,)).item()
        padded = _padded(image, self.padding)
        return padded[
            (slice(None),) * first + (slice(top, top + self.height), slice(left, left + self.width))
        ]


def _padded(image, padding):
    if isinstance(image, torch.Tensor):
        return torch.nn.functional.pad(image, (padding,) * 4)
    rows, columns, channels = image.shape
    padded = np.zeros((rows + 2 * padding, columns + 2 * padding, channels), dtype=image.dtype)
    padded[padding : padding + rows, padding : padding + columns] = image  # np.pad takes longer
    return padded


def __getattr__(name):
    raise AttributeError(
        "this course's torchvision.transforms has Compose, ToTensor, Normalize, RandomCrop and "
        f"RandomHorizontalFlip only, and no {name}"
    )
