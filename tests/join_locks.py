"""Joins the locks of `make lock` into one: `join_locks.py GRADING class=FILE dev=FILE`.

pip ignores a package with the marker `extra == 'class'` until the Makefile replaces the marker.
"""

import re
import sys
from pathlib import Path

_ENTRY = re.compile(r"^[\w.-]+==.*\n(?:[ #].*\n)*", re.MULTILINE)
_NAME_AND_MARKER = re.compile(r"(\S+)(?: ; (.*?))?( \\)?\n")


def joined(grading, extras):
    """Return the lock of what grades, and for each extra what no lock before it has.

    grading: the text of a lock; extras: the texts of further ones by their name.
    Raises ValueError for a package that an extra locks otherwise.
    """
    locked = dict(map(_name_and_pin, _ENTRY.findall(grading)))
    parts = [grading]
    for extra, lock in extras.items():
        for entry in _ENTRY.findall(lock):
            name, pin = _name_and_pin(entry)
            if name not in locked:
                parts.append(_for_extra(entry, extra))
            elif locked[name] != pin:
                raise ValueError(f"{extra} locks {pin}, and a lock before it {locked[name]}")
            locked[name] = pin
    return "".join(parts)


def _name_and_pin(entry):
    pin = entry.partition("\n")[0].removesuffix(" \\")
    return pin.partition("==")[0], pin


def _for_extra(entry, extra):
    pin, marker, hashes_follow = _NAME_AND_MARKER.match(entry).groups()
    first = f"{pin} ; extra == '{extra}'"
    first += f" and ({marker})" if marker else ""
    return first + (hashes_follow or "") + "\n" + entry.partition("\n")[2]


if __name__ == "__main__":
    named = (argument.partition("=")[::2] for argument in sys.argv[2:])
    locks = {extra: Path(file).read_text() for extra, file in named}
    sys.stdout.write(joined(Path(sys.argv[1]).read_text(), locks))
