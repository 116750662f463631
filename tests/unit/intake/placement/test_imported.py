"""Which scripts beside and around a part's own ones are run with it."""

import time

import pytest

from grader.intake.placement.imported import Scripts


def beside(files: dict[str, bytes], root: str, *own: str) -> dict[str, str]:
    return Scripts(files).beside(root, own)


def test_all_scripts_of_the_folder_are_there_and_no_other_files():
    """Whether they are imported or not; what lies below it only where it is named."""
    files = {"a/ring.py": b"", "a/b.py": b"", "a/c.csv": b"", "a/d/e.py": b"", "f.py": b""}
    assert beside(files, "a", "a/ring.py") == {"ring.py": "a/ring.py", "b.py": "a/b.py"}
    assert set(beside(files, "", "f.py")) == {"f.py"}


def test_the_folder_of_a_part_counts_whole():
    """And not that of another part."""
    files = {"hw/part1/main.py": b"", "hw/part1/a/b.py": b"", "hw/part2/main.py": b""}
    assert set(beside(files, "hw", "hw/part1/main.py")) == {"part1/main.py", "part1/a/b.py"}


@pytest.mark.parametrize(
    "line",
    [
        "from utils.train import loop",
        "import utils",
        "import numpy as np, utils.train as train",
        "sys.path.append('../utils')",
        "SYS_PATH = 'utils'",
        "importlib.import_module('utils.train')",
        "from utils import (\n    train,\n)",
        "sys.path.append(str(HERE)); import train",
    ],
)
@pytest.mark.parametrize("root", ["", "anna"])
def test_what_is_named_comes_along_with_what_it_names_in_turn(root, line):
    """By the name of the folder or of the script."""
    files = {
        "ring.py": line.encode(),
        "utils/train.py": b"from shared.deep.layers import conv",
        "utils/weights.bin": b"2",
        "shared/deep/layers/conv.py": b"3",
        "notes/scratch.py": b"4",
    }
    there = {f"{root}/{path}".lstrip("/"): content for path, content in files.items()}
    found = beside(there, root, f"{root}/ring.py".lstrip("/"))
    assert set(found) == {"ring.py", "shared/deep/layers/conv.py", "utils/train.py"}
    assert all(path.endswith(name) for name, path in found.items())


def test_another_version_of_a_script_is_no_helper():
    """Though others import one of that name."""
    files = {"ring.py": b"", "sync.py": b"from ring import go", "old/ring.py": b"x"}
    assert set(beside(files, "", "sync.py")) == {"ring.py", "sync.py"}


def test_a_word_in_another_line_is_no_import():
    """Only lines about imports and paths count."""
    files = {"ring.py": b"train = 1\nimport numpy", "utils/train.py": b""}
    assert set(beside(files, "", "ring.py")) == {"ring.py"}


def test_from_elsewhere_comes_what_lies_beside_a_folder_above():
    """A repository with a folder for each exercise and one for what they share."""
    files = {
        "repo/ex1/ring.py": b"from common.sums import total",
        "repo/common/sums.py": b"",
        "repo/ex2/sync.py": b"",
    }
    scripts = Scripts(files)
    found = scripts.beside("repo/ex1", ["repo/ex1/ring.py"])
    assert set(found) == {"ring.py"}
    more = scripts.from_elsewhere(found, ["repo/ex1"])
    assert more["common/sums.py"] == "repo/common/sums.py"
    assert "ex2/sync.py" not in more


def test_of_very_many_the_nearest_are_taken():
    """A whole environment in a folder is no reason to run nothing."""
    many = {f"env/lib/{number:04}.py": b"" for number in range(3000)}
    files = {"ring.py": b"import env.near", "env/near.py": b"", **many}
    found = beside(files, "", "ring.py")
    assert len(found) == 501
    assert "env/near.py" in found


def test_a_long_chain_through_deep_folders_takes_no_time():
    """Two thousand scripts, of which each imports the next one."""
    deep = "/".join("abcdefghijk")
    files = {f"{deep}/m{each}.py": b"import m%d" % (each + 1) for each in range(1999)}
    files["ring.py"] = b"import m0"
    started_s = time.perf_counter()
    scripts = Scripts(files)
    found = scripts.beside("", ["ring.py"])
    more = scripts.from_elsewhere(found, ["", deep])
    assert len(found) + len(more) <= 1002
    assert time.perf_counter() - started_s < 20
