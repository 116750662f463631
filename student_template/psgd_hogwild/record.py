"""The record of a training: what its processes have done, and how they meet in a step."""

import hashlib
import json
import os
import socket
import threading
import time
from array import array
from collections import Counter
from pathlib import Path

from waiting import OwnTime, activity, has_ended, is_running

_PATIENCE_S = 3.0
"""For how long all others have to sleep, without a moment on a core, until they seem to wait."""
_LIMIT_S = 15.0
"""The end of a meeting: who waits for a turn by asking again and again never sleeps."""
_START_LIMIT_S = 60.0
"""The same while a process has not come to the student's code: a spawned one imports torch."""
_POLL_S = 0.01
_STEPS_MEANWHILE = 6
"""How many batches all others have to take while one process is held up in a step."""

STARTS = ("starting", "started", "not started", "began")
"""The kinds of events about how processes start; `began` is the first of the process itself."""


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

    def tell(self, values, is_waiting=False):
        """Tell grading, if it listens, that this process has computed these values.

        The kernel tells grading which process connects; what it says is the name of its socket.
        """
        if not self.witness:
            return
        digest = hashlib.sha256(array("f", values).tobytes()).hexdigest()[:32]
        with socket.socket(socket.AF_UNIX) as connection:
            connection.bind(f"\0{digest} {os.urandom(8).hex()}".encode())
            connection.connect(self.witness)
            if is_waiting:
                connection.recv(1)  # it is closed as soon as this process has been heard

    def events(self, *kinds):
        """Return the events of these kinds, in the order in which they were written."""
        if not self.file.exists():
            return []
        # Another process may be writing: the last line is whole once its end is there.
        whole, _, _ = self.file.read_text().rpartition("\n")
        lines = whole.splitlines()
        if "batch" not in kinds:
            # With the gradients of a large model they take long to read.
            lines = [line for line in lines if not line.startswith('{"kind": "batch"')]
        events = [json.loads(line) for line in lines]
        return [event for event in events if event["kind"] in kinds]

    def meet(self, number):
        """Wait, in the middle of a step, until all processes are in the middle of one.

        number: which of the meetings it is, 0 is the first. In which steps they are, grading draws.

        Processes that never wait for each other can do this. When the others do not come, because
        they wait for this one to finish its step, it goes on all the same. A process that waits
        sleeps; one that is merely slow, since others keep the cores busy, is ready to run, and does
        a little now and then. So a busy machine makes a meeting longer, and does not make it fail.
        """
        self.add("arrived", meeting=number)
        begin_ns = time.monotonic_ns()
        before, num_quiet = None, 0
        while True:
            events = self.events("arrived", "gave up", "stayed", *STARTS)
            arrived = [event for event in events if event.get("meeting") == number]
            gave_up = any(event["kind"] == "gave up" for event in events)
            if len({event["thread"] for event in arrived}) >= self.meeting_of or gave_up:
                break
            started = [event for event in events if event["kind"] == "started"]
            known = {event[key] for event in started for key in ("process", "child")}
            others = known - {event["process"] for event in arrived}
            now = {other: activity(other) for other in others}
            if any(has_ended(now[other]) for other in others & self._at_first_meeting(events)):
                break  # it had fewer steps: a part may be smaller than the others
            now_ns = time.monotonic_ns()
            is_busy = any(is_running(state) for state, _ in filter(None, now.values()))
            if now != before or is_busy or is_in_start(events):
                before, num_quiet = now, 0
            else:
                num_quiet += 1
            last_ns = max(
                [begin_ns, *(each["time_ns"] for each in events if each["kind"] != "arrived")]
            )
            limit_s = _START_LIMIT_S if _is_one_loading(events) else _LIMIT_S
            # Looks are counted, not seconds: who got no core itself has not seen the others sleep.
            if num_quiet * _POLL_S > _PATIENCE_S or now_ns - last_ns > limit_s * 1e9:
                self.add("gave up")
                break
            time.sleep(_POLL_S)
        if number == 0:
            self._stay_until_all_are_seen()
        self.add("stayed", since_ns=begin_ns, stopped=[])

    def hold_up(self):
        """Stay in the middle of a step, at a moment told to nobody, and look at the others.

        Who waits for nobody takes its next batches meanwhile, as soon as it gets a core. Who waits
        for this process stops, or waits before each of them. Some stop for other reasons, such as
        an end of an epoch: which ones, grading finds out later, when all that they did is known.
        Where they meet once only, there are too few steps to tell. While one stays, no other does.
        """
        events = self.events("arrived", "stays", "stayed")
        if len(self.meeting_steps) < 2 or _is_one_staying(events):
            return
        self.add("stays")
        begin_ns = time.monotonic_ns()
        met = self._at_first_meeting(events)
        last = {event["process"]: event["kind"] for event in events}
        # Who is at a meeting takes no batch, and is known to wait.
        others = {
            process: OwnTime(process, apart=met - {process})
            for process in met - {os.getpid()}
            if last[process] == "stayed"
        }
        while not self.events("gave up") and time.monotonic_ns() - begin_ns < _LIMIT_S * 1e9:
            taken = Counter(
                event["process"] for event in self.events("batch") if event["time_ns"] > begin_ns
            )
            for process, own in list(others.items()):
                own.look(taken[process])
                is_done = taken[process] >= _STEPS_MEANWHILE or has_ended(activity(process))
                if is_done and not own.has_stopped:
                    del others[process]
            if all(own.has_stopped for own in others.values()):
                break
            time.sleep(_POLL_S)
        stopped = [process for process in others if others[process].has_stopped]
        self.add("stayed", since_ns=begin_ns, stopped=stopped)

    def _at_first_meeting(self, events):
        met = [event for event in events if event.get("meeting") == 0]
        return {event["process"] for event in met}

    def _stay_until_all_are_seen(self):
        """Wait until grading has seen each process that meets, while all of them are still there.

        What is written here only says when to go on: grading counts by itself.
        """
        if not self.witness:
            return
        self.tell((), is_waiting=True)
        self.add("seen")
        until_s = time.monotonic() + _LIMIT_S
        while time.monotonic() < until_s:
            seen = {event["process"] for event in self.events("seen")}
            if len(seen) >= self.meeting_of or self.events("gave up", "missed"):
                return
            time.sleep(_POLL_S)
        self.add("missed")


def _is_one_staying(events):
    """Return whether a process is held up in a step."""
    last = {event["process"]: event["kind"] for event in events}
    return "stays" in last.values()


def is_in_start(events):
    """Return whether a process waits in start() for the one that it starts."""
    num_of = Counter(event["kind"] for event in events)
    return num_of["starting"] > num_of["started"] + num_of["not started"]


def _is_one_loading(events):
    """Return whether a process that is being started has not come to the student's code."""
    came = {event["process"] for event in events if event["kind"] in ("began", "arrived")}
    children = {event["child"] for event in events if event["kind"] == "started"}
    return is_in_start(events) or any(not has_ended(activity(each)) for each in children - came)
