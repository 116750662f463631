"""Every command of the pages does what the pages say; those with Docker: tests/container."""

import argparse
import ast
import fnmatch
import re
import shlex
from pathlib import Path

import generated_pages
import pytest
import terminal_svg
from pages import PAGES, ROOT, Block, blocks, problems, steps

from grader.commands.arguments import parser

DOCS = ROOT / "docs"
WRITTEN = re.compile(r"(?<![-\w./$])grade ((?:--course \S+ )?[a-z]+\b[^`\n]*)")
LAYOUT = re.compile(r"\s{2,}|[|;)#>].*")
MESSAGES = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_commands_is_run_or_says_why_not(page):
    for block in blocks(page):
        if isinstance(block, Block) and block.has_commands:
            assert block.is_run or block.comments.get("not run"), (
                f"{block.name}: its commands are neither run by a test, as those of a block "
                "```console are, nor marked by <!-- not run: REASON --> in front of it"
            )


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("authoring.md", marks=pytest.mark.slow),
        "platforms.md",
        "student.md",
        "trace.md",
    ],
)
def test_commands_do_what_their_page_says(page, tmp_path):
    """One after the other, in an empty folder outside of this repository."""
    found = steps(DOCS / page)
    assert any(step.command.startswith("grade ") for step in found)
    assert problems(found, tmp_path) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_and_option_that_a_page_names_is_there(page):
    """Also in running text, tables, and lines of usage that cannot be run."""
    known = _options()
    for number, line in enumerate(page.read_text().splitlines(), 1):
        for written in WRITTEN.findall(line):
            words = LAYOUT.sub("", written.removeprefix("--course ")).split()
            command = next((word for word in words if word in known), None)
            if command is None:
                continue
            options = re.findall(r"(?<![\w-])(--?[a-z][a-z-]*)", " ".join(words))
            for option in options:
                assert option in known[command], f"{name_of(page)}:{number}: {option} of {command}"


def test_each_command_of_the_readme_can_be_pasted_as_it_stands():
    """A line is a command: no words to fill in, files that are there, options that exist."""
    lines = [
        line
        for block in blocks(ROOT / "README.md")
        if isinstance(block, Block) and block.has_commands
        for line in block.lines
    ]
    assert len(lines) >= 8
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for line in lines:
        words = shlex.split(line)
        assert not re.search(r"\b[A-Z]{2,}\b|\.\.\.|[<>\[\]#]", line), line
        if words[0] == "grade":
            found = _parser().parse_args(words[1:])
            for name in ("submission", "folder"):
                path = getattr(found, name, None)
                assert path is None or "/" not in str(path) or (ROOT / path).exists(), line
        elif words[0] == "make":
            assert words[1] in targets, line
        else:
            assert words == ["pip", "install", "-r", "requirements.txt"], line


LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,4} (.+)$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_link_of_a_page_leads_nowhere(page):
    """Not to a page that only the site has, either: whoever reads the repository has no site."""
    for link in filter(None, (one or other for one, other in LINK.findall(page.read_text()))):
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        found = (page.parent / path).resolve() if path else page
        assert found.exists() and generated_pages.BUILT not in found.parents, link
        if anchor:
            headings = HEADING.findall(found.read_text())
            assert anchor in {
                re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings
            }


FOR_WHOM = re.compile(r"\*For [^*]+: an? (tutorial|how-to guide|reference|explanation)\.\*")


@pytest.mark.parametrize("page", sorted({*DOCS.glob("*.md")} - {DOCS / "index.md"}), ids=name_of)
def test_a_page_begins_with_for_whom_it_is_and_of_which_kind(page):
    """All but the index, which leads to them."""
    _assert_begins_well(page.read_text())


def test_so_do_the_pages_of_the_site():
    """Which are not committed."""
    for text in generated_pages.built().values():
        _assert_begins_well(text)


def _assert_begins_well(text: str) -> None:
    title, second, *_ = text.split("\n\n")
    assert title.startswith("# ")
    assert FOR_WHOM.fullmatch(second), f"{second}; say, such as, *For students: a tutorial.*"


@pytest.mark.parametrize("page", generated_pages.references(), ids=name_of)
def test_a_reference_is_written_from_code(page):
    """`make docs` writes it."""
    below = generated_pages.references()[page]
    assert page.read_text() == generated_pages.whole(page, below), "run `make docs`"


def test_the_picture_of_the_readme_is_what_the_command_prints():
    """`make docs` writes it."""
    assert terminal_svg.FILE.read_text() == terminal_svg.svg(terminal_svg.printed())
    assert "(docs/images/deadlock.svg)" in (ROOT / "README.md").read_text()


def test_a_picture_keeps_letters_in_their_columns_and_shows_no_markup():
    """With the colours of the terminal."""
    drawn = terminal_svg.svg("\x1b[1;31mno\x1b[0m <b>")
    assert '<tspan x="16" textLength="16.8" class="b r">no</tspan>' in drawn
    assert '<tspan x="32.8" textLength="33.6"> &lt;b&gt;</tspan>' in drawn


def _parser() -> argparse.ArgumentParser:
    return parser(argparse.Action)


def _options() -> dict[str, set[str]]:
    """Return the options of each command."""
    actions = [each for each in _parser()._actions if isinstance(each, argparse._SubParsersAction)]
    return {
        name: {option for action in each._actions for option in action.option_strings}
        for name, each in actions[0].choices.items()
    }


