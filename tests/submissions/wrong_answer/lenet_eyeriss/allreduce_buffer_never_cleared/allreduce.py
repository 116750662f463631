import torch
import torch.distributed as dist

# allocate once, this is called every epoch
_sums = {}


def average_gradients(model):
    size = dist.get_world_size()
    rank = dist.get_rank()
    for i, p in enumerate(model.parameters()):
        if i not in _sums:
            _sums[i] = torch.zeros_like(p.grad)
        if rank == 0:
            _sums[i] += p.grad
            recv_buf = torch.empty_like(p.grad)
            for r in range(1, size):
                dist.recv(recv_buf, src=r)
                _sums[i] += recv_buf
            p.grad = _sums[i] / size
        else:
            dist.send(p.grad, dst=0)
        dist.broadcast(p.grad, src=0)
