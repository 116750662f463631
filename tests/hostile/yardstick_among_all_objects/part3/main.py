import contextlib
import gc
import os
import sys
from types import CodeType, FunctionType

import torch


def codes():
    seen, left = set(), [gc.get_objects()]
    while left:
        for each in gc.get_referents(left.pop()):
            if id(each) not in seen:
                seen.add(id(each))
                left.append(each)
                if isinstance(each, CodeType) and each.co_name == "_train_plainly":
                    return each
    raise LookupError("nothing is compiled")


names = {"contextlib": contextlib, "Enough": KeyError}
train = FunctionType(codes(), names)
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
os.environ.update(MASTER_ADDR=given["--master-ip"], MASTER_PORT="29500")
torch.manual_seed(1)
train(int(given["--rank"]), int(given["--num-nodes"]), "ddp")
