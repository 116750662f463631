"""What pyproject.toml cannot say: a wheel holds the interposer, compiled, and the lock."""

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
IS_LINUX = sys.platform == "linux"
"""Elsewhere nothing can be watched: a wheel made there only starts containers."""


class BuildPackage(build_py):
    """Adds to the package what only an installation has; an editable one has it in its checkout."""

    def run(self) -> None:
        """Copy the package as always, but nothing that an earlier build has left there."""
        if self.editable_mode:
            return super().run()
        shutil.rmtree(Path(self.build_lib) / "grader", ignore_errors=True)
        super().run()
        package = Path(self.build_lib).resolve() / "grader"
        shutil.copy(ROOT / "requirements.lock", package)
        if IS_LINUX:
            # With the checkout's own sources, by whose digest it is found again.
            command = [
                sys.executable,
                "-m",
                "grader.observe.interposer.build",
                str(package / "observe" / "interposer"),
            ]
            subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603 - our own command
        return None


class CompiledDistribution(Distribution):
    """A distribution that is installed where the files of one architecture go."""

    def has_ext_modules(self) -> bool:
        """Return whether anything is compiled: no extension, but the interposer."""
        return IS_LINUX


class PlatformWheel(bdist_wheel):
    """A wheel for every Python 3 on one architecture, from one version of the C library on."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tag: no ABI of Python, which the interposer looks up by its names."""
        if not IS_LINUX:
            return ("py3", "none", "any")
        built = (
            Path(self.get_finalized_command("build").build_lib)
            / "grader"
            / "observe"
            / "interposer"
        )
        libraries = list(built.glob("interposer-*.so"))
        if not libraries:  # an editable installation, whose interposer is compiled at its first use
            return super().get_tag()
        (library,) = libraries
        # It needs no other library than the C library, so the newest symbol of that decides.
        minor = max(map(int, re.findall(rb"\0GLIBC_2\.(\d+)", library.read_bytes())))
        machine = sysconfig.get_platform().removeprefix("linux-").replace("-", "_")
        return ("py3", "none", f"manylinux_2_{max(minor, 17)}_{machine}")


setup(
    distclass=CompiledDistribution,
    cmdclass={"build_py": BuildPackage, "bdist_wheel": PlatformWheel},
)
