"""What a grading that was killed has left, and whose it was."""

import os
from pathlib import Path

from grader.sealed.container.plan import client, has_gone


def test_only_a_process_of_this_machine_can_have_gone():
    """Anything else may still be there."""
    machine = client().rpartition(":")[0]
    assert has_gone(f"{machine}:99999999")
    assert not has_gone(client())
    assert not any(map(has_gone, ["", "elsewhere:99999999", f"{machine}:", f"{machine}:x"]))
    assert not any(map(has_gone, [f"{machine}:{1 << 80}", f"{machine}:\u0663", f"{machine}:-1"]))
    # Of a container with the same name, whose processes have other numbers.
    namespace = f"pid:[{Path('/proc/self/ns/pid').stat().st_ino + 1}]"
    assert not has_gone(f"{machine.partition('/')[0]}/{namespace}:99999999")


def test_a_process_that_may_not_be_signalled_is_there(monkeypatch):
    """It is somebody else's, whom /proc may hide; a system may have no /proc at all."""

    def refuse(pid, number):
        raise PermissionError(1, "Operation not permitted")

    name = client()
    monkeypatch.setattr(os, "kill", refuse)
    assert not has_gone(f"{name.rpartition(':')[0]}:99999999")
