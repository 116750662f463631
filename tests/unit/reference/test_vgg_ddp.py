"""Tests of what vgg_ddp gives its students: the network, the small torchvision, the scripts."""

import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from .imports import imported

torch = pytest.importorskip("torch")

REFERENCE = Path(__file__).parents[3] / "reference" / "vgg_ddp"
MODULES = ("torchvision.datasets", "torchvision.transforms", "torchvision", "model")


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """Import the support modules anew, and let go of their common names afterwards."""
    return imported(monkeypatch, MODULES, REFERENCE)


@pytest.fixture
def pictures():
    """Return 12 images for training and 4 for testing, as `images.cifar10` does."""
    random = np.random.default_rng(1)
    return SimpleNamespace(
        train_images=random.integers(256, size=(12, 3, 32, 32), dtype=np.uint8),
        train_labels=np.arange(12) % 10,
        test_images=random.integers(256, size=(4, 3, 32, 32), dtype=np.uint8),
        test_labels=np.arange(4),
    )


def test_the_network_has_the_layers_of_the_paper(given):
    """Eight convolutions of 64 to 512 channels in five groups, each ended by a max pool."""
    layers = given["model"].VGG11().features
    convolutions = [each for each in layers if isinstance(each, torch.nn.Conv2d)]
    assert [each.out_channels for each in convolutions] == [64, 128, 256, 256, 512, 512, 512, 512]
    assert sum(isinstance(each, torch.nn.BatchNorm2d) for each in layers) == 8
    kinds = "".join(type(each).__name__[0] for each in layers)
    assert kinds == "CBRM" * 2 + ("CBR" * 2 + "M") * 3


def test_the_network_gives_ten_scores_an_image(given):
    """A narrow network takes the same images."""
    given["model"].FIRST_CHANNELS = 2
    scores = given["model"].VGG11()(torch.zeros(3, 3, 32, 32))
    assert scores.shape == (3, 10)


def test_the_dataset_holds_the_given_images(given, pictures):
    """Examples are (image, label), rows first, and the test set is another one."""
    datasets = given["torchvision.datasets"]
    datasets.given = pictures
    train = datasets.CIFAR10(root="./data", train=True, download=True)
    test = datasets.CIFAR10("./data", False)
    assert (len(train), len(test)) == (12, 4)
    image, label = train[5]
    np.testing.assert_array_equal(image, pictures.train_images[5].transpose(1, 2, 0))
    assert label == 5
    assert test[3][1] == 3


def test_the_transforms_are_applied_in_order(given, pictures):
    """ToTensor scales to 0..1 and puts channels first; Normalize works channel by channel."""
    transforms = given["torchvision.transforms"]
    both = transforms.Compose(
        [transforms.ToTensor(), transforms.Normalize([0.1, 0.2, 0.3], [1, 2, 4])]
    )
    image = pictures.train_images[0].transpose(1, 2, 0)
    expected = pictures.train_images[0] / 255 - np.array([0.1, 0.2, 0.3]).reshape(3, 1, 1)
    expected /= np.array([1, 2, 4]).reshape(3, 1, 1)
    found = both(image)
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("kind", ["array", "tensor"])
def test_a_random_crop_is_a_shifted_image(given, pictures, kind):
    """The piece lies in the image with zeros around it; all shifts come up."""
    transforms = given["torchvision.transforms"]
    torch.manual_seed(1)
    image = pictures.train_images[0].transpose(1, 2, 0)
    padded = np.pad(image, ((4, 4), (4, 4), (0, 0)))
    crop = transforms.RandomCrop(32, padding=4)
    shifts = set()
    for _ in range(400):
        if kind == "array":
            piece = crop(image)
        else:
            piece = crop(torch.from_numpy(image.copy()).permute(2, 0, 1)).permute(1, 2, 0).numpy()
        places = [
            (i, j)
            for i in range(9)
            for j in range(9)
            if np.array_equal(padded[i : i + 32, j : j + 32], piece)
        ]
        assert len(places) == 1
        shifts.update(places)
    assert len(shifts) > 70


