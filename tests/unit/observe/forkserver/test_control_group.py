"""Counters of control groups, version 1 and 2, as containers and whole machines show them."""

import pytest

from grader.observe.forkserver.control_group import ControlGroup

MIB = 1 << 20


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


@pytest.fixture
def version_2(tmp_path):
    write(
        tmp_path / "root",
        memory__current=700 * MIB,
        memory__max=1000 * MIB,
        memory__swap__max=24 * MIB,
        memory__stat=f"anon {400 * MIB}\ninactive_file {200 * MIB}\nactive_file {50 * MIB}",
        pids__current=17,
        pids__max=256,
    )
    write(tmp_path, membership="0::/")
    return tmp_path


@pytest.fixture
def version_1(tmp_path):
    write(
        tmp_path / "root" / "memory",
        memory__usage_in_bytes=700 * MIB,
        memory__limit_in_bytes=1000 * MIB,
        memory__memsw__limit_in_bytes=1024 * MIB,
        memory__stat=f"inactive_file 1\ntotal_inactive_file {200 * MIB}\n"
        f"total_active_file {50 * MIB}",
    )
    write(tmp_path / "root" / "pids", pids__current=17, pids__max=256)
    write(tmp_path, membership="8:pids:/docker/abc\n4:memory:/docker/abc\n0::/docker/abc")
    return tmp_path


@pytest.mark.parametrize("version", ["version_1", "version_2"])
def test_the_cache_of_files_is_not_in_use(version, request):
    """What the kernel can drop at any time does not count."""
    folder = request.getfixturevalue(version)
    group = ControlGroup.own(folder / "root", folder / "membership")
    assert group.memory_num_bytes() == 450 * MIB
    assert group.memory_limit_num_bytes == 1000 * MIB
    assert group.swap_limit_num_bytes == 24 * MIB
    assert (group.num_processes(), group.max_processes) == (17, 256)


def test_counters_are_read_anew(version_2):
    """Open once, true at each look."""
    group = ControlGroup.own(version_2 / "root", version_2 / "membership")
    write(version_2 / "root", pids__current=18, memory__current=800 * MIB)
    assert group.num_processes() == 18
    assert group.memory_num_bytes() == 550 * MIB


def test_details_are_left_alone_while_little_is_used(version_2):
    """Adding them up costs the kernel something; below the limit nobody needs them."""
    group = ControlGroup.own(version_2 / "root", version_2 / "membership")
    assert group.memory_num_bytes(at_least=700 * MIB) == 700 * MIB
    assert group.memory_num_bytes(at_least=699 * MIB) == 450 * MIB


def test_our_own_group_is_found_among_all(tmp_path):
    """On a machine that shows every group, the one that we are in counts."""
    write(tmp_path / "root" / "user" / "me", memory__current=5, memory__max="max", pids__current=3)
    write(tmp_path / "root", pids__current=900)
    write(tmp_path, membership="0::/user/me")
    group = ControlGroup.own(tmp_path / "root", tmp_path / "membership")
    assert (group.memory_num_bytes(), group.num_processes()) == (5, 3)
    assert group.memory_limit_num_bytes is None and group.max_processes is None


def test_a_limit_beyond_all_memory_is_none(version_1):
    """What version 1 says where nobody set one."""
    write(version_1 / "root" / "memory", memory__limit_in_bytes=9223372036854771712)
    group = ControlGroup.own(version_1 / "root", version_1 / "membership")
    assert group.memory_limit_num_bytes is group.swap_limit_num_bytes is None


def test_no_groups_at_all(tmp_path):
    """Nothing is known, and nothing fails."""
    group = ControlGroup.own(tmp_path / "nowhere", tmp_path / "membership")
    assert group.memory_num_bytes() is None
    assert group.num_processes() is None
