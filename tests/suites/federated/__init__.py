"""The suites of federated: four ways to train one network, and what each transmits."""
