/* Communicators that come and go in their own way; generated wrappers do for all others. */
#include "communicators.h"
#include "recorder.h"
#include "requests.h"

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    struct details details = call_on(NAME_Comm_idup, comm, NO_PEER, MPI_ANY_TAG);
    details.flags = CREATES_REQUEST;
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    int error = real.Comm_idup(comm, newcomm, request);
    if (error == MPI_SUCCESS) {
        know_duplicate(*newcomm, comm);
        track_request(request, call, communicator_of(comm));
    }
    end_call(call, error);
    return error;
}

int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request)
{
    struct details details = call_on(NAME_Comm_idup_with_info, comm, NO_PEER, MPI_ANY_TAG);
    details.flags = CREATES_REQUEST;
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    int error = real.Comm_idup_with_info(comm, info, newcomm, request);
    if (error == MPI_SUCCESS) {
        know_duplicate(*newcomm, comm);
        track_request(request, call, communicator_of(comm));
    }
    end_call(call, error);
    return error;
}

int MPI_Comm_free(MPI_Comm *comm)
{
    need_library();
    struct details details = call_on(NAME_Comm_free, *comm, NO_PEER, MPI_ANY_TAG);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    forget_communicator(*comm);
    int error = real.Comm_free(comm);
    end_call(call, error);
    return error;
}

int MPI_Comm_disconnect(MPI_Comm *comm)
{
    need_library();
    struct details details = call_on(NAME_Comm_disconnect, *comm, NO_PEER, MPI_ANY_TAG);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    forget_communicator(*comm);
    int error = real.Comm_disconnect(comm);
    end_call(call, error);
    return error;
}
