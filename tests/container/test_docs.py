"""The pages with commands that need Docker: README and the instructors'."""

import docker
import pytest
from docker.errors import DockerException, ImageNotFound
from pages import ROOT, problems, steps
from this_checkout import IMAGE, STUDENT_IMAGE


@pytest.mark.parametrize(
    "page", ["README.md", pytest.param("docs/instructor.md", marks=pytest.mark.slow)]
)
def test_commands_do_what_their_page_says(page, tmp_path):
    """In a folder that holds what a checkout does, without writing into the checkout itself."""
    try:
        for image in (IMAGE, STUDENT_IMAGE):
            docker.from_env().images.get(image)
    except (DockerException, ImageNotFound):
        pytest.skip(f"there is no image {IMAGE} or {STUDENT_IMAGE}: `make image` builds them")
    work = tmp_path / "work"
    work.mkdir()
    for each in ROOT.iterdir():
        if each.name not in (".git", "build"):
            (work / each.name).symlink_to(each)
    assert problems(steps(ROOT / page), tmp_path) == []
