"""What the page of the architecture says is so: files, versions, rooms and contracts."""

import re
import tomllib
from pathlib import Path

from grader.addons.trace_views import trace_json
from grader.report import json_report
from grader.trace import layout

ROOT = Path(__file__).resolve().parents[1]


def test_the_architecture_names_files_that_exist_and_the_versions_they_have():
    """A page of paths that nobody checks is wrong after the next move."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    found = {name for name in re.findall(r"`([^`\s]+/[^`\s]*)`", page) if "*" not in name}
    assert len(found) > 50
    assert [name for name in found if not (ROOT / name).exists()] == []
    versions = re.findall(r"\| (ABI|schema) (\d+) \|", page)
    assert versions == [
        ("ABI", str(layout.ABI_VERSION)),
        ("schema", str(json_report.SCHEMA_VERSION)),
        ("schema", str(trace_json.SCHEMA_VERSION)),
    ]


def test_the_architecture_names_every_contract_and_every_room():
    """Who looks for the wall that a change runs into finds it on the page."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    assert [c["id"] for c in contracts["contracts"] if f"`{c['id']}`" not in page] == []
    rooms = [path.parent.name for path in (ROOT / "grader").glob("*/__init__.py")]
    assert [room for room in rooms if f"`grader/{room}/`" not in page] == []


def test_every_page_of_maintainers_is_one_click_away():
    """From the two pages that everybody opens."""
    for page in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text()
        for name in ("architecture", "glossary", "verdicts"):
            assert f"(docs/{name}.md)" in text, f"{page} does not link {name}"
