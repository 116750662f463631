/*
 * Sees the messages that MPI sends for itself, such as those inside collective calls.
 *
 * They leave in calls that we record, or else a function of MPI was called by another name.
 */
#include <stddef.h>

#include "library.h"
#include "recorder.h"

void mca_common_monitoring_record_pml(int world_rank, size_t num_bytes, int tag);

/* Open MPI's monitoring calls this by name for every message; those of MPI's own have such tags. */
void mca_common_monitoring_record_pml(int world_rank, size_t num_bytes, int tag)
{
    static __typeof__(mca_common_monitoring_record_pml) *_Atomic count;
    need_library();
    if (!count)
        count = (__typeof__(mca_common_monitoring_record_pml) *)optional_symbol(
            "mca_common_monitoring_record_pml");
    if (tag < 0)
        note_message_of_mpi();
    if (count)
        count(world_rank, num_bytes, tag);
}
