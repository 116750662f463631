/* Which sends leave altered, and the copies that take the place of their buffers. */
#include "fault_injection.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "datatype_elements.h"
#include "lock_and_clock.h"
#include "phases.h"
#include "records.h"

static struct payload unaltered(const void *buffer, int count, MPI_Datatype datatype)
{
    return (struct payload){buffer, count, datatype, NULL};
}

/* Returns the size of a packed message; -1 where it has none, or one that no int can hold. */
static int64_t packed_num_bytes(int count, MPI_Datatype datatype)
{
    MPI_Count item_num_bytes = 0;
    if (count < 0 || datatype == MPI_DATATYPE_NULL ||
        real.Type_size_x(datatype, &item_num_bytes) != MPI_SUCCESS || item_num_bytes < 0)
        return -1;
    int64_t num_bytes = (int64_t)item_num_bytes * count;
    return num_bytes <= INT_MAX ? num_bytes : -1;
}

bool is_chosen(struct header *header, enum altered_kind kind, int64_t num_bytes)
{
    if (atomic_load_explicit(&header->altered_kind, memory_order_relaxed) != kind ||
        num_bytes < (int64_t)atomic_load(&header->altered_min_num_bytes))
        return false;
    uint64_t number = atomic_fetch_add(&header->num_counted, 1);
    return number >= atomic_load(&header->altered_first) &&
           number < atomic_load(&header->altered_end);
}

static bool is_to_be_altered(uint64_t call, enum altered_kind kind, int64_t num_bytes)
{
    struct header *header = student_header();
    return call != NOT_RECORDED && header && is_chosen(header, kind, num_bytes);
}

/* Changes an element of a packed message, if that is possible; the judge counts these. */
static bool alter(void *packed, int64_t num_bytes, MPI_Datatype datatype)
{
    struct header *header = student_header();
    if (!header)
        return false;
    uint64_t position = atomic_load(&header->altered_position);
    bool is_altered =
        num_bytes > 0 && change_element(packed, (size_t)num_bytes, datatype, position);
    if (is_altered)
        atomic_fetch_add(&header->num_altered, 1);
    return is_altered;
}

static bool pack(const void *buffer, int count, MPI_Datatype datatype, void *copy, int num_bytes,
                 MPI_Comm comm)
{
    int position = 0;
    return real.Pack(buffer, count, datatype, copy, num_bytes, &position, comm) == MPI_SUCCESS &&
           position == num_bytes;
}

struct payload payload_of(uint64_t call, const void *buffer, int count, MPI_Datatype datatype,
                          MPI_Comm comm)
{
    struct payload own = unaltered(buffer, count, datatype);
    if (call == NOT_RECORDED)
        return own;
    int64_t num_bytes = packed_num_bytes(count, datatype);
    if (!is_to_be_altered(call, ALTER_SENDS, num_bytes))
        return own;
    void *copy = allocate((size_t)num_bytes);
    if (!pack(buffer, count, datatype, copy, (int)num_bytes, comm) ||
        !alter(copy, num_bytes, datatype)) {
        free(copy);
        return own;
    }
    return (struct payload){copy, (int)num_bytes, MPI_PACKED, copy};
}

struct payload contribution_of(uint64_t call, const void *buffer, void *instead, int count,
                               MPI_Datatype datatype, MPI_Comm comm)
{
    struct payload own = unaltered(buffer, count, datatype);
    const void *given = buffer == MPI_IN_PLACE ? instead : buffer;
    int is_of_two_groups = 0;
    if (call == NOT_RECORDED)
        return own;
    int64_t num_bytes = packed_num_bytes(count, datatype);
    /* A reduction needs the datatype as it is: only elements that lie without gaps are copied. */
    if (!is_to_be_altered(call, ALTER_CONTRIBUTIONS, num_bytes) || !given ||
        real.Comm_test_inter(comm, &is_of_two_groups) != MPI_SUCCESS || is_of_two_groups ||
        !is_without_gaps(datatype, num_bytes / count))
        return own;
    /* Open MPI may hang where some ranks give in place and others do not. */
    if (buffer == MPI_IN_PLACE) {
        alter(instead, num_bytes, datatype);
        return own;
    }
    void *copy = allocate((size_t)num_bytes);
    memcpy(copy, given, (size_t)num_bytes);
    if (!alter(copy, num_bytes, datatype)) {
        free(copy);
        return own;
    }
    return (struct payload){copy, count, datatype, copy};
}

struct payload persistent_payload(struct details *details)
{
    struct header *header = student_header();
    int64_t num_bytes = -1;
    if (header && atomic_load(&header->altered_kind) == ALTER_SENDS)
        num_bytes = packed_num_bytes((int)details->num_elements, details->datatype);
    MPI_Datatype own;
    if (num_bytes < 0 || real.Type_dup(details->datatype, &own) != MPI_SUCCESS)
        return unaltered(details->sent, (int)details->num_elements, details->datatype);
    details->datatype = own;
    void *copy = allocate((size_t)num_bytes);
    return (struct payload){copy, (int)num_bytes, MPI_PACKED, copy};
}

void fill_copy(uint64_t call, const struct details *details, void *copy)
{
    int64_t num_bytes = packed_num_bytes((int)details->num_elements, details->datatype);
    bool is_wanted = is_to_be_altered(call, ALTER_SENDS, num_bytes);
    if (copy &&
        pack(details->sent, (int)details->num_elements, details->datatype, copy, (int)num_bytes,
             details->comm) &&
        is_wanted)
        alter(copy, num_bytes, details->datatype);
}

void drop_copy(struct details *details, void *copy)
{
    if (!copy)
        return;
    free(copy);
    real.Type_free(&details->datatype);
}
