"""Programs and gradings read small files in the formats of MNIST and CIFAR-10, end to end.

The files hold bundled digits, and their lengths and checksums stand in the place of the published.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import data_files
import numpy as np
import pytest
from this_checkout import ROOT

from grader import cli
from grader.course.support import images

pytestmark = pytest.mark.slow
NUM_TRAIN, NUM_TEST = 480, 96


def write(folder: Path, data: str) -> data_files.Published:
    """Write the files of MNIST or CIFAR-10; return what was published of them."""
    digits, labels = images.digits()
    digits, labels = digits[: NUM_TRAIN + NUM_TEST], labels[: NUM_TRAIN + NUM_TEST]
    if data == "MNIST":
        digits = images.resized(digits, 28, 28)
        train, test = np.split(digits, [NUM_TRAIN]), np.split(labels, [NUM_TRAIN])
        contents = data_files.mnist(train[0], test[0], train[1], test[1])
    else:
        digits = images.resized(digits, 32, 32)[:, None].repeat(3, axis=1)
        contents = data_files.cifar10(digits, labels)
    folder.mkdir()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return data_files.published(contents)


def program(folder: Path, assignment: str, published: data_files.Published) -> Path:
    """Copy a reference and what it is given; let its images.py know the files."""
    shutil.copytree(ROOT / "reference" / assignment, folder)
    text = Path(images.__file__).read_text()
    for name, (num_bytes, checksum) in published.items():
        text = re.sub(rf'"{name}": \(.*\)', f'"{name}": ({num_bytes}, "{checksum}")', text)
    (folder / "images.py").write_text(text)
    if assignment == "vgg_ddp":
        model = folder / "model.py"
        model.write_text(re.sub("FIRST_CHANNELS = .*", "FIRST_CHANNELS = 4", model.read_text()))
    return folder


@pytest.mark.parametrize(
    ("assignment", "data", "command", "says"),
    [
        ("lenet_eyeriss", "MNIST", "train.py allreduce --epochs 5", r"\n +5 "),
        ("psgd_hogwild", "MNIST", "main.py serial --epochs 2", r": [\d.]+ s, [2-9]\d\.\d% of"),
        ("vgg_ddp", "CIFAR-10", "part1/main.py", r"test loss .*, accuracy 0\.[2-9]"),
    ],
)
def test_a_program_trains_on_the_files(tmp_path, assignment, data, command, says):
    """Without the digits beside it, so that it has no other images."""
    published = write(tmp_path / "data", data)
    folder = program(tmp_path / "program", assignment, published)
    done = subprocess.run(
        [sys.executable, *command.split()],
        cwd=folder,
        env={**os.environ, "GRADER_DATA": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stderr
    assert re.search(says, done.stdout), done.stdout


@pytest.mark.parametrize(
    ("assignment", "part", "data"),
    [
        ("lenet_eyeriss", "allreduce", "MNIST"),
        ("psgd_hogwild", "psgd", "MNIST"),
        ("vgg_ddp", "single", "CIFAR-10"),
    ],
)
def test_a_part_is_graded_on_the_files(tmp_path, monkeypatch, capsys, assignment, part, data):
    """The report says so, and the reference has all points."""
    published = write(tmp_path / "data", data)
    table = "_MNIST_FILES" if data == "MNIST" else "_CIFAR10_FILES"
    monkeypatch.setattr(images, table, published)
    reference = str(ROOT / "reference" / assignment)
    options = ["--part", part, "--data", str(tmp_path / "data"), "--plain"]
    exit_code = cli.run(["check", reference, *options])
    printed = capsys.readouterr().out
    assert exit_code == 0, printed
    assert f"graded on {data} from the data folder" in printed
