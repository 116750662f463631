"""What a container of ours may not do."""

from typing import Any

import docker.types

from grader.sealed.container.plan import ContainerLimits


def hardening(limits: ContainerLimits) -> dict[str, Any]:
    """Return the host configuration of a container: everything off that grading does not need."""
    # Where several grade side by side, each has processors of its own.
    pinned = {"cpuset_cpus": limits.cpus} if limits.cpus else {}
    return {
        **pinned,
        # It goes when it ends, whatever has become of the client.
        "auto_remove": True,
        # Without an init, processes that a student leaves behind pile up as zombies.
        "init": True,
        "network_mode": "none",
        # MPI needs /dev/shm, and no other container's.
        "ipc_mode": "private",
        "read_only": True,
        # Small, and nothing in them is a program; /judge is for root alone.
        "tmpfs": {
            "/tmp": "rw,nosuid,nodev,noexec,size=64m,nr_inodes=4096,mode=1777",  # noqa: S108
            "/judge": "rw,nosuid,nodev,noexec,size=16m,mode=0700",
        },
        "shm_size": limits.shared_memory_num_bytes,
        "cap_drop": ["ALL"],
        # To become the user of a run, and to end what that user left.
        "cap_add": ["SETUID", "SETGID", "KILL"],
        # No program gives rights back, such as one with a set-user-id bit.
        "security_opt": ["no-new-privileges"],
        # A port keeps nothing of a connection that has ended: the next run could read it there.
        "sysctls": {"net.ipv4.tcp_max_tw_buckets": "0"},
        "pids_limit": limits.num_processes,
        # Equal, so that nothing is swapped. There is no limit on processors: the kernel shares them
        # out fairly between containers, while a quota, once used up, stops all ranks at once.
        "mem_limit": limits.memory_num_bytes,
        "memswap_limit": limits.memory_num_bytes,
        "ulimits": [
            docker.types.Ulimit(name="core", soft=0, hard=0),
            docker.types.Ulimit(name="nofile", soft=1024, hard=1024),
            # Counted over the whole machine: the cap is pids_limit.
            docker.types.Ulimit(name="nproc", soft=4096, hard=4096),
        ],
        # What a submission prints is not to fill this machine's disk.
        "log_config": docker.types.LogConfig(type="none"),
    }
