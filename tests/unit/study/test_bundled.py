"""The bundled studies: plans without mistakes, and figures whatever of them is missing."""

import math
import re
from dataclasses import replace

import pytest

from grader.course.courses import bundled
from grader.study import Chart, Extent, Machine, Measurement, Results
from grader.study.draw import draw
from grader.study.figures import csv_text
from grader.study.measure import measure, sources
from grader.study.page import caption, is_empty
from grader.study.plan import load, points_of

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
        "weights": [1 / 3, 2 / 3],
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
    ("psgd_hogwild", "psgd_training.py"): {
        "time_s": 1.0,
        "accuracy": 0.9,
        "parameters": 5.0,
        "network": "own",
        "epochs": 10,
    },
    ("psgd_hogwild", "hogwild_training.py"): {
        "time_s": 1.0,
        "accuracy": 0.9,
        "network": "own",
        "epochs": 10,
    },
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
        assert all(csv_text(figure) for figure in study.figures(partly))
        study.findings(partly)
    nothing = results_of(name, points, lambda point: False)
    assert all(csv_text(figure) for figure in study.figures(nothing))
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


def _without_finite_numbers(value):
    if isinstance(value, list):
        return [_without_finite_numbers(each) for each in value]
    return math.nan if isinstance(value, float) else value


@pytest.mark.parametrize("name", NAMES)
def test_figures_and_findings_of_numbers_that_are_not_finite(name, tmp_path):
    """A training that diverged ends without finite losses: no figure fails, none shows them."""
    study = load(bundled().load(name))
    points = points_of(study, Extent.QUICK)
    runs = {
        run.point: [replace(run, ranks=tuple(map(_lost, run.ranks)))]
        for runs in results_of(name, points, lambda point: True).runs.values()
        for run in runs
    }
    results = Results(runs, MACHINE, {})
    for figure in study.figures(results):
        shown = figure.finite() if isinstance(figure, Chart) else figure
        assert isinstance(figure, Chart) <= ("nan" not in csv_text(shown)), figure.name
        draw(shown, caption(shown, MACHINE), str(tmp_path / figure.name))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("mpi_sgd", "sync with own ring, 4 ranks: weights became infinite or NaN."),
        (
            "lenet_eyeriss",
            "The loss of the all-reduce on 4 processes is infinite or NaN from epoch 1 on",
        ),
        ("vgg_ddp", "The loss of all-reduce is infinite or NaN from iteration 0 on."),
    ],
)
def test_what_is_found_of_a_training_that_diverged(name, told):
    """Its accuracy is that of a guess, its times are as ever."""
    study = load(bundled().load(name))
    results = results_of(name, points_of(study, Extent.QUICK), lambda point: True)
    for runs in results.runs.values():
        for place, run in enumerate(runs):
            lost = [
                {**each, **{key: value for key, value in _lost(each).items() if key in _LOSSES}}
                for each in run.ranks
            ]
            runs[place] = replace(run, ranks=tuple(lost))
    found = " ".join(study.findings(results))
    assert told in found and " nan" not in found


_LOSSES = ("loss", "losses", "test_loss", "parameters")


def _lost(report):
    return {key: _without_finite_numbers(value) for key, value in report.items()}


def test_amdahls_law_is_fitted_against_the_serial_program():
    """One rank of the parallel program takes twice as long: that is a part of its cost."""
    study = load(bundled().load("mpi_sgd"))
    points = points_of(study, Extent.QUICK)
    results = results_of("mpi_sgd", points, lambda point: True)
    for point in points:
        ranks = point.ranks if point.name.startswith("sync") else 0
        time_s = {0: 1.0, 1: 2.0, 2: 1.5, 4: 1.25}.get(ranks, 9.0)
        report = {**REPORTS["mpi_sgd", "training.py"], "time_s": time_s}
        if point.program == "training.py":
            results.runs[point.name][:] = [Measurement(point.name, 0, (report,) * point.ranks)]
    few = Results(results.runs, Machine(4, "a processor", {}), {})
    (amdahl,) = (each for each in study.figures(few) if each.name == "amdahl")
    assert "Amdahl, own ring: 100.0% serial" in [each.label for each in amdahl.series]


