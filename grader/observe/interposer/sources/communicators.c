/*
 * Names communicators the same on every member without a message of our own.
 *
 * All members know the same three things about a new communicator: out of which one it was made,
 * the list of its members in order, and how many with the same parent and the same members were
 * made before it (creation is collective, so all of them count alike). The id is a digest of the
 * three. Agreeing by broadcast would be as good, but would make MPI_Comm_idup blocking.
 */
#include "communicators.h"

#include <stdlib.h>

#include "layout.h"
#include "lock_and_clock.h"

/* Records and requests point to these, so they are kept when the communicator is freed. */
struct known {
    struct communicator communicator;
    MPI_Comm handle;
    struct known *next;
};

/* How many communicators with this parent and these members there have been. */
struct family {
    uint64_t digest;
    uint64_t num_made;
    struct family *next;
};

enum { NUM_BUCKETS = 256 };
static struct known *known_by_handle[NUM_BUCKETS];
static struct family *families[NUM_BUCKETS];
static MPI_Group world_group;
static int world_rank = -1;
static const struct communicator nobody = {
    .id = TRACE_NO_COMMUNICATOR, .own_rank = -1, .own_world_rank = -1};

/* The finaliser of splitmix64: every bit of the input changes half of the output's. */
static uint64_t mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static unsigned bucket_of(MPI_Comm handle)
{
    return mix((uint64_t)(uintptr_t)handle) % NUM_BUCKETS;
}

static uint64_t digest_members(uint64_t digest, const int *members, int number)
{
    digest = mix(digest ^ (uint64_t)number);
    for (int i = 0; i < number; i++)
        digest = mix(digest ^ (uint64_t)(uint32_t)members[i]);
    return digest;
}

/* Counts one more communicator of the family; returns its id. */
static int64_t next_id(uint64_t digest)
{
    lock_tables();
    struct family **bucket = &families[digest % NUM_BUCKETS];
    struct family *family = *bucket;
    while (family && family->digest != digest)
        family = family->next;
    if (!family) {
        family = allocate(sizeof *family);
        family->digest = digest;
        family->num_made = 0;
        family->next = *bucket;
        *bucket = family;
    }
    uint64_t ordinal = family->num_made++;
    unlock_tables();
    /* 48 bits are short enough for every reader and long enough never to collide in one run. */
    int64_t id = (int64_t)(mix(digest ^ mix(ordinal)) >> 16);
    return id ? id : 1;
}

/* Returns the world ranks of a group, whose number it stores; the group is freed. */
static int *world_ranks(MPI_Group group, int *number)
{
    real.Group_size(group, number);
    int *ranks = allocate((size_t)(*number + 1) * 2 * sizeof *ranks);
    int *in_world = ranks + *number + 1;
    for (int i = 0; i < *number; i++)
        ranks[i] = i;
    real.Group_translate_ranks(group, *number, ranks, world_group, in_world);
    for (int i = 0; i < *number; i++)
        ranks[i] = in_world[i];
    real.Group_free(&group);
    return ranks;
}

/* Fills in members and id of a communicator that MPI can be asked about. */
static struct communicator describe(MPI_Comm comm, int64_t parent_id)
{
    struct communicator found = {.own_world_rank = world_rank};
    int is_inter = 0;
    MPI_Group group;
    real.Comm_rank(comm, &found.own_rank);
    real.Comm_test_inter(comm, &is_inter);
    real.Comm_group(comm, &group);
    int num_local;
    int *local = world_ranks(group, &num_local);
    uint64_t digest = mix((uint64_t)parent_id);
    if (!is_inter) {
        found.size = found.num_peers = num_local;
        found.peers = local;
        digest = digest_members(digest, local, num_local);
    } else {
        real.Comm_remote_group(comm, &group);
        found.peers = world_ranks(group, &found.num_peers);
        found.size = num_local + found.num_peers;
        /* Both sides have to come to the same digest: the side with the lower leader is first. */
        bool local_first = num_local && found.num_peers && local[0] < found.peers[0];
        int *sides[2] = {local_first ? local : found.peers, local_first ? found.peers : local};
        int numbers[2] = {local_first ? num_local : found.num_peers,
                          local_first ? found.num_peers : num_local};
        digest = digest_members(digest, sides[0], numbers[0]);
        digest = digest_members(digest, sides[1], numbers[1]);
        free(local);
    }
    found.id = next_id(digest);
    return found;
}

static struct known *find(MPI_Comm handle)
{
    struct known *known = known_by_handle[bucket_of(handle)];
    while (known && known->handle != handle)
        known = known->next;
    return known;
}

static const struct communicator *remember(MPI_Comm handle, struct communicator communicator)
{
    struct known *known = allocate(sizeof *known);
    known->communicator = communicator;
    known->handle = handle;
    lock_tables();
    struct known **bucket = &known_by_handle[bucket_of(handle)];
    known->next = *bucket;
    *bucket = known;
    unlock_tables();
    return &known->communicator;
}

void know_world(void)
{
    real.Comm_group(MPI_COMM_WORLD, &world_group);
    real.Comm_rank(MPI_COMM_WORLD, &world_rank);
    struct communicator world = describe(MPI_COMM_WORLD, 0);
    world.id = 0;
    remember(MPI_COMM_WORLD, world);
}

void know_communicator(MPI_Comm made, MPI_Comm parent)
{
    if (world_rank < 0 || made == MPI_COMM_NULL)
        return;
    int64_t parent_id = communicator_of(parent)->id;
    remember(made, describe(made, parent_id));
}

void know_duplicate(MPI_Comm made, MPI_Comm parent)
{
    if (world_rank < 0 || made == MPI_COMM_NULL)
        return;
    struct communicator copy = *communicator_of(parent);
    /* The family of an idup is apart from that of describe: its members are not listed again. */
    copy.id = next_id(mix(~(uint64_t)copy.id));
    remember(made, copy);
}

void forget_communicator(MPI_Comm comm)
{
    lock_tables();
    struct known **link = &known_by_handle[bucket_of(comm)];
    while (*link && (*link)->handle != comm)
        link = &(*link)->next;
    if (*link)
        *link = (*link)->next;
    unlock_tables();
}

const struct communicator *communicator_of(MPI_Comm comm)
{
    if (world_rank < 0 || comm == MPI_COMM_NULL)
        return &nobody;
    lock_tables();
    struct known *known = find(comm);
    unlock_tables();
    if (known)
        return &known->communicator;
    /* MPI_COMM_SELF, or the parent of a spawned program. */
    return remember(comm, describe(comm, TRACE_NO_COMMUNICATOR));
}

int world_peer(const struct communicator *communicator, int peer)
{
    if (peer == NO_PEER)
        return TRACE_NO_PEER;
    if (peer == MPI_ANY_SOURCE)
        return TRACE_ANY_SOURCE;
    if (peer == MPI_PROC_NULL)
        return TRACE_PROC_NULL;
    if (peer == MPI_ROOT)
        return communicator->own_world_rank;
    if (peer >= 0 && peer < communicator->num_peers)
        return communicator->peers[peer];
    return peer;
}
