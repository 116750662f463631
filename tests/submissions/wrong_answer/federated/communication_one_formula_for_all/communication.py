"""Elements and times, all from one formula."""

N_COUNTS_THE_SERVER = True


def transmitted(*arguments):
    """2 (N - 1) messages, times parameters and steps where there are any."""
    if len(arguments) == 1:
        (num_processes,) = arguments
        return 2 * (num_processes - 1)
    num_parameters, num_processes, num_times = arguments
    return 2 * (num_processes - 1) * num_parameters * num_times


naive_all_reduce = ring_all_reduce = tree_all_reduce = transmitted
parameter_server = fed_avg = transmitted
tree_reduce_time = ring_reduce_time = transmitted
tree_all_reduce_time = ring_all_reduce_time = transmitted
