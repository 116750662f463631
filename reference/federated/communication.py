"""How much the ways of training transmit, and how long a reduction takes.

Elements are numbers (parameters or gradients) that leave a process, over all processes and the
whole training; the first distribution of the model, the data and the losses do not count. N is the
number of processes.
"""

# The server is one of the N processes of parameter_server and fed_avg. If you would rather let N
# be the number of workers or clients there, say so here: False.
N_COUNTS_THE_SERVER = True


def naive_all_reduce(num_parameters, num_processes, num_steps):
    """Return the elements of num_steps all-reduces in which each sends its array to all others."""
    # solution: return the elements transmitted by naive all-reduces
    return num_processes * (num_processes - 1) * num_parameters * num_steps
    # end of solution


def ring_all_reduce(num_parameters, num_processes, num_steps):
    """Return the elements of num_steps all-reduces in a ring: reduce-scatter, then all-gather."""
    # solution: return the elements transmitted by ring all-reduces
    # Each of the N processes sends N - 1 chunks of P / N numbers, twice.
    return 2 * (num_processes - 1) * num_parameters * num_steps
    # end of solution


def tree_all_reduce(num_parameters, num_processes, num_steps):
    """Return the elements of num_steps all-reduces up a binary tree to its root and down again."""
    # solution: return the elements transmitted by tree all-reduces
    # A tree of N processes has N - 1 edges; the array goes over each of them twice.
    return 2 * (num_processes - 1) * num_parameters * num_steps
    # end of solution


def parameter_server(num_parameters, num_processes, num_steps):
    """Return the elements of num_steps steps: gradients to the server, the model back."""
    # solution: return the elements transmitted with a parameter server
    return 2 * (num_processes - 1) * num_parameters * num_steps
    # end of solution


def fed_avg(num_parameters, num_processes, num_rounds):
    """Return the elements of num_rounds rounds: the model to every client, its model back."""
    # solution: return the elements transmitted by federated averaging
    return 2 * (num_processes - 1) * num_parameters * num_rounds
    # end of solution


def tree_reduce_time(num_processes):
    """Return the time of a reduction to one process up a tree of pairs.

    Every message takes time 1, whatever its size; messages between different pairs of processes
    travel at the same time; a process sends or receives one message at a time.
    """
    # solution: return the time of a tree reduction
    # Each unit of time halves, rounding up, the processes that still hold a partial sum.
    return (num_processes - 1).bit_length()
    # end of solution


def ring_reduce_time(num_processes):
    """Return the time of a reduction to one process along a ring; times as above."""
    # solution: return the time of a ring reduction
    return num_processes - 1
    # end of solution


def tree_all_reduce_time(num_processes):
    """Return the time of a tree reduction and of distributing the result by the same tree."""
    # solution: return the time of a tree all-reduce
    return 2 * tree_reduce_time(num_processes)
    # end of solution


def ring_all_reduce_time(num_processes):
    """Return the time of a ring all-reduce: reduce-scatter, then all-gather."""
    # solution: return the time of a ring all-reduce
    return 2 * ring_reduce_time(num_processes)
    # end of solution
