"""Reading mpi.h: every function is understood, excused, or stops the build."""

import pytest

from grader.model.errors import GraderError
from grader.observe.interposer import prototypes

HEADER = """
# 12 "/usr/include/mpi.h" 3 4
typedef struct ompi_status_public_t MPI_Status;
typedef int (MPI_Datarep_extent_function)(MPI_Datatype, MPI_Aint *, void *);
extern struct ompi_predefined_request_t ompi_request_null;
__attribute__((visibility("default"))) int MPI_Waitall(int count, MPI_Request array_of_requests[],
    MPI_Status array_of_statuses[]);
int PMPI_Waitall(int count, MPI_Request r[], MPI_Status s[]);
extern int MPI_Attr_put(MPI_Comm comm, int keyval, void *value)
    __attribute__((__deprecated__("deprecated (in 2.0); use another")));
extern int PMPI_Attr_put(MPI_Comm comm, int keyval, void *value);
int MPI_Finalize(void);
int PMPI_Finalize(void);
int MPI_Pcontrol(const int level, ...);
int PMPI_Pcontrol(const int level, ...);
int MPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup);
int PMPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup);
int MPI_Comm_spawn_multiple(int count, char **array_of_argv[], MPI_Comm *intercomm);
int PMPI_Comm_spawn_multiple(int count, char **array_of_argv[], MPI_Comm *intercomm);
int MPI_Get_version(int *version, int *subversion);
int MPI_T_init_thread(int required, int *provided);
int MPIX_Comm_agree(MPI_Comm comm, int *flag);
int PMPIX_Comm_agree(MPI_Comm comm, int *flag);
int MPIX_Query_cuda_support(void);
double MPI_Wtime(void);
MPI_Comm MPI_Comm_f2c(int comm);
"""


def test_functions_and_their_parameters():
    """Attributes, arrays, pointers and empty lists are read; excused functions are left out."""
    found = prototypes.functions(HEADER)
    assert {each.name: [p.name for p in each.parameters] for each in found} == {
        "MPIX_Comm_agree": ["comm", "flag"],
        "MPI_Attr_put": ["comm", "keyval", "value"],
        "MPI_Comm_spawn_multiple": ["count", "array_of_argv", "intercomm"],
        "MPI_Finalize": [],
        "MPI_Group_range_incl": ["group", "n", "ranges", "newgroup"],
        "MPI_Pcontrol": ["level", "..."],
        "MPI_Waitall": ["count", "array_of_requests", "array_of_statuses"],
    }
    agree, put, spawn, *_ = found
    assert agree.short_name == "Comm_agree"
    assert spawn.short_name == "Comm_spawn_multiple"
    assert spawn.output("MPI_Comm") == "intercomm"
    assert spawn.scalar(("array_of_argv", "count")) == "count"
    assert put.scalar_of("MPI_Comm") == "comm"
    assert spawn.scalar_of("MPI_Comm") is None


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        ("int MPI_New(int a); ", "no PMPI_New"),
        ("long MPI_New(int a); int PMPI_New(int a);", "cannot read `long MPI_New"),
        ("int MPI_New(void (*f)(int)); int PMPI_New(int a);", "no wrapper for MPI_New"),
        ("int main(void);", "declares no function"),
    ],
)
def test_what_cannot_be_wrapped_stops_the_build(header, complaint):
    """A function that would go unwatched is an error that names it."""
    with pytest.raises(GraderError, match=complaint):
        prototypes.functions(header)


def test_each_exception_has_a_reason():
    """Whoever excuses a function says why."""
    assert all(len(reason) >= len("clocks") for reason in prototypes.NOT_WRAPPED.values())
