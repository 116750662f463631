"""What is measured, in which order, how often, and what is kept for the next time."""

from dataclasses import replace

from grader.study import running
from grader.study.measure import Sources
from grader.study.plan import Extent, Launcher, Point, in_order, problems
from grader.study.results import Machine, Measurement
from grader.study.running import FILE, Job, Store, key_of, run

MACHINE = Machine(2, "a processor", {"torch": "2"}, "here")
SOURCES = Sources({"a.py": b"1"}, frozenset(["a.py"]), {"program.py": b"2"})


def point(name, series="series", **others):
    return Point(name, series, "program.py", **{"num_repeats": 1, "limit_s": 30, **others})


class Fake:
    """Measures nothing, takes a second of a clock of its own, and notes what it was asked."""

    def __init__(self, **ends):
        self.ends = ends
        self.asked = []
        self.time_s = 0.0

    def __call__(self, point, repeat, limit_s, most_s):
        self.asked.append((point.name, repeat))
        failure, took_s = self.ends.get(point.name, ("", 1.0))
        assert limit_s <= most_s
        late = took_s > limit_s
        self.time_s += min(took_s, limit_s)
        if late:
            failure = "did not end"
        ranks = () if failure else ({"time_s": took_s},)
        return Measurement(point.name, repeat, ranks, failure, late)

    def now_s(self):
        return self.time_s


def study(points, folder, fake, extent=Extent.QUICK, sources=SOURCES, tell=lambda text: None):
    job = Job(points, extent, sources, MACHINE, "")
    return run(job, Store(folder), tell, measure_point=fake, now_s=fake.now_s)


def test_first_runs_come_before_second_ones():
    points = [point("a", num_repeats=3), point("b"), point("c", num_repeats=2)]
    order = [(each.name, repeat) for each, repeat in in_order(points)]
    assert order == [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("c", 1), ("a", 2)]


def test_mistakes_of_a_plan_are_told():
    assert problems([point("a"), point("b")]) == []
    (twice,) = problems([point("a"), point("a")])
    assert "two points are called 'a'" in twice
    (none,) = problems([point("a", ranks=0)])
    assert "found 0, 1, and 30 s" in none


def test_what_is_measured_is_not_measured_again(tmp_path):
    points = [point("a", num_repeats=2), point("b")]
    first, again = Fake(), Fake()
    study(points, tmp_path, first)
    results = study(points, tmp_path, again)
    assert len(first.asked) == 3 and again.asked == []
    assert len(results.reports("a")) == 2 and results.numbers("b", "time_s") == [1.0]


def test_another_submission_setting_dataset_or_machine_is_measured_anew():
    def key(name="a", repeat=0, found=SOURCES, images="MNIST", machine=MACHINE, **others):
        return key_of(point(name, **others), repeat, found, images, machine)

    keys = [
        key(),
        key(repeat=1),
        key(settings={"n": 1}),
        key(launcher=Launcher.PROCESSES),
        key(found=Sources({"a.py": b"2"}, frozenset(), SOURCES.programs)),
        key(found=Sources(SOURCES.files, frozenset(), {"p.py": b""})),
        key(images="bundled digits"),
        key(machine=replace(MACHINE, num_cores=4)),
        key(machine=replace(MACHINE, processor="another")),
        key(machine=replace(MACHINE, software={"torch": "3"})),
        key(machine=replace(MACHINE, name="there")),
    ]
    assert len(set(keys)) == len(keys) and key() == keys[0]


