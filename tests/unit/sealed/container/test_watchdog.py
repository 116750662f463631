"""By when a judge has to have moved, on a clock of our own."""

from grader.recording.journal import JUDGING_S, Heartbeat, Step, WholeLimit
from grader.sealed.container.watchdog import Watchdog


class Clock:
    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        return self.now_s


def test_each_word_grants_what_it_says_and_no_more():
    """From when it was heard; what was left of the step before is gone."""
    clock = Clock()
    watchdog = Watchdog(300.0, clock)
    assert watchdog.remaining_s() == 300.0
    clock.now_s = 100.0
    watchdog.heard(Heartbeat("a case", 50.0))
    assert watchdog.remaining_s() == 50.0
    watchdog.heard(Step("p", "test_p", "", "test_a"))
    assert watchdog.remaining_s() == JUDGING_S
    watchdog.heard(Heartbeat("a case", 50.0))
    clock.now_s = 151.0
    assert watchdog.remaining_s() < 0
    assert watchdog.why() == "made no progress for 50 s (a case)"


def test_the_whole_limit_is_the_first_judges():
    """No fresh judge prolongs it; the one that follows on its end only reports, in its own time."""
    clock = Clock()
    watchdog = Watchdog(300.0, clock)
    watchdog.heard(WholeLimit(1000.0))
    clock.now_s = 990.0
    watchdog.begin()
    watchdog.heard(WholeLimit(1000.0))
    watchdog.heard(Heartbeat("a case", 50.0))
    assert watchdog.remaining_s() == 10.0 and not watchdog.is_out_of_time
    clock.now_s = 1000.0
    assert watchdog.is_out_of_time
    assert watchdog.why() == "exceeded the total time limit for all parts"
    watchdog.begin()
    assert watchdog.remaining_s() == 300.0


def test_time_in_which_nobody_could_listen_is_given_back():
    """As after Ctrl-Z."""
    clock = Clock()
    watchdog = Watchdog(300.0, clock)
    watchdog.heard(WholeLimit(400.0))
    clock.now_s = 500.0
    watchdog.grant(450.0)
    assert watchdog.remaining_s() == 250.0
