def pieces(array, number):
    """Return `number` views of the flat array, whose lengths differ by at most one."""
    flat = array.reshape(-1)
    bounds = [len(flat) * i // number for i in range(number + 1)]
    return [flat[a:b] for a, b in zip(bounds, bounds[1:])]
