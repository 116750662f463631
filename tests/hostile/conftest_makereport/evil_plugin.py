from conftest import pytest_runtest_makereport  # noqa: F401
