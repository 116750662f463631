"""The forkserver is started early, and nobody waits for imports that are not needed any more."""

import pytest
from launching import run, values

from grader.model.errors import GraderError
from grader.observe.run_control import forkserver_client
from grader.observe.run_control.forkserver_client import ForkserverClient


def test_a_server_that_is_warm_serves_the_first_run():
    """Its forkserver is the one that was started before."""
    with ForkserverClient() as server:
        server.warm_up()
        forkserver = server._forkserver
        assert values(run("def go(comm): return 1", server=server)) == [1.0, 1.0]
        assert server._forkserver is forkserver is not None


def test_closing_does_not_wait_for_imports():
    """Such as when what was asked for does not exist."""
    with ForkserverClient(["torch"]) as server:
        server.warm_up()
        process = server._forkserver.process
    assert process.returncode == -9


def test_what_goes_wrong_early_is_raised_when_a_run_is_started(monkeypatch):
    """A grading begins with other things, of which each may say more."""
    with ForkserverClient(["no_such_module_here"]) as server:
        server.warm_up()
        with pytest.raises(GraderError, match="No module named 'no_such_module_here'"):
            run("def go(comm): return 1", server=server)
    with ForkserverClient() as server:
        monkeypatch.setattr(forkserver_client, "start_forkserver", _fail)
        server.warm_up()
        with pytest.raises(GraderError, match="no place left"):
            run("def go(comm): return 1", server=server)


def _fail(environment, modules):
    raise GraderError("no place left")