@pytest.mark.parametrize(
    ("accuracies", "told"),
    [
        ({1: 0.8, 2: 0.7, 4: 0.3, 6: 0.2, 12: 0.1}, "from 4 workers up: 30.0%"),
        ({1: 0.8, 2: 0.3, 4: 0.7, 6: 0.2}, "from 6 workers up: 20.0%"),
        ({1: 0.8, 2: 0.3, 4: 0.7}, ""),
    ],
)
def test_asynchronous_training_is_lost_from_where_it_stays_lost(accuracies, told):
    study = load(bundled().load("mpi_sgd"))
    report = REPORTS["mpi_sgd", "training.py"]
    of_name = {"serial": 0.8} | {
        f"async with 2 masters, {workers} worker{'s' if workers > 1 else ''}": accuracy
        for workers, accuracy in accuracies.items()
    }
    for num_runs in (1, 3):
        runs = {
            name: [
                Measurement(name, repeat, ({**report, "accuracy": accuracy},))
                for repeat in range(num_runs)
            ]
            for name, accuracy in of_name.items()
        }
        found = " ".join(study.findings(Results(runs, MACHINE, {})))
        assert told in found
        assert bool(told and num_runs == 3) == ("loses more than half" in found)


@pytest.mark.parametrize(
    ("num_cores", "told"),
    [(4, "on (one run)."), (2, "on (one run, with ranks taking turns on the cores).")],
)
def test_where_ranks_take_turns_a_crossing_is_said_to_be_of_such(num_cores, told):
    study = load(bundled().load("mpi_sgd"))
    keys = ("quarter_s", "median_s", "three_quarters_s")
    runs = {}
    for name, time_s in (("ring", 1.0), ("naive", 2.0)):
        report = {"lengths": [8], **{key: [time_s] for key in keys}}
        point = f"{name} all-reduce, 4 ranks"
        runs[point] = [Measurement(point, 0, (report,) * 4)]
    (found,) = study.findings(Results(runs, Machine(num_cores, "a processor", {}), {}))
    assert f"from 8 numbers {told}" in found


@pytest.mark.parametrize(
    ("high_ms", "told"),
    [
        (
            4,
            "In one run on 4 ranks, for 2 numbers, the ring all-reduce was faster than "
            "MPI_Allreduce: medians of "
            "3 and 6 ms.",
        ),
        (
            5,
            "the ring all-reduce and MPI_Allreduce had medians of 3 and 6 ms; their "
            "interquartile ranges overlap",
        ),
    ],
)
def test_of_two_reductions_nothing_is_said_where_their_calls_overlap(high_ms, told):
    """What is known are quartiles of calls in one run, and no spread of runs."""
    study = load(bundled().load("mpi_sgd"))
    runs = {}
    for name, times_ms in (("ring", (2, 3, high_ms)), ("MPI_Allreduce", (5, 6, 7))):
        keys = ("quarter_s", "median_s", "three_quarters_s")
        report = {key: [0.1, each / 1e3] for key, each in zip(keys, times_ms, strict=True)}
        point = f"{name} all-reduce, 4 ranks"
        runs[point] = [Measurement(point, 0, ({"lengths": [1, 2], **report},) * 4)]
    (found,) = study.findings(Results(runs, MACHINE, {}))
    assert told in found and "runs" not in found


def test_runs_of_one_seed_are_compared_where_one_has_failed():
    study = load(bundled().load("federated"))
    ways = ("centralized", "serverless", "parameter server")
    runs = {
        way: [Measurement(way, i, ({"accuracy": i / 10, **_REST},)) for i in range(1, 4)]
        for way in ways
    }
    runs["serverless"][0] = Measurement("serverless", 1, (), "crashed: ValueError: no")
    (told,) = study.findings(Results(runs, MACHINE, {}))
    assert "differ by up to 0.0 percentage points in 2 runs" in told


_REST = {"time_s": 1.0, "accuracies": [], "labels": [], "weights": [], "num_training": 10}


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ([0.1, 0.9], ""),
        ([0.1 + 1e-7, 0.9], ""),
        ([0.5, 0.5], "Client 2 has 90.0% of them, but its model has a weight of 50.0%."),
        ([], ""),
    ],
    ids=["by examples", "rounded", "unweighted", "not found"],
)
def test_a_mean_that_is_not_weighted_by_examples_is_told(weights, told):
    study = load(bundled().load("federated"))
    name = "FedAvg, non-iid"
    report = {**_REST, "accuracy": 0.5, "labels": [[1, 0], [4, 5]], "weights": weights}
    results = Results({name: [Measurement(name, 0, (report,))]}, MACHINE, {})
    found = " ".join(study.findings(results))
    assert told in found and bool(told) == ("Wrong" in found)
    (chart,) = (each for each in study.figures(results) if each.name == "fedavg_weights")
    assert [dot.y for dot in chart.series[0].dots] == ([0.1, 0.9] if weights else [])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("loss.backward()", "loss.backward()"),
        ("loss.backward()", "(loss / 4).backward()"),
        ("(training_set(),", "(torch.utils.data.Subset(training_set(), range(8)),"),
    ],
    ids=["as it is", "a loss that is divided", "some of the examples"],
)
def test_the_loss_of_a_program_is_the_mean_over_its_examples(ours, theirs):
    """Whatever it calls backward on: dividing by the nodes there is a way to take the mean."""
    assignment = bundled().load("vgg_ddp")
    found = sources(assignment, None)
    text = found.files["part1/main.py"].decode()
    assert ours in text
    text = text.replace(ours, theirs)
    changed = replace(found, files={**found.files, "part1/main.py": text.encode()})
    point = points_of(load(assignment), Extent.QUICK)[0]
    point = replace(point, settings={**point.settings, "iterations": 1, "batch_size": 8})
    run = measure(point, 0, changed, data="", limit_s=60)
    assert run.failure == ""
    (loss,) = run.ranks[0]["losses"]
    assert 1.5 < loss < 4


