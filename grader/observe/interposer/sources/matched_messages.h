/*
 * Messages that a matched probe has taken out of the queue, until they are received.
 *
 * Called by the wrappers in probes.c.
 */
#ifndef GRADER_MATCHED_MESSAGES_H
#define GRADER_MATCHED_MESSAGES_H

#include "call_arguments.h"

void track_message(MPI_Message message, MPI_Comm comm, const MPI_Status *status);
/* Fills in communicator, world_peer and tag of the message; forgets it. */
void take_message(MPI_Message message, struct details *details);

#endif
