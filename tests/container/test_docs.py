"""The pages with commands that need Docker: README and the instructors'."""

import docker
import pytest
from docker.errors import DockerException, ImageNotFound
from pages import ROOT, problems, steps


@pytest.mark.parametrize("page", ["README.md", "docs/instructor.md"])
def test_commands_do_what_their_page_says(page, tmp_path):
    """In a folder that holds what a checkout does, without writing into the checkout itself."""
    try:
        for image in ("grade", "grade-student"):
            docker.from_env().images.get(image)
    except (DockerException, ImageNotFound):
        pytest.skip("there is no image grade or grade-student: `make image` builds them")
    work = tmp_path / "work"
    work.mkdir()
    for each in ROOT.iterdir():
        if each.name not in (".git", "build"):
            (work / each.name).symlink_to(each)
    assert problems(steps(ROOT / page), tmp_path) == []
