import torch
import torch.distributed as dist


def average_gradients(model):
    """All gradients in one flattened buffer; async_op=True, then wait."""
    gradients = [p.grad for p in model.parameters()]
    buffer = torch._utils._flatten_dense_tensors(gradients)
    work = dist.all_reduce(buffer, op=dist.ReduceOp.SUM, async_op=True)
    buffer_size = dist.get_world_size()
    work.wait()
    buffer.div_(buffer_size)
    for gradient, mean in zip(gradients, torch._utils._unflatten_dense_tensors(buffer, gradients)):
        gradient.copy_(mean)
