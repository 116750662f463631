"""A toy MPI that runs small programs step by step, and so knows whether they hang."""

from dataclasses import dataclass, field
from random import Random

from grader.trace.calls import ANY_SOURCE, ANY_TAG, Trace

from .build import Run

# What a program is made of: (name, *arguments). Requests are numbered as they are posted.
#   send, isend: destination, tag, whether it waits for its receive
#   recv, irecv, probe, poll_probe: source, tag
#   exchange: destination, source, tag
#   waitall, waitany, poll_all, poll_any: numbers of requests
#   barrier, ibarrier
BLOCKING = {"recv", "probe", "barrier", "waitall", "waitany"}


@dataclass
class Message:
    """One message from the moment it is sent."""

    source: int
    destination: int
    tag: int
    is_taken: bool = False


@dataclass
class Receive:
    """One posted receive."""

    rank: int
    source: int
    tag: int
    message: Message | None = None

    def accepts(self, message):
        return self.source in (ANY_SOURCE, message.source) and self.tag in (ANY_TAG, message.tag)


@dataclass
class Request:
    """A send, receive or barrier that may have to wait; `calls` are its sequences in the trace."""

    calls: tuple[int, ...]
    message: Message | None = None
    receive: Receive | None = None
    barrier: int | None = None
    is_synchronous: bool = False
    is_complete: bool = False


@dataclass
class Rank:
    """Where one rank is."""

    program: list
    position: int = 0
    requests: list[Request] = field(default_factory=list)
    blocked_on: list[Request] = field(default_factory=list)
    blocked_call: int = -1
    barriers: list[str] = field(default_factory=list)


