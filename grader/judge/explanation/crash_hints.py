"""What the end of a rank does not say of its cause, though it is known: a clause for a student."""

import re
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

from grader.trace.call_formatting import at, signature_of, size_text
from grader.trace.calls import ANY_SOURCE, ANY_TAG, Call, Trace
from grader.trace.functions import COLLECTIVES
from grader.trace.pending_requests import has_got

_NO_MODULE = "No module named "
_PACKAGES = frozenset(
    (
        *("IPython", "PIL", "accelerate", "bokeh", "cupy", "cv2", "dask", "deepspeed", "h5py"),
        *("horovod", "ipdb", "ipywidgets", "jax", "joblib", "keras", "lightning", "matplotlib"),
        *("memory_profiler", "numba", "pandas", "plotly", "psutil", "pytorch_lightning", "ray"),
        *("requests", "rich", "scipy", "seaborn", "sklearn", "tabulate", "tensorboard"),
        *("tensorboardX", "tensorflow", "torch", "torchaudio", "torchinfo", "torchmetrics"),
        *("torchsummary", "torchvision", "tqdm", "transformers", "wandb", "yaml"),
    )
)
"""Which names nobody gives to a file of their own."""
_DATASETS = "torchvision.datasets"
_TRUNCATED = ("MPI_ERR_TRUNCATE", "MPI_ERR_IN_STATUS", "Received data size doesn't match")
"""How MPI and gloo call a message that is longer than its buffer."""
_RENDEZVOUS = ("rendezvous: ", "No rendezvous handler", "looks for rank 0")
"""In what torch, and its stand-in, say of ranks that do not know where the others are."""
_INITS = ("Init", "Init_thread")
_IMPORT = "/rank/mpi_shim.py"
"""Where the import of mpi4py initialises MPI, in the trace of a rank."""
_NOT_CONNECTED = "Pair is not connected"
"""What gloo says of a message to oneself, as of one to a rank that has gone."""
_NOT_FOUND = "[Errno 2] No such file or directory"
_FOLDER = re.compile(
    r"(?:file or|Parent) directory:? '?((?!\.\.)[^/'][^']*?)(?:/[^/']*'| does not exist)"
)
"""A relative one that is missing, in what Python and torch.save say."""
_WRITES = re.compile(
    r"""(?:[,=]|open\()\s*["'][wax][bt+]*["']|\bsave(?!d)\w*\(|(?:\.write|Handler)\w*\("""
)
_REFUSED = ("[Errno 1] Operation not permitted", "[Errno 13] Permission denied")
"""How Python tells what the kernel answers."""
_PYTHON = "/python"
"""In the path of the program that multiprocessing would start."""
_SHM = "/dev/shm"  # noqa: S108 - as a student names it


@dataclass(frozen=True)
class Crash:
    """What is known of the end of one rank."""

    rank: int
    message: str
    """Of the exception; or what the rank printed last, if its process just ended."""
    source: str = ""
    """The student's line that raised it."""
    called: str = ""
    """The function that raised it, such as `mpi4py.MPI.Init`."""
    command: str = ""
    """What the script was started as; empty when the file was imported."""
    is_apart: bool = False
    """The ranks have nothing in common but what connects them, and a folder each."""


def crash_hint(crash: Crash, trace: Trace) -> str:
    """Return what helps to understand how a rank has ended; empty when nothing is known."""
    return next(filter(None, (hint(crash, trace) for hint in _HINTS)), "")


def is_of_sizes(crash: Crash) -> bool:
    """Return whether MPI or gloo says that a message is longer than its buffer."""
    return any(words in crash.message for words in _TRUNCATED)


def _of_torchvision(crash: Crash, trace: Trace) -> str:
    if f"{_NO_MODULE}'torchvision'" not in crash.message and _DATASETS not in crash.message:
        return ""
    return "torchvision's datasets are not available here: use the images from images.py"


def _of_a_module(crash: Crash, trace: Trace) -> str:
    if not crash.message.startswith(_NO_MODULE):
        return ""
    name = crash.message.removeprefix(_NO_MODULE).split("'")[1:2]
    package = name[0].split(".")[0] if name else ""
    if package in _PACKAGES:
        return f"this part must work without {package}: remove the lines that need it"
    file = f"{package}.py" if name else "the file"
    return (
        "no such file was handed in, and no such package is installed; if the module is yours, "
        f"hand in {file}"
    )


