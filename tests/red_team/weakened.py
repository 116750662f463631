"""Judges with one protection taken away, and the attacks that each of them must give in to.

A suite of attacks that no weakened judge fails would prove nothing about the real one.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from .canaries import ROOT


@dataclass(frozen=True)
class Change:
    """One exact piece of a source file, and what stands there instead."""

    file: str
    """Below grader/."""
    old: str
    new: str


@dataclass(frozen=True)
class Weakening:
    """A judge that lacks something, and how that shows."""

    name: str
    changes: tuple[Change, ...]
    attacks: tuple[str, ...]
    """At least one of them has to break an invariant."""
    because: str
    """A regular expression that what is broken must match: for the right reason."""
    affects_concurrent_run: bool = False
    """What breaks is the control beside the attack."""
    is_quick: bool = False
    """Tried by `make test` as well."""
    watched_for_s: float = 0.0
    """Graded as `docker run` does, where a process beside the judge watches it; 0 for not so."""
    is_confined: bool = False
    """Its ranks are confined as in a grading: otherwise the attack would need no such weakness."""


NO_SELFTEST = Change(
    "grading/pipeline.py",
    "    protections = examine(\n"
    "        launcher, _material(settings), needed, kernel_is_tried=settings.kernel_is_tried\n"
    "    )\n",
    "    protections = ()\n",
)
"""Which would refuse to grade with most of these."""
NO_COUNT_BESIDE_CALLS = Change(
    "judge/explanation/trace_doubts.py",
    "            *beside_calls([rank.num_beside_calls for rank in ranks]),\n",
    "",
)
NO_GUARD = Change("observe/run_control/running.py", '"guarded": plan.guarded,', '"guarded": False,')
"""Which stops many attacks before they reach what is weakened behind it."""
NOT_CONFINED = Change(
    "observe/run_control/running.py", '"confined": plan.confined,', '"confined": False,'
)
"""Taken away from most of them: it leaves ranks none of the ways that most attacks take."""
NO_CAUSALITY = (
    Change(
        "judge/traffic/fault_effects.py",
        "        if effect.happened and not effect.influenced:\n",
        "        if False:\n",
    ),
    Change(
        "judge/traffic/fault_effects.py",
        "    if not any(effect.influenced and not effect.ended for effect in happened):\n",
        "    if False:\n",
    ),
)
MAY_LINGER = Change(
    "observe/forkserver/system_calls.py",
    '    made.add_rule(no, "setsockopt", of_sockets,'
    " arg(2, library.MASKED_EQ, _LOW_HALF, _SO_LINGER))\n",
    "",
)
TAKES_DESCRIPTORS = Change(
    "observe/forkserver/local_sockets.py",
    "        listener.setsockopt(socket.SOL_SOCKET, _SO_PASSRIGHTS, 0)\n",
    "        pass\n",
)
WAITS_FOR_GOOD = Change(
    "observe/forkserver/local_sockets.py",
    "        signal.setitimer(signal.ITIMER_REAL, period_s, period_s)\n",
    "        pass\n",
)
"""Each of these three is enough; see the attacks with two of them left out."""
IMPATIENT = tuple(
    Change("observe/run_control/launch.py", old, new)
    for old, new in (
        ("GRACE_S = 120.0", "GRACE_S = 2.0"),
        ("READY_LIMIT_S + limits.start_s", "20.0"),
        (
            "import MAX_SLOWDOWN, CaseObservation, LaunchObservation",
            "import CaseObservation, LaunchObservation\n\nMAX_SLOWDOWN = 0.2",
        ),
    )
)
"""A judge that grants itself little, so that a test need not wait as on a busy machine."""
NEVER_ENDS_IT = Change(
    "commands/watched.py", "        if record.watchdog.remaining_s() <= 0:", "        if False:"
)
ONE_USER = Change(
    "observe/forkserver/run_users.py", "return self.first + 2 + rank", "return self.first"
)
"""For all ranks of a run."""
_CONFINEMENT = "observe/forkserver/confinement.py"
_SUPERVISOR = "observe/forkserver/supervisor.py"
NO_FILTER = Change(_CONFINEMENT, "sealed.system_calls.put_on()", "pass")
"""Of system calls, which stops what the guard does not see."""

WEAKENINGS = (
    Weakening(
        "runs as root",
        (
            NO_GUARD,
            Change(_CONFINEMENT, "        sealed.users.begin(rank)\n", "        pass\n"),
            Change(_CONFINEMENT, "    sealed.users.part(rank)\n", ""),
            Change(
                "observe/run_control/connections.py",
                "if peer(connection)[1] != self._uid:",
                "if peer(connection)[1] < 0:",
            ),
            Change("observe/run_control/machine.py", "if os.geteuid() == 0:", "if True:"),
            Change(
                _SUPERVISOR,
                "    return 0 if _clean(run) else SOMETHING_STAYED\n",
                "    return 0\n",
            ),
            Change(
                "observe/forkserver/mpirun_placeholders.py",
                "is_ours = uid == self._uid and",
                "is_ours =",
            ),
        ),
        ("walk_fs_canary", "suid_su_newgrp"),
        "tells|BREACH|root has written",
    ),
    Weakening(
        "kills no process that has left its group",
        (
            Change(
                _SUPERVISOR,
                "                os.kill(-1, signal.SIGKILL)\n"
                "        if not owned_by(users.all):\n",
                "                pass\n        if True:\n",
            ),
            Change(
                _SUPERVISOR,
                "    wait_for_all()\n    _remove(folder)\n    return",
                "    reap()\n    _remove(folder)\n    return",
            ),
        ),
        ("daemon_double_fork",),
        "earlier run|still alive|processes before",
    ),
    Weakening(
        "cleans nothing up",
        (
            Change(
                _SUPERVISOR, "    return 0 if _clean(run) else SOMETHING_STAYED\n", "    return 0\n"
            ),
        ),
        ("cache_between_runs", "symlink_result"),
        "earlier run|files are left",
        is_quick=True,
    ),
    Weakening(
        "lets ranks look into each other",
        (
            NO_GUARD,
            Change(
                _CONFINEMENT,
                "_set(_PR_SET_DUMPABLE, 0)\n        sealed",
                "_set(_PR_SET_DUMPABLE, 1)\n        sealed",
            ),
            Change(_CONFINEMENT, "    _set(_PR_SET_DUMPABLE, 0)\n\n", ""),
            ONE_USER,
        ),
        ("sibling_memory",),
        "BREACH sibling",
        is_quick=True,
    ),
    Weakening(
        "guards nothing",
        (NO_GUARD, NO_COUNT_BESIDE_CALLS),
        ("collective_beside_real_messages",),
        "points and deserves",
        is_quick=True,
    ),
    Weakening(
        "filters no system calls",
        (NO_GUARD, NO_FILTER),
        ("kernel_surface", "ipc_leftovers"),
        "BREACH|System V",
        is_quick=True,
    ),
    Weakening(
        "lets ranks start programs",
        (NO_GUARD, NO_FILTER),
        ("program_started_past_the_guard",),
        "BREACH.*by_fork_exec",
    ),
    Weakening(
        "lets ranks run code that is not installed",
        (NO_GUARD, NO_FILTER),
        ("native_code_in_executable_memory",),
        "BREACH.*anonymous",
    ),
    Weakening(
        "lets databases load code",
        (NO_GUARD,),
        ("native_code_by_sqlite",),
        "BREACH.*sql",
    ),
    Weakening(
        "leaves descriptors open",
        (Change(_CONFINEMENT, "    os.closerange(first, last + 1)\n", "    pass\n"),),
        ("leaked_fds",),
        "BREACH",
    ),
    Weakening(
        "gives every run the same user",
        (Change("grading/observing.py", "uid = next(self._uids) if", "uid = 123456 if"),),
        ("nproc_cross_container",),
        "the honest control",
        affects_concurrent_run=True,
    ),
    Weakening(
        "takes any amount of output",
        (
            Change(
                "observe/run_control/watch.py",
                "            if used > allowed:\n",
                "            if used < 0:\n",
            ),
        ),
        ("output_flood_stdout",),
        "the verdict is",
    ),
    Weakening(
        "does not watch the memory",
        (Change(_SUPERVISOR, "for excess in limits.exceeded(run):", "for excess in ():"),),
        ("oom_judge_many_small", "oom_memfd", "memory_mapped_shared"),
        "no well-formed report|the verdict is|was killed",
    ),
    Weakening(
        "leaves ranks other ways to each other than MPI",
        (ONE_USER,),
        ("ring_whose_pieces_are_known",),
        "the verdict is NOT_PROVEN",
        is_quick=True,
    ),
    Weakening(
        "lets all ranks be one user",
        (ONE_USER,),
        ("ring_told_by_links",),
        "points and deserves|the verdict is",
        is_quick=True,
        is_confined=True,
    ),
    Weakening(
        "lets ranks change groups of processes",
        (Change("observe/forkserver/system_calls.py", '*("setpgid", "setsid", ', '*("setsid", '),),
        ("ring_told_by_process_groups",),
        "points and deserves|the verdict is",
        is_quick=True,
        is_confined=True,
    ),
    Weakening(
        "does not ask what the messages are for",
        NO_CAUSALITY,
        ("decoy_messages_beside_shm",),
        "points and deserves",
        is_quick=True,
    ),
    Weakening(
        "does not ask what messages contain",
        (
            Change(
                "judge/traffic/contents.py",
                "        if num_bytes < needed:\n",
                "        if False:\n",
            ),
        ),
        ("ring_of_zeros_added_to_the_answer", "ring_of_noise_added_to_the_answer"),
        "points and deserves",
    ),
    Weakening(
        "does not ask what messages of a training contain",
        (
            Change(
                "judge/traffic/contents.py",
                "    if call.sampled_num_bytes <= 0:\n        return True\n",
                "    if True:\n        return True\n",
            ),
        ),
        (
            "gradients_of_zeros_beside_files",
            "gradients_of_noise_beside_files",
            "allreduce_of_zeros_added_to_files",
        ),
        "points and deserves",
    ),
    Weakening(
        "believes the trace alone",
        (
            NO_GUARD,
            Change(
                "judge/explanation/launch_result.py",
                "doubts=tuple(texts)",
                "doubts=()",
            ),
            *NO_CAUSALITY,
        ),
        ("message_sizes_made_small",),
        "points and deserves",
    ),
    Weakening(
        "believes which calls are none of the student's",
        (
            Change(
                "judge/explanation/launch_result.py",
                "return trace if all_count else trace.of_phases",
                "return trace.of_phases",
            ),
        ),
        ("collective_outside_of_the_phase",),
        "points and deserves",
    ),
    Weakening(
        "sends all probes of the course",
        (
            Change(
                "grading_plugin/plan.py",
                "asked_probes(plan.probes, (call.probe for call in calls))",
                "plan.probes",
            ),
        ),
        ("yardstick_in_the_orders",),
        "points and deserves",
        is_quick=True,
    ),
    Weakening(
        "measures yardsticks beside the submission",
        (Change("grading_plugin/relaunch.py", "if is_yardstick(case)]", "if False]"),),
        ("yardstick_slowed_down",),
        "points and deserves",
    ),
    Weakening(
        "does not count what gloo sends",
        (
            Change(
                "judge/explanation/trace_doubts.py",
                "            *unrecorded_payloads(trace, sent_by_gloo),\n",
                "",
            ),
        ),
        ("messages_only_in_the_record",),
        "points and deserves",
    ),
    Weakening(
        "takes a message for sent that nobody receives",
        (
            Change(
                "judge/explanation/bytes_carried.py",
                "            if not own and not others:\n                break\n",
                "            own = own or deque([(num_bytes, False)])\n",
            ),
            Change(
                "judge/explanation/trace_doubts.py",
                "            *unrecorded_payloads(trace, sent_by_gloo),\n",
                "",
            ),
        ),
        ("paid_for_by_unreceived_sends",),
        "points and deserves",
    ),
    Weakening(
        "believes how many processes there were",
        (
            Change(
                "observe/run_control/running.py",
                'is_alone = self._plan.backend == "none"',
                "is_alone = False",
            ),
        ),
        ("processes_only_in_the_record",),
        "points and deserves",
    ),
    Weakening(
        "stumbles over what it cannot read",
        (
            Change(
                "observe/run_control/rank_messages.py",
                "    except (ValueError, KeyError, TypeError, RecursionError) as error:\n",
                "    except KeyError as error:\n",
            ),
        ),
        ("frame_huge_or_deep_head",),
        "JUDGE_ERROR|no well-formed report",
    ),
    Weakening(
        "takes results of any form",
        (
            Change(
                "judge/values/result_forms.py",
                "        problem = _array_problem(array, form)\n",
                '        problem = ""\n',
            ),
            Change(
                "judge/values/array_comparison.py",
                "_problem(np.asarray(got), wanted, rtol, tolerance, name))",
                "(np.abs(np.asarray(got) - wanted) > 0).any() and 'differs')",
            ),
        ),
        ("empty_or_broadcast", "nan_in_recv"),
        "points and deserves|JUDGE_ERROR",
    ),
    Weakening(
        "listens on after all ranks have come",
        (
            Change(
                "observe/run_control/connections.py",
                "        self._listener.close()\n        for rank, rank_socket in",
                "        for rank, rank_socket in",
            ),
        ),
        ("second_judge_connection", "forged_stub_connection"),
        "BREACH",
    ),
    Weakening(
        "lets the submission change its own files",
        (
            Change(
                "observe/run_control/sandbox.py",
                "path.chmod(0o755 if path.is_dir() else 0o644)",
                "path.chmod(0o777)",
            ),
        ),
        ("submission_rewritten",),
        "BREACH",
        is_quick=True,
    ),
    Weakening(
        "lets files of the submission stand for libraries",
        (
            Change(
                "rank/harness.py",
                'sys.path += [setup["support"], setup["submission"]]',
                'sys.path[:0] = [setup["support"], setup["submission"]]',
            ),
        ),
        ("shadow_modules",),
        "BREACH|nothing shows",
    ),
    Weakening(
        "shows what hidden tests found",
        (
            Change(
                "grading_plugin/results.py",
                "    if context.is_hidden and level is Feedback.VERDICT and ",
                "    if False and ",
            ),
        ),
        ("stdout_exfil_inputs", "assert_message_exfil"),
        "EXFIL",
        is_quick=True,
    ),
    Weakening(
        "closes in the judge whatever it is sent",
        (MAY_LINGER, TAKES_DESCRIPTORS, WAITS_FOR_GOOD),
        ("lingering_socket_for_the_judge",),
        "had not ended",
    ),
    Weakening(
        "watches the judge and never ends it",
        (MAY_LINGER, TAKES_DESCRIPTORS, WAITS_FOR_GOOD, *IMPATIENT, NEVER_ENDS_IT),
        ("lingering_socket_for_the_judge",),
        "had not ended",
        watched_for_s=15.0,
    ),
    Weakening(
        "closes in the forkserver whatever it is sent",
        (MAY_LINGER, TAKES_DESCRIPTORS, WAITS_FOR_GOOD),
        ("lingering_socket_for_the_forkserver",),
        "had not ended|JUDGE_ERROR",
    ),
    Weakening(
        "asks neither the kernel nor gloo what was sent, nor what that is for",
        (
            Change(
                "observe/forkserver/run.py",
                "loopback.carried_num_bytes() if self._sealed is not None else None\n",
                "None\n",
            ),
            Change(
                "judge/explanation/trace_doubts.py",
                "            *unrecorded_payloads(trace, sent_by_gloo),\n",
                "",
            ),
            *NO_CAUSALITY,
        ),
        ("hidden_by_the_backend", "gather_for_show"),
        "deserves at most",
    ),
    Weakening(
        "takes no note of what MPI sends for itself",
        (NO_COUNT_BESIDE_CALLS,),
        ("audit_hook_removed_through_numpy",),
        "deserves at most",
    ),
)


def weakened(weakening: Weakening, place: Path, source: Path = ROOT / "grader") -> Path:
    """Return a copy of the grader with the changes made, at a place that does not exist yet.

    Raises LookupError when the text of a change does not occur exactly once.
    """
    shutil.copytree(source, place, ignore=shutil.ignore_patterns("__pycache__"))
    without = () if weakening.is_confined else (NOT_CONFINED,)
    for change in (NO_SELFTEST, *without, *weakening.changes):
        path = place / change.file
        text = path.read_text()
        if text.count(change.old) != 1:
            raise LookupError(
                f"{weakening.name}: {change.old!r} occurs {text.count(change.old)} times in "
                f"grader/{change.file}; change the weakening as the grader has changed"
            )
        path.write_text(text.replace(change.old, change.new))
    return place
