"""What is measured, in which order, how often, and what is kept for the next time."""

from dataclasses import replace

from grader.study.plan import Extent, Point, in_order, problems
from grader.study.results import Machine, Measurement
from grader.study.running import Job, run
from grader.study.store import FILE, Store, key_of
from grader.study.workplace import Sources
from grader.study.writing import data_identity

MACHINE = Machine(2, "a processor", {})
SOURCES = Sources({"a.py": b"1"}, frozenset(["a.py"]), {"program.py": b"2"})


def point(name, series="series", **others):
    return Point(name, series, "program.py", **{"num_repeats": 1, "limit_s": 30, **others})


class Fake:
    """Measures nothing, takes a second of a clock of its own, and notes what it was asked."""

    def __init__(self, **ends):
        self.ends = ends
        self.asked = []
        self.time_s = 0.0

    def __call__(self, point, repeat, limit_s):
        self.asked.append((point.name, repeat))
        failure, took_s = self.ends.get(point.name, ("", 1.0))
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
    assert "found 0, 1 and 30 s" in none


def test_what_is_measured_is_not_measured_again(tmp_path):
    points = [point("a", num_repeats=2), point("b")]
    first, again = Fake(), Fake()
    study(points, tmp_path, first)
    results = study(points, tmp_path, again)
    assert len(first.asked) == 3 and again.asked == []
    assert len(results.reports("a")) == 2 and results.numbers("b", "time_s") == [1.0]


def test_another_submission_setting_data_or_machine_is_measured_anew():
    changed = Sources({"a.py": b"2"}, frozenset(), SOURCES.programs)
    keys = {
        key_of(point("a"), 0, SOURCES, "", MACHINE),
        key_of(point("a"), 1, SOURCES, "", MACHINE),
        key_of(point("a", settings={"n": 1}), 0, SOURCES, "", MACHINE),
        key_of(point("a"), 0, changed, "", MACHINE),
        key_of(point("a"), 0, Sources(SOURCES.files, frozenset(), {"p.py": b""}), "", MACHINE),
        key_of(point("a"), 0, SOURCES, "mnist", MACHINE),
        key_of(point("a"), 0, SOURCES, "", replace(MACHINE, num_cores=64)),
        key_of(point("a"), 0, SOURCES, "", replace(MACHINE, processor="another")),
        key_of(point("a"), 0, SOURCES, "", replace(MACHINE, software={"Python": "3.14"})),
    }
    assert len(keys) == 9


def test_data_is_known_by_its_files_and_not_by_its_path(tmp_path):
    (tmp_path / "train").write_bytes(b"1")
    before = data_identity(str(tmp_path))
    assert data_identity(str(tmp_path)) == before
    (tmp_path / "train").write_bytes(b"22")
    assert data_identity(str(tmp_path)) != before and data_identity("") == ""


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
    assert "a run of slow before it did not end" in results.why_missing("b")
    assert results.why_missing("c") == ""


def test_a_longer_limit_gives_it_another_chance(tmp_path):
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


def test_what_has_failed_once_is_tried_again_by_the_next_study(tmp_path):
    """Its machine may have been busy; a run that only took too long is not begun again."""
    points = [point("a"), point("b", "other")]
    study(points, tmp_path, Fake(a=("crashed: OSError: busy", 1.0), b=("", 1000.0)))
    fake = Fake()
    results = study(points, tmp_path, fake)
    assert fake.asked == [("a", 0)] and results.why_missing("a") == ""


def test_a_repeat_that_failed_is_told_beside_those_that_did_not(tmp_path):
    class FailsAgain(Fake):
        def __call__(self, point, repeat, limit_s):
            done = super().__call__(point, repeat, limit_s)
            return replace(done, ranks=(), failure="crashed: x") if repeat else done

    results = study([point("a", num_repeats=2)], tmp_path, FailsAgain())
    assert results.why_missing("a") == ""
    assert results.doubts("a") == ["a run of 2 crashed: x"]


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
