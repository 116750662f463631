"""What a course publishes for its students: wheels, and requirements that hold their hashes."""

import hashlib
import io
import re
import shutil
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename

from grader import __version__
from grader.addons.authoring import skeleton
from grader.addons.authoring.installation import folder
from grader.addons.authoring.installation.folder import EngineWheels
from grader.course import courses
from grader.course.course import Course
from grader.course.courses import find_courses
from grader.course.edition import edition
from grader.model.errors import GraderError, UsageError

LOCK = (Path(__file__).resolve().parents[5] / "requirements.lock").read_text()
STEM = f"distributed_grader-{__version__}"


@pytest.fixture
def course(tmp_path):
    root = tmp_path / "made-course"
    skeleton.write(root, "sums")
    (root / "tests/suites/sums/hidden_sum.py").touch()
    return Course.read(root)


@pytest.fixture
def engine(tmp_path):
    """Return what pretends to be the engine's wheels for two architectures."""
    files = [tmp_path / f"{STEM}-py3-none-{each}.whl" for each in ("x86_64", "aarch64")]
    for file in files:
        file.write_text(file.name)
    named = (
        *("numpy>=2", "mpi4py", "torch>=2; extra == 'torch'"),
        "matplotlib; extra == 'study'",
    )
    return EngineWheels(tuple(files), tuple(map(Requirement, named)))


def written(course, engine, target, url=None):
    files = edition(course, is_for_students=True)
    folder.write(target, course, files, engine, LOCK, url)
    return (target / "requirements.txt").read_text()


def test_every_wheel_is_there_with_its_hash(course, engine, tmp_path):
    """And no requirement is without one."""
    text = written(course, engine, tmp_path / "out")
    wheels = list((tmp_path / "out").glob("*.whl"))
    assert len(wheels) == 3
    for wheel in wheels:
        assert f"--hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}" in text
    for requirement in re.split(r"\n(?=[a-z])", text)[1:]:
        assert re.match(r"[a-z0-9.-]+(\[[a-z,]+\])?==\S+", requirement), requirement
        assert "--hash=sha256:" in requirement, requirement


def test_a_course_without_torch_has_neither_it_nor_its_index(course, engine, tmp_path):
    text = written(course, engine, tmp_path / "out")
    assert not re.search(r"^(torch|sympy|matplotlib)==", text, re.MULTILINE)
    assert "extra-index-url" not in text
    assert re.search("^numpy==", text, re.MULTILINE)


def test_a_course_with_torch_names_the_index_for_cpus(course, engine, tmp_path):
    """As only requirements can: the metadata of a wheel name none."""
    toml = course.suites / "sums/assignment.toml"
    toml.write_text(toml.read_text().replace("[[parts]]", 'needs = ["torch.nn"]\n[[parts]]', 1))
    text = written(course, engine, tmp_path / "out")
    assert f"\n{LOCK.splitlines()[1]}\n" in text
    assert f"\ndistributed-grader[torch]=={__version__} " in text
    assert re.search(r"^torch==\S+\+cpu", text, re.MULTILINE)


def test_a_course_with_a_study_has_what_draws_it(course, engine, tmp_path):
    (course.suites / "sums/study").mkdir()
    text = written(course, engine, tmp_path / "out")
    assert f"\ndistributed-grader[study]=={__version__} " in text
    assert re.search(r"^matplotlib==", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("url", "where"),
    [(None, "."), ("https://example.org/course", "https://example.org/course/index.html")],
)
def test_the_wheels_are_found_beside_the_requirements(course, engine, tmp_path, url, where):
    """In the folder, or by the page that is published with it."""
    text = written(course, engine, tmp_path / "out", url)
    assert f"\n--find-links {where}\n" in text
    page = (tmp_path / "out/index.html").read_text()
    linked = re.findall('href="([^"]+)"', page)
    assert sorted(linked) == sorted(path.name for path in (tmp_path / "out").glob("*.whl"))
    assert folder.install_line(url) in page


def test_a_folder_that_cannot_be_written_is_told(course, engine, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"cannot be written: .*name another folder"):
        written(course, engine, tmp_path / "file")


def test_the_same_files_make_the_same_wheel(course):
    """Another file makes another version, so that pip installs it over the old one."""
    files = edition(course, is_for_students=True)
    first = folder.course_wheel(course, files)
    assert folder.course_wheel(course, files) == first
    name, version, _, tags = parse_wheel_filename(first[0])
    assert (name, str(version)) == ("made-course-course", folder.version_of(files))
    assert [str(tag) for tag in tags] == ["py3-none-any"]
    (course.templates / "sums/more.py").write_text("x = 1\n")
    assert folder.course_wheel(course, edition(course, is_for_students=True))[0] != first[0]


def test_an_installed_course_is_found(course, tmp_path, monkeypatch):
    """By its entry point, whole but for what students do not get; a named one goes before it."""
    name, data = folder.course_wheel(course, edition(course, is_for_students=True))
    (tmp_path / name).write_bytes(data)
    site = tmp_path / "site-packages"
    zipfile.ZipFile(tmp_path / name).extractall(site)
    assert metadata.Distribution.at(next(site.glob("*.dist-info"))).version == name.split("-")[1]
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(courses, "bundled_root", lambda: None)
    (found,) = find_courses(environment={}).courses
    assert found.root == site / "grader_course_made_course"
    assert found.names() == ["sums"]
    assert not found.references.exists()
    assert not list(found.suites.rglob("hidden*"))
    (named,) = find_courses([course.root], environment={}).courses
    assert named.root == course.root


def test_an_installed_wheel_holds_its_own_list_of_files(course):
    """By which pip removes it again."""
    name, data = folder.course_wheel(course, edition(course, is_for_students=True))
    wheel = zipfile.ZipFile(io.BytesIO(data))
    info = f"{name.split('-py3')[0]}.dist-info"
    listed = [line.split(",")[0] for line in wheel.read(f"{info}/RECORD").decode().splitlines()]
    assert sorted(listed) == sorted(wheel.namelist())


@pytest.fixture
def package(tmp_path):
    """Return a small package that stands for the engine's."""
    (tmp_path / "grader").mkdir()
    (tmp_path / "grader/__init__.py").write_text("one = 1\n")
    return tmp_path / "grader"


def make_wheel(package, target):
    target.mkdir()
    with zipfile.ZipFile(target / f"{STEM}-py3-none-any.whl", "w") as wheel:
        wheel.write(package / "__init__.py", "grader/__init__.py")
        wheel.writestr(
            f"{STEM}.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: distributed-grader\nRequires-Dist: numpy>=2\n"
            'Requires-Dist: torch; extra == "torch"\n\nBody: of the text\n',
        )


def test_wheels_of_this_engine_are_taken(package, tmp_path, monkeypatch):
    digests = folder.engine_digest
    monkeypatch.setattr(folder, "engine_digest", lambda *folder: digests(*folder or [package]))
    make_wheel(package, tmp_path / "dist")
    found = EngineWheels.find(tmp_path / "dist")
    assert found.needs() == ["numpy"]
    assert found.needs(["torch"]) == ["numpy", "torch"]
    (package / "__init__.py").write_text("one = 2\n")
    with pytest.raises(GraderError, match="was not built from this engine's sources"):
        EngineWheels.find(tmp_path / "dist")


def test_no_wheels(tmp_path):
    with pytest.raises(GraderError, match="build the engine's wheels with `make wheels`"):
        EngineWheels.find(tmp_path)
    shutil.rmtree(tmp_path)
    with pytest.raises(GraderError, match="build the engine's wheels"):
        EngineWheels.find(tmp_path)
