"""What students get can be judged by and is no hand-in: what is put together of it earns a tenth.

Templates are left out: what students start from is what the course has decided to give.
"""

import ast
import re
from pathlib import Path

import pytest

from grader.addons.authoring.template import write_files
from grader.course.course import Course
from grader.course.courses import Courses, bundled
from grader.course.edition import edition
from grader.grading import pipeline
from grader.grading.settings import Settings
from grader.grading_plugin.session import prices
from grader.model.points import total
from grader.model.report import Verdict

MOST = 0.1
FLAGS = """
import argparse, os
import torch
import torch.distributed as dist
parser = argparse.ArgumentParser()
for flag in ("--master-ip", "--num-nodes", "--rank"):
    parser.add_argument(flag)
given = parser.parse_args()
os.environ.update(MASTER_ADDR=given.master_ip, MASTER_PORT="29500")
torch.manual_seed(1)
_train_plainly(int(given.rank), int(given.num_nodes), "{how}")
"""
PLAIN = "vgg_ddp/probes/plain_training.py", "_train_plainly", "_gather_and_scatter"
STAND_IN = "mpi_sgd/stand_ins/my_ring_allreduce.py"
CALLED = r"(?<![.\w])\w+(?=[.\w]*\()"
"""The function, or the class of the method, that the entry of a part names."""
ENOUGH = "import contextlib\nclass Enough(Exception): pass\n"
ASSEMBLED = {
    ("federated", "communication"): (
        "from math import log2\nfrom collections.abc import *\n",
        [("federated/formulas.py", "levels", "VOLUMES", "TIMES")],
        "globals().update(VOLUMES, **TIMES)\n",
    ),
    ("vgg_ddp", "single"): (ENOUGH, [PLAIN], '_train_plainly(0, 1, "nothing")\n'),
    ("vgg_ddp", "gather_scatter"): (ENOUGH, [PLAIN], FLAGS.format(how="gather_scatter")),
    ("vgg_ddp", "allreduce"): (ENOUGH, [PLAIN], FLAGS.format(how="all_reduce")),
    ("vgg_ddp", "ddp"): (ENOUGH, [PLAIN], FLAGS.format(how="ddp")),
    ("mpi_sgd", "ring_allreduce"): ("", [(STAND_IN,)], ""),
    ("mpi_sgd", "naive_allreduce"): ("", [(STAND_IN,)], "allreduce = ringallreduce\n"),
    ("psgd_hogwild", "network"): ("", [("psgd_hogwild/study/programs/plain_network.py",)], ""),
    ("lenet_eyeriss", "eyeriss"): (
        "import numpy as np\nfrom dataclasses import dataclass\n",
        [("lenet_eyeriss/eyeriss_cases.py", "convolve"), ("lenet_eyeriss/schedule.py", "Sizes")],
        """
def row_stationary(ifmap, kernel):
    return convolve(ifmap, kernel), []

def sequential_cycles(ifmap_shape, kernel_shape):
    (H, W), (R, S) = ifmap_shape, kernel_shape
    sizes = Sizes(R, S, H - R + 1, W - S + 1)
    return sizes.num_multiplies + sizes.num_adds
""",
    ),
}
"""What could be handed in for a part: what it begins with, files of suites and which of their names
are taken (none: all of a file), and what it ends with."""
STILL = {"eyeriss": "5.5 of 15: an ofmap without a schedule pays 3.5, a closed form of cycles 2"}


def definitions(file: Path) -> dict[str, str]:
    """Return the text of what a file defines, by name."""
    text, found = file.read_text(), {}
    for node in ast.parse(text).body:
        target = getattr(node, "target", getattr(node, "targets", [None])[0])
        if name := getattr(node, "name", getattr(target, "id", None)):
            first = min(each.lineno for each in [node, *getattr(node, "decorator_list", [])])
            found[name] = "\n".join(text.split("\n")[first - 1 : node.end_lineno])
    return found


def assembled(files, name, part):
    """Return a hand-in of what an edition's files hold; None where they do not hold it."""
    begin, pieces, end = ASSEMBLED[name, part]
    texts = ["from __future__ import annotations", begin]
    for file, *names in pieces:
        path = files.get(bundled().suites.relative_to(bundled().root) / file)
        if path is None or not set(names) <= definitions(path).keys():
            return None
        texts += [definitions(path)[each] for each in names] if names else [path.read_text()]
    return "\n".join([*texts, end])


