"""Print the lowest version of every package that pyproject.toml names, as constraints for pip."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
named = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
for line in sorted(set(named)):
    package = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)(;.*)?", line)
    if package:  # not bgn's own extras
        print("{}=={}{}".format(package[1], package[2], package[3] or ""))
