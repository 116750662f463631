"""Lists what lies in a folder, a zip or a tar; each file is read only when it is asked for."""
