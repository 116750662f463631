import math

N_COUNTS_THE_SERVER = True


def naive_all_reduce(num_parameters, num_processes, num_steps):
    # every process sends P numbers to all the others
    return num_processes * (num_processes - 1) * num_parameters * num_steps


def ring_all_reduce(num_parameters, num_processes, num_steps):
    per_process = 2 * (num_processes - 1) * num_parameters / num_processes
    return per_process * num_processes * num_steps


def tree_all_reduce(num_parameters, num_processes, num_steps):
    edges = num_processes - 1
    return 2 * edges * num_parameters * num_steps


def parameter_server(num_parameters, num_processes, num_steps):
    workers = num_processes - 1
    return (workers * num_parameters + workers * num_parameters) * num_steps


def fed_avg(num_parameters, num_processes, num_rounds):
    clients = num_processes - 1
    return 2 * clients * num_parameters * num_rounds


def tree_reduce_time(num_processes):
    return math.ceil(math.log2(num_processes))


def ring_reduce_time(num_processes):
    return num_processes - 1


def tree_all_reduce_time(num_processes):
    return math.ceil(math.log2(num_processes))


def ring_all_reduce_time(num_processes):
    return 2 * (num_processes - 1)


print(ring_all_reduce(62006, 4, 1500))
