"""What we believe of each architecture is what its C library says, where need be emulated."""

import platform
import shutil
import subprocess

import pytest

from grader.observe.forkserver import system_calls
from grader.sealed.selftest import architecture, hostile_attempts
from grader.sealed.selftest.architecture import AARCH64, ARCHITECTURES, X86_64

HEADERS = (
    *("sys/syscall.h", "sys/socket.h", "sys/ioctl.h", "sys/prctl.h", "sys/ptrace.h", "sched.h"),
    *("linux/prctl.h", "linux/tiocl.h"),
)
ALIKE = {
    # What Python code takes for the same on all.
    "CLONE_NEWNS": 1 << 17,
    "CLONE_NEWUSER": hostile_attempts._NAMESPACES["user"],
    "CLONE_NEWPID": hostile_attempts._NAMESPACES["process"],
    "CLONE_NEWNET": hostile_attempts._NAMESPACES["network"],
    "CLONE_NEWCGROUP": 1 << 25,
    "CLONE_NEWUTS": 1 << 26,
    "CLONE_NEWIPC": 1 << 27,
    "TIOCSTI": system_calls._TIOCSTI,
    "TIOCLINUX": system_calls._TIOCLINUX,
    "PR_SET_DUMPABLE": system_calls._PR_SET_DUMPABLE,
    "PR_SET_PTRACER": system_calls._PR_SET_PTRACER,
    "SOL_SOCKET": system_calls._SOL_SOCKET,
    "SO_LINGER": system_calls._SO_LINGER,
    "AF_UNIX": 1,
    "AF_INET": 2,
    "AF_INET6": 10,
    "AF_NETLINK": 16,
    "PTRACE_SEIZE": hostile_attempts._PTRACE_SEIZE,
    "sizeof(long)": 8,
}


def emulator(wanted):
    """Return the command that runs programs of an architecture here; skips where there is none."""
    if wanted.machine == platform.machine():
        return []
    program = shutil.which(f"qemu-{wanted.machine}-static")
    if program is None:
        pytest.skip("there is no emulator (Debian: apt install qemu-user-static)")
    return [program, "-L", f"/usr/{wanted.machine}-linux-gnu"]


@pytest.mark.parametrize("wanted", [X86_64, AARCH64], ids=lambda each: each.machine)
def test_the_values_are_those_of_its_c_library(wanted, tmp_path):
    """A program compiled for it tells them, and is run."""
    compiler = shutil.which(wanted.compiler)
    if compiler is None:
        pytest.skip(f"there is no {wanted.compiler} (Debian: apt install gcc-aarch64-linux-gnu)")
    command = emulator(wanted)
    expected = {**{f"SYS_{name}": number for name, number in wanted.calls.items()}, **ALIKE}
    lines = [f"#include <{header}>" for header in (*HEADERS, "stdio.h")]
    lines += ["int main(void) {"]
    lines += [f'printf("%s %ld\\n", "{name}", (long){name});' for name in expected]
    (tmp_path / "values.c").write_text("\n".join([*lines, "}"]))
    program = tmp_path / "values"
    options = ["-D_GNU_SOURCE", str(tmp_path / "values.c"), "-o", str(program)]
    # Debian's cross compiler finds its C library by itself.
    subprocess.run([compiler, *options], check=True, timeout=60)
    ran = subprocess.run(
        [*command, program], check=True, capture_output=True, text=True, timeout=60
    )
    told = {name: int(number) for name, number in map(str.split, ran.stdout.splitlines())}
    assert told == expected


@pytest.mark.parametrize("wanted", ARCHITECTURES.values(), ids=lambda each: each.machine)
def test_libseccomp_has_the_same_numbers(wanted):
    """By which the filter refuses, on either machine, what the self-test then tries."""
    pyseccomp = pytest.importorskip("pyseccomp", exc_type=(ImportError, RuntimeError))
    arch = getattr(pyseccomp.Arch, wanted.machine.upper())
    assert wanted.calls == {name: pyseccomp.resolve_syscall(arch, name) for name in wanted.calls}


def test_each_call_that_is_tried_has_its_number_everywhere():
    assert set(X86_64.calls) == set(AARCH64.calls) == {*hostile_attempts._CALLS, "getpid"}


def test_a_call_that_both_name_is_refused_on_both():
    """What aarch64 never had is all that its filter lacks."""
    pyseccomp = pytest.importorskip("pyseccomp", exc_type=(ImportError, RuntimeError))

    def refused_on(arch):
        names = (*system_calls._NOT_PERMITTED, *system_calls._NOT_THERE)
        return {name for name in names if pyseccomp.resolve_syscall(arch, name) >= 0}

    lacking = refused_on(pyseccomp.Arch.X86_64) - refused_on(pyseccomp.Arch.AARCH64)
    assert lacking == {"modify_ldt", "uselib"}


def test_an_architecture_that_nobody_has_looked_at_is_told(monkeypatch):
    """Rather than trying other calls than those that are meant."""
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(OSError, match="are known on x86_64 and aarch64 only, not on riscv64"):
        architecture.this_one()