def test_a_crop_that_does_not_fit_says_so(given):
    """Sizes are named, as they were asked for."""
    with pytest.raises(ValueError, match="cannot cut 40 x 40 out of 32 x 32 pixels with padding 2"):
        given["torchvision.transforms"].RandomCrop(40, padding=2)(np.zeros((32, 32, 3)))


def test_a_flip_mirrors_columns_with_its_probability(given, pictures):
    """About half of the images are mirrored, left to right, arrays and tensors alike."""
    flip = given["torchvision.transforms"].RandomHorizontalFlip()
    torch.manual_seed(1)
    image = pictures.train_images[0].transpose(1, 2, 0)
    flipped = [np.array_equal(flip(image), image[:, ::-1]) for _ in range(200)]
    assert 60 < sum(flipped) < 140
    tensor = torch.arange(6.0).reshape(1, 2, 3)
    certain = given["torchvision.transforms"].RandomHorizontalFlip(p=1.0)
    assert torch.equal(certain(tensor), tensor[..., [2, 1, 0]])


@pytest.mark.parametrize(
    ("module", "name"), [("torchvision.datasets", "MNIST"), ("torchvision.transforms", "Resize")]
)
def test_what_the_small_torchvision_lacks_is_named(given, module, name):
    """An AttributeError says that it is the course's, and what it has."""
    with pytest.raises(AttributeError, match=f"this course's {module} has .*no {name}"):
        getattr(given[module], name)


def test_without_given_images_the_course_s_own_are_read(given, monkeypatch):
    """Digits of 32 x 32 pixels, or CIFAR-10 where GRADER_DATA has it: images.py decides."""
    monkeypatch.syspath_prepend(REFERENCE.parents[1] / "grader" / "course" / "support")
    monkeypatch.delitem(sys.modules, "images", raising=False)
    monkeypatch.delenv("GRADER_DATA", raising=False)
    train = given["torchvision.datasets"].CIFAR10(root="./data", train=True)
    monkeypatch.delitem(sys.modules, "images")
    image, label = train[0]
    assert image.shape == (32, 32, 3)
    assert image.dtype == np.uint8
    assert label == train.targets[0]


def test_two_nodes_run_every_script(tmp_path):
    """Over real sockets, as the handout says, each script comes to its end and prints a loss."""
    ports = [str(free_port()) for _ in SCRIPTS]
    nodes = [
        subprocess.Popen(
            [sys.executable, "-c", ONE_NODE, str(REFERENCE), str(rank), *ports],
            cwd=tmp_path,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    with contextlib.ExitStack() as stack:
        for node in nodes:
            stack.callback(node.kill)
        ends = [node.communicate(timeout=120) for node in nodes]
    for node, (printed, errors) in zip(nodes, ends, strict=True):
        assert node.returncode == 0, errors
        assert printed.count("epoch 0, iteration 0: loss 2.") == len(SCRIPTS), printed
        assert printed.count("accuracy") == len(SCRIPTS), printed


SCRIPTS = ("part2a/main.py", "part2a/main_isend.py", "part2b/main.py", "part3/main.py")

ONE_NODE = f"""
import runpy
import sys
from types import SimpleNamespace

reference, rank, *ports = sys.argv[1:]
sys.path.append(reference)
import model
import numpy as np
import torch
import torchvision.datasets

torch.set_num_threads(1)
model.FIRST_CHANNELS = 1
torchvision.datasets.given = SimpleNamespace(
    train_images=np.random.default_rng(1).integers(256, size=(512, 3, 32, 32), dtype=np.uint8),
    train_labels=np.arange(512) % 10,
    test_images=np.zeros((4, 3, 32, 32), dtype=np.uint8),
    test_labels=np.arange(4),
)
for script, port in zip({SCRIPTS}, ports, strict=True):
    sys.argv[1:] = ["--master-ip", "127.0.0.1", "--num-nodes", "2", "--rank", rank, "--port", port]
    runpy.run_path(f"{{reference}}/{{script}}", run_name="__main__")
"""


def free_port():
    """Return a port that nobody listens on at this moment."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
