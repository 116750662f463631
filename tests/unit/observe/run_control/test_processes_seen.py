"""How many processes a case had is what the kernel says of them, case by case."""

import textwrap

from launching import case, run

from grader.model.report import Outcome

SOURCE = textwrap.dedent(
    """
    import os, socket, threading

    def come():
        connection = socket.socket(socket.AF_UNIX)
        connection.bind("\\0one")
        connection.connect(os.environ["GRADER_CENSUS"])
        assert connection.recv(1) == b""

    def start(together):
        begin, end = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            come()
            os.write(begin[1], b"x")
            if together:
                os.read(end[0], 1)
            os._exit(0)
        os.read(begin[0], 1)
        if not together:
            os.waitpid(pid, 0)
        return end[1], pid

    calls = 0

    def go(comm):
        global calls
        calls += 1
        if calls == 1:  # one process under many names
            os.getpid = threading.get_native_id = lambda: 17
            for _ in range(4):
                come()
        elif calls in (2, 3):  # three together, then three one after the other
            started = [start(together=calls == 2) for _ in range(3)]
            for end, pid in started:
                os.write(end, b"x")
                if calls == 2:
                    os.waitpid(pid, 0)
    """
)


def test_processes_are_counted_case_by_case():
    """One that says it is many, three together, three after each other, and nobody at all."""
    cases = tuple(case(label, ranks=1) for label in ("one", "together", "in turn", "none"))
    launched = run(SOURCE, ranks=1, backend="none", cases=cases)
    assert launched.failure is None
    found = [
        (each.said_by_process, each.num_processes_at_once)
        for each in launched.outcomes
        if isinstance(each, Outcome)
    ]
    three = (("one",), ("one",), ("one",))
    assert found == [((("one",) * 4,), 1), (three, 3), (three, 1), ((), 0)]


def test_nobody_counts_where_ranks_are_several_processes_anyway():
    """What is not asked for is not known."""
    (outcome,) = run("def go(comm): pass").outcomes
    assert isinstance(outcome, Outcome)
    assert outcome.said_by_process is outcome.num_processes_at_once is None


def test_a_flood_of_names_is_not_kept():
    """Only so many short ones are, in all; the run goes on."""
    source = """
        import os, socket

        def go(comm):
            for number in range(6000):
                name = os.urandom(100) if number % 3 else os.urandom(8).hex().encode()
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.bind(b"\\0" + name)
                    connection.connect(os.environ["GRADER_CENSUS"])
        """
    launched = run(source, ranks=1, backend="none", cases=(case("flood", ranks=1),))
    (outcome,) = launched.outcomes
    assert isinstance(outcome, Outcome)
    (said,) = outcome.said_by_process or ()
    assert 0 < len(said) <= 4096 and {*map(len, said)} == {16}
