"""The suites of mpi_sgd: synchronous and asynchronous training over MPI."""
