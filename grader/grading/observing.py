"""How plans are put to ranks here, or found where they were observed before."""

from collections.abc import Callable
from contextlib import ExitStack

from grader.grading.settings import Settings
from grader.observe.run_control.forkserver_client import ForkserverClient
from grader.observe.run_control.launch import launch
from grader.observe.run_control.machine import check_machine
from grader.observe.run_control.users import run_uids
from grader.observe.run_control.watch import OnSilent
from grader.recording.launch_plan import LaunchPlan
from grader.recording.observation import LaunchObservation, Observer
from grader.recording.replay import filling


def observer(server: ForkserverClient) -> Observer:
    """Return what puts plans to ranks of a server, outside of any sealing."""
    return lambda plan: launch(plan, server)


def telling(observe: Observer, tell: Callable[[LaunchPlan, LaunchObservation], None]) -> Observer:
    """Return an observer that tells somebody else of each launch."""

    def observe_and_tell(plan: LaunchPlan) -> LaunchObservation:
        observed = observe(plan)
        tell(plan, observed)
        return observed

    return observe_and_tell


class LiveObserver(ExitStack):
    """Starts the ranks of one grading. Use as a context manager."""

    def __init__(
        self, needs: tuple[str, ...], settings: Settings, on_silent: OnSilent | None = None
    ) -> None:
        """needs: the modules that ranks import, beside numpy and mpi4py. on_silent: see launch."""
        super().__init__()
        self._on_silent = on_silent
        self._needs = needs
        self._settings = settings
        self._uids = run_uids()
        self._server: ForkserverClient | None = None
        found = settings.recorded
        observe = self.observe if found is None else filling(found, self.observe)
        self.observe_or_find = telling(observe, settings.on_observed)
        """Returns what is recorded of a plan, else puts it to ranks; tells whoever listens."""

    def begin(self) -> ForkserverClient:
        """Start the forkserver, if it is not there yet. Raises GraderError where none can be."""
        if self._server is None:
            check_machine(self._needs)
            server = ForkserverClient(self._needs)
            self._server = self.enter_context(server)
            if not self._settings.sealed:  # where the self-test starts it at once
                self._server.warm_up()
        return self._server

    def observe(self, plan: LaunchPlan) -> LaunchObservation:
        """Put a plan to ranks."""
        beat = self._settings.journal.beat
        uid = next(self._uids) if self._settings.sealed else None
        observed = launch(plan, self.begin(), uid=uid, beat=beat, on_silent=self._on_silent)
        beat("judging")
        return observed
