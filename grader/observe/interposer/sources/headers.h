/*
 * All that an MPI library offers to programs: its extensions, named MPIX_, are a file of their own.
 *
 * Being what all files stand on, this is also where their order is said. Each includes headers of
 * lines above its own only; tests/unit/observe/interposer/test_order.py reads this list. The files
 * of the last line define the MPI functions that need more than generate.py's wrappers give them.
 *
 *     headers layout pickle_opcodes text
 *     library lock_and_clock pickles private_ipc_names python
 *     communicators datatype_elements monitoring ownership trace_memory
 *     call_arguments python_location
 *     samples
 *     records refusals
 *     backoff guard polls
 *     code_filenames executable_memory phases
 *     fault_injection recorder request_table
 *     completion gloo_payloads internal_messages matched_messages requests
 *     cancel_and_free communicator_calls harness_calls init_finalize persistent point_to_point
 *     probes sendrecv tests waits wrappers
 */
#ifndef GRADER_HEADERS_H
#define GRADER_HEADERS_H

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#endif