def test_a_store_of_another_machine_or_dataset_is_not_used(tmp_path, monkeypatch):
    """Where the data lie does not matter, for their files are as published."""
    held = {"/a": ("MNIST",), "/b": ("MNIST",), "/c": ("CIFAR-10",)}
    monkeypatch.setattr(running, "found_in", held.get)

    def asked(machine, data):
        fake = Fake()
        job = Job([point("a")], Extent.QUICK, SOURCES, machine, data)
        results = run(job, Store(tmp_path), str, measure_point=fake, now_s=fake.now_s)
        return len(fake.asked), results.images

    assert asked(MACHINE, "/a") == (1, "MNIST")
    assert asked(MACHINE, "/b") == (0, "MNIST")
    assert asked(MACHINE, "/c") == (1, "CIFAR-10")
    assert asked(MACHINE, "") == (1, "bundled digits")
    assert asked(replace(MACHINE, name="there"), "/a") == (1, "MNIST")


def test_a_line_that_was_cut_off_is_measured_again(tmp_path):
    study([point("a"), point("b")], tmp_path, Fake())
    file = tmp_path / FILE
    file.write_text(file.read_text().rstrip()[:-7])
    fake = Fake()
    study([point("a"), point("b")], tmp_path, fake)
    assert fake.asked == [("b", 0)]
    fake = Fake()
    study([point("a"), point("b")], tmp_path, fake)
    assert fake.asked == []


def test_after_the_time_limit_the_rest_of_a_series_is_left_out(tmp_path):
    fake = Fake(a=("", 1000.0))
    points = [point("a", "slow"), point("b", "slow"), point("c", "other")]
    results = study(points, tmp_path, fake)
    assert fake.asked == [("a", 0), ("c", 0)]
    assert results.why_missing("a") == "did not end"
    assert "an earlier run of slow did not finish" in results.why_missing("b")
    assert results.why_missing("c") == ""


def test_a_longer_limit_gives_it_another_chance(tmp_path):
    for _ in range(2):
        study([point("a", limit_s=10)], tmp_path, Fake(a=("", 20.0)))
    fake = Fake(a=("", 20.0))
    study([point("a", limit_s=10)], tmp_path, fake)
    assert fake.asked == []
    results = study([point("a", limit_s=30)], tmp_path, fake)
    assert results.why_missing("a") == "" and fake.asked == [("a", 0)]


def test_what_has_failed_is_not_run_a_second_time(tmp_path):
    fake = Fake(a=("crashed: ValueError: no", 1.0))
    results = study([point("a", num_repeats=3), point("b", num_repeats=2)], tmp_path, fake)
    assert fake.asked == [("a", 0), ("b", 0), ("b", 1)]
    assert results.why_missing("a") == "crashed: ValueError: no"


def test_a_crash_or_a_run_out_of_time_is_tried_once_more_after_all_others(tmp_path):
    """It may come of a busy machine: the next command tries again, and no further one."""
    points = [
        *(point("a", "a", num_repeats=2), point("b", "late", num_repeats=2)),
        *(point("c", "late"), point("d", "d")),
    ]
    fake = Fake(a=("crashed: OSError: no space", 1.0), b=("", 1000.0))
    study(points[:3], tmp_path, fake)
    assert fake.asked == [("a", 0), ("b", 0)]
    again = Fake()
    results = study(points, tmp_path, again)
    assert again.asked == [("d", 0), ("a", 0), ("b", 0), ("c", 0), ("a", 1), ("b", 1)]
    assert all(results.why_missing(each.name) == "" for each in points)
    assert [run.repeat for run in results.runs["a"]] == [0, 1]


def test_what_has_failed_twice_is_final(tmp_path):
    for _ in range(2):
        fake = Fake(a=("crashed: ValueError: no", 1.0), b=("", 1000.0))
        study([point("a", "a"), point("b", "b")], tmp_path, fake)
        assert len(fake.asked) == 2
    fake = Fake()
    results = study([point("a", "a"), point("b", "b")], tmp_path, fake)
    assert fake.asked == []
    assert results.why_missing("a") == "crashed: ValueError: no"
    assert results.why_missing("b") == "did not end"


