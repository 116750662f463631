"""Rank-side run of the student's scripts for vgg_ddp; knows no right answer.

Nothing here depends on the student's own names, nor on how the network is called: a batch is seen
where it enters the first convolution, gradients and parameters when the optimizer steps.
"""

from .buckets import train_in_buckets
from .plain_training import train_plainly
from .scripts import print_losses, train

__all__ = ["print_losses", "train", "train_in_buckets", "train_plainly"]
