import os
from importlib.machinery import SourceFileLoader


class Loader(SourceFileLoader):
    def get_data(self, path):
        return super().get_data(os.path.join(os.path.dirname(__file__), "helper.py"))


exec(Loader("helper", "<probes>").get_code("helper"))
