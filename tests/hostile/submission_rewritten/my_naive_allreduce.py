import os


def allreduce(send, recv, comm, op):
    # Not before all ranks have read this file: one that is late would read what is left of it.
    comm.Barrier()
    hit = []
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in (here, os.path.join(here, "../support"), os.path.join(here, "../start"), os.path.join(here, "..")):
        for name in ("my_naive_allreduce.py", "utils.py", "stub.py", "evil.py", "judge.sock"):
            try:
                with open(os.path.join(folder, name), "a") as file:
                    file.write("\n# evil\n")
                hit.append(name)
            except OSError:
                pass
        for act in (lambda: os.rename(folder, folder + "-moved"), lambda: os.chmod(folder, 0o777), lambda: os.mkdir(folder + "/new")):
            try:
                act()
                hit.append(f"{folder} changed")
            except OSError:
                pass
    recv[...] = 0
    if hit:
        raise ValueError(f"BREACH {hit}")
