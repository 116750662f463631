"""Notes what a training does, step by step, while the script runs."""

from types import SimpleNamespace

import numpy as np

from grader.rank.toolbox import Enough, flattened, packed, packed_gradients, stacked

from .pausing import DrawnPauses

_SHARES = (0.5, 0.75, 0.95)
_MAY_BE_NEW = {"__init__", "__getattr__", "__doc__", "__repr__", "extra_repr"}
"""What a subclass of DistributedDataParallel may define anew."""


_LOOKS_AT_STEPS = ("epoch", "late", "exchange", "printing", "wide")
_MAX_NUM_STEPS = 64
_MAX_NUM_PARAMETERS = 10_000
"""Of a training that comes to its own end: what a longer or larger one does is not kept."""


class Log:
    """What the training of this rank did, step by step."""

    def __init__(
        self,
        extent,
        num_steps,
        exchange,
        num_earlier_steps=0,
        drawn_step=None,
        pauses=(),
        places=(),
    ):
        self.extent, self.num_steps, self.exchange = extent, num_steps, exchange
        self.drawn_step, self.places = drawn_step, np.asarray(places)
        """The only one whose images are kept; None for all."""
        self.num_earlier_steps = num_earlier_steps
        """How many steps are still to come before those that are noted."""
        self.pauses = DrawnPauses(pauses)
        self.has_stepped = False
        self.looks_at_steps = extent in _LOOKS_AT_STEPS
        self.networks = []
        self.wrappers = []
        self.inside = None
        """The DistributedDataParallel whose forward is running."""
        self.is_backward = False
        self.read = []
        self.index_of = {}
        self.network = self.start = None
        self.pending = self.current = None
        """The batch whose step is still to come; the batch whose gradients are there."""
        self.steps = []
        self.counts = {"forward": 0, "backward": 0, "step": 0}
        self.old_names = ""
        self.is_over = False
        """The loader of the training has given its last batch, and no other one followed."""
        self.printed = ()
        """What the script has printed so far, in pieces."""

    def note_read(self, index, image):
        """Note that a training example was read, and what its transforms made of it."""
        self.read.append(index)
        if hasattr(image, "numpy"):
            pixels = hash(image.numpy().tobytes())
            known = self.index_of.setdefault(pixels, index)
            self.index_of[pixels] = index if known == index else None  # equal images tell nothing

    def begin_forward(self, weight, images):
        """Note the batch that enters the first convolution of a network."""
        network = next((each for each in self.networks if each.features[0].weight is weight), None)
        if network is None:
            return
        self.counts["forward"] += 1
        self.is_over = False
        self.network = network
        self.pauses.forward(self.counts["step"])
        if self.start is None:
            self.start = self.parameters()
        pixels = images.detach().float().contiguous().numpy().copy()
        self.pending = SimpleNamespace(
            images=pixels,
            examples=self._examples_of(pixels),
            through_ddp=self.inside is not None and _averages(self.inside, network),
            is_synchronous=getattr(self.inside, "require_backward_grad_sync", False),
            in_training=network.training,
            local=None,
            given=[],
            num_of_gradients=0,
            num_reduced=0,
            was_given=False,
            loss=float("nan"),
        )

    def _examples_of(self, pixels):
        """Return the numbers of the images; of images changed since, the numbers read last."""
        count = len(pixels)
        in_order = (self.read[-count:] + [-1] * count)[:count]
        told = [self.index_of.get(hash(image.tobytes())) for image in pixels]
        return [index if each is None else each for each, index in zip(told, in_order, strict=True)]

    def begin_backward(self):
        """Note that backward begins."""
        if self.pending is not None and self.extent == "first batch":
            raise Enough
        if self.pending is not None:
            self.pauses.backward(self.counts["step"], self.network)
        self.is_backward = True

    def end_backward(self, loss):
        """Note the gradients before anything changes them."""
        self.is_backward = False
        self.counts["backward"] += 1
        if self.pending is not None:
            self.current = self.pending
            self.pending.loss = loss
            if self.looks_at_steps:
                self.pending.local = self.gradients()

    def operation(self, name, tensors):
        """Note what is given to an operation of torch.distributed."""
        step = self.pending if self.is_backward else self.current
        if step is None or self.extent not in ("epoch", "late") or self.num_earlier_steps:
            return
        if self.is_backward and step.is_synchronous and name.startswith("all_reduce"):
            step.num_reduced += sum(each.numel() for each in tensors)
        # What comes after the step counts only if nothing came before it.
        is_of_wrapper = self.is_backward and step.through_ddp
        if name == self.exchange and not is_of_wrapper and not step.was_given:
            for tensor in tensors:
                step.given.append(tensor.detach().float().numpy().ravel().copy())
                step.num_of_gradients += self._num_of_gradients(step.given[-1])

    def begin_exchange(self, tensor):
        """End the run at the first gradient, of one parameter or more, that is given away."""
        step, given = self.current, tensor.detach().float().numpy().ravel().copy()
        num_of_gradients = 0 if step is None else self._num_of_gradients(given)
        if step is None or not (num_of_gradients or len(given) >= len(self.start)):
            return
        step.given.append(given)
        step.num_of_gradients += num_of_gradients
        if step is self.pending:
            self.end_step()
        raise Enough

    def _num_of_gradients(self, given):
        """Return how many of these numbers are gradients of parameters in their order, scaled."""
        found = (each.grad for each in self.network.parameters() if each.grad is not None)
        gradients = [each.detach().float().numpy().ravel() for each in found]
        if any(_is_parallel(given, each) for each in gradients):
            return len(given)
        number = 0
        for each in gradients:
            number += len(each) * _is_parallel(given[number : number + len(each)], each)
        return number

    def end_step(self):
        """Note the gradients that the step has used, and the parameters after it."""
        self.counts["step"] += 1
        step, self.pending = self.pending, None
        if step is None:
            return
        self.has_stepped = True
        if self.num_earlier_steps:
            self.num_earlier_steps -= 1
            self.start = None
            return
        self.steps.append(step)
        step.was_given = bool(step.given)
        step.num_chars = sum(map(len, self.printed))
        if self.drawn_step not in (None, len(self.steps) - 1):
            step.images = step.images[:0]
        if not self.looks_at_steps:
            return
        used, parameters = self.gradients(), self.parameters()
        step.local = used if step.local is None else step.local
        if self.extent == "printing" and not self._can_keep(step.local, used, parameters):
            self.looks_at_steps = False
            return
        step.used, step.parameters = used, parameters
        step.is_wrapped = any(_averages(each, self.network) for each in self.wrappers)
        if len(self.steps) == self.num_steps or self.extent == "wide":
            raise Enough

    def _can_keep(self, *vectors):
        """Return whether a step may be among the results: these have to be finite, and not many."""
        is_one_of_few = len(self.steps) <= _MAX_NUM_STEPS
        has_length = {len(self.start)} == set(map(len, vectors))
        is_short = len(self.start) <= _MAX_NUM_PARAMETERS
        return (
            is_one_of_few and has_length and is_short and all(np.isfinite(v).all() for v in vectors)
        )

    def end_batches(self):
        """Note that a loader has no more batches."""
        self.is_over = self.has_stepped and self.pending is None

    def parameters(self):
        """Return all parameters of the network as one vector."""
        return packed(self.network.parameters())

    def gradients(self):
        """Return all its gradients as one vector."""
        return packed_gradients(self.network)

    def results(self):
        """Return the steps of the training as arrays, as far as the case needs them."""
        steps, start = self.steps, np.zeros(0) if self.start is None else self.start
        if self.extent == "first batch" and self.pending is not None:
            steps = [self.pending]
        if self.extent == "exchange":
            steps = steps[:1]
        examples, batch_sizes = flattened(step.examples for step in steps)
        found = {
            "start": start.astype(np.float32),
            "examples": examples,
            "batch_sizes": batch_sizes,
            "counts": np.array(list(self.counts.values()), dtype=np.int64),
        }
        if self.extent not in _LOOKS_AT_STEPS:
            return found
        if self.extent == "wide":
            places = (self.places * len(start)).astype(np.int64)
            for name in ("local", "used"):
                found[name] = stacked([getattr(each, name)[places] for each in steps], len(places))
            return {**found, "start": start[:0]}
        steps = [step for step in steps if hasattr(step, "parameters")]
        images = [step.images for step in steps] or [np.zeros((0, 3, 32, 32))]
        found["images"] = np.concatenate(images).astype(np.float32)
        for name in ("local", "used", "parameters"):
            found[name] = stacked([getattr(step, name) for step in steps], len(start))
        for name in ("through_ddp", "is_wrapped", "in_training", "num_reduced"):
            found[name] = np.array([getattr(step, name) for step in steps], dtype=np.int64)
        given = [[step.num_of_gradients, *_spread(step.given)] for step in steps]
        found["given"] = stacked(given, 2 + len(_SHARES), np.float64)
        return {**found, "old_names": self.old_names, **self.pauses.results()}


