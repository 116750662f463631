"""What the tests of the sealed door share: attacks, containers with an inspector, invariants."""
