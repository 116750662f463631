/*
 * Alters messages of this rank on their way, and what it gives to collectives, when the judge wants
 * to see what depends on them.
 *
 * The judge says in the trace memory which sends of the student's phase to alter. The caller's
 * own buffer is never touched: an altered message is a packed copy of it. Wrappers of sends ask
 * what to send; the table of requests fills the copies of persistent ones.
 */
#ifndef GRADER_ALTERATION_H
#define GRADER_ALTERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "call_arguments.h"
#include "layout.h"

/* What a send really sends. */
struct payload {
    const void *buffer;
    int count;
    MPI_Datatype datatype;
    void *copy; /* NULL, or the altered buffer: to be freed once the send is complete */
};

/* Counts what a rank gives, if it is of the kind that is altered, and long enough; returns whether
 * the judge wants it altered. */
bool is_chosen(struct header *header, enum altered_kind kind, int64_t num_bytes);

/* What the send that was recorded as `call` is to send; to be asked once for each send. */
struct payload payload_of(uint64_t call, const void *buffer, int count, MPI_Datatype datatype,
                          MPI_Comm comm);

/*
 * What the call of a collective that was recorded as `call` is to give to the others in place of
 * `buffer`; its datatype stays. instead: what is given, and altered there, where buffer is
 * MPI_IN_PLACE; NULL where that cannot be altered.
 */
struct payload contribution_of(uint64_t call, const void *buffer, void *instead, int count,
                               MPI_Datatype datatype, MPI_Comm comm);

/*
 * A persistent send is bound to one buffer. While messages are to be altered, those that are made
 * are bound to a packed copy, which every start of the request fills anew.
 *
 * Returns the payload to bind; its copy is NULL where the caller's own is to be bound. details: of
 * the starts; gets a datatype of its own, which the caller cannot free.
 */
struct payload persistent_payload(struct details *details);
/* Fills the copy, altered if this start of it is to be; counts the start if copy is NULL. */
void fill_copy(uint64_t call, const struct details *details, void *copy);
/* Frees what persistent_payload has made. */
void drop_copy(struct details *details, void *copy);

#endif
