# SPDX-License-Identifier: Apache-2.0
"""Digests of what a broad set of pipelines gives, to show that a change keeps every byte.

    python tools/digests.py > before.json          # with the old checkout
    python tools/digests.py --compare before.json  # with the new one

It covers the scenes of digest_scenes.py and digest_loops.py and the CASES of tests/ops, each with
several numbers of threads, with and without fusion, with the baseline instruction set and on the
emulated GPU. Only public names are used, so that one version of this tool can look at two checkouts
(``--tree``), and at both with the same cases (``--tests``).

Digests depend on the versions of torch, Pillow and libjpeg, and may depend on the CPU, because
torch's and the C library's functions pick their code by instruction set. The head of the JSON says
what they were made with. Compare only digests of one machine.
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@dataclasses.dataclass(frozen=True)
class Variant:
    """How the scenes are run."""

    threads: int
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    gpu: bool = False


UNFUSED = {"TORCHDALI_FUSION": "0"}
EMULATED = {"TORCHDALI_EMULATE_GPU": "1"}
VARIANTS = {
    "threads1": Variant(1),
    "threads4": Variant(4),
    "unfused": Variant(4, UNFUSED),
    "baseline_isa": Variant(4, {"TORCHDALI_ISA": "baseline"}),
    "libjpeg": Variant(4, {"TORCHDALI_JPEG_DECODER": "libjpeg-turbo"}),
    "gpu": Variant(4, EMULATED, gpu=True),
    "gpu_unfused": Variant(1, EMULATED | UNFUSED, gpu=True),
}


def absorb(state: Any, value: Any) -> None:
    """Adds a structure of tensors, arrays and plain values to a hash."""
    import numpy as np
    import torch

    if isinstance(value, torch.Tensor):
        state.update(f"tensor {tuple(value.shape)} {value.dtype}".encode())
        flat = value.detach().cpu().contiguous().reshape(-1)
        state.update(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"")
    elif isinstance(value, np.ndarray):
        state.update(f"array {value.shape} {value.dtype}".encode())
        state.update(value.tobytes())
    elif isinstance(value, bytes):
        state.update(value)
    elif isinstance(value, dict):
        for key, one in value.items():
            state.update(f"key {key}".encode())
            absorb(state, one)
    elif isinstance(value, list | tuple):
        state.update(f"sequence {len(value)}".encode())
        for one in value:
            absorb(state, one)
    elif isinstance(value, str | int | float | bool | None):
        state.update(repr(value).encode())
    else:
        raise TypeError(f"no digest of {type(value)}")


def digest(value: Any) -> str:
    """Returns a digest of a structure of tensors and plain values."""
    state = hashlib.sha256()
    absorb(state, value)
    return state.hexdigest()


def scene_digests(setting: Any, pattern: str) -> Iterator[tuple[str, str]]:
    """Yields name and digest of each part of the scenes; of a failed scene, the error's class."""
    import digest_loops  # noqa: F401
    from digest_scenes import SCENES

    for name, scene in SCENES.items():
        if not fnmatch.fnmatch(name, pattern):
            continue
        try:
            for part, value in scene(setting):
                yield f"{name}/{part}", digest(value)
        except Exception as error:
            print(f"digests: {name}: {type(error).__name__}: {error}", file=sys.stderr)
            yield f"{name}/error", type(error).__name__


def operator_digests(setting: Any, tests: Path, pattern: str) -> Iterator[tuple[str, str]]:
    """Yields name and digest of each case of tests/ops."""
    sys.path[:0] = [str(tests)]
    from helpers.case_files import all_cases
    from helpers.ops import run_case

    seen: dict[str, int] = {}
    device = "gpu" if setting.gpu else "cpu"
    for case in all_cases():
        name = f"operators/{case}"
        seen[name] = seen.get(name, 0) + 1
        name += f"#{seen[name]}" if seen[name] > 1 else ""
        if not fnmatch.fnmatch(name, pattern):
            continue
        try:
            run = run_case(case, device=device, num_threads=setting.threads)
            yield name, digest([run.layouts, run.samples()])
        except Exception as error:  # for example, there is no GPU operator
            yield name, type(error).__name__


