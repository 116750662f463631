"""The classes and errors that all packages share."""
