def allreduce(send, recv, comm, op):
    """Send the array to all others, and add up what comes: ⁧"""; comm.Allreduce(send, recv)
