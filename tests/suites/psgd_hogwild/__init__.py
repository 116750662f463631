"""The suite of psgd_hogwild: parallel SGD over MPI, and Hogwild in shared memory."""