def test_what_comes_again_for_certain_is_not_tried_again(tmp_path):
    def wrong(point, repeat, limit_s, most_s):
        return Measurement(point.name, repeat, (), "gave a wrong result: 3", is_certain=True)

    job = Job([point("a")], Extent.QUICK, SOURCES, MACHINE, "")
    run(job, Store(tmp_path), str, measure_point=wrong)
    results = study([point("a")], tmp_path, fake := Fake())
    assert fake.asked == [] and results.why_missing("a") == "gave a wrong result: 3"


def test_a_failed_repetition_is_told_beside_those_that_have_not_failed(tmp_path):
    def once(point, repeat, limit_s, most_s):
        failure = "crashed: MemoryError: " if repeat else ""
        return Measurement(point.name, repeat, () if repeat else ({"n": 1.0},), failure)

    job = Job([point("a", num_repeats=3), point("b")], Extent.QUICK, SOURCES, MACHINE, "")
    results = run(job, Store(tmp_path), str, measure_point=once)
    assert [(each.point, each.repeat) for each in results.failed_runs()] == [("a", 1)]
    assert results.why_missing("a") == "" and results.numbers("a", "n") == [1.0]


def test_no_study_takes_longer_than_its_budget(tmp_path):
    """What was broken off for that alone is measured the next time."""
    points = [point(str(i), str(i), limit_s=60) for i in range(5)]
    slow = {str(i): ("", 40.0) for i in range(5)}
    fake = Fake(**slow)
    results = study(points, tmp_path, fake)
    assert fake.time_s == Extent.QUICK.budget_s
    assert fake.asked == [("0", 0), ("1", 0), ("2", 0)]
    assert all("the same command again" in results.why_missing(each) for each in "234")
    fake = Fake(**slow)
    results = study(points, tmp_path, fake)
    assert fake.asked == [("2", 0), ("3", 0), ("4", 0)]
    assert results.why_missing("3") == ""


def test_in_full_there_is_no_budget(tmp_path):
    points = [point(str(i), limit_s=600) for i in range(5)]
    fake = Fake(**{str(i): ("", 500.0) for i in range(5)})
    assert study(points, tmp_path, fake, Extent.FULL).left_out == {}


def test_progress_says_what_is_measured_and_how_long_it_takes(tmp_path):
    told = []
    study([point("a", num_repeats=2, expected_s=4), point("b")], tmp_path, Fake(), tell=told.append)
    assert told[0] == "1 of 3: a (run 1 of 2), about 11 s left"
    assert told[-1] == "3 of 3: a (run 2 of 2), about 4 s left"


def on_busy_cores(point, repeat, limit_s, most_s):
    late = Measurement(point.name, repeat, (), "did not end", ran_out_of_time=True)
    return replace(late, busy_share=0.9)


def test_a_run_out_of_time_on_busy_cores_is_never_final(tmp_path):
    """It was the machine: on idle cores the same command measures it."""
    job = Job([point("a")], Extent.QUICK, SOURCES, MACHINE, "")
    for _ in range(3):
        run(job, Store(tmp_path), str, measure_point=on_busy_cores)
    results = study([point("a")], tmp_path, fake := Fake())
    assert fake.asked == [("a", 0)] and results.why_missing("a") == ""


def test_a_delayed_run_that_the_budget_cuts_off_has_not_failed(tmp_path):
    """It had its limit by the clock, but not yet what others had of it."""
    clock = [0.0]

    def delayed(point, repeat, limit_s, most_s):
        clock[0] += 60 if point.name == "a" else most_s
        ranks = ({"n": 1},) if point.name == "a" else ()
        return Measurement(point.name, repeat, ranks, "" if ranks else "late", not ranks)

    points = [point("a", "a", limit_s=60), point("b", "b", limit_s=40)]
    job = Job(points, Extent.QUICK, SOURCES, MACHINE, "")
    results = run(job, Store(tmp_path), str, measure_point=delayed, now_s=lambda: clock[0])
    assert "run the same command again" in results.why_missing("b")
