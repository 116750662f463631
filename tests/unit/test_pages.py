"""What pages tell students to install: what their course has locked, never another project's."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("benchmarks", "ci", "docs", "grader", "reference", "student_template", "tests/suites")
PAGES = sorted(
    path
    for start in (ROOT, *(ROOT / folder for folder in FOLDERS))
    for path in (start.glob("*") if start == ROOT else start.rglob("*"))
    if path.suffix in (".md", ".py", ".toml", ".yml", ".in") and path.is_file()
)
HANDOUTS = [path for path in PAGES if path.name == "HANDOUT.md"]
A_STRANGERS = re.compile(r"(pipx?|uv)( pip)? install( -\S+)*\s+[\"'`]?grader\b(?!/)")
LINE = "pip install -r requirements.txt"


def test_no_page_installs_a_strangers_package():
    """`grader` is another project's where packages are published; ours has a name of its own."""
    assert len(PAGES) > 300
    assert [path for path in PAGES if A_STRANGERS.search(path.read_text())] == []


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("pip install grader", True),
        ("pip install -q 'grader[torch]'", True),
        ("pipx install grader", True),
        ("uv pip install grader", True),
        ("pip install distributed-grader", False),
        ("pip install --editable grader/", False),
        ("pip install -r requirements.txt", False),
    ],
)
def test_the_wrong_line_is_told_from_others(text, is_wrong):
    assert bool(A_STRANGERS.search(text)) is is_wrong


@pytest.mark.parametrize("page", HANDOUTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_handout_starts_with_how_to_check(page):
    """The first sentence below the title installs, and the next one checks."""
    title, start = page.read_text().split("\n\n", 1)
    assert title.startswith("# ")
    installs, line, checks, *_ = start.split("\n\n")
    assert installs.startswith("Install the grader")
    assert line == f"    {LINE}"
    assert checks.startswith("Then run `grade check .`")


def test_the_first_section_of_the_readme_is_for_students():
    """By pip, or by Docker in the shells that they have."""
    section = (ROOT / "README.md").read_text().split("\n## ")[1]
    assert section.startswith("For students\n")
    assert LINE in section
    for shell, folder in (("Linux, macOS, PowerShell", "${PWD}"), ("Windows cmd", "%cd%")):
        command = f'docker run --rm --network none -v "{folder}:/submission:ro" grade-student'
        assert f"| {shell} | `{command}` |" in section
