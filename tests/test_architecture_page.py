"""What the page of the architecture says is so: files, versions, packages and contracts."""

import re
import tomllib
from pathlib import Path

import architecture

from grader.addons.trace_views import trace_json
from grader.report import json_report
from grader.trace import layout

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
MOST_WORDS = 1500
MOST_IMPORTS = 120
MOST_LOOSE = 12


def test_the_architecture_names_files_that_exist_and_the_versions_they_have():
    """A page of paths that nobody checks is wrong after the next move."""
    found = {name for name in re.findall(r"`([^`\s]+/[^`\s]*)`", PAGE) if "*" not in name}
    assert len(found) > 40
    assert [name for name in found if not (ROOT / name).exists()] == []
    versions = re.findall(r"\| (ABI|schema) (\d+) \|", PAGE)
    assert versions == [
        ("ABI", str(layout.ABI_VERSION)),
        ("schema", str(json_report.SCHEMA_VERSION)),
        ("schema", str(trace_json.SCHEMA_VERSION)),
    ]


def test_files_that_are_named_without_their_folder_exist():
    """They lie in the folder that the page has named last, or in another of the engine."""
    there = {path.name for path in (ROOT / "grader").rglob("*.py")}
    named = set(re.findall(r"`(\w+\.py)`", PAGE))
    assert len(named) > 5
    assert named - there == set()


def test_the_architecture_names_every_contract():
    """Who looks for the wall that a change runs into finds it on the page."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    assert [c["id"] for c in contracts["contracts"] if f"`{c['id']}`" not in PAGE] == []


def test_the_pictures_are_those_of_the_code():
    """Tree and layers: `python tests/architecture.py` writes them."""
    assert architecture.page(PAGE) == PAGE


def test_the_page_is_read_in_ten_minutes():
    assert len(PAGE.split()) <= MOST_WORDS


def test_packages_import_few_others_and_none_in_a_circle():
    """A circle has no lines to stand in: `levels` raises."""
    assert len(architecture.levels()) > 3
    assert sum(map(len, architecture.imports().values())) <= MOST_IMPORTS
    assert len(list((ROOT / "grader").glob("*.py"))) <= MOST_LOOSE


def test_every_page_of_maintainers_is_one_click_away():
    """From the two pages that everybody opens."""
    for page in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text()
        for name in ("architecture", "glossary", "verdicts"):
            assert f"(docs/{name}.md)" in text, f"{page} does not link {name}"
