"""Where the processes of init_process_group look for each other, as torch itself reads it."""

import contextlib
import importlib
from typing import Any, NamedTuple

from .toolbox import replaced

# The package has a function of this name, which hides the module.
_TORCH: Any = importlib.import_module("torch.distributed.rendezvous")
_RANK_0_ITSELF = ("localhost", "127.0.0.1", "0.0.0.0", "::1", "::")  # noqa: S104 - nobody binds it
"""How rank 0 may call the machine that it is on."""


class Rendezvous(NamedTuple):
    """What a process is told of the others."""

    rank: int
    size: int
    host: str = ""
    port: int = 0
    """Where rank 0 would listen; both empty for a file."""

    @property
    def place(self) -> str:
        """Return where rank 0 would wait, as words."""
        return f"at port {self.port}" if self.host else "through a file"

    def assert_leads_to(self, address: str) -> None:
        """Raise RuntimeError where a node would not find rank 0, which is at this address."""
        is_here = self.host == address or (self.rank == 0 and self.host in _RANK_0_ITSELF)
        if not (is_here and self.port):
            asked = f"at {self.host}:{self.port}" if self.host else "through a file"
            raise RuntimeError(
                f"init_process_group looks for rank 0 {asked}, not at {address}:PORT"
            )


def asked_for(init_method: str | None, rank: int, size: int) -> Rendezvous:
    """Return what torch makes of these arguments of init_process_group and of the environment.

    Torch's own functions read them, but open no store. Raises what they raise, such as ValueError
    for an address without a port.
    """
    places: list[tuple[str, int]] = []

    def tcp_store(host_name: str, port: int, *_: Any, **__: Any) -> None:
        places.append((host_name, port))

    with contextlib.ExitStack() as stack:
        stack.enter_context(replaced(_TORCH, "TCPStore", tcp_store))
        stack.enter_context(replaced(_TORCH, "FileStore", lambda *_: None))
        _, own_rank, own_size = next(_TORCH.rendezvous(init_method or "env://", rank, size))
    return Rendezvous(own_rank, own_size, *(places[0] if places else ()))
