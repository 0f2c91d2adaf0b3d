# SPDX-License-Identifier: Apache-2.0
"""Prints requirements in pyproject.toml, one per line: of extras, or those of the package itself.

``requirements.py package test lint`` prints all for this version of Python. ``--missing``
prints those that are not installed in the required version, ``--absent`` those that are not
installed in any version. Runs on a bare Python >= 3.10 with pip.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def first_import(*names: str) -> Any:
    """Returns the first module that can be imported; pip and setuptools vendor copies of some."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise SystemExit(f"requirements.py: none of {', '.join(names)} can be imported; install pip")


def installed_version(name: str) -> str | None:
    """Returns the version of an installed distribution, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extras", nargs="*", help='such as lint; "package": the package itself')
    parser.add_argument("--also", action="append", default=[], help="additional requirement")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--missing", action="store_true")
    choice.add_argument("--absent", action="store_true")
    options = parser.parse_args()

    toml = first_import("tomllib", "tomli", "pip._vendor.tomli", "setuptools._vendor.tomli")
    packaging = first_import(
        "packaging.requirements",
        "pip._vendor.packaging.requirements",
        "setuptools._vendor.packaging.requirements",
    )
    project = toml.loads(PYPROJECT.read_text())["project"]
    groups = {"package": project["dependencies"], **project["optional-dependencies"]}
    wanted = [text for extra in options.extras for text in groups[extra]]
    for text in dict.fromkeys([*wanted, *filter(None, options.also)]):
        requirement = packaging.Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        version = installed_version(requirement.name)
        # The system's ninja is as good as PyPI's.
        if version is None and requirement.name == "ninja" and shutil.which("ninja"):
            continue
        satisfied = version is not None and requirement.specifier.contains(version, True)
        if (options.absent and version is not None) or (options.missing and satisfied):
            continue
        print(text.partition(";")[0].strip())


if __name__ == "__main__":
    main()
