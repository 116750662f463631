import os
import sys

frame = sys._getframe()
while frame.f_globals.get("__package__") != "probes":
    frame = frame.f_back
plain = frame.f_globals["__builtins__"]["__import__"].__self__.module("plain_training")
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
os.environ.update(MASTER_ADDR=given["--master-ip"], MASTER_PORT="29500")
__import__("torch").manual_seed(1)
plain._train_plainly(int(given["--rank"]), int(given["--num-nodes"]), "ddp")
