from .loading import datasets_for, node_loader
