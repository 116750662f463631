"""What a hostile run told and what the judge sees become protections, each for its reason."""

from dataclasses import asdict, replace

import pytest

from grader.model.errors import GraderError
from grader.sealed.selftest.findings import _FLAGS, Remains, protections
from grader.sealed.selftest.hostile_probe import ATTEMPTS
from grader.sealed.selftest.protections import note, refusal
from grader.sealed.selftest.surroundings import ControlGroup, Surroundings, read_back

JUDGE = 7
OWN_USERS = "Ranks are their own users, and not root"
HARDENED_JUDGE = "CapBnd:\t00000000000000e0\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n"
PLAIN_JUDGE = "CapBnd:\t00000000a80425fb\nNoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n"
RANK = """Uid:\t20002\t20000\t20002\t20000
Gid:\t20002\t20000\t20002\t20000
Groups:\t20002
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
)
SEEN = Surroundings(
    status=HARDENED_JUDGE,
    mountinfo=MOUNTS.format("ro,relatime"),
    control_group=ControlGroup(4 << 30, 0, 256),
    interfaces=("lo",),
    ipc_namespace="ipc:[4026532252]",
    pid_namespace="pid:[4026532253]",
    cgroup_namespace="cgroup:[4026532254]",
    has_swap=True,
)
PLAIN = replace(
    SEEN,
    status=PLAIN_JUDGE,
    mountinfo=MOUNTS.format("rw,relatime"),
    control_group=ControlGroup(None, None, None),
    interfaces=("lo", "eth0"),
)
GONE = Remains((), (), is_ours_to_see=True)
NAMES = [name for module in ATTEMPTS for name in vars(module) if name.startswith("try_")]


def told(**changes):
    attempts = {name: {"num_steps": 3, "succeeded": []} for name in NAMES}
    found = {
        "attempts": attempts,
        "dumpable": 0,
        "users_of_mpirun": ["20000"],
        "foreign": [1, JUDGE, 9],
        "daemon": 77,
        "files": ["/tmp/left-by-a-rank-5"],
        "foreign_mounts": [],
    }
    return {**found, **changes}


def found(told=None, seen=SEEN, remains=GONE, **of_a_rank):
    """Return what is missing, by name."""
    by_rank = replace(seen, **{"status": RANK, **of_a_rank})
    every = protections(told or _TOLD, seen, by_rank, remains, JUDGE)
    return {each.name: each for each in every if not each.holds}


_TOLD = told()


def test_a_hardened_container_has_them_all():
    """Nothing is missing, and every attempt has its protection."""
    assert found() == {}
    every = protections(_TOLD, SEEN, replace(SEEN, status=RANK), GONE, JUDGE)
    assert len(every) == len({each.name for each in every}) == len(NAMES) + 22
    assert all(each.found for each in every)


@pytest.mark.parametrize("name", NAMES)
def test_one_success_is_one_missing_protection(name):
    """Named, with what was not refused."""
    attempts = {**_TOLD["attempts"], name: {"num_steps": 3, "succeeded": ["read it"]}}
    (missing,) = found(told(attempts=attempts)).values()
    assert missing.found == "not refused: read it"
    assert missing.is_essential == (name not in _FLAGS)


@pytest.mark.parametrize(
    ("line", "other", "name"),
    [
        ("Uid:\t20002\t20000", "Uid:\t0\t20000", OWN_USERS),
        ("Gid:\t20002\t20000", "Gid:\t20002\t0", OWN_USERS),
        ("Groups:\t20002", "Groups:\t20002 0", OWN_USERS),
        ("Groups:\t20002", "Groups:\t20003", OWN_USERS),
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
    assert found(status=RANK.replace("Seccomp_filters:\t2\n", "")) == {}


@pytest.mark.parametrize("users", [[], ["0"], ["20000", "0"], ["20002"]])
def test_mpirun_is_who_starts_the_run(users):
    """Also when no process of it was found: then nothing is known."""
    assert any("mpirun" in name for name in found(told(users_of_mpirun=users)))


def test_a_rank_that_can_be_looked_into():
    """Dumpable is what the kernel goes by."""
    assert list(found(told(dumpable=1))) == ["Ranks hide their memory from others"]


@pytest.mark.parametrize(
    ("remains", "name"),
    [
        (Remains((77,), (), True), "No process of a run is left"),
        (Remains((), ("/tmp/x",), True), "No file of a run is left"),
    ],
)
def test_what_outlives_a_run(remains, name):
    """Processes and files, by number and name."""
    (missing,) = found(remains=remains).values()
    assert (missing.name, missing.is_essential) == (name, True)
    assert "77" in missing.found or "/tmp/x" in missing.found


def test_a_daemon_that_was_never_there_proves_nothing():
    """What was not left behind cannot be gone."""
    assert "No process of a run is left" in found(told(daemon=0))


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
        ({"control_group": ControlGroup(4 << 30, 1 << 30, 256)}, "Memory"),
        ({"control_group": ControlGroup(4 << 30, None, 256)}, "Memory"),
        ({"control_group": ControlGroup(4 << 30, 0, None)}, "number of processes"),
        ({"interfaces": ("eth0", "lo")}, "loopback"),
        ({"interfaces": ()}, None),
    ],
)
def test_each_flag_has_its_protection(change, part):
    """One change, one missing protection."""
    missing = found(seen=replace(SEEN, **change))
    assert [part in name for name in missing] == ([] if part is None else [True])


HOST = {"path": "/host", "is_device": False, "opens": "a rank can list it: it holds bin"}
SOCKET = {"path": "/run/docker.sock", "is_device": False, "opens": ""}
FUSE = {"path": "/dev/fuse", "is_device": True, "opens": "a rank can read and write it"}


def test_what_ranks_can_use_of_the_machine_is_a_reason_not_to_grade():
    """Named, with how to start the container instead."""
    (missing,) = found(told(foreign_mounts=[HOST, FUSE])).values()
    assert missing.is_essential
    assert missing.found.startswith("/host: a rank can list it: it holds bin, /dev/fuse: ")
    assert refusal([missing], flags_are_ours=False).endswith(
        "start the container without -v /host --device /dev/fuse"
    )


def test_what_is_closed_to_the_ranks_is_told():
    """An engine's socket is root's alone."""
    (missing,) = found(told(foreign_mounts=[SOCKET])).values()
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
    group = ControlGroup(4 << 30, None, 256)
    assert found(seen=replace(SEEN, control_group=group, has_swap=False)) == {}


def test_more_capabilities_than_usual_are_a_reason_not_to_grade():
    """`--privileged` and `--cap-add SYS_PTRACE` leave the judge as strong as the machine."""
    status = HARDENED_JUDGE.replace("00e0", "800e0")
    missing = found(seen=replace(SEEN, status=status))
    essential = [each for each in missing.values() if each.is_essential]
    assert [each.found.split(";")[0] for each in essential] == ["it also has SYS_PTRACE"]


def test_an_attempt_that_tried_nothing_is_the_graders_failure():
    """A check that cannot fail is none."""
    attempts = {**_TOLD["attempts"], NAMES[0]: {"num_steps": 0, "succeeded": []}}
    with pytest.raises(GraderError, match="tried nothing"):
        found(told(attempts=attempts))


def test_a_judge_that_was_not_found_is_the_graders_failure():
    """The attempts on other processes must have included the judge's."""
    with pytest.raises(GraderError, match="did not find the judge"):
        found(told(foreign=[1]))


def test_ranks_in_a_container_of_their_own_are_judged_by_it():
    """Its limits count, not those of the judge's container; the judge is not to be found there."""
    elsewhere = {"pid_namespace": "pid:[4026532999]", "interfaces": ("lo", "eth0")}
    missing = found(told(foreign=[1]), remains=Remains((), (), False), **elsewhere)
    assert list(missing) == ["The container has only the loopback network"]


def test_what_a_rank_sees_comes_back_as_it_went():
    """As JSON carries it: lists for tuples."""
    data = {**asdict(SEEN), "interfaces": list(SEEN.interfaces)}
    assert read_back(data) == SEEN
