/*
 * The MPI library behind the interposer.
 *
 * We do not link with it. A preloaded library that needs libmpi would pull it into the global
 * scope, where ctypes.CDLL(None).PMPI_Send finds what nobody watches. Instead we look up every
 * function in the libmpi that the program itself has loaded (mpi4py does so privately). Called by
 * all files that call MPI.
 */
#ifndef GRADER_LIBRARY_H
#define GRADER_LIBRARY_H

#include "functions.h"
#include "headers.h"

/* real.Send is PMPI_Send, and so on for every function that has a wrapper. */
struct real_functions {
    int are_known;
#define POINTER(name) __typeof__(PMPI_##name) *name;
    FOR_EACH_FUNCTION(POINTER)
#undef POINTER
};
extern struct real_functions real;

/*
 * In Open MPI, MPI_COMM_WORLD and its like are addresses of variables of libmpi. mpi.h builds
 * all of them with one macro; ours reads the addresses that we have looked up.
 */
#ifdef OMPI_PREDEFINED_GLOBAL
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)handles.global)
#define FOR_EACH_HANDLE(X)    \
    X(ompi_mpi_comm_world)    \
    X(ompi_mpi_comm_self)     \
    X(ompi_mpi_comm_null)     \
    X(ompi_mpi_group_null)    \
    X(ompi_request_null)      \
    X(ompi_message_null)      \
    X(ompi_message_no_proc)   \
    X(ompi_mpi_datatype_null) \
    X(ompi_mpi_byte)          \
    X(ompi_mpi_packed)        \
    X(ompi_mpi_op_max)        \
    X(ompi_mpi_op_min)        \
    X(ompi_mpi_op_sum)        \
    X(ompi_mpi_op_prod)       \
    X(ompi_mpi_op_land)       \
    X(ompi_mpi_op_band)       \
    X(ompi_mpi_op_lor)        \
    X(ompi_mpi_op_bor)        \
    X(ompi_mpi_op_lxor)       \
    X(ompi_mpi_op_bxor)       \
    X(ompi_mpi_op_maxloc)     \
    X(ompi_mpi_op_minloc)
#else
#define FOR_EACH_HANDLE(X) /* handles are plain numbers */
#endif

struct predefined_handles {
    char unused;
#define ADDRESS(name) void *name;
    FOR_EACH_HANDLE(ADDRESS)
#undef ADDRESS
};
extern struct predefined_handles handles;

void find_library(void);

/* Returns what this MPI library calls `symbol`; NULL if it has no such thing. */
void *optional_symbol(const char *symbol);

/* Has to come before anything else of MPI in every wrapper, handles like MPI_BYTE included. */
static inline void need_library(void)
{
    if (__builtin_expect(!__atomic_load_n(&real.are_known, __ATOMIC_ACQUIRE), 0))
        find_library();
}

#endif
