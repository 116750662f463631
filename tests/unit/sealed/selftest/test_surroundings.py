"""Texts of the kernel, as real containers show them: users, capabilities, mounts."""

from pathlib import Path

from grader.sealed.selftest.surroundings import (
    capabilities,
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
VERSION_2 = """\
1104 1103 0:57 / / rw,relatime master:370 - overlay overlay rw,lowerdir=/l/A
1110 1109 0:29 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate
"""


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


def test_there_is_something_to_see_on_any_linux():
    """The files exist under these names."""
    seen = look_around()
    assert status_field(seen.status, "Pid").isdigit()
    assert mount_options(seen.mountinfo, "/proc") is not None
    assert "lo" in seen.interfaces
    assert seen.ipc_namespace == str(Path("/proc/self/ns/ipc").readlink())
