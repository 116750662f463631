/* Fills in what is known of a call, by the kind of call. */
#include "call_arguments.h"

#include "datatype_elements.h"
#include "pickles.h"

struct details plain_call(uint32_t function)
{
    need_library();
    return (struct details){
        .function = function,
        .comm = MPI_COMM_NULL,
        .peer = NO_PEER,
        .tag = MPI_ANY_TAG,
        .num_elements = -1,
        .datatype = MPI_DATATYPE_NULL,
    };
}

struct details call_on(uint32_t function, MPI_Comm comm, int peer, int tag)
{
    struct details details = plain_call(function);
    details.comm = comm;
    details.peer = peer;
    details.tag = tag;
    return details;
}

struct details message(uint32_t function, uint32_t flags, const void *sent, int count,
                       MPI_Datatype datatype, int peer, int tag, MPI_Comm comm)
{
    struct details details = call_on(function, comm, peer, tag);
    details.flags = flags;
    details.sent = sent;
    details.num_elements = count;
    details.datatype = datatype;
    return details;
}

void set_elements(struct details *details, int64_t count, MPI_Datatype datatype)
{
    details->num_elements = count;
    details->datatype = datatype;
}

void set_piece(struct details *details, const void *buffer, int64_t begin, int64_t count,
               MPI_Datatype datatype)
{
    MPI_Aint lower_bound, extent;
    set_elements(details, count, datatype);
    if (real.Type_get_extent(datatype, &lower_bound, &extent) == MPI_SUCCESS)
        details->sent = (const char *)buffer + begin * extent;
}

int operation_number(MPI_Op op)
{
    const MPI_Op known[] = {MPI_MAX, MPI_MIN, MPI_SUM,  MPI_PROD, MPI_LAND,   MPI_BAND,
                            MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
    for (int number = 0; number < (int)(sizeof known / sizeof *known); ++number)
        if (op == known[number])
            return number;
    return MPI_ANY_TAG;
}

int64_t num_bytes_of(const struct details *details)
{
    if (details->num_elements < 0 || details->datatype == MPI_DATATYPE_NULL)
        return -1;
    MPI_Count item_num_bytes = 0;
    real.Type_size_x(details->datatype, &item_num_bytes);
    if (item_num_bytes == MPI_UNDEFINED)
        return -1;
    return details->num_elements * (int64_t)item_num_bytes;
}

bool sends_pickle(const struct details *details)
{
    return details->sent != MPI_IN_PLACE && details->num_elements > 0 &&
           num_bytes_of(details) == details->num_elements &&
           is_without_gaps(details->datatype, 1) && is_pickle(details->sent, details->num_elements);
}
