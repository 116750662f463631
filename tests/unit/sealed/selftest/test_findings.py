"""What a hostile run told and what the judge sees become protections, each for its reason."""

from dataclasses import replace

import pytest

from grader.model.errors import GraderError
from grader.observe.forkserver.control_group import ControlGroup
from grader.sealed.selftest import hostile_attempts
from grader.sealed.selftest.findings import protections
from grader.sealed.selftest.protections import note, refusal
from grader.sealed.selftest.surroundings import Surroundings

JUDGE = 7
OTHER_USER = "Ranks run as another user, not as root"
HARDENED_JUDGE = "CapBnd:\t00000000000000e0\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n"
PLAIN_JUDGE = "CapBnd:\t00000000a80425fb\nNoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n"
RANK = """Uid:\t20002\t20002\t20002\t20002
Gid:\t20002\t20002\t20002\t20002
Groups:\t
CapPrm:\t0000000000000000
CapAmb:\t0000000000000000
NoNewPrivs:\t1
Seccomp:\t2
Seccomp_filters:\t2
"""
MOUNTS = (
    "1 0 0:5 / / {} - overlay overlay rw\n"
    "2 1 0:6 /sys /proc/sys ro,nosuid - proc proc rw\n"
    "3 1 0:7 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n"
    "4 1 0:8 / /dev/shm rw,nosuid,noexec - tmpfs shm rw\n"
    "5 1 0:9 / /tmp rw,nosuid,noexec - tmpfs tmpfs rw\n"
)


def limited(memory, swap, processes):
    return ControlGroup(
        memory_limit_num_bytes=memory, swap_limit_num_bytes=swap, max_processes=processes
    )


SEEN = Surroundings(
    status=HARDENED_JUDGE,
    mountinfo=MOUNTS.format("ro,relatime"),
    control_group=limited(4 << 30, 0, 256),
    interfaces=("lo",),
    ipc_namespace="ipc:[4026532252]",
    pid_namespace="pid:[4026532253]",
    cgroup_namespace="cgroup:[4026532254]",
    has_swap=True,
    max_ended_connections="0",
)
PLAIN = replace(
    SEEN,
    status=PLAIN_JUDGE,
    mountinfo=MOUNTS.format("rw,relatime").replace(" /tmp ", " /elsewhere "),
    control_group=limited(None, None, None),
    interfaces=("lo", "eth0"),
    max_ended_connections="8192",
)
NAMES = hostile_attempts.names(with_kernel=True)


def told(**changes):
    found = {
        "attempts": {name: {"num_steps": 3, "succeeded": []} for name in NAMES},
        "status": RANK,
        "dumpable": 0,
        "foreign": [1, JUDGE, 9],
        "foreign_mounts": [],
        "landlock": 7,
    }
    return {**found, **changes}


def found(seen=SEEN, **changes):
    """Return what is missing, by name."""
    every = protections(told(**changes), seen, JUDGE, NAMES)
    return {each.name: each for each in every if not each.holds}


def test_a_hardened_container_has_them_all():
    """Nothing is missing, and every attempt has its protection."""
    assert found() == {}
    every = protections(told(), SEEN, JUDGE, NAMES)
    assert len(every) == len({each.name for each in every}) == len(NAMES) + 22
    assert all(each.found for each in every)


def test_every_attempt_is_made():
    """Until the kernel is known to refuse; then those on the judge's files and processes."""
    assert set(NAMES) == {name for name in vars(hostile_attempts) if name.startswith("try_")}
    assert hostile_attempts.names(with_kernel=False) == NAMES[:2]
    attempts = {name: told()["attempts"][name] for name in NAMES[:2]}
    every = protections(told(attempts=attempts), SEEN, JUDGE, NAMES[:2])
    assert len(every) == 2 + 22


@pytest.mark.parametrize("name", NAMES)
def test_one_success_is_one_missing_protection(name):
    """Named, with what was not refused."""
    attempts = {**told()["attempts"], name: {"num_steps": 3, "succeeded": ["read it"]}}
    (missing,) = found(attempts=attempts).values()
    assert (missing.found, missing.is_essential) == ("not refused: read it", True)


@pytest.mark.parametrize(
    ("line", "other", "name"),
    [
        ("Uid:\t20002\t20002", "Uid:\t0\t20002", OTHER_USER),
        ("Gid:\t20002\t20002", "Gid:\t20002\t0", OTHER_USER),
        ("Groups:\t", "Groups:\t0", OTHER_USER),
        ("CapPrm:\t0000000000000000", "CapPrm:\t00000000000000e0", "Ranks have no capabilities"),
        ("NoNewPrivs:\t1", "NoNewPrivs:\t0", "Ranks gain no new privileges"),
        ("Seccomp:\t2", "Seccomp:\t0", "Ranks have their own system call filter"),
        ("filters:\t2", "filters:\t1", "Ranks have their own system call filter"),
    ],
)
def test_what_the_kernel_says_of_a_rank(line, other, name):
    """Each line of a rank's status has its protection, without which nothing is graded."""
    missing = found(status=RANK.replace(line, other))
    assert missing[name].is_essential


