"""The wrappers that are generated, as text."""

import re

from grader.observe.interposer import generate, prototypes


def wrapper(declaration):
    """Return the wrapper that is made for one function."""
    header = f"{declaration}; {declaration.replace('MPI_', 'PMPI_', 1)};"
    return generate.wrappers(prototypes.functions(header), set())


def test_queries_are_passed_on():
    """What asks or describes is not recorded."""
    text = wrapper("int MPI_Comm_rank(MPI_Comm comm, int *rank)")
    assert "return real.Comm_rank(comm, rank);" in text
    assert "begin_call" not in text


def test_collectives_are_recorded():
    """Communicator, root, elements and the bytes that may be a pickle come from the arguments."""
    text = wrapper(
        "int MPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)"
    )
    assert "call_on(NAME_Bcast, comm, root, MPI_ANY_TAG)" in text
    assert "set_elements(&details, count, datatype);" in text
    assert "is_own_rank(comm, root) ? buffer : NULL" in text
    assert "mark_completed(call, error);" in text


def test_what_is_given_to_a_collective_can_be_altered():
    """A copy takes the place of the buffer, for as long as MPI needs it; of Bcast at the root."""
    arguments = "const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op"
    summed = wrapper(f"int MPI_Allreduce({arguments}, MPI_Comm comm)")
    assert "contribution_of(call, sendbuf, recvbuf, count, datatype, comm);" in summed
    assert "real.Allreduce((void *)given.buffer, recvbuf, count, datatype, op, comm)" in summed
    assert "free(given.copy);" in summed
    begun = wrapper(f"int MPI_Iallreduce({arguments}, MPI_Comm comm, MPI_Request *request)")
    assert "track_send(request, call, communicator_of(comm), given.copy);" in begun
    handed_out = wrapper(
        "int MPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)"
    )
    assert "real.Bcast((void *)given.buffer, count, datatype, root, comm)" in handed_out
    assert "contribution_of(details.sent ? call : NOT_RECORDED, buffer, NULL," in handed_out


def test_requests_and_communicators_are_followed():
    """A function that hands out a request or a communicator tells the tables of it."""
    started = wrapper("int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)")
    assert "details.flags = CREATES_REQUEST;" in started
    assert "track_request(request, call, communicator_of(comm));" in started
    persistent = wrapper("int MPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request *request)")
    assert "track_persistent(request, &details);" in persistent
    assert "track_request" not in persistent
    made = wrapper("int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)")
    assert "know_communicator(*newcomm, comm);" in made


def test_what_is_written_by_hand_is_left_out():
    """Definitions in our sources are found, and no second ones are made."""
    assert generate.hand_written(["\nint MPI_Send(const void *buf)\n{", "static int MPI_x("]) == {
        "MPI_Send"
    }
    functions = prototypes.functions("int MPI_Finalize(void); int PMPI_Finalize(void);")
    assert "MPI_Finalize" not in generate.wrappers(functions, {"MPI_Finalize"})


def test_names_lie_where_the_constants_say():
    """The trace refers to a function by the offset of its name."""
    header = "".join(
        f"int {prefix}MPI_{name}(void);" for name in ("Init", "Abort") for prefix in ("", "P")
    )
    text = generate.functions_header(prototypes.functions(header))
    names = "\0" + "".join(
        piece.replace("\\0", "\0") for piece in re.findall(r'^    "(\w+\\0)"', text, re.M)
    )
    for name, offset in re.findall(r"NAME_(\w+) = (\d+),", text):
        assert names[int(offset) :].startswith(f"{name}\0")
    assert names == "\0Abort\0Init\0"


def test_extensions_go_by_their_short_names():
    """A table of functions whose names have one prefix holds those with another, too."""
    declared = "int MPIX_Comm_agree(MPI_Comm comm, int *flag);"
    functions = prototypes.functions(declared + declared.replace("MPIX", "PMPIX"))
    assert "#define PMPI_Comm_agree PMPIX_Comm_agree" in generate.functions_header(functions)
    text = generate.wrappers(functions, set())
    assert "int MPIX_Comm_agree(MPI_Comm comm, int *flag)" in text
    assert "int error = real.Comm_agree(comm, flag);" in text