class Machine:
    """Runs one program a rank; between steps every rank waits, polls or has returned."""

    def __init__(self, programs, seed):
        self._run = Run(len(programs))
        self._random = Random(seed)
        self._ranks = [Rank(list(program)) for program in programs]
        self._messages: list[Message] = []
        self._receives: list[Receive] = []
        for rank in self._random.sample(range(len(programs)), len(programs)):
            self._advance(rank)

    @property
    def returned(self) -> frozenset[int]:
        return frozenset(
            number
            for number, rank in enumerate(self._ranks)
            if rank.position == len(rank.program) and rank.blocked_call < 0
        )

    def trace(self) -> Trace:
        return self._run.trace()

    def ready(self) -> list[int]:
        return [n for n in range(len(self._ranks)) if n not in self.returned and self._is_ready(n)]

    def has_open_wildcards(self) -> bool:
        """Return whether a receive from anybody is not known to be complete."""
        return any(
            request.receive and request.receive.source == ANY_SOURCE and not request.is_complete
            for rank in self._ranks
            for request in [*rank.requests, *rank.blocked_on]
        )

    def step(self) -> None:
        """Let one of the ranks that are ready go on to its next wait, or to its end."""
        number = self._random.choice(self.ready())
        self._leave(number)
        self._advance(number)

    # Going on ------------------------------------------------------------------------------

    def _advance(self, number: int) -> None:
        rank = self._ranks[number]
        while rank.position < len(rank.program) and rank.blocked_call < 0:
            name, *arguments = rank.program[rank.position]
            rank.position += 1
            getattr(self, f"_{name}")(number, rank, *arguments)

    def _block(self, rank: Rank, call: int, requests: list[Request]) -> None:
        rank.blocked_call, rank.blocked_on = call, requests

    def _is_ready(self, number: int) -> bool:
        rank = self._ranks[number]
        name = rank.program[rank.position - 1][0]
        if name in ("probe", "poll_probe"):
            wanted = Receive(number, *rank.program[rank.position - 1][1:])
            return any(
                m.destination == number and not m.is_taken and wanted.accepts(m)
                for m in self._messages
            )
        done = [self._is_done(request) for request in rank.blocked_on]
        return any(done) if name in ("waitany", "poll_any") else all(done)

    def _is_done(self, request: Request) -> bool:
        if request.message is not None:
            return request.message.is_taken or not request.is_synchronous
        if request.receive is not None:
            return request.receive.message is not None
        entered = [rank.barriers[request.barrier : request.barrier + 1] for rank in self._ranks]
        return all(entered) and all(names == entered[0] for names in entered)

    def _leave(self, number: int) -> None:
        rank = self._ranks[number]
        call, rank.blocked_call = rank.blocked_call, -1
        for request in rank.blocked_on:
            if self._is_done(request) and not request.is_complete:
                request.is_complete = True
                for sequence in request.calls:
                    self._complete(number, sequence, request)
        name, *arguments = rank.program[rank.position - 1]
        self._run.state(number, inside=-1, polling=False)
        if name == "poll_probe":
            self._run.call(number, "Iprobe", peer=arguments[0], tag=arguments[1], matched_source=0)
        elif name in ("poll_all", "poll_any"):
            sequences = [s for request in rank.blocked_on for s in request.calls]
            self._run.call(number, "Testall", waits_for=tuple(sequences))
        elif call >= 0:
            self._run.change(number, call, left_ns=99)
        rank.blocked_on = []

    def _complete(self, number: int, sequence: int, request: Request) -> None:
        received = request.receive and request.receive.message
        if received:
            self._run.complete(number, sequence, received.source, received.tag)
        else:
            self._run.complete(number, sequence)

    # Operations ----------------------------------------------------------------------------

    def _post_message(self, source: int, destination: int, tag: int) -> Message:
        message = Message(source, destination, tag)
        self._messages.append(message)
        for receive in self._receives:
            if receive.rank == destination and not receive.message and receive.accepts(message):
                receive.message, message.is_taken = message, True
                break
        return message

    def _post_receive(self, rank: int, source: int, tag: int) -> Receive:
        receive = Receive(rank, source, tag)
        self._receives.append(receive)
        for message in self._messages:
            if message.destination == rank and not message.is_taken and receive.accepts(message):
                receive.message, message.is_taken = message, True
                break
        return receive

    def _send(self, number, rank, destination, tag, waits):
        message = self._post_message(number, destination, tag)
        if not waits:
            self._run.send(number, destination, tag)
            return
        call = self._run.enter_send(number, destination, tag, synchronous=True)
        self._block(rank, call, [Request((call,), message=message, is_synchronous=True)])

    def _isend(self, number, rank, destination, tag, waits):
        message = self._post_message(number, destination, tag)
        call = self._run.isend(number, destination, tag, synchronous=waits)
        rank.requests.append(Request((call,), message=message, is_synchronous=waits))

    def _recv(self, number, rank, source, tag):
        call = self._run.enter_recv(number, source, tag)
        self._block(rank, call, [Request((call,), receive=self._post_receive(number, source, tag))])

    def _irecv(self, number, rank, source, tag):
        call = self._run.irecv(number, source, tag)
        rank.requests.append(Request((call,), receive=self._post_receive(number, source, tag)))

    def _exchange(self, number, rank, destination, source, tag):
        receive = self._post_receive(number, source, tag)
        message = self._post_message(number, destination, tag)
        call = self._run.enter_sendrecv(number, destination, source, tag)
        halves = [
            Request((call,), message=message, is_synchronous=True),
            Request((call + 1,), receive=receive),
        ]
        self._block(rank, call, halves)

    def _probe(self, number, rank, source, tag):
        self._block(rank, self._run.enter_probe(number, source, tag), [])

    def _poll_probe(self, number, rank, source, tag):
        self._block(rank, self._run.poll(number, function="Iprobe", peer=source, tag=tag), [])

    def _wait_on(self, number, rank, numbers, function, polls):
        waited = [rank.requests[i] for i in dict.fromkeys(numbers) if i < len(rank.requests)]
        open_ones = [request for request in waited if not request.is_complete]
        # The trace cannot tell that a message was buffered; a wait for it returns at once.
        for request in open_ones:
            if request.message and not request.is_synchronous:
                self._run.wait(number, *request.calls)
                request.is_complete = True
        still_open = [request for request in open_ones if not request.is_complete]
        one_is_enough = function in ("Waitany", "Testsome")
        if not still_open or (one_is_enough and len(still_open) < len(open_ones)):
            return
        open_ones = still_open
        sequences = [sequence for request in open_ones for sequence in request.calls]
        enter = self._run.poll if polls else self._run.enter_wait
        self._block(rank, enter(number, *sequences, function=function), open_ones)

    def _waitall(self, number, rank, *numbers):
        self._wait_on(number, rank, numbers, "Waitall", polls=False)

    def _waitany(self, number, rank, *numbers):
        self._wait_on(number, rank, numbers, "Waitany", polls=False)

    def _poll_all(self, number, rank, *numbers):
        self._wait_on(number, rank, numbers, "Testall", polls=True)

    def _poll_any(self, number, rank, *numbers):
        self._wait_on(number, rank, numbers, "Testsome", polls=True)

    def _barrier(self, number, rank):
        call = self._run.enter(number, "Barrier")
        self._block(rank, call, [Request((), barrier=len(rank.barriers))])
        rank.barriers.append("Barrier")

    def _ibarrier(self, number, rank):
        call = self._run.call(number, "Ibarrier", creates_request=True)
        rank.requests.append(Request((call,), barrier=len(rank.barriers)))
        rank.barriers.append("Ibarrier")
