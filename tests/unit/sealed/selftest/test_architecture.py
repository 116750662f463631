"""What we believe of each architecture is what its C library says, where need be emulated."""

import platform
import shutil
import subprocess

import pytest

from grader.observe.forkserver import system_calls
from grader.sealed.selftest import hostile_attempts

COMPILERS = {"x86_64": "x86_64-linux-gnu-gcc", "aarch64": "aarch64-linux-gnu-gcc"}
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
    if wanted == platform.machine():
        return []
    program = shutil.which(f"qemu-{wanted}-static")
    if program is None:
        pytest.skip("there is no emulator (Debian: apt install qemu-user-static)")
    return [program, "-L", f"/usr/{wanted}-linux-gnu"]


@pytest.mark.parametrize("wanted", COMPILERS)
def test_the_values_are_those_of_its_c_library(wanted, tmp_path):
    """A program compiled for it tells them, and is run."""
    compiler = shutil.which(COMPILERS[wanted])
    if compiler is None:
        pytest.skip(f"there is no {COMPILERS[wanted]} (Debian: apt install gcc-aarch64-linux-gnu)")
    command = emulator(wanted)
    lines = [f"#include <{header}>" for header in (*HEADERS, "stdio.h")]
    lines += ["int main(void) {"]
    lines += [f'printf("%s %ld\\n", "{name}", (long){name});' for name in ALIKE]
    (tmp_path / "values.c").write_text("\n".join([*lines, "}"]))
    program = tmp_path / "values"
    options = ["-D_GNU_SOURCE", str(tmp_path / "values.c"), "-o", str(program)]
    # Debian's cross compiler finds its C library by itself.
    subprocess.run([compiler, *options], check=True, timeout=60)
    ran = subprocess.run(
        [*command, program], check=True, capture_output=True, text=True, timeout=60
    )
    told = {name: int(number) for name, number in map(str.split, ran.stdout.splitlines())}
    assert told == ALIKE


def test_each_call_that_is_tried_has_a_number():
    """Without one it would be refused whatever is filtered."""
    pyseccomp = pytest.importorskip("pyseccomp", exc_type=(ImportError, RuntimeError))
    for arch in (pyseccomp.Arch.X86_64, pyseccomp.Arch.AARCH64):
        for name in (*hostile_attempts._CALLS, "getpid"):
            assert pyseccomp.resolve_syscall(arch, name) >= 0


def test_a_call_that_both_name_is_refused_on_both():
    """What aarch64 never had is all that its filter lacks."""
    pyseccomp = pytest.importorskip("pyseccomp", exc_type=(ImportError, RuntimeError))

    def refused_on(arch):
        names = (*system_calls._NOT_PERMITTED, *system_calls._NOT_THERE)
        return {name for name in names if pyseccomp.resolve_syscall(arch, name) >= 0}

    lacking = refused_on(pyseccomp.Arch.X86_64) - refused_on(pyseccomp.Arch.AARCH64)
    assert lacking == {"modify_ldt", "uselib"}
