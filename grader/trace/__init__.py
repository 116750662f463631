"""The calls of MPI and torch.distributed, and what follows from MPI's rules alone."""
