import torch
import torch.distributed as dist


def average_gradients(model):
    rank = dist.get_rank()
    N = dist.get_world_size()
    right = (rank + 1) % N
    left = (rank - 1) % N

    grads = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
    csize = grads.numel() // N
    chunks = [grads[i * csize : (i + 1) * csize] for i in range(N)]
    recv_buf = torch.zeros(csize)

    # Phase 1: scatter-reduce
    for i in range(N - 1):
        send_chunk = chunks[(rank - i) % N]
        recv_chunk = chunks[(rank - i - 1) % N]
        r1 = dist.isend(send_chunk, right)
        r2 = dist.irecv(recv_buf, left)
        r1.wait()
        r2.wait()
        recv_chunk[:] += recv_buf[:]

    # Phase 2: all-gather. process c-1 has the finish sum of chunk c and gives it to all
    for c in range(N):
        owner = (c - 1) % N
        dist.broadcast(chunks[c], src=owner)

    grads /= N

    # put back
    pos = 0
    for p in model.parameters():
        num = p.grad.numel()
        p.grad[:] = grads[pos : pos + num].reshape(p.grad.shape)
        pos += num
