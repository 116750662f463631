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
    # solution: return how many elements naive all-reduces send
    return num_processes * (num_processes - 1) * num_parameters * num_steps
    # end of solution


def ring_all_reduce(num_parameters, num_processes, num_steps):
    """Return how many elements num_steps ring all-reduces send: reduce-scatter and all-gather."""
    # solution: return how many elements ring all-reduces send
    # Each of the N processes sends N - 1 chunks of P / N numbers, twice.
    return 2 * (num_processes - 1) * num_parameters * num_steps
    # end of solution


def tree_all_reduce(num_parameters, num_processes, num_steps):
    """Return how many elements num_steps all-reduces send up a binary tree and down again."""
    # solution: return how many elements tree all-reduces send
    # A tree of N processes has N - 1 edges; the array goes over each of them twice.
    return 2 * (num_processes - 1) * num_parameters * num_steps
    # end of solution


def parameter_server(num_parameters, num_processes, num_steps):
    """Return how many elements are sent in num_steps steps: gradients to the server, model back."""
    # solution: return how many elements are sent with a parameter server
    return 2 * (num_processes - 1) * num_parameters * num_steps
    # end of solution


def fed_avg(num_parameters, num_processes, num_rounds):
    """Return how many elements are sent in num_rounds rounds: model to each client, model back."""
    # solution: return how many elements federated averaging sends
    return 2 * (num_processes - 1) * num_parameters * num_rounds
    # end of solution


def tree_reduce_time(num_processes):
    """Return the time of a reduction to one process up a tree of pairs.

    Every message takes time 1, whatever its size. Messages between different pairs of processes
    travel at the same time, but each process sends or receives one message at a time.
    """
    # solution: return the time of a tree reduction
    # Each unit of time halves, rounding up, the processes that still hold a partial sum.
    return (num_processes - 1).bit_length()
    # end of solution


def ring_reduce_time(num_processes):
    """Return the time of a reduction to one process along a ring, with times as above."""
    # solution: return the time of a ring reduction
    return num_processes - 1
    # end of solution


def tree_all_reduce_time(num_processes):
    """Return the time to reduce up a tree and to send the result down the same tree."""
    # solution: return the time of a tree all-reduce
    return 2 * tree_reduce_time(num_processes)
    # end of solution


def ring_all_reduce_time(num_processes):
    """Return the time of a ring all-reduce: reduce-scatter, then all-gather."""
    # solution: return the time of a ring all-reduce
    return 2 * ring_reduce_time(num_processes)
    # end of solution
