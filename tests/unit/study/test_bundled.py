"""The bundled studies: plans without mistakes, and figures whatever of them is missing."""

import math

import pytest

from grader.courses import bundled
from grader.study import Extent, Machine, Measurement, Results
from grader.study.captions import is_empty
from grader.study.loading import load, points_of
from grader.study.workplace import sources

NAMES = bundled().names()
MACHINE = Machine(2, "a processor", {})
REPORTS = {
    ("mpi_sgd", "training.py"): {
        "time_s": 2.0,
        "num_steps": 632,
        "step_s": 0.003,
        "accuracy": 0.8,
        "staleness": [0, 1, 3],
        "parameters": 5.0,
    },
    ("federated", "script.py"): {
        "time_s": 2.0,
        "accuracy": 0.5,
        "accuracies": [0.2, 0.5],
        "labels": [[1] * 10, [2] * 10],
        "num_training": 1200,
    },
    ("lenet_eyeriss", "training.py"): {
        "epoch": [1, 5],
        "time_s": [0.1, 0.5],
        "loss": [2.0, 1.0],
        "accuracy": [0.1, 0.2],
        "run_time_s": 0.5,
        "own_accuracy": 0.2,
        "validation": 0.1,
    },
    ("vgg_ddp", "node.py"): {
        "times_s": [0.5] + [0.1] * 39,
        "losses": [2.0 - i / 40 for i in range(40)],
        "test_loss": 2.0,
        "test_accuracy": 0.3,
        "num_bytes": [400, 8],
    },
    ("psgd_hogwild", "psgd_training.py"): {"time_s": 1.0, "accuracy": 0.9, "network": "own"},
    ("psgd_hogwild", "hogwild_training.py"): {"time_s": 1.0, "accuracy": 0.9, "network": "own"},
}


def report_of(name, point):
    if (name, point.program) == ("mpi_sgd", "reducing.py"):
        lengths = point.settings["lengths"]
        times_s = [1e-6 * (1 + length) for length in lengths]
        keys = ("median_s", "quarter_s", "three_quarters_s")
        return {"lengths": lengths, **dict.fromkeys(keys, times_s)}
    return REPORTS[name, point.program]


def results_of(name, points, is_there):
    runs = {
        point.name: [
            Measurement(point.name, repeat, (report_of(name, point),) * point.ranks)
            if is_there(point)
            else Measurement(point.name, repeat, (), "crashed: ValueError: no")
            for repeat in range(2)
        ]
        for point in points
    }
    return Results(runs, MACHINE, {})


@pytest.mark.parametrize("extent", Extent)
@pytest.mark.parametrize("name", NAMES)
def test_every_plan_is_without_mistakes_and_its_programs_are_there(name, extent):
    assignment = bundled().load(name)
    points = points_of(load(assignment), extent)
    found = sources(assignment, None)
    assert all(point.program in found.programs for point in points)
    assert all(found.missing(point.needs) == "" for point in points)


@pytest.mark.parametrize("name", NAMES)
def test_first_runs_of_a_quick_study_fit_into_its_budget(name):
    points = points_of(load(bundled().load(name)), Extent.QUICK)
    assert sum(point.expected_s for point in points) <= Extent.QUICK.budget_s


@pytest.mark.parametrize("name", NAMES)
def test_figures_and_findings_whatever_is_missing(name):
    study = load(bundled().load(name))
    points = points_of(study, Extent.DEFAULT)
    complete = results_of(name, points, lambda point: True)
    drawn = study.figures(complete)
    assert len({figure.name for figure in drawn}) == len(drawn) >= 4
    assert not any(is_empty(figure) for figure in drawn)
    assert all(math.isfinite(dot.y) for dot in _dots(drawn))
    assert study.findings(complete)
    for series in sorted({point.series for point in points}):
        partly = results_of(name, points, lambda point, series=series: point.series != series)
        assert all(figure.csv() for figure in study.figures(partly))
        study.findings(partly)
    nothing = results_of(name, points, lambda point: False)
    assert all(figure.csv() for figure in study.figures(nothing))
    assert list(study.findings(nothing)) == []


def _dots(figures):
    for figure in figures:
        for series in getattr(figure, "series", ()):
            yield from series.dots


@pytest.mark.parametrize("name", NAMES)
def test_every_table_row_has_all_columns(name):
    study = load(bundled().load(name))
    points = points_of(study, Extent.QUICK)
    for is_there in (True, False):
        results = results_of(name, points, lambda point, is_there=is_there: is_there)
        for figure in study.figures(results):
            for row in getattr(figure, "rows", ()):
                assert len(row) == len(figure.columns), figure.name
