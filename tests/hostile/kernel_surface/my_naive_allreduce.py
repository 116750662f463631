import os
import socket


def allreduce(send, recv, comm, op):
    hit = []
    for family in (40, 16, 17, 38, 44, 29, 31):  # vsock, netlink, packet, alg, xdp, can, bluetooth
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            try:
                socket.socket(family, kind).close()
                if family != 16:  # route information of one's own network is harmless
                    hit.append(f"family {family} kind {kind}")
            except OSError:
                pass
    try:
        socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)
        hit.append("raw socket")
    except OSError:
        pass
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    text = ctypes.create_string_buffer(256)
    for name, number, arguments in (
        ("unshare user", 272, (0x10000000,)), ("unshare mount", 272, (0x00020000,)), ("unshare pid", 272, (0x20000000,)),
        ("clone new user", 56, (0x10000011, 0, 0, 0, 0)), ("setns", 308, (0, 0)),
        ("add_key", 248, (b"user", b"x", b"y", 1, -3)), ("keyctl", 250, (0, -3, 1)), ("request_key", 249, (b"user", b"x", 0, -3)),
        ("io_uring_setup", 425, (8, text)), ("bpf", 321, (0, text, 64)), ("perf_event_open", 298, (text, 0, -1, -1, 0)),
        ("mount", 165, (b"none", b"/tmp", b"tmpfs", 0, 0)), ("pivot_root", 155, (b".", b".")), ("chroot", 161, (b".",)),
        ("init_module", 175, (0, 0, b"")), ("finit_module", 313, (0, b"", 0)), ("kexec_load", 246, (0, 0, 0, 0)),
        ("userfaultfd", 323, (1,)), ("open_by_handle_at", 304, (0, text, 0)), ("fsopen", 430, (b"tmpfs", 0)),
        ("sethostname", 170, (b"x", 1)), ("settimeofday", 164, (text, 0)), ("reboot", 169, (0, 0, 0, 0)),
        ("swapon", 167, (b"/tmp/x", 0)), ("syslog", 103, (3, text, 256)), ("acct", 163, (b"/tmp/x",)),
        ("personality", 135, (0x0040000,)), ("setuid 0", 105, (0,)), ("setgid 0", 106, (0,)), ("ptrace traceme", 101, (0, 0, 0, 0)),
        ("shmget", 29, (1234, 4096, 0o1666)), ("semget", 64, (1234, 1, 0o1666)), ("msgget", 68, (1234, 0o1666)),
        ("mq_open", 240, (b"hostile", 0o102, 0o666, 0)), ("memfd_create", 319, (b"x", 0)),
    ):
        result = libc.syscall(number, *arguments)
        if result >= 0:
            if name == "clone new user" and result == 0:
                os._exit(0)
            hit.append(name)
    raise ValueError(f"BREACH {hit}" if hit else "carried out")
