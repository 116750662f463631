import marshal
import os

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "helper.py")) as file:
    compiled = marshal.dumps(compile(file.read(), "<PROBES>", "exec"))
exec(marshal.loads(compiled.replace(b"<PROBES>", b"<probes>")))
