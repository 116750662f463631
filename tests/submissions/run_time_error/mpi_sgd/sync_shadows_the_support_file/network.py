import numpy as np


class NeuralNetwork:
    """ my version, with a method for the sum """

    def add_gradients(self, comm, gradients):
        for g in gradients:
            comm.Allreduce(g.copy(), g)
        return gradients
