"""The record of a training: what its processes have done, and how they meet in a step."""

import json
import math
import os
import socket
import threading
import time
from pathlib import Path

from imported import note_imported, watch_imports, watched_folders
from waiting import activity, are_at_rest, has_ended, is_running

_PATIENCE_S = 3.0
"""For how long all others have to sleep, without a moment on a core, until they seem to wait."""
_LIMIT_S = 15.0
"""The end of a meeting in any case: who waits for a turn by asking again and again never sleeps."""
_POLL_S = 0.01
_STEPS_MEANWHILE = 3
"""How many steps all others have to take while one process is held up in its own."""
_WAITED_S = 1.2
"""How long others may sleep in a training while one is held up: who waits for nobody does not."""
_SECRETLY_S = 0.2
"""For how long nobody is told that a process is held up; two at once could wait for each other."""


class Record:
    """What happens in all processes of one training: lines of JSON in one file."""

    def __init__(self, folder, meeting_of=0, meeting_steps=(), failing_batch=0, witness=""):
        """meeting_of: how many processes are to meet, each in a step of its own.

        meeting_steps: in which ones, counted from 1. failing_batch: in which of
        their batches processes that were started raise an exception; 0 for none. witness: path of
        a socket where each process shows itself to grading; empty for none.
        """
        self.file = Path(folder) / "record.jsonl"
        self.meeting_of = meeting_of
        self.meeting_steps = meeting_steps
        self.failing_batch = failing_batch
        self.first_process = os.getpid()
        self.witness = witness

    def __getstate__(self):
        """Return what another process that is not forked has to know."""
        return {**vars(self), "watched": watched_folders()}

    def __setstate__(self, state):
        """Be the record there, and look at what it imports from now on."""
        watched = state.pop("watched")
        vars(self).update(state)
        if os.getpid() != self.first_process:
            watch_imports(watched, self)
            note_imported(self)

    def add(self, kind, **values):
        """Append one event; whole lines, whoever else appends at this moment."""
        event = {
            "kind": kind,
            "process": os.getpid(),
            "thread": threading.get_native_id(),
            "time_ns": time.monotonic_ns(),
            **values,
        }
        file = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, json.dumps(event).encode() + b"\n")
        finally:
            os.close(file)

    def events(self, *kinds):
        """Return the events of these kinds, in the order in which they were written."""
        if not self.file.exists():
            return []
        # Another process may be writing: the last line is whole once its end is there.
        whole, _, _ = self.file.read_text().rpartition("\n")
        events = [json.loads(line) for line in whole.splitlines()]
        return [event for event in events if event["kind"] in kinds]

    def meet(self, number):
        """Wait, in the middle of a step, until all processes are in the middle of one.

        number: which of the meetings it is, 0 is the first. In which steps they are, grading draws.

        Processes that never wait for each other can do this. When the others do not come, because
        they wait for this one to finish its step, it goes on all the same. A process that waits
        sleeps; one that is merely slow, since others keep the cores busy, is ready to run, and does
        a little now and then. So a busy machine makes a meeting longer and never makes it fail.
        """
        self.add("arrived", meeting=number)
        begin_ns = quiet_ns = time.monotonic_ns()
        before = None
        while True:
            events = self.events("arrived", "gave up", "started")
            arrived = [event for event in events if event.get("meeting") == number]
            gave_up = any(event["kind"] == "gave up" for event in events)
            if len({event["thread"] for event in arrived}) >= self.meeting_of or gave_up:
                break
            started = [event for event in events if event["kind"] == "started"]
            known = {event[key] for event in started for key in ("process", "child")}
            others = known - {event["process"] for event in arrived}
            now = {other: activity(other) for other in others}
            if any(has_ended(now[other]) for other in others & self._at_first_meeting(events)):
                return  # it had fewer steps: a part may be smaller than the others
            now_ns = time.monotonic_ns()
            if now != before or any(is_running(state) for state, _ in filter(None, now.values())):
                before, quiet_ns = now, now_ns
            last_ns = max([begin_ns, *(event["time_ns"] for event in started)])
            if now_ns - quiet_ns > _PATIENCE_S * 1e9 or now_ns - last_ns > _LIMIT_S * 1e9:
                self.add("gave up")
                break
            time.sleep(_POLL_S)
        if number == 0:
            self._stay_until_all_are_seen()

    def hold_up(self):
        """Stay in the middle of a step, at a moment that nobody knows, until the others went on.

        Who never waits for another process takes its next steps meanwhile, or is in the middle of
        one as well. Who waits for this one sleeps. Some give up waiting after a while: so what all
        processes have waited in a training is added up.
        """
        begin_ns = time.monotonic_ns()
        asleep_ns, before, has_told = [], None, False
        while True:
            events = self.events("batch", "wrote", "arrived", "seen", *_HELD_UP, "waited for")
            others = self._at_first_meeting(events) - {os.getpid()}
            for span in (span for other in others for span in _spans_in_a_step(other, events)):
                # That one slept because it was held up as well.
                asleep_ns = [time_ns for time_ns in asleep_ns if not span[0] <= time_ns <= span[1]]
            late = [
                other
                for other in others
                if not self._has_gone_on(other, events, begin_ns) and not has_ended(activity(other))
            ]
            if not late or self.events("gave up"):
                break
            now, now_ns = [activity(other) for other in late], time.monotonic_ns()
            # A moment of sleep for each look: who is kept from looking has not seen what happened.
            if now == before and are_at_rest(late):
                asleep_ns.append(now_ns)
            before, passed_s = now, (now_ns - begin_ns) / 1e9
            told_s = sum(event["time_s"] for event in events if event["kind"] == "waited for")
            if len(asleep_ns) * _POLL_S + told_s > _WAITED_S or passed_s > _LIMIT_S:
                self.add("gave up")
                break
            if passed_s > _SECRETLY_S and not has_told:
                self.add("stays", since_ns=begin_ns)
                has_told = True
            time.sleep(_POLL_S)
        self.add("stayed", since_ns=begin_ns)
        if asleep_ns:
            self.add("waited for", time_s=len(asleep_ns) * _POLL_S)

    def _has_gone_on(self, other, events, begin_ns):
        """Return whether a process has taken steps since, is in one, or has few more to take."""
        own = [event for event in events if event["process"] == other]
        batches = [event["time_ns"] for event in own if event["kind"] == "batch"]
        if own[-1]["kind"] in _IN_A_STEP:
            return True
        num_since = sum(time_ns > begin_ns for time_ns in batches)
        # With those that it certainly has it comes to the last meeting.
        is_near_its_end = len(batches) + _STEPS_MEANWHILE > self.meeting_steps[-1]
        return num_since >= _STEPS_MEANWHILE or is_near_its_end

    def _at_first_meeting(self, events):
        met = [event for event in events if event.get("meeting") == 0]
        return {event["process"] for event in met}

    def _stay_until_all_are_seen(self):
        """Wait until grading has seen each process that meets, while all of them are still there.

        What is written here only says when to go on: grading counts by itself.
        """
        if not self.witness:
            return
        shown_to(self).recv(1)  # it is closed as soon as this process has been counted
        self.add("seen")
        until_s = time.monotonic() + _LIMIT_S
        while time.monotonic() < until_s:
            seen = {event["process"] for event in self.events("seen")}
            if len(seen) >= self.meeting_of or self.events("gave up", "missed"):
                return
            time.sleep(_POLL_S)
        self.add("missed")


_HELD_UP = ("stays", "stayed")
_IN_A_STEP = ("arrived", "seen", "stays")
"""What is last told by a process that is kept in a step."""


def _spans_in_a_step(process, events):
    """Yield from when to when this process was kept in a step; to infinity, where it still is."""
    own = [event for event in events if event["process"] == process]
    for event in own:
        if event["kind"] == "stayed":
            yield event["since_ns"], event["time_ns"]
    if own[-1]["kind"] in _IN_A_STEP:
        yield own[-1].get("since_ns", own[-1]["time_ns"]), math.inf


shown = {}


def shown_to(record):
    """Let grading see that this process trains; return the connection that shows it, if any.

    The kernel tells grading which process connects.
    """
    key = os.getpid(), record.file
    if record.witness and key not in shown:
        shown[key] = socket.socket(socket.AF_UNIX)
        shown[key].connect(record.witness)
    return shown.get(key)
