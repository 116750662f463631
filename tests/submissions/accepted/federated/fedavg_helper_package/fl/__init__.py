"""My federated learning code."""