def test_a_kernel_that_does_not_count_filters():
    """Before Linux 5.9; what the filter refuses is tried anyway."""
    status = RANK.replace("Seccomp_filters:\t2\n", "")
    assert found(status=status) == {}


def test_a_rank_that_can_be_looked_into():
    """Dumpable is what the kernel goes by."""
    assert list(found(dumpable=1)) == ["Ranks hide their memory from others"]


def test_a_kernel_without_landlock_is_told():
    """Graded all the same: this machine has no other."""
    (missing,) = found(landlock=-1).values()
    assert (missing.is_essential, missing.flag) == (False, "")
    assert "it needs Linux 5.13" in note([missing])


def test_plain_docker_run_lacks_what_only_flags_bring():
    """Graded, with a note that names each flag; refused where the flags are ours."""
    missing = list(found(seen=PLAIN).values())
    assert refusal(missing, flags_are_ours=False) == ""
    assert refusal(missing, flags_are_ours=True).startswith("refusing to grade")
    for flag in (
        "--cap-drop ALL",
        "--security-opt",
        "--read-only",
        "--memory",
        "--pids-limit",
        "--network none",
    ):
        assert flag in note(missing)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"ipc_namespace": "ipc:[4026531839]"}, "Shared memory"),
        ({"cgroup_namespace": "cgroup:[4026531835]"}, "Control groups"),
        ({"status": HARDENED_JUDGE.replace("Seccomp:\t2", "Seccomp:\t0")}, "engine filters"),
        ({"mountinfo": MOUNTS.format("ro").replace("/sys ro", "/sys rw")}, "kernel's settings"),
        ({"mountinfo": MOUNTS.format("ro").replace("/proc/sys", "/x")}, "kernel's settings"),
        ({"pid_namespace": "pid:[4026531836]"}, "Process numbers"),
        ({"control_group": limited(4 << 30, 1 << 30, 256)}, "Memory"),
        ({"control_group": limited(4 << 30, None, 256)}, "Memory"),
        ({"control_group": limited(4 << 30, 0, None)}, "number of processes"),
        ({"interfaces": ("eth0", "lo")}, "loopback"),
        ({"interfaces": ()}, None),
        (
            {"mountinfo": MOUNTS.format("ro").replace("noexec - tmpfs shm", "exec - tmpfs shm")},
            "Programs",
        ),
        ({"max_ended_connections": "8192"}, "Closed connections"),
    ],
)
def test_each_flag_has_its_protection(change, part):
    """One change, one missing protection."""
    missing = found(seen=replace(SEEN, **change))
    assert [part in name for name in missing] == ([] if part is None else [True])


HOST = {"path": "/host", "is_device": False, "opens": "a rank can list it: it contains bin"}
SOCKET = {"path": "/run/docker.sock", "is_device": False, "opens": ""}
FUSE = {"path": "/dev/fuse", "is_device": True, "opens": "a rank can read and write it"}


def test_what_ranks_can_use_of_the_machine_is_a_reason_not_to_grade():
    """Named, with how to start the container instead."""
    (missing,) = found(foreign_mounts=[HOST, FUSE]).values()
    assert missing.is_essential
    assert missing.found.startswith("/host: a rank can list it: it contains bin, /dev/fuse: ")
    assert refusal([missing], flags_are_ours=False).endswith(
        "start the container without -v /host --device /dev/fuse"
    )


def test_what_is_closed_to_the_ranks_is_told():
    """An engine's socket is root's alone."""
    (missing,) = found(foreign_mounts=[SOCKET]).values()
    assert refusal([missing], flags_are_ours=False) == ""
    assert "The container mounts only what grading needs (no -v /run/docker.sock)" in note(
        [missing]
    )


def test_groups_of_version_1_are_in_the_machines_namespace_everywhere():
    """As engines start containers there, with only their own groups mounted."""
    mounts = SEEN.mountinfo.replace("cgroup2 cgroup rw", "cgroup cgroup rw,pids")
    seen = replace(SEEN, mountinfo=mounts, cgroup_namespace="cgroup:[4026531835]")
    assert found(seen=seen) == {}


def test_swap_that_nobody_accounts_for_matters_only_where_there_is_swap():
    """A machine without swap cannot swap."""
    group = limited(4 << 30, None, 256)
    assert found(seen=replace(SEEN, control_group=group, has_swap=False)) == {}


def test_more_capabilities_than_usual_are_a_reason_not_to_grade():
    """`--privileged` and `--cap-add SYS_PTRACE` leave the judge as strong as the machine."""
    status = HARDENED_JUDGE.replace("00e0", "800e0")
    missing = found(seen=replace(SEEN, status=status))
    essential = [each for each in missing.values() if each.is_essential]
    assert [each.found.split(";")[0] for each in essential] == ["it also has SYS_PTRACE"]


def test_an_attempt_that_tried_nothing_is_the_graders_failure():
    """A check that cannot fail is none."""
    attempts = {**told()["attempts"], NAMES[0]: {"num_steps": 0, "succeeded": []}}
    with pytest.raises(GraderError, match="tried nothing in"):
        found(attempts=attempts)


def test_a_judge_that_was_not_found_is_the_graders_failure():
    """The attempts on other processes must have included the judge's."""
    with pytest.raises(GraderError, match="did not find the judge"):
        found(foreign=[1])