def _spread(vectors):
    """Return how many numbers there are, and which sizes these shares of them do not exceed."""
    sizes = np.abs(np.concatenate(vectors)) if vectors else np.zeros(0)
    return [len(sizes), *(np.quantile(sizes, _SHARES) if len(sizes) else [0.0] * len(_SHARES))]


def _is_parallel(one, other):
    if len(one) != len(other):
        return False
    product = float(np.linalg.norm(one)) * float(np.linalg.norm(other))
    return product > 0 and abs(float(one @ other)) > 0.9999 * product


def _averages(wrapper, network):
    """Return whether a wrapper is DistributedDataParallel, with its reducer, over this network."""
    import torch

    reducer = getattr(wrapper, "reducer", None)
    is_genuine = type(reducer) is torch._C._distributed_c10d.Reducer and _is_ddp(wrapper)
    return is_genuine and any(each is network for each in wrapper.modules())


def _is_ddp(wrapper):
    """Return whether this is DistributedDataParallel itself, or adds to it and replaces nothing."""
    import torch

    ddp = torch.nn.parallel.distributed.DistributedDataParallel
    own = set(vars(wrapper)) - {"training"}
    for each in set(type(wrapper).__mro__) - set(ddp.__mro__):
        own |= set(vars(each)) - _MAY_BE_NEW
    return not any(callable(getattr(ddp, name, None)) for name in own)
