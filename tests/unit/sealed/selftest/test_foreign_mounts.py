"""What is mounted in a container, as real ones show it, and what a rank could do with it."""

import os
import re
import socket
import stat
from pathlib import Path

import pytest

from grader.sealed.container.docker_engine import hardening
from grader.sealed.container.plan import ContainerLimits
from grader.sealed.selftest import foreign_mounts
from grader.sealed.selftest.foreign_mounts import foreign

PLAIN = """\
139 97 0:78 / / rw,relatime master:5 - overlay overlay rw,lowerdir=/l/Q:/l/6
140 139 0:81 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
141 139 0:82 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
142 141 0:83 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,gid=5,mode=620
144 143 0:85 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs rw,mode=755
145 144 0:29 /docker/3e3c /sys/fs/cgroup/cpu ro,nosuid,nodev,noexec - cgroup cgroup rw,cpu
239 141 0:80 / /dev/mqueue rw,nosuid,nodev,noexec,relatime - mqueue mqueue rw
240 141 0:86 / /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs shm rw,size=65536k
241 139 254:0 /home/ada/ring /submission ro,relatime - ext4 /dev/vda rw,discard
242 139 254:0 /var/lib/docker/containers/3e3c/hosts /etc/hosts rw,relatime - ext4 /dev/vda rw
246 139 254:0 /usr/bin/tini-static /usr/sbin/docker-init ro,relatime - ext4 /dev/vda rw
100 141 0:83 /0 /dev/console rw,nosuid,noexec,relatime - devpts devpts rw,gid=5,mode=620
101 140 0:81 /bus /proc/bus ro,nosuid,nodev,noexec,relatime - proc proc rw
105 140 0:82 /null /proc/keys rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
107 143 0:88 / /sys/firmware ro,relatime - tmpfs tmpfs ro
"""
MOUNT = "300 139 254:0 {root} {point} rw,relatime - {kind} {source} {options}\n"


@pytest.fixture(autouse=True)
def no_devices(monkeypatch):
    monkeypatch.setattr(foreign_mounts, "_devices", lambda folder: [])


def found(point, *, root="/home", kind="ext4", source="/dev/vda", options="rw", ours=()):
    escaped = str(point).replace(" ", "\\040")
    line = MOUNT.format(root=root, point=escaped, kind=kind, source=source, options=options)
    every = foreign(PLAIN + line, ["/submission", *ours], "/nowhere")
    assert {each["path"] for each in every} <= {str(point)}
    return [each["opens"] for each in every]


def test_a_plain_container_has_nothing_foreign():
    """With a terminal, an init and a submission."""
    assert foreign(PLAIN, ["/submission"], "/nowhere") == []


def test_a_folder_with_something_of_others_is_open(monkeypatch):
    """As all of the machine is, of which the mounts below are not told one by one."""
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    (opens,) = found("/usr", root="/")
    assert re.fullmatch(r"a rank can list it: it contains \S+ and \d+ more", opens)
    points = MOUNT.format(
        root="/", point="/usr", kind="ext4", source="x", options="rw"
    ) + MOUNT.format(root="/", point="/usr/lib", kind="ext4", source="x", options="rw")
    assert [each["path"] for each in foreign(points, [], "/nowhere")] == ["/usr"]


def test_places_of_this_grading_are_not_foreign():
    """Whatever is mounted there, and below."""
    assert found("/usr", ours=["/usr"]) == found("/usr/lib", ours=["/usr"]) == []


def test_a_folder_that_is_empty(tmp_path):
    """One to be written is told of; a volume that only root may write is nobody's business."""
    assert found(tmp_path) == [""]
    tmp_path.chmod(0o555)
    assert found(tmp_path) == ([] if os.getuid() else [""])


def test_a_name_with_a_space_in_it(tmp_path):
    """Which the kernel writes in octal."""
    folder = tmp_path / "a b"
    folder.mkdir()
    assert found(folder) == [""]


def test_a_file_and_a_socket(tmp_path):
    """What can be read, what can be connected to."""
    file = tmp_path / "file"
    file.touch()
    assert found(file) == ["a rank can read it"]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        assert found(tmp_path / "socket") == ["a rank can connect to it"]
    assert found(tmp_path / "gone") == [""]


def test_devices_of_every_container_may_be_mounted():
    """An engine that is not root has no other way to give them to a container."""
    for name in ("null", "zero", "full", "random", "urandom"):
        assert found(f"/dev/{name}", root=f"/{name}", kind="devtmpfs", source="udev") == []


def test_what_is_closed_to_us_is_told(tmp_path, monkeypatch):
    """A folder, a file and a socket that only root may use."""
    monkeypatch.setattr(os, "access", lambda *_: False)

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(foreign_mounts, "_others_in", refuse)
    assert found(tmp_path) == found("/etc/passwd") == [""]


def test_shared_memory_of_the_machine_is_not_the_containers():
    """Engines name what they mount."""
    assert found("/dev/shm", root="/", kind="tmpfs", source="shm") == []
    assert len(found("/dev/shm", root="/", kind="tmpfs", source="tmpfs")) == 1
    _, _, options = hardening(ContainerLimits())["tmpfs"]["/dev/shm"].partition("size=")
    assert found("/dev/shm", kind="tmpfs", source="tmpfs", options=f"rw,size={options}") == []


def test_what_is_below_proc_is_the_kernels_only_if_it_is_its_kind():
    """A folder of the machine's may be mounted there, too."""
    assert found("/proc/acpi", root="/", kind="tmpfs", source="tmpfs") == []
    assert found("/proc/bus", kind="ext4") != []


def test_the_machines_tmp_is_told_from_the_containers(monkeypatch):
    """Memory with nothing of others in it; a folder of a disk never is."""
    monkeypatch.setattr(foreign_mounts, "_others_in", lambda *_: [])
    assert found("/tmp", root="/", kind="tmpfs", source="tmpfs") == []
    assert found("/tmp", root="/var/lib/docker/volumes/x/_data") == []
    assert found("/tmp", root="/tmp") == [""]
    monkeypatch.setattr(foreign_mounts, "_others_in", lambda *_: ["of-anna"])
    assert found("/tmp", root="/", kind="tmpfs") == ["a rank can list it: it contains of-anna"]


def test_devices_beside_those_of_every_container(monkeypatch, tmp_path):
    """By number, since their name is up to whoever starts the container."""
    monkeypatch.undo()
    numbers = {"null": (1, 3), "fuse": (10, 229), "sda": (8, 0), "other": (1, 8)}
    for name in numbers:
        (tmp_path / name).touch(mode=0o600 if name == "sda" else 0o666)
    real = os.stat

    def as_device(path, **options):
        seen = real(path, **options)
        if Path(path).name not in numbers:
            return seen
        fields = list(seen[:10])
        fields[0] = stat.S_IFCHR | stat.S_IMODE(fields[0])
        return os.stat_result(fields, {"st_rdev": os.makedev(*numbers[Path(path).name])})

    monkeypatch.setattr(os, "stat", as_device)
    monkeypatch.setattr(os, "lstat", lambda path: as_device(path, follow_symlinks=False))
    monkeypatch.setattr(os, "access", lambda path, way: real(path).st_mode & 0o006)
    every = {each.path: each.opens for each in foreign_mounts._devices(tmp_path)}
    assert every == {
        str(tmp_path / "fuse"): "a rank can read and write it",
        str(tmp_path / "sda"): "",
    }
