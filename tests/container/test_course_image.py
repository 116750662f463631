"""A course from outside of this repository, in images made by `grade build`."""

import docker
import pytest
from docker.errors import DockerException, ImageNotFound
from this_checkout import ENGINE_IMAGE, TAG, docker_run, grade

from grader.addons.authoring import skeleton
from grader.course.course import Course

COURSE_IMAGE, LEAK_IMAGE = f"grader-test-course-{TAG}", f"grader-test-leak-{TAG}"


def contents(image):
    """Return the paths of all files that an image holds of its course."""
    client = docker.from_env()
    listing = client.containers.run(
        image, entrypoint=["find", "/opt/course", "-type", "f", "-printf", "%m %P\\n"], remove=True
    )
    return dict(reversed(line.split(" ", 1)) for line in listing.decode().splitlines())


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Return a course with one assignment and a hidden test, and have its images made."""
    try:
        docker.from_env().images.get(ENGINE_IMAGE)
    except (DockerException, ImageNotFound):
        pytest.skip(f"there is no image {ENGINE_IMAGE}: `make image` builds it")
    root = tmp_path_factory.mktemp("outside") / "course"
    skeleton.write(root, "sums")
    suites = root / "tests/suites/sums"
    hidden = (
        "@points(3)\n"
        "def test_many_ranks(run):\n"
        '    """Five ranks, which no visible test has, get the sum.\n\n    All of them.\n    """\n'
        "    for case, outcome in run(5, CASES):\n"
        "        assert_sums(case, outcome)\n"
    )
    (suites / "hidden_sum.py").write_text(
        "from grader.api import part, points\n\n"
        "from .test_sum import CASES, assert_sums\n\n"
        'pytestmark = [part("sum")]\n\n\n' + hidden
    )
    toml = suites / "assignment.toml"
    toml.write_text(toml.read_text().replace("points = 10\n", "points = 10\nhidden_points = 3\n"))
    done = grade("--course", root, "build", "--tag", COURSE_IMAGE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [COURSE_IMAGE, f"{COURSE_IMAGE}-student"]
    yield root
    for image in done.stdout.split():
        docker.from_env().images.remove(image, force=True)


def test_the_course_image_grades_with_hidden_tests(course):
    """By nothing but what lies in the image; no bundled assignment is there."""
    done = docker_run(course / "reference/sums", image=COURSE_IMAGE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "13 of 13 points in" in done.stdout
    listed = docker_run(course, "list", image=COURSE_IMAGE).stdout
    assert listed.startswith("sums: A sum over ranks")
    assert "mpi_sgd" not in listed


def test_the_image_names_the_course_that_it_grades_by(course):
    """As its own `grade --version` does, so that a class is not graded by two prices."""
    said = docker.from_env().images.get(COURSE_IMAGE).labels["grader.course"]
    assert said == f"course {Course.read(course).digest()}"
    done = docker_run(course, "--version", image=COURSE_IMAGE)
    assert f"course {said}" in done.stdout.splitlines()


def test_only_root_reads_the_course_in_its_image(course):
    assert set(contents(COURSE_IMAGE).values()) == {"600"}


def test_the_student_image_has_no_solution_and_no_hidden_test(course):
    """It grades all the same, and says what is missing."""
    files = contents(f"{COURSE_IMAGE}-student")
    assert "student_template/sums/my_sum.py" in files
    assert not any("hidden" in name or name.startswith("reference/") for name in files)
    done = docker_run(course / "reference/sums", image=f"{COURSE_IMAGE}-student")
    assert "10 of 10 points in" in done.stdout
    assert "your course grades 3 further points" in done.stdout
    (told,) = [line for line in done.stdout.splitlines() if "protection" in line]
    assert told.startswith("note: feedback, not your mark: ")


def test_hidden_lines_in_what_students_get_stop_the_build(course):
    """Nothing is built then."""
    leak = course / "student_template/sums/HANDOUT.md"
    before = leak.read_text()
    leak.write_text(f'{before}\n    """Five ranks, which no visible test has, get the sum.\n')
    done = grade("--course", course, "build", "--tag", LEAK_IMAGE)
    leak.write_text(before)
    assert done.returncode == 3
    assert "students get this file, but it has a line from hidden_sum.py" in done.stderr
    with pytest.raises(ImageNotFound):
        docker.from_env().images.get(LEAK_IMAGE)


def test_an_engine_image_that_is_not_there_is_told(course):
    done = grade("--course", course, "build", "--from", "no-such-engine")
    assert done.returncode == 3
    assert "no-such-engine" in done.stderr
    assert done.stderr.count("\n") < 5
