"""How much each way of training sends, and how long a reduction takes.

Elements are the numbers (parameters or gradients) that all processes together send during the whole
training. The first distribution of the model, the data, and the losses do not count. N is the
number of processes.
"""

# The server is one of the N processes of parameter_server and fed_avg. If you would rather let N
# be the number of workers or clients there, change this to False.
N_COUNTS_THE_SERVER = True


def naive_all_reduce(num_parameters, num_processes, num_steps):
    """Return how many elements num_steps all-reduces send if each process sends to all others."""
    # TODO: return how many elements naive all-reduces send
    raise NotImplementedError(
        "communication.py: TODO: return how many elements naive all-reduces send"
    )


def ring_all_reduce(num_parameters, num_processes, num_steps):
    """Return how many elements num_steps ring all-reduces send: reduce-scatter and all-gather."""
    # TODO: return how many elements ring all-reduces send
    raise NotImplementedError(
        "communication.py: TODO: return how many elements ring all-reduces send"
    )


def tree_all_reduce(num_parameters, num_processes, num_steps):
    """Return how many elements num_steps all-reduces send up a binary tree and down again."""
    # TODO: return how many elements tree all-reduces send
    raise NotImplementedError(
        "communication.py: TODO: return how many elements tree all-reduces send"
    )


def parameter_server(num_parameters, num_processes, num_steps):
    """Return how many elements are sent in num_steps steps: gradients to the server, model back."""
    # TODO: return how many elements are sent with a parameter server
    raise NotImplementedError(
        "communication.py: TODO: return how many elements are sent with a parameter server"
    )


def fed_avg(num_parameters, num_processes, num_rounds):
    """Return how many elements are sent in num_rounds rounds: model to each client, model back."""
    # TODO: return how many elements federated averaging sends
    raise NotImplementedError(
        "communication.py: TODO: return how many elements federated averaging sends"
    )


def tree_reduce_time(num_processes):
    """Return the time of a reduction to one process up a tree of pairs.

    Every message takes time 1, whatever its size. Messages between different pairs of processes
    travel at the same time, but each process sends or receives one message at a time.
    """
    # TODO: return the time of a tree reduction
    raise NotImplementedError("communication.py: TODO: return the time of a tree reduction")


def ring_reduce_time(num_processes):
    """Return the time of a reduction to one process along a ring, with times as above."""
    # TODO: return the time of a ring reduction
    raise NotImplementedError("communication.py: TODO: return the time of a ring reduction")


def tree_all_reduce_time(num_processes):
    """Return the time to reduce up a tree and to send the result down the same tree."""
    # TODO: return the time of a tree all-reduce
    raise NotImplementedError("communication.py: TODO: return the time of a tree all-reduce")


def ring_all_reduce_time(num_processes):
    """Return the time of a ring all-reduce: reduce-scatter, then all-gather."""
    # TODO: return the time of a ring all-reduce
    raise NotImplementedError("communication.py: TODO: return the time of a ring all-reduce")