def run_variant(options: argparse.Namespace) -> None:
    """Prints the digests of one variant as JSON."""
    import digest_data
    from digest_scenes import Setting

    warnings.simplefilter("ignore")
    variant = VARIANTS[options.variant]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # fn.dump_image writes here
        root = os.environ.get("TORCHDALI_DATA")
        real = Path(root, "imagenet-500") if root else None
        images = digest_data.write_images(Path(folder, "images"))
        setting = Setting(images, real, variant.threads, variant.gpu)
        digests = dict(scene_digests(setting, options.only))
        digests |= operator_digests(setting, options.tests, options.only)
        os.chdir("/")
    json.dump(digests, sys.stdout)


def header(python: str, environment: dict[str, str]) -> dict[str, Any]:
    """Returns what digests depend on, and the instruction set of the machine."""
    code = (
        "import json, torch, PIL, numpy, torchdali.info as i; print(json.dumps(dict("
        "torch=torch.__version__, pillow=PIL.__version__, numpy=numpy.__version__,"
        "torch_cpu=torch.backends.cpu.get_cpu_capability())))"
    )
    found = subprocess.check_output([python, "-c", code], env=environment, text=True)
    return {**json.loads(found), "python": platform.python_version(), "machine": platform.machine()}


def collect(options: argparse.Namespace) -> dict[str, Any]:
    """Runs every variant in a process of its own; returns head and digests."""
    environment = {**os.environ, "PYTHONPATH": str(options.tree), "PYTHONHASHSEED": "0"}
    command = [options.python, str(Path(__file__).resolve())]
    command += ["--tests", str(options.tests), "--only", options.only]
    result: dict[str, Any] = {"made_with": header(options.python, environment)}
    digests: dict[str, str] = {}
    for name in options.variants:
        start = time.monotonic()
        printed = subprocess.check_output(
            [*command, "--variant", name],
            env=environment | VARIANTS[name].environment,
            cwd=options.tree,
            text=True,
        )
        found = json.loads(printed.splitlines()[-1])
        digests |= {f"{name}/{part}": value for part, value in found.items()}
        seconds = time.monotonic() - start
        print(f"digests: {name}: {len(found)} in {seconds:.0f} s", file=sys.stderr)
    return {**result, "digests": digests}


def chosen(digests: dict[str, str], options: argparse.Namespace) -> dict[str, str]:
    """Returns the digests of the variants and names that the options choose."""
    result = {}
    for key, value in digests.items():
        variant, name = key.split("/", 1)
        name = name if name.startswith("operators/") else name.split("/")[0]
        if variant in options.variants and fnmatch.fnmatch(name, options.only):
            result[key] = value
    return result


def compare(before: dict[str, Any], after: dict[str, Any], options: argparse.Namespace) -> int:
    """Prints what differs; returns the exit status."""
    old, new = chosen(before["digests"], options), after["digests"]
    different = sorted(k for k in old.keys() & new.keys() if old[k] != new[k])
    print(f"{len(old.keys() & new.keys())} digests compared, {len(different)} differ")
    for title, names in {
        "differ": different,
        "are missing now": sorted(old.keys() - new.keys()),
        "are new": sorted(new.keys() - old.keys()),
    }.items():
        if names:
            print(f"{len(names)} {title}:", *names[:50], sep="\n  ")
    if before["made_with"] != after["made_with"]:
        print(f"made with other versions: {before['made_with']} and {after['made_with']}")
    return 1 if different else 0


def main() -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compare", type=Path, metavar="JSON", help="compare with these digests")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout to run")
    parser.add_argument("--tests", type=Path, help="its tests/; another's: the cases of operators")
    parser.add_argument("--python", help="default: that of the checkout's .venv")
    parser.add_argument("--only", default="*", help="a pattern for names of scenes and cases")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--variant", choices=VARIANTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.tree = options.tree.resolve()
    options.tests = (options.tests or options.tree / "tests").resolve()
    if options.variant:
        run_variant(options)
        return 0
    own = options.tree / ".venv" / "bin" / "python"
    options.python = options.python or (str(own) if own.exists() else sys.executable)
    result = collect(options)
    if options.compare:
        return compare(json.loads(options.compare.read_text()), result, options)
    json.dump(result, sys.stdout, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
