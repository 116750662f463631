"""1(b) ring allreduce. Chunk k is every n-th gradient, beginning with the k-th (like dealing cards)."""
import torch
import torch.distributed as dist


class Ring:
    def __init__(self, vector):
        self.n = dist.get_world_size()
        self.r = dist.get_rank()
        self.decks = [vector[k::self.n].clone() for k in range(self.n)]

    def _pass_on(self, give, take):
        """give: index of the deck that I hand to the right; returns the deck from the left"""
        got = torch.empty(self.decks[take % self.n].shape)
        a = dist.irecv(got, (self.r - 1) % self.n)
        b = dist.isend(self.decks[give % self.n], (self.r + 1) % self.n)
        a.wait(), b.wait()
        return got

    def reduce_scatter(self):
        k = self.r
        while (self.r - k) < self.n - 1:
            got = self._pass_on(k, k - 1)
            k -= 1
            self.decks[k % self.n] += got

    def all_gather(self):
        for k in range(self.r + 1, self.r + 2 - self.n, -1):
            self.decks[(k - 1) % self.n] = self._pass_on(k, k - 1)

    def result(self):
        out = torch.empty(sum(len(d) for d in self.decks))
        for k, d in enumerate(self.decks):
            out[k::self.n] = d
        return out


def average_gradients(model):
    grads = [p.grad for p in model.parameters()]
    ring = Ring(torch.cat([g.view(-1) for g in grads]))
    ring.reduce_scatter()
    ring.all_gather()
    mean = ring.result().div(ring.n)
    i = 0
    for g in grads:
        g[...] = mean[i:i + g.numel()].reshape(g.shape)
        i += g.numel()
