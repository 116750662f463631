/*
 * Reads the counters of Open MPI's monitoring component through MPI's tools interface.
 *
 * They count below PMPI, so that a call which takes another way than through our wrappers shows
 * too. Counted are messages with a tag of the user's, by rank of the receiver in MPI_COMM_WORLD,
 * when they are posted: to oneself as well, over any communicator, of any kind of send except
 * persistent ones. What collective calls send inside does not count:
 * see internal_messages.c.
 */
#include "monitoring.h"

#include <stdlib.h>

#include "library.h"

static struct {
    int num_peers; /* 0: MPI does not count */
    struct counted (*counters)[MAX_COUNTED_PEERS];
    struct counted seen[MAX_COUNTED_PEERS];
    MPI_T_pvar_session session;
    MPI_T_pvar_handle messages;
    MPI_T_pvar_handle bytes;
    __typeof__(MPI_T_init_thread) *init;
    __typeof__(MPI_T_pvar_session_create) *create_session;
    __typeof__(MPI_T_pvar_get_index) *find_index;
    __typeof__(MPI_T_pvar_handle_alloc) *create_handle;
    __typeof__(MPI_T_pvar_start) *start;
    __typeof__(MPI_T_pvar_read) *read;
} monitor;

static bool look_up_tools(void)
{
    struct {
        void *where;
        const char *name;
    } wanted[] = {
        {&monitor.init, "PMPI_T_init_thread"},
        {&monitor.create_session, "PMPI_T_pvar_session_create"},
        {&monitor.find_index, "PMPI_T_pvar_get_index"},
        {&monitor.create_handle, "PMPI_T_pvar_handle_alloc"},
        {&monitor.start, "PMPI_T_pvar_start"},
        {&monitor.read, "PMPI_T_pvar_read"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *address = optional_symbol(wanted[i].name);
        if (!address)
            return false;
        *(void **)wanted[i].where = address;
    }
    return true;
}

/* Starts one counter, an array with a number for each rank of the world. */
static bool open_counter(const char *name, int world_size, MPI_T_pvar_handle *handle)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int index, count;
    return monitor.find_index(name, MPI_T_PVAR_CLASS_SIZE, &index) == MPI_SUCCESS &&
           monitor.create_handle(monitor.session, index, &world, handle, &count) == MPI_SUCCESS &&
           count == world_size && monitor.start(monitor.session, *handle) == MPI_SUCCESS;
}

static bool read_counters(struct counted *counted)
{
    unsigned long long messages[MAX_COUNTED_PEERS], bytes[MAX_COUNTED_PEERS];
    if (monitor.read(monitor.session, monitor.messages, messages) != MPI_SUCCESS ||
        monitor.read(monitor.session, monitor.bytes, bytes) != MPI_SUCCESS)
        return false;
    for (int peer = 0; peer < monitor.num_peers; peer++)
        counted[peer] = (struct counted){messages[peer], bytes[peer]};
    return true;
}

/*
 * Open MPI 5.0 takes for granted, when a communicator is freed, that its coll/monitoring has made
 * a table of them; without that component (which in turn crashes on an intercommunicator whose
 * own side is the larger one) it follows a null pointer. Noting any communicator makes the table.
 */
static void make_table_of_communicators(void)
{
    void *(*note)(MPI_Comm);
    *(void **)&note = optional_symbol("mca_common_monitoring_coll_new");
    if (note)
        note(MPI_COMM_WORLD);
}

bool begin_monitoring(int world_size, struct counted (*counters)[MAX_COUNTED_PEERS])
{
    int provided;
    if (world_size > MAX_COUNTED_PEERS || !look_up_tools() ||
        monitor.init(MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS ||
        monitor.create_session(&monitor.session) != MPI_SUCCESS ||
        !open_counter("pml_monitoring_messages_count", world_size, &monitor.messages) ||
        !open_counter("pml_monitoring_messages_size", world_size, &monitor.bytes))
        return false;
    make_table_of_communicators();
    if (!counters)
        return false;
    monitor.num_peers = world_size;
    monitor.counters = counters;
    if (!read_counters(monitor.seen))
        monitor.num_peers = 0;
    return monitor.num_peers > 0;
}

void count_messages(int phase)
{
    struct counted now[MAX_COUNTED_PEERS];
    if (!monitor.num_peers || !read_counters(now))
        return;
    for (int peer = 0; peer < monitor.num_peers; peer++) {
        struct counted *seen = &monitor.seen[peer];
        if (phase < NUM_COUNTED_PHASES) {
            struct counted *sum = &monitor.counters[phase][peer];
            sum->num_messages += now[peer].num_messages - seen->num_messages;
            sum->num_bytes += now[peer].num_bytes - seen->num_bytes;
        }
        *seen = now[peer];
    }
}