def test_an_iteration_is_timed_from_its_batch_on():
    """Whatever a program does before the network: a pause there is a part of the iteration."""
    assignment = bundled().load("vgg_ddp")
    found = sources(assignment, None)
    text = found.files["part1/main.py"].decode()
    slow = text.replace("optimizer.zero_grad()", "time.sleep(1); optimizer.zero_grad()")
    assert slow != text
    changed = replace(found, files={**found.files, "part1/main.py": slow.encode()})
    point = points_of(load(assignment), Extent.QUICK)[0]
    point = replace(point, settings={**point.settings, "iterations": 1, "batch_size": 8})
    run = measure(point, 0, changed, data="", limit_s=60)
    assert run.failure == ""
    (time_s,) = run.ranks[0]["times_s"]
    assert time_s >= 1


def test_an_iteration_that_takes_long_is_told():
    study = load(bundled().load("vgg_ddp"))
    report = REPORTS["vgg_ddp", "node.py"]
    name = "all-reduce, 4 nodes"
    for time_s, is_told in ((0.3, False), (3.0, True)):
        node = {**report, "times_s": [9.0, 0.1, time_s, *[0.1] * 9]}
        results = Results({name: [Measurement(name, 0, (node,))]}, MACHINE, {})
        found = " ".join(study.findings(results))
        told = "Iteration 2 of all-reduce took 3000 ms; the median is 100 ms"
        assert (told in found) is is_told


def vgg_figures():
    """Return the figures by name; iteration i takes i + 1 ms on node 0, on each next 1 ms more."""
    study = load(bundled().load("vgg_ddp"))
    runs = {}
    for point in points_of(study, Extent.DEFAULT):
        nodes = [
            {
                **REPORTS["vgg_ddp", "node.py"],
                "times_s": [(i + 1 + node) / 1e3 for i in range(40)],
                "losses": [point.settings["batch_size"] / point.ranks] * 40,
            }
            for node in range(point.ranks)
        ]
        runs[point.name] = [Measurement(point.name, 0, tuple(nodes))]
    return {each.name: each for each in study.figures(Results(runs, MACHINE, {}))}


def test_the_mean_time_over_any_window_of_iterations_is_in_the_data():
    """That of iterations 1 to 9 is the one of the chart of means."""
    figures = vgg_figures()
    means = {dot.x: dot.y for dot in figures["iteration_time"].series[0].dots}
    assert means["one node"] == pytest.approx(6) and means["all-reduce"] == pytest.approx(9)
    for series in figures["each_iteration"].series:
        times_ms = {dot.x: dot.y for dot in series.dots}
        assert sorted(times_ms) == list(range(40))
        assert sum(times_ms[i] for i in range(1, 10)) / 9 == pytest.approx(means[series.label])


def test_scaling_is_shown_with_one_batch_for_all_and_with_one_for_each():
    figures = vgg_figures()
    for name in ("scaling", "scaling_each"):
        for series in figures[name].series:
            assert [dot.x for dot in series.dots] == [1, 2, 4]
    of_ddp = [
        row[1:4] for row in figures["scaling_losses"].rows if row[0].startswith("Distributed")
    ]
    assert of_ddp == [(1, 256, 256), (2, 128, 128), (4, 64, 64), (1, 64, 64), (2, 64, 64)]


@pytest.mark.parametrize(("of_four", "told"), [(0.4, False), (2.2, True), (math.nan, False)])
def test_a_program_that_learns_less_on_more_nodes_is_told(of_four, told):
    """One program alone is enough: its nodes together see as many examples a step as one node."""
    study = load(bundled().load("vgg_ddp"))
    report = REPORTS["vgg_ddp", "node.py"]
    runs = {
        f"all-reduce, {nodes}": [
            Measurement(f"all-reduce, {nodes}", 0, ({**report, "losses": [2.4] * 9 + [last] * 3},))
        ]
        for nodes, last in (("1 node", 0.3), ("4 nodes", of_four))
    }
    found = " ".join(study.findings(Results(runs, MACHINE, {})))
    assert ("Wrong: all-reduce learns less on 4 nodes" in found) is told


