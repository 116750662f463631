"""Nothing a submission does changes a mark: attacks in real containers, beside honest controls.

`make acceptance` grades all, a control beside each; `make test` those of each_push.toml, and every
third of them has a control.

Needs the image that `make image` builds. Without a Docker daemon these tests are skipped, but not
where CI=true: there a skipped container test is a failure.
"""

import tomllib

import pytest
from red_team import images, invariants
from red_team.attack import CONTROLS, HOSTILE, Attack, folders
from red_team.attack_runner import AttackRunner

from grader.model.report import Verdict

ATTACKS = folders(HOSTILE)
EACH_PUSH = tomllib.loads((HOSTILE / "each_push.toml").read_text())["attacks"]
ONE_IN = 3


def marked(folder):
    """Return the parameter of an attack; only those of each push are no slow tests."""
    marks = [] if folder.name in EACH_PUSH else [pytest.mark.slow]
    return pytest.param(folder, id=folder.name, marks=marks)


def control(folder):
    """Return the parameter of a control; a label that cannot be read fails its own test."""
    marks = [pytest.mark.slow] if is_slow(folder) else []
    return pytest.param(folder, id=folder.name, marks=marks)


def is_slow(folder):
    return "\nslow = true" in (folder / "attack.toml").read_text()


def test_each_threat_has_an_attack_that_every_push_tries():
    """So that no kind of protection can go without anybody noticing."""
    threats = {folder.name: Attack.of(folder).threat.split(", ")[0] for folder in ATTACKS}
    quick = [folder.name for folder in ATTACKS if not is_slow(folder)]
    assert {threats[name] for name in EACH_PUSH} == {threats[name] for name in quick}


@pytest.fixture(scope="module")
def runner():
    images.require()
    runner = AttackRunner()
    yield runner
    problems = runner.finish()
    runner.close()
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("folder", ATTACKS, ids=lambda folder: folder.name)
def test_label_is_complete(folder):
    """An attack without a label that can be read would be let loose for nothing."""
    attack = Attack.of(folder)
    assert attack.about.endswith(".")
    assert attack.verdicts
    assert Verdict.JUDGE_ERROR not in attack.verdicts
    assert attack.most_points >= attack.least_points >= 0


@pytest.mark.parametrize("folder", [control(folder) for folder in folders(CONTROLS)])
def test_control_keeps_its_marks(folder, runner):
    """What is not hostile is graded as anywhere: a sandbox that breaks it is broken."""
    control = Attack.of(folder)
    graded = runner.grade(control)
    problems = invariants.broken(control, graded)
    assert not problems, account(problems, graded)


@pytest.mark.parametrize("folder", [marked(folder) for folder in ATTACKS])
def test_attack_gains_nothing(folder, runner, request):
    """No points, no canary, no survivor, no neighbour disturbed: beside it or right after."""
    attack = Attack.of(folder)
    is_thorough = request.config.option.markexpr != "not slow"
    if is_thorough or EACH_PUSH.index(folder.name) % ONE_IN == 0:
        graded, disturbed = runner.grade_beside_a_control(attack)
    else:
        graded, disturbed = runner.grade_alone(attack), []
    problems = [*invariants.broken(attack, graded), *disturbed]
    assert not problems, account(problems, graded)


def account(problems, graded) -> str:
    seen = invariants.visible(graded)
    return "\n".join(["", *problems, "", "what the student sees ends with:", seen[-3000:]])
