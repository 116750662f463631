/*
 * MPI_Init and MPI_Finalize: where a rank's trace begins and ends.
 *
 * In this file and the others that define MPI functions, each wrapper passes the caller's arguments
 * on as they are; status objects above all, since MPI leaves parts of them alone that must stay so.
 * Only a status that the caller did not want is replaced by our own.
 */
#include "communicators.h"
#include "monitoring.h"
#include "phases.h"
#include "recorder.h"
#include "trace_memory.h"

/* Tells the judge who we are; after MPI_Init. */
static void introduce_rank(void)
{
    if (!memory.header) {
        int size = 0;
        real.Comm_size(MPI_COMM_WORLD, &size);
        begin_monitoring(size, NULL);
        return;
    }
    know_world();
    const struct communicator *world = communicator_of(MPI_COMM_WORLD);
    memory.header->world_rank = world->own_rank;
    memory.header->world_size = world->size;
    struct counted(*counters)[MAX_COUNTED_PEERS] = (void *)((char *)memory.header + COUNTERS_AT);
    memory.header->is_monitored = begin_monitoring(world->size, counters);
    atomic_store(&memory.header->initialised, 1);
}

int MPI_Init(int *argc, char ***argv)
{
    need_library();
    attach_memory();
    struct details details = plain_call(NAME_Init);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    int error = real.Init(argc, argv);
    if (error == MPI_SUCCESS)
        introduce_rank();
    end_call(call, error);
    return error;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    need_library();
    attach_memory();
    struct details details = plain_call(NAME_Init_thread);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    int error = real.Init_thread(argc, argv, required, provided);
    if (error == MPI_SUCCESS)
        introduce_rank();
    end_call(call, error);
    return error;
}

int MPI_Finalize(void)
{
    struct details details = plain_call(NAME_Finalize);
    details.comm = MPI_COMM_WORLD; /* all its members have to come before any can leave */
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    count_sent_messages(); /* afterwards there is nobody to ask */
    int error = real.Finalize();
    end_call(call, error);
    retire_rank();
    return error;
}
