"""How much the ways of training transmit, and how long a reduction takes.

Elements are numbers (parameters or gradients) that leave a process, over all processes and the
whole training; the first hand-out of the model, the data and the losses are left out. N is the
number of processes.
"""

# The server is one of the N processes of parameter_server and fed_avg. If you would rather let N
# be the number of workers or clients there, say so here: False.
N_COUNTS_THE_SERVER = True


def naive_all_reduce(num_parameters, num_processes, num_steps):
    """Return the elements of num_steps all-reduces in which each sends its array to each other."""
    # TODO: elements transmitted by naive all-reduces
    raise NotImplementedError(
        "communication.py: elements transmitted by naive all-reduces is still to be written"
    )


def ring_all_reduce(num_parameters, num_processes, num_steps):
    """Return the elements of num_steps all-reduces in a ring: reduce-scatter, then all-gather."""
    # TODO: elements transmitted by ring all-reduces
    raise NotImplementedError(
        "communication.py: elements transmitted by ring all-reduces is still to be written"
    )


def tree_all_reduce(num_parameters, num_processes, num_steps):
    """Return the elements of num_steps all-reduces up a binary tree to its root and down again."""
    # TODO: elements transmitted by tree all-reduces
    raise NotImplementedError(
        "communication.py: elements transmitted by tree all-reduces is still to be written"
    )


def parameter_server(num_parameters, num_processes, num_steps):
    """Return the elements of num_steps steps: gradients to the server, the model back."""
    # TODO: elements transmitted with a parameter server
    raise NotImplementedError(
        "communication.py: elements transmitted with a parameter server is still to be written"
    )


def fed_avg(num_parameters, num_processes, num_rounds):
    """Return the elements of num_rounds rounds: the model to every client, theirs back."""
    # TODO: elements transmitted by federated averaging
    raise NotImplementedError(
        "communication.py: elements transmitted by federated averaging is still to be written"
    )


def tree_reduce_time(num_processes):
    """Return the time of a reduction to one process up a tree of pairs.

    Every message takes time 1, whatever its size; messages between different pairs of processes
    travel at the same time; a process sends or receives one message at a time.
    """
    # TODO: the time of a tree reduction
    raise NotImplementedError(
        "communication.py: the time of a tree reduction is still to be written"
    )


def ring_reduce_time(num_processes):
    """Return the time of a reduction to one process along a ring; times as above."""
    # TODO: the time of a ring reduction
    raise NotImplementedError(
        "communication.py: the time of a ring reduction is still to be written"
    )


def tree_all_reduce_time(num_processes):
    """Return the time of a tree reduction and of handing the result out by the same tree."""
    # TODO: the time of a tree all-reduce
    raise NotImplementedError(
        "communication.py: the time of a tree all-reduce is still to be written"
    )


def ring_all_reduce_time(num_processes):
    """Return the time of a ring all-reduce: reduce-scatter, then all-gather."""
    # TODO: the time of a ring all-reduce
    raise NotImplementedError(
        "communication.py: the time of a ring all-reduce is still to be written"
    )
