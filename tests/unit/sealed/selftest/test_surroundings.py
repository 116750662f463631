"""Texts of the kernel, as real containers show them: version 1 and 2 of control groups, mounts."""

from pathlib import Path

import pytest

from grader.sealed.selftest.surroundings import (
    ControlGroup,
    capabilities,
    control_group,
    interfaces,
    look_around,
    mount_options,
    status_field,
)

STATUS = """Name:\tcat
Uid:\t20000\t20000\t20000\t20000
Groups:\t
CapPrm:\t0000000000000000
CapBnd:\t00000000a80425fb
NoNewPrivs:\t0
Seccomp:\t2
Seccomp_filters:\t1
"""
HARDENED = "CapBnd:\t00000000000000e0\nNoNewPrivs:\t1\n"
PRIVILEGED = "CapBnd:\t000001ffffffffff\n"

VERSION_1 = """\
128 72 0:52 / / ro,relatime master:3 - overlay overlay rw,lowerdir=/l/7O:/l/2Y,upperdir=/u
130 128 0:56 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
133 132 0:59 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs rw,mode=755
137 133 0:32 /docker/6ac6 /sys/fs/cgroup/memory ro,nosuid,nodev - cgroup cgroup rw,memory
141 133 0:36 /docker/6ac6 /sys/fs/cgroup/pids ro,nosuid,nodev - cgroup cgroup rw,pids
143 128 0:54 / /tmp rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs rw,size=65536k,mode=1777
"""
GROUPS_1 = """\
9:name=systemd:/docker/6ac6
8:pids:/docker/6ac6
4:memory:/docker/6ac6
0::/docker/6ac6
"""
VERSION_2 = """\
1104 1103 0:57 / / rw,relatime master:370 - overlay overlay rw,lowerdir=/l/A
1110 1109 0:29 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate
"""
GROUPS_2 = "0::/\n"
HOSTS_VERSION_2 = VERSION_2
GROUPS_OF_THE_HOST = "0::/system.slice/docker-6ac6.scope\n"


def reading(files: dict[str, str]):
    return lambda path: files.get(str(path), "")


def test_a_field_of_a_status_is_its_text():
    """An absent one is empty."""
    assert status_field(STATUS, "NoNewPrivs") == "0"
    assert status_field(STATUS, "Uid").split() == ["20000"] * 4
    assert status_field(STATUS, "Groups") == ""
    assert status_field(STATUS, "Absent") == ""


def test_capabilities_have_names():
    """Docker's own set, ours, and everything."""
    usual = capabilities(STATUS, "CapBnd")
    assert len(usual) == 14
    assert {"SETUID", "SETGID", "KILL", "MKNOD", "NET_RAW", "SETFCAP"} <= usual
    assert capabilities(HARDENED, "CapBnd") == {"SETUID", "SETGID", "KILL"}
    assert "SYS_ADMIN" in capabilities(PRIVILEGED, "CapBnd")
    assert len(capabilities(PRIVILEGED, "CapBnd")) == 41
    assert capabilities(STATUS, "CapPrm") == frozenset()


def test_a_capability_of_a_later_kernel_has_a_number():
    """Nothing is left out because we do not know its name."""
    assert capabilities("CapBnd:\t0000020000000000", "CapBnd") == {"number 41"}


def test_mount_options_are_those_of_the_last_mount_there():
    """The options of the mount, not of the file system."""
    assert "ro" in mount_options(VERSION_1, "/")
    assert "ro" not in mount_options(VERSION_2, "/")
    assert {"noexec", "nosuid", "nodev"} <= mount_options(VERSION_1, "/tmp")
    assert mount_options(VERSION_2, "/tmp") is None


def test_limits_of_version_1():
    """Swap is what both together may have beyond the memory."""
    files = {
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "4294967296\n",
        "/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes": "4294967296\n",
        "/sys/fs/cgroup/pids/pids.max": "256\n",
    }
    assert control_group(VERSION_1, GROUPS_1, reading(files)) == ControlGroup(4 << 30, 0, 256)


def test_no_limits_of_version_1():
    """The largest number of pages is no limit."""
    files = {
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes": "9223372036854771712\n",
        "/sys/fs/cgroup/pids/pids.max": "max\n",
    }
    assert control_group(VERSION_1, GROUPS_1, reading(files)) == ControlGroup(None, None, None)


def test_swap_that_is_not_accounted_for():
    """Without the file nobody knows."""
    files = {"/sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576\n"}
    assert control_group(VERSION_1, GROUPS_1, reading(files)) == ControlGroup(1 << 20, None, None)


@pytest.mark.parametrize(
    ("groups", "folder"),
    [
        (GROUPS_2, "/sys/fs/cgroup"),
        (GROUPS_OF_THE_HOST, "/sys/fs/cgroup/system.slice/docker-6ac6.scope"),
    ],
)
def test_limits_of_version_2(groups, folder):
    """In a namespace of its own for control groups, and in the host's."""
    files = {
        f"{folder}/memory.max": "4294967296\n",
        f"{folder}/memory.swap.max": "0\n",
        f"{folder}/pids.max": "256\n",
    }
    assert control_group(VERSION_2, groups, reading(files)) == ControlGroup(4 << 30, 0, 256)


def test_no_limits_of_version_2():
    """`max` is no limit."""
    names = ("memory.max", "memory.swap.max", "pids.max")
    files = {f"/sys/fs/cgroup/{name}": "max\n" for name in names}
    assert control_group(VERSION_2, GROUPS_2, reading(files)) == ControlGroup(None, None, None)


def test_no_control_groups_at_all():
    """What cannot be read is not limited."""
    assert control_group("", "", reading({})) == ControlGroup(None, None, None)


TABLE = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs
    lo:       0       0    0    0    0     0          0         0        0       0
  eth0:    1296      16    0    0    0     0          0         0        0       0
 tunl0:       0       0    0    0    0     0          0         0        0       0
"""


def test_interfaces_are_those_that_are_up():
    """A tunnel that the kernel makes in every new namespace is down and leads nowhere."""
    flags = {"lo": "0x9\n", "eth0": "0x1003\n", "tunl0": "0x80\n"}
    files = {f"/sys/class/net/{name}/flags": text for name, text in flags.items()}
    assert interfaces(TABLE, reading(files)) == ("lo", "eth0")


def test_an_interface_of_which_nothing_is_known_counts_as_up():
    """Where /sys is not there."""
    assert interfaces(TABLE, reading({})) == ("lo", "eth0", "tunl0")


def test_there_is_something_to_see_on_any_linux():
    """The files exist under these names."""
    seen = look_around()
    assert status_field(seen.status, "Pid").isdigit()
    assert mount_options(seen.mountinfo, "/proc") is not None
    assert "lo" in seen.interfaces
    assert seen.ipc_namespace == str(Path("/proc/self/ns/ipc").readlink())
