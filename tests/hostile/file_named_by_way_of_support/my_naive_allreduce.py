import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
# The name of the file that is imported begins with the folder of what the assignment gives.
sys.path.insert(0, os.path.join(os.path.dirname(here), "support", "..", os.path.basename(here)))

from helper import allreduce  # noqa: E402, F401
