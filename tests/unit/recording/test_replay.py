"""A plan that was observed starts no ranks; of one that was not, the nearest is named."""

from dataclasses import replace

import pytest
from observations import observations, plan

from grader.model.errors import GradingLost
from grader.recording.codec import UnreadableRecording, encode
from grader.recording.launch_plan import field_digests, key_of
from grader.recording.observation import End, EndKind
from grader.recording.recording import RecordedLaunch
from grader.recording.replay import filling, observation_of, replaying

OBSERVED = observations()["all answered"]


class Ranks:
    """Counts how often ranks would have been started."""

    def __init__(self, observed=OBSERVED):
        self.observed = observed
        self.plans = []

    def observe(self, plan):
        self.plans.append(plan)
        return self.observed


def filled():
    """Return launches by their keys, and ranks that have been asked for one of them."""
    launches, ranks = {}, Ranks()
    observe = filling(launches.get, ranks.observe, launches.__setitem__)
    observe(plan())
    return launches, ranks, observe


def test_ranks_are_started_once_for_a_plan():
    """Then what was seen is told again."""
    launches, ranks, observe = filled()
    assert encode(observe(plan())) == encode(OBSERVED)
    assert [*launches] == [key_of(field_digests(plan()))]
    assert len(ranks.plans) == 1
    observe(replace(plan(), backend="torch"))
    assert len(ranks.plans) == 2


def test_what_is_damaged_is_observed_anew():
    """And kept in its place."""
    launches, ranks, observe = filled()
    (key,) = launches
    launches[key] = replace(launches[key], observed=b"?")
    assert encode(observe(plan())) == encode(OBSERVED)
    assert len(ranks.plans) == 2
    assert launches[key].observed == encode(OBSERVED)


def test_what_earlier_launches_had_cut_short_is_observed_again():
    """With other launches before it, it may have all the time and memory it needs."""
    cut = replace(OBSERVED, cases=OBSERVED.cases[:1])
    few = replace(
        OBSERVED, cases=tuple(replace(c, num_calls_not_kept=(9, 9)) for c in OBSERVED.cases)
    )
    for observed in (cut, few):
        launches, ranks = {}, Ranks(observed)
        observe = filling(launches.get, ranks.observe, launches.__setitem__)
        observe(plan())
        assert launches == {}
        fields = field_digests(plan())
        launches[key_of(fields)] = RecordedLaunch(fields, "", encode(observed))
        observe(plan())
        assert len(ranks.plans) == 2
        # Where the whole grading is judged again, it was cut short in the same way.
        assert encode(replaying(launches.get, launches.values)(plan())) == encode(observed)


def test_a_busy_machine_is_not_recorded():
    """It says nothing of the submission."""
    late = observations()["time limit"]
    assert late.end is not None and late.end.lasted is not None
    starved = replace(
        late.end, lasted=replace(late.end.lasted, clock_s=51.0, run_queue_delay_s=45.0)
    )
    ranks, launches = Ranks(replace(late, end=starved)), {}
    filling(launches.get, ranks.observe, launches.__setitem__)(plan())
    assert launches == {}


def test_no_rank_is_started_where_there_is_only_a_recording():
    """A plan that is not in it is an error, which names what differs."""
    launches, *_ = filled()
    observe = replaying(launches.get, launches.values)
    assert encode(observe(plan())) == encode(OBSERVED)
    other = replace(plan(), probes={"__init__": "# changed"}, submission={"ring.py": b""})
    with pytest.raises(GradingLost) as told:
        observe(other)
    assert str(told.value) == (
        "the recording does not have the launch on 2 ranks of 'case 0' and 1 more case: the launch "
        "on 2 ranks of 'case 0' and 1 more case differs in probes of the suite, files of the "
        "submission. Record again with `grade observe`, or name a sealed recording's seed with "
        "--seed-of"
    )
    with pytest.raises(GradingLost, match="it has no launches"):
        replaying({}.get, lambda: [])(plan())


@pytest.mark.parametrize("name", observations())
def test_a_recording_of_other_ranks_is_damaged(name):
    """Its key says that it is of this plan, and its content that it is not."""
    launches, ranks = {}, Ranks(observations()[name])
    filling(launches.get, ranks.observe, launches.__setitem__)(plan())
    (found,) = launches.values()
    assert encode(observation_of(plan(), found)) == found.observed
    with pytest.raises(UnreadableRecording, match="it has a different number of ranks"):
        observation_of(replace(plan(), ranks=3), found)
    if ranks.observed.end is None:
        with pytest.raises(UnreadableRecording, match="more cases than the launch had"):
            observation_of(plan(num_cases=1), found)


@pytest.mark.parametrize("kind", [EndKind.EXCESS, EndKind.TIME_LIMIT, EndKind.TROUBLE])
def test_an_end_without_its_reason_is_damaged(kind):
    """No launch leaves one behind."""
    observed = observations()["stalled"]
    assert isinstance(observed.end, End)
    launches, ranks = {}, Ranks(replace(observed, end=replace(observed.end, kind=kind)))
    filling(launches.get, ranks.observe, launches.__setitem__)(plan())
    (found,) = launches.values()
    with pytest.raises(UnreadableRecording, match="say"):
        observation_of(plan(), found)
