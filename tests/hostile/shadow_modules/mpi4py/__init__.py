raise SystemExit("BREACH mpi4py of the submission is imported")