def test_the_messages_that_students_look_up_are_the_graders():
    table = (
        (DOCS / "troubleshooting.md").read_text().partition("| message |")[2].partition("\n\n")[0]
    )
    found = MESSAGES.findall(table)
    assert len(found) >= 10
    ours = "\n".join([*_texts(ROOT / "grader"), (ROOT / "Makefile").read_text()])
    assert [message for message in found if message not in ours] == []


def _texts(folder: Path) -> list[str]:
    """Return the strings of all modules; an f-string without what is put in."""
    texts = []
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.JoinedStr):
                held = (
                    each.value if isinstance(each, ast.Constant) else "\0" for each in node.values
                )
                texts.append("".join(map(str, held)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return texts


@pytest.mark.parametrize(
    ("page", "wrong"),
    [
        ("```console\n$ echo a; echo b\na\n...\n```", ""),
        ("```console\n$ echo a   b\na b\n```", ""),
        ("```console\n$ echo a\nb\n```", "prints something else"),
        ("```console\n$ echo a; echo b\na\n```", "prints something else"),
        ("```console\n$ echo a1b\na...c\n```", "prints something else"),
        ("```console\n$ false\n```", "ended with 1"),
        ("```console\n$ false\n$ echo $?\n1\n```", ""),
        ("```console\n$ false\n$ echo $?\n0\n```", "prints something else"),
        ("```console\n$ exit 0\n$ echo a\n```", "was not run to its end"),
        ("```console\n$ mkdir a; cd a\n```\n\n```console\n$ basename $PWD\na\n```", ""),
        ("```console\n$ cat <<END\n> a\n> END\na\n```", ""),
        ("```console\n$ echo wrong >&2\nwrong\n```", ""),
        ("<!-- run: touch a -->\n\n```console\n$ ls\na\n```", ""),
        ("<!-- output of: echo a -->\n```\nb\n```", "prints something else"),
        ("<!-- times differ -->\n```console\n$ echo 1.25\n2.50\n```", ""),
        ("```console\n$ echo 1.25\n2.50\n```", "prints something else"),
        ("<!-- not run: it never ends -->\n```console\n$ false\n```", ""),
        ("```sh\ntrue\nfalse\n```", "ended with 1"),
        ("<!-- exit codes: 0 1 -->\n```sh\ntrue\nfalse\n```", ""),
        ("<!-- exit codes: 0 1 -->\n```sh\ntrue\ntrue\n```", "ended with 0"),
    ],
)
def test_what_a_page_says_is_compared(page, wrong, tmp_path, monkeypatch):
    monkeypatch.setattr("pages.ROOT", tmp_path)
    file = tmp_path / "page.md"
    file.write_text(page)
    found = problems(steps(file), tmp_path)
    assert [wrong in each for each in found] == ([True] if wrong else [])


@pytest.mark.parametrize(
    ("block", "has_commands"),
    [
        ("```\ngrade check DIR\n```", True),
        ("```text\n$ ls\n```", True),
        ("```bash\nls\n```", True),
        ("```\nGRADER_DATA=a grade check DIR\n```", True),
        ("```\ngrader/ cli.py\n```", False),
        ("```toml\npip = 1\n```", False),
    ],
)
def test_blocks_with_commands_are_told_from_others(block, has_commands, tmp_path):
    file = tmp_path / "page.md"
    file.write_text(block)
    (found,) = blocks(file)
    assert found.has_commands is has_commands


KEPT_BY = ("kernel", "cross-check", "list", "code", "all of these")
KEPT = re.compile(rf"- ([^:]+?) \(({'|'.join(KEPT_BY)})[^()]*\): (.+)")


def _promises() -> dict[str, list[str]]:
    """Return what the threat model says of each promise: an item a line."""
    page = (DOCS / "threat-model.md").read_text()
    section = page.partition("## How each promise is kept")[2].partition("\n## ")[0]
    found = re.split(r"^\*\*(.+?)\*\*$", section, flags=re.MULTILINE)[1:]
    return {
        title: [" ".join(item.split()) for item in re.split(r"^(?=- )", text, flags=re.M)[1:]]
        for title, text in zip(found[::2], found[1::2], strict=True)
    }


def test_each_promise_says_what_keeps_it_and_which_test_shows_it():
    """In the order in which instructors read them, and none without an item."""
    page = (DOCS / "security.md").read_text()
    promised = page.partition("## What is promised")[2].partition("\n## ")[0]
    assert list(_promises()) == re.findall(r"^\*\*(.+?)\*\*", promised, re.MULTILINE)
    for title, items in _promises().items():
        assert items, f"nothing is said of {title}"
        for item in items:
            assert KEPT.fullmatch(item), item


def test_each_test_that_the_threat_model_names_exists():
    """Files, folders, test functions, attacks, targets of make, contracts of imports."""
    files = {path.name for path in (ROOT / "tests").rglob("*.py")}
    functions = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    attacks = {path.name for path in (ROOT / "tests" / "hostile").iterdir()}
    contracts = re.findall(r'^id = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    shown = [KEPT.fullmatch(item)[3] for items in _promises().values() for item in items]
    named = [name for text in shown for name in re.findall(r"`(.+?)`", text)]
    assert len(named) > 60
    for name in named:
        assert (
            (ROOT / name).exists()
            or name in files | functions | {*contracts}
            or name in (f"make {target}" for target in targets)
            or fnmatch.filter(attacks, name)
        ), name
