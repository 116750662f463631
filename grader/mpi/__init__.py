"""What MPI and torch.distributed mean: which calls match, which wait, and whether any can go on."""
