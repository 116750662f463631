"""Lists the files of a folder, a zip, or a tar, and reads each only when it is needed."""
