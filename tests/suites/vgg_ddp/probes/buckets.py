"""The run of a script in which the judge says how long DistributedDataParallel's buckets are."""

import functools
import inspect

from grader.rank.toolbox import replaced

from .scripts import train

_NUM_BYTES_PER_MB = 1 << 20


def train_in_buckets(student, comm, *, bucket_num_bytes, **settings):
    """Run the student's script as `train` does, whatever buckets it asks for itself."""
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    begin, assign = DistributedDataParallel.__init__, dist._compute_bucket_assignment_by_size
    form = inspect.signature(begin)

    @functools.wraps(begin)
    def begin_with_buckets(*arguments, **options):
        bound = form.bind(*arguments, **options)
        bound.arguments.pop("bucket_cap_mb_list", None)
        bound.arguments["bucket_cap_mb"] = bucket_num_bytes / _NUM_BYTES_PER_MB
        begin(*bound.args, **bound.kwargs)

    def assign_to_buckets(tensors, _, *arguments):
        # Otherwise the first iteration may have one bucket of all gradients.
        return assign(tensors, [bucket_num_bytes], *arguments)

    with (
        replaced(DistributedDataParallel, "__init__", begin_with_buckets),
        replaced(dist, "_compute_bucket_assignment_by_size", assign_to_buckets),
    ):
        return train(student, comm, **settings)
