/* A short list: programs that use matched probes receive what they found soon. */
#include "matched_messages.h"

#include <stdlib.h>

#include "layout.h"
#include "lock_and_clock.h"

struct matched_message {
    MPI_Message handle;
    const struct communicator *communicator;
    int world_peer;
    int tag;
    struct matched_message *next;
};
static struct matched_message *matched_messages;

void track_message(MPI_Message message, MPI_Comm comm, const MPI_Status *status)
{
    struct matched_message *matched = allocate(sizeof *matched);
    matched->handle = message;
    matched->communicator = communicator_of(comm);
    matched->world_peer = world_peer(matched->communicator, status->MPI_SOURCE);
    matched->tag = status->MPI_TAG;
    lock_tables();
    matched->next = matched_messages;
    matched_messages = matched;
    unlock_tables();
}

void take_message(MPI_Message message, struct details *details)
{
    lock_tables();
    struct matched_message **link = &matched_messages;
    while (*link && (*link)->handle != message)
        link = &(*link)->next;
    struct matched_message *matched = *link;
    if (matched)
        *link = matched->next;
    unlock_tables();
    details->communicator = communicator_of(MPI_COMM_NULL);
    details->world_peer = TRACE_NO_PEER;
    if (!matched)
        return;
    details->communicator = matched->communicator;
    details->world_peer = matched->world_peer;
    details->tag = matched->tag;
    free(matched);
}
