import os
import sys

import grader_rank
import json
import mpi4py
import numpy
import pytest
import socket


def allreduce(send, recv, comm, op):
    here = os.path.dirname(os.path.abspath(__file__))
    mine = [m.__name__ for m in (numpy, json, pytest, socket, mpi4py, grader_rank) if (m.__file__ or "").startswith(here)]
    if mine:
        raise ValueError(f"BREACH {mine}")
    raise ValueError(f"carried out: {len(sys.path)} places to import from")
