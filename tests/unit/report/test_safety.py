"""Every exporter, with every hostile text in every field that a submission may fill."""

import pkgutil
from collections.abc import Mapping
from importlib import import_module

import pytest

import grader.report
import grader.report.export
from grader.model.report import Report

from . import harmless, hostile

EXPORTERS = {
    "html": harmless.assert_html,
    "json_report": harmless.assert_json,
    "junit": harmless.assert_junit,
    "markdown": harmless.assert_markdown,
    "terminal": harmless.assert_terminal,
}


def test_every_exporter_is_held_to_its_promise():
    """A module of the reports with a `render` is an exporter: a new one needs an assertion."""
    found = {
        each.name
        for package in (grader.report, grader.report.export)
        for each in pkgutil.iter_modules(package.__path__)
        if hasattr(import_module(f"{package.__name__}.{each.name}"), "render")
    }
    assert found == set(EXPORTERS)


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("text", hostile.TEXTS, ids=range(len(hostile.TEXTS)))
def test_no_text_is_active_in_any_report(exporter, text):
    """Terminals, CI logs, web pages, XML readers and Markdown show it, and do nothing else."""
    EXPORTERS[exporter](hostile.everywhere(text))


def test_the_texts_get_everywhere():
    """No field that a submission may fill is forgotten: each is in the fullest of the reports."""
    report = hostile.everywhere("wherever")
    assert report != hostile.everywhere("elsewhere")
    told = grader.report.json_report.render(report)
    num_texts = count(report)
    assert num_texts > 40
    assert told.count("wherever") == num_texts


def count(noun: object) -> int:
    """Return how many texts of a noun are the hostile one."""
    if isinstance(noun, Mapping):
        return sum(map(count, noun.values()))
    if isinstance(noun, tuple):
        return sum(map(count, noun))
    if isinstance(noun, str):
        return noun == "wherever"
    return sum(map(count, vars(noun).values())) if hasattr(noun, "__dict__") else 0


@pytest.mark.parametrize("text", hostile.TEXTS, ids=range(len(hostile.TEXTS)))
def test_a_name_from_a_file_system_is_as_harmless_as_any_text(text):
    """Bytes that are no UTF-8 arrive as lone surrogates."""
    name = (
        text.encode("utf-8", "surrogatepass")
        .replace(b"/", b"\xff")
        .decode("utf-8", "surrogateescape")
    )
    report: Report = hostile.everywhere(name)
    for assert_harmless in EXPORTERS.values():
        assert_harmless(report)