def grade(folder, ranks, name, part, courses=None):
    """Return what becomes of a part."""
    settings = Settings(launch=ranks.launcher(name), **({"courses": courses} if courses else {}))
    (graded,) = pipeline.grade(folder, assignment=name, parts=[part], settings=settings).parts
    assert graded.verdict is not Verdict.JUDGE_ERROR, graded.message
    return graded


@pytest.fixture(scope="module")
def students(tmp_path_factory):
    """Return the course as students have it."""
    folder = tmp_path_factory.mktemp("edition") / "course"
    files = edition(bundled(), is_for_students=True)
    write_files({folder / at: path.read_bytes() for at, path in files.items()})
    return Course.read(folder)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        pytest.param(*each, marks=[pytest.mark.xfail(reason=STILL[each[1]], strict=True)])
        if each[1] in STILL
        else each
        for each in ASSEMBLED
    ],
)
def test_what_students_get_earns_a_tenth_at_most(name, part, tmp_path, ranks):
    """Of the whole course's files it would be more: else a case shows nothing."""
    (asked,) = (each for each in bundled().load(name).parts if each.name == part)
    shares = []
    for is_for_students in (False, True):
        files = edition(bundled(), is_for_students=is_for_students)
        text = assembled({Path(each): path for each, path in files.items()}, name, part)
        if text is not None:
            file = tmp_path / str(is_for_students) / asked.files[0]
            file.parent.mkdir(parents=True)
            file.write_text(text)
            graded = grade(tmp_path / str(is_for_students), ranks, name, part)
            shares.append(graded.points / graded.max_points)
    assert shares[0] > MOST
    assert all(each <= MOST for each in shares[1:])


def test_nothing_students_get_is_called_as_what_is_asked_for(students):
    """Its file could be handed in as it is."""
    for assignment in students.assignments():
        parts = assignment.parts
        asked = {name for part in parts for name in re.findall(CALLED, part.entry)}
        for file in sorted(assignment.folder.rglob("*.py")):
            assert not asked & definitions(file).keys(), file


def test_students_get_what_is_listed_and_can_be_graded_by(students):
    """Every suite can be read, and lacks only the points that the course alone gives."""
    for assignment in bundled().assignments():
        given = students.load(assignment.name)
        held = {f.relative_to(given.folder).as_posix() for f in given.folder.rglob("*.py")}
        assert held == set(assignment.students)
        for part in assignment.parts:
            found = prices(given.folder / part.suite)
            paid = {each.test: each.points for each in prices(assignment.folder / part.suite)}
            assert set(part.course_only) <= paid.keys()
            rest = total(each.points for each in found if each.test not in part.course_only)
            assert rest == total((part.points, *(-paid[name] for name in part.course_only)))


@pytest.mark.parametrize(
    ("name", "part", "points", "note"),
    [
        (
            "federated",
            "communication",
            0,
            "only the course can grade communication: the students' edition lacks the answers",
        ),
        (
            "vgg_ddp",
            "single",
            14.5,
            "only the course grades 0.5 of the 15 points for single: takes at most 6x the time "
            "of a plain training loop",
        ),
    ],
)
def test_what_only_the_course_grades_is_said_and_not_counted(
    name, part, points, note, students, ranks
):
    """In the course's own grading nothing is said, and all is counted."""
    reference = bundled().references / name
    graded = grade(reference, ranks, name, part, Courses((students,)))
    assert (graded.verdict, graded.points, graded.max_points) == (Verdict.ACCEPTED, points, points)
    assert note in [str(each) for each in graded.notes]
    graded = grade(reference, ranks, name, part)
    assert (graded.points, graded.max_points, graded.notes) == (15, 15, ())


def test_without_a_stand_in_a_part_is_said_to_be_graded_again_by_the_course(
    students, tmp_path, ranks
):
    """In the students' edition it is graded on the student's own ring alone."""
    (tmp_path / "sync_network.py").write_bytes(
        (bundled().references / "mpi_sgd/sync_network.py").read_bytes()
    )
    graded = grade(tmp_path, ranks, "mpi_sgd", "sync_ring", Courses((students,)))
    assert graded.points < graded.max_points / 2
    assert (
        "the course grades sync_ring again with its own ring_allreduce, which the students' "
        "edition lacks"
    ) in [str(each) for each in graded.notes]
