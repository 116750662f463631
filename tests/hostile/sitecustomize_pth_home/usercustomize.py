import os

open("/tmp/hostile-marker-usercustomize", "w").write(str(os.getuid()))