def _of_a_second_init(crash: Crash, trace: Trace) -> str:
    if crash.called.rpartition(".")[2] not in _INITS or crash.rank >= len(trace.ranks):
        return ""
    calls = trace.ranks[crash.rank].calls
    first = next((call for call in calls if call.function in _INITS and not call.error), None)
    if first is not None and not first.file.endswith(_IMPORT):
        return f"MPI was already initialised{at(first)}; it can be initialised only once"
    return (
        "an import already initialised MPI: the first `from mpi4py import MPI` in any file "
        "does that; set mpi4py.rc.initialize = False before it"
    )


def _of_mpi_that_is_not_up(crash: Crash, trace: Trace) -> str:
    if "before MPI_INIT was invoked" in crash.message:
        return "call MPI.Init() before any other MPI call"
    if "after MPI_FINALIZE was invoked" in crash.message:
        return "no MPI call works after MPI.Finalize()"
    return ""


def _of_a_long_message(crash: Crash, trace: Trace) -> str:
    return size_mismatch(trace, crash.rank) if is_of_sizes(crash) else ""


def _of_a_message_to_oneself(crash: Crash, trace: Trace) -> str:
    if _NOT_CONNECTED not in crash.message or crash.rank >= len(trace.ranks):
        return ""
    for call in reversed(trace.ranks[crash.rank].calls):
        if call.peer == crash.rank and (call.is_send or call.is_receive):
            what = "send a message to itself" if call.is_send else "receive a message from itself"
            return (
                f"rank {crash.rank} called {signature_of(call)}{at(call)}, but with gloo no "
                f"rank can {what}: copy the tensor instead"
            )
    return ""


def _of_arguments(crash: Crash, trace: Trace) -> str:
    is_of_environment = crash.command and "environ" in crash.source
    if "argv" not in crash.source and not is_of_environment:
        return ""
    return started_as(crash.command)


def _of_rendezvous(crash: Crash, trace: Trace) -> str:
    if not crash.command or not any(words in crash.message for words in _RENDEZVOUS):
        return ""
    return (
        "init_process_group needs rank, world_size, and the address and port of rank 0 (the same "
        f"on every rank), as in init_method='tcp://ADDRESS:29500'; {started_as(crash.command)}"
    )


def _of_a_missing_folder(crash: Crash, trace: Trace) -> str:
    found = _WRITES.search(crash.source) and _FOLDER.search(crash.message)
    return f"create the folder first: os.makedirs({found[1]!r}, exist_ok=True)" if found else ""


def _is_refused(crash: Crash) -> bool:
    return any(words in crash.message for words in _REFUSED)


def _of_what_ranks_do_not_share(crash: Crash, trace: Trace) -> str:
    if not crash.is_apart:
        return ""
    if _NOT_FOUND in crash.message:
        return "no rank can see another rank's files or shared memory; send data in messages"
    if _is_refused(crash) and _PYTHON in crash.message:
        return (
            "your code cannot start other programs here. Use multiprocessing's start method "
            "'fork'; share memory as torch tensors or multiprocessing.Array"
        )
    if _is_refused(crash) and _SHM in crash.message:
        return (
            f"ranks cannot use {_SHM}: send data to other ranks in messages. Only processes that a "
            "rank starts share its memory, through multiprocessing.Array or torch tensors"
        )
    if _is_refused(crash):
        return (
            "ranks can communicate only through MPI or torch.distributed, not through other "
            "sockets, files, file locks, or programs. Each rank can use files only in its own "
            "folder"
        )
    return ""


_HINTS: tuple[Callable[[Crash, Trace], str], ...] = (
    _of_torchvision,
    _of_a_module,
    _of_a_second_init,
    _of_mpi_that_is_not_up,
    _of_a_long_message,
    _of_a_message_to_oneself,
    _of_arguments,
    _of_rendezvous,
    _of_a_missing_folder,
    _of_what_ranks_do_not_share,
)


def started_as(command: str) -> str:
    """Return with which arguments a program was started: what it may ask for and what not."""
    if not command:
        return (
            "the grader imports this file without arguments: read arguments only below "
            '`if __name__ == "__main__":`'
        )
    if len(command.split()) == 2:
        return f"the grader starts the program without arguments: `{command}`"
    return f"the grader starts the program as `{command}`"


_TRUNCATE = 15
"""MPI_ERR_TRUNCATE of Open MPI."""
_IRECV_NUM_BYTES = 32768
"""What mpi4py's irecv has room for, unless it is given a buffer."""


