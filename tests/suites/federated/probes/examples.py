"""The examples of a case, where the support files look for them."""

import numpy as np

from grader.rank.toolbox import replaced


class Given:
    """The examples of a case, where the support files look for them."""

    def __init__(self, images, labels, num_training, client_of):
        import utils

        scaled = (images.astype(np.float32) / 255 - 0.5) / 0.5
        self.train = utils.Examples(scaled[:num_training], labels[:num_training])
        self.test = utils.Examples(scaled[num_training:], labels[num_training:])
        clients = np.asarray(client_of, dtype=np.int64)
        self.split = [np.flatnonzero(clients == k) for k in range(clients.max(initial=-1) + 1)]

    def in_place(self):
        """Let load_data and data_split return these examples, for a while."""
        import utils

        return replaced(utils, "_given", (self.train, self.test, self.split or None))
