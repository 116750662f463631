"""What the tests of sealed grading share: attacks, containers with an inspector, invariants."""