def size_mismatch(trace: Trace, rank: int) -> str:
    """Return the sentence about the receive of a rank whose message was too long for its buffer.

    Of a receive that several messages fit, as little as is certain; nothing without a record.
    """
    if rank >= len(trace.ranks):
        return ""
    calls = trace.ranks[rank].calls
    taking = (call for call in calls if call.is_receive or call.function in COLLECTIVES)
    failed = next((call for call in taking if call.error == _TRUNCATE), None)
    if failed is not None:
        return _of_call(trace, rank, failed) or _without_the_other(rank, failed)
    # Of torch.distributed no error is recorded: its process ends inside of the call.
    pending = [call for call in calls if call.function.islower() and not call.completed_ns]
    return next(filter(None, (_of_call(trace, rank, call) for call in pending)), "")


def _of_call(trace: Trace, rank: int, failed: Call) -> str:
    """Return the sentence about both sizes; empty when the other one is not known for certain."""
    message = _message_for(trace, rank, failed) if failed.is_receive else None
    if message is None or message[1].num_bytes <= failed.num_bytes:
        return ""
    sender, sent = message
    return (
        f"{_told(rank, failed)} has a buffer of {size_text(failed)}, but rank {sender} sends it "
        f"{size_text(sent)}{at(sent)}: {_advice(failed, sent)}"
    )


def _without_the_other(rank: int, failed: Call) -> str:
    if failed.function in COLLECTIVES:
        return f"in {_told(rank, failed)}, the ranks' arrays differ in size"
    return f"{_told(rank, failed)} has a buffer of {size_text(failed)}, but the message is longer"


def _advice(receive: Call, sent: Call) -> str:
    if sent.pickled and receive.num_bytes == _IRECV_NUM_BYTES:
        return (
            f"irecv without a buffer holds at most {_IRECV_NUM_BYTES} bytes; use Irecv with an "
            "array"
        )
    if sent.num_elements == receive.num_elements:
        return "give both arrays the same dtype"
    return "make the buffer as long as the message"


def _message_for(trace: Trace, rank: int, failed: Call) -> tuple[int, Call] | None:
    """Return sender and send of the message that a failed receive got; None if it is not certain.

    Receives take messages of one sender in the order both were posted in (MPI 4.1, section 3.5).
    """
    messages = _Messages()
    for sender, seen in enumerate(trace.ranks):
        calls = seen.calls
        for call in calls.where(calls.flag("is_send") & (calls.column("peer") == rank)):
            if _is_of(failed, call):
                messages.add(sender, call)
    calls = trace.ranks[rank].calls
    for call in calls.where(calls.flag("is_receive")):
        if not _is_of(failed, call):
            continue
        source, tag = (
            (call.matched_source, call.matched_tag) if has_got(call) else (call.peer, call.tag)
        )
        if call.sequence == failed.sequence:
            fitting = messages.left(source, tag)
            is_certain = source != ANY_SOURCE or len({sent.num_bytes for _, sent in fitting}) == 1
            return fitting[0] if fitting and is_certain else None
        if source == ANY_SOURCE:
            return None
        messages.take(source, tag)
    return None


class _Messages:
    """Messages to one rank, in the order that their senders have sent them in."""

    def __init__(self) -> None:
        self._lanes: dict[tuple[int, int], deque[tuple[int, Call]]] = defaultdict(deque)
        """By source and tag, also by any of them: each message is in four, until it is taken."""
        self._taken: set[tuple[int, int]] = set()

    def add(self, sender: int, call: Call) -> None:
        """Append a message."""
        for source in (sender, ANY_SOURCE):
            for tag in (call.tag, ANY_TAG):
                self._lanes[source, tag].append((sender, call))

    def take(self, source: int, tag: int) -> None:
        """Remove the oldest message that fits, if there is any."""
        lane = self._lanes[source, tag]
        while lane:
            sender, call = lane.popleft()
            if (sender, call.sequence) not in self._taken:
                self._taken.add((sender, call.sequence))
                return

    def left(self, source: int, tag: int) -> list[tuple[int, Call]]:
        """Return all that fit and were not taken, with their senders."""
        lane = self._lanes[source, tag]
        return [each for each in lane if (each[0], each[1].sequence) not in self._taken]


def _is_of(failed: Call, call: Call) -> bool:
    """Return whether a call has posted something on the communicator of the failed one."""
    prepares_only = call.function.endswith("_init") and not call.creates_request
    return call.communicator == failed.communicator and not call.cancelled and not prepares_only


def _told(rank: int, call: Call) -> str:
    return f"rank {rank}'s {signature_of(call)}{at(call)}"
