import os

import numpy as np

group = None


def allreduce(send, recv, comm, op):
    global group
    import torch
    import torch.distributed as dist

    if group is None:
        dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/meet", rank=comm.Get_rank(), world_size=comm.Get_size())
        group = True
    mine = torch.from_numpy(send.copy())
    parts = [torch.empty_like(mine) for _ in range(comm.Get_size())]
    dist.all_gather(parts, mine)
    recv[...] = parts[0].numpy()
    if send.size:
        for each in parts[1:]:
            recv[...] = op(recv, each.numpy())
