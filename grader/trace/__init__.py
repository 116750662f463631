"""The interposer that records every MPI call of a rank, and the reader of what it wrote."""
