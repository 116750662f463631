"""The attacks bite: a judge that lacks one protection gives in to at least one of them."""

import re
from dataclasses import replace

import pytest
from red_team import container, images, invariants, rendered
from red_team.attack import HOSTILE, Attack
from red_team.attack_runner import AttackRunner, options
from red_team.weakened import NEVER_ENDS_IT, WEAKENINGS, weakened

from grader.model.report import Verdict
from grader.report import json_report, markdown, terminal, words
from grader.report.export import junit

NUM_TRIES = 3


def marked(weakening):
    marks = [] if weakening.is_quick else [pytest.mark.slow]
    return pytest.param(weakening, id=weakening.name.replace(" ", "_"), marks=marks)


@pytest.mark.parametrize("weakening", WEAKENINGS, ids=lambda each: each.name.replace(" ", "_"))
def test_weakening_fits_the_grader(weakening, tmp_path):
    """Each change has exactly one place; each attack named exists."""
    weakened(weakening, tmp_path / "grader")
    for name in weakening.attacks:
        assert Attack.of(HOSTILE / name)
    re.compile(weakening.because)


@pytest.mark.parametrize("weakening", [marked(each) for each in WEAKENINGS])
def test_weakened_judge_gives_in(weakening, tmp_path):
    """At least one of the attacks breaks an invariant, for the reason that is to be expected.

    An attack that waits for its own ranks may fail on a busy machine, so each gets several tries.
    """
    images.require()
    runner = AttackRunner(weakened(weakening, tmp_path / "grader"))
    found = []
    for name in weakening.attacks * NUM_TRIES:
        attack = Attack.of(HOSTILE / name)
        if weakening.affects_concurrent_run:
            graded, disturbed = runner.grade_beside_a_control(attack, head_start_s=3.0)
            found += [*disturbed, *invariants.broken(attack, graded)]
        elif weakening.watched_for_s:
            found += graded_where_it_is_watched(weakening, tmp_path / "grader", attack)
        else:
            found += graded_alone(runner, attack)
        if any(re.search(weakening.because, each) for each in found):
            break
    runner.close()
    assert any(re.search(weakening.because, each) for each in found), found


@pytest.mark.slow
def test_a_judge_that_is_kept_waiting_is_ended_where_it_is_watched(tmp_path):
    """What the weakened watch leaves hanging, the real one ends, and a person is to look."""
    images.require()
    (weak,) = [each for each in WEAKENINGS if NEVER_ENDS_IT in each.changes]
    changes = tuple(each for each in weak.changes if each != NEVER_ENDS_IT)
    tree = weakened(replace(weak, changes=changes), tmp_path / "grader")
    attack = Attack.of(HOSTILE / weak.attacks[0])
    graded = container.grade(
        None, options(attack), limit_s=120.0, mounted=HOSTILE / attack.name, tree=tree
    )
    report = json_report.parse(graded.report)
    assert (report.parts[0].verdict, report.review) == (Verdict.JUDGE_ERROR, True)
    assert "made no progress for" in report.parts[0].message


def graded_where_it_is_watched(weakening, tree, attack) -> list[str]:
    """Return what an attack breaks in a container in which a process watches the judge."""
    limit_s = weakening.watched_for_s
    try:
        graded = container.grade(
            None, options(attack), limit_s=limit_s, mounted=HOSTILE / attack.name, tree=tree
        )
    except TimeoutError:
        return [f"the judge had not ended {limit_s:.0f} s after it began, nor soon after"]
    return invariants.broken(attack, graded)


def graded_alone(runner, attack) -> list[str]:
    """Return what an attack breaks; a judge that hangs breaks something, too."""
    try:
        return invariants.broken(attack, runner.grade(attack))
    except TimeoutError:
        return [f"the judge had not ended {attack.limit_s:.0f} s after it began, nor soon after"]


TEXTS = {
    "markup": "</details><img src=x onerror=alert(1)>",
    "a link": "[here](javascript:alert(1))",
    "steering": "\x1b[2Jgone",
    "a command": "\n::error::graded wrongly",
}


@pytest.mark.parametrize(
    ("modules", "function", "text"),
    [
        ((markdown,), "escape", TEXTS["markup"]),
        ((markdown,), "escape", TEXTS["a link"]),
        ((markdown,), "disarm", TEXTS["a command"]),
        ((words, terminal), "one_line", TEXTS["steering"]),
        ((junit,), "one_line", TEXTS["steering"]),
    ],
)
def test_report_without_escapes_is_found_unsafe(modules, function, text, monkeypatch):
    """What looks at the reports sees what an exporter that forgets to escape lets through."""
    report = rendered.report_of_one_test(text, text)
    assert not list(rendered.unsafe(report))
    for module in modules:
        monkeypatch.setattr(module, function, lambda text, *_, **__: text)
    assert list(rendered.unsafe(report))
