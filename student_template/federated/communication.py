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
    # TODO: return the elements transmitted by naive all-reduces
    raise NotImplementedError(
        "communication.py: TODO: return the elements transmitted by naive all-reduces"
    )


def ring_all_reduce(num_parameters, num_processes, num_steps):
    """Return the elements of num_steps all-reduces in a ring: reduce-scatter, then all-gather."""
    # TODO: return the elements transmitted by ring all-reduces
    raise NotImplementedError(
        "communication.py: TODO: return the elements transmitted by ring all-reduces"
    )


def tree_all_reduce(num_parameters, num_processes, num_steps):
    """Return the elements of num_steps all-reduces up a binary tree to its root and down again."""
    # TODO: return the elements transmitted by tree all-reduces
    raise NotImplementedError(
        "communication.py: TODO: return the elements transmitted by tree all-reduces"
    )


def parameter_server(num_parameters, num_processes, num_steps):
    """Return the elements of num_steps steps: gradients to the server, the model back."""
    # TODO: return the elements transmitted with a parameter server
    raise NotImplementedError(
        "communication.py: TODO: return the elements transmitted with a parameter server"
    )


def fed_avg(num_parameters, num_processes, num_rounds):
    """Return the elements of num_rounds rounds: the model to every client, its model back."""
    # TODO: return the elements transmitted by federated averaging
    raise NotImplementedError(
        "communication.py: TODO: return the elements transmitted by federated averaging"
    )


def tree_reduce_time(num_processes):
    """Return the time of a reduction to one process up a tree of pairs.

    Every message takes time 1, whatever its size; messages between different pairs of processes
    travel at the same time; a process sends or receives one message at a time.
    """
    # TODO: return the time of a tree reduction
    raise NotImplementedError("communication.py: TODO: return the time of a tree reduction")


def ring_reduce_time(num_processes):
    """Return the time of a reduction to one process along a ring; times as above."""
    # TODO: return the time of a ring reduction
    raise NotImplementedError("communication.py: TODO: return the time of a ring reduction")


def tree_all_reduce_time(num_processes):
    """Return the time of a tree reduction and of distributing the result by the same tree."""
    # TODO: return the time of a tree all-reduce
    raise NotImplementedError("communication.py: TODO: return the time of a tree all-reduce")


def ring_all_reduce_time(num_processes):
    """Return the time of a ring all-reduce: reduce-scatter, then all-gather."""
    # TODO: return the time of a ring all-reduce
    raise NotImplementedError("communication.py: TODO: return the time of a ring all-reduce")
