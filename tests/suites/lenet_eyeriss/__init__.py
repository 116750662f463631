"""The suites of lenet_eyeriss: all-reduce of a network's gradients, and a row-stationary array."""
