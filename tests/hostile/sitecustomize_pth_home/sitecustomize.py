import os

open("/tmp/hostile-marker-sitecustomize", "w").write(str(os.getuid()))