@pytest.mark.parametrize(
    ("of_the_other", "told"),
    [(5.0, False), (5.00001, False), (5.1, True)],
)
def test_ranks_that_end_with_different_models_are_told(of_the_other, told):
    """Each of them is to return the average."""
    study = load(bundled().load("psgd_hogwild"))
    report = REPORTS["psgd_hogwild", "psgd_training.py"]
    name = "Parallel SGD, 2 ranks"
    ranks = (report, {**report, "parameters": of_the_other})
    found = study.findings(Results({name: [Measurement(name, 0, ranks)]}, MACHINE, {}))
    expected = (
        "Wrong: the 2 ranks of parallel SGD ended with different models; each must return the mean."
    )
    assert list(found) == [expected] * told


@pytest.mark.parametrize(("num_cores", "kind"), [(16, "measured"), (2, "modelled")])
@pytest.mark.parametrize("gain", [0.5, 1.0, 3.0])
def test_what_a_law_says_below_its_figure_is_the_highest_mark_in_it(num_cores, kind, gain):
    """Sentence and line come from one number, also where nothing is gained."""
    study = load(bundled().load("mpi_sgd"))
    points = points_of(study, Extent.DEFAULT)
    runs = results_of("mpi_sgd", points, lambda point: True).runs
    runs = {
        name: [replace(run, ranks=tuple(_faster(each, gain) for each in run.ranks)) for run in made]
        if len(made[0].ranks) > 1
        else made
        for name, made in runs.items()
    }
    machine = Machine(num_cores, "a processor", {})
    (chart,) = (each for each in study.figures(Results(runs, machine, {})) if each.name == "amdahl")
    for label in ("own ring", "MPI collective"):
        name = f"{label}, {kind}" + " on a cluster" * (kind == "modelled")
        (series,) = (each for each in chart.series if each.label == name)
        best = max(dot.y for dot in series.dots)
        (told,) = re.findall(
            rf"{label}: the highest speed-up by {kind} time is ([0-9.]+),", chart.caption
        )
        assert told == f"{best:.2f}"


def _faster(report, gain):
    return {**report, "time_s": report["time_s"] / gain} if "time_s" in report else report


def figures_of_unequal_runs(name):
    """Return the figures by name; the first run of each point takes 1 s, and each next 1 s more."""
    study = load(bundled().load(name))
    points = points_of(study, Extent.DEFAULT)
    runs = {
        point: [
            replace(run, ranks=tuple({**each, "time_s": 1 + run.repeat} for each in run.ranks))
            for run in made
        ]
        for point, made in results_of(name, points, lambda point: True).runs.items()
    }
    return {each.name: each for each in study.figures(Results(runs, MACHINE, {}))}


def test_a_speed_up_against_itself_is_one():
    """Whatever single runs took: they are no speed-up."""
    chart = figures_of_unequal_runs("psgd_hogwild")["speed_up"]
    firsts = [dot for each in chart.series for dot in each.dots if dot.x == 1]
    assert len(firsts) == 4 and all(dot.y == dot.low == dot.high == 1 for dot in firsts)


@pytest.mark.parametrize(
    ("name", "chart", "table", "label", "row"),
    [
        ("psgd_hogwild", "speed_up", "all_runs", "Hogwild", "Hogwild, {} processes"),
        ("mpi_sgd", "sync_speed_up", "trainings", "own ring", "sync with own ring, {} ranks"),
        ("mpi_sgd", "async_speed_up", "trainings", "2 masters", "async with 2 masters, {} workers"),
    ],
)
def test_a_speed_up_in_a_table_is_the_one_in_the_chart(name, chart, table, label, row):
    """The median of ratios is another number than the ratio of medians."""
    figures = figures_of_unequal_runs(name)
    column = figures[table].columns.index("speed-up")
    (series,) = (each for each in figures[chart].series if each.label == label)
    drawn = {dot.x: round(dot.y, 2) for dot in series.dots}
    cells = {cells[0]: cells[column] for cells in figures[table].rows}
    assert [cells[row.format(x)] for x in (2, 4)] == [drawn[x] for x in (2, 4)]


def test_a_way_that_was_not_measured_has_a_place_in_the_figure(tmp_path):
    """The picture alone says so; nothing was forgotten."""
    study = load(bundled().load("federated"))
    points = points_of(study, Extent.DEFAULT)
    results = results_of("federated", points, lambda point: "serverless" not in point.name)
    (chart,) = (each for each in study.figures(results) if each.name == "final_accuracy")
    assert "serverless" in chart.bars
    draw(chart, "", str(tmp_path / "bars"))
    assert (tmp_path / "bars.svg").read_text().count(">not measured<") == 1
