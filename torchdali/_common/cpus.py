# SPDX-License-Identifier: Apache-2.0
"""How many CPUs this process was granted: its affinity mask, quotas of cgroups, its rank."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

__all__ = ["Granted", "granted", "granted_cpus", "limit_cpus"]

_PROC = Path("/proc/self")
_limit: list[int] = []  # of limit_cpus()


@dataclass(frozen=True)
class Granted:
    """What bounds the number of CPUs.

    Attributes:
        mask: CPUs in the affinity mask of the process (taskset, numactl, cpusets).
        machine: CPUs of the machine.
        quota: CPUs that the quotas of its cgroups are worth; None: there is no quota.
        ranks: processes of a job that share the CPUs, 1 if the mask is a part of the machine.
        limit: of limit_cpus(); None: there is none.
    """

    mask: int
    machine: int
    quota: float | None = None
    ranks: int = 1
    limit: int | None = None

    @property
    def count(self) -> int:
        """The number of threads that may compute at the same time, at least 1.

        A quota is rounded to the nearest number: a thread more than the quota has the whole process
        stopped for a part of each period, a thread less leaves up to one CPU unused.
        """
        count = float(self.mask)
        if self.quota is not None:
            count = min(count, self.quota)
        count /= self.ranks
        if self.limit is not None:
            count = min(count, self.limit)
        return max(1, round(count))

    def __str__(self) -> str:
        parts = [f"{self.mask} of {self.machine} in the affinity mask"]
        if self.quota is not None:
            parts.append(f"cgroup quota of {self.quota:.3g}")
        if self.ranks > 1:
            parts.append(f"shared by {self.ranks} ranks")
        if self.limit is not None:
            parts.append(f"limited to {self.limit}")
        return f"{self.count} ({', '.join(parts)})"


def granted(proc: Path = _PROC) -> Granted:
    """Returns what bounds the number of CPUs.

    Args:
        proc: the folder of the process in /proc; tests have their own.
    """
    mask, machine = len(os.sched_getaffinity(0)), os.cpu_count() or 1
    ranks = os.environ.get("LOCAL_WORLD_SIZE", "")  # of torchrun
    shared = mask == machine and ranks.isdecimal()  # otherwise each rank has CPUs of its own
    return Granted(
        mask=mask,
        machine=machine,
        quota=_quota(proc),
        ranks=max(1, int(ranks)) if shared else 1,
        limit=_limit[-1] if _limit else None,
    )


def granted_cpus() -> int:
    """Returns how many threads of this process may compute at the same time, at least 1."""
    return granted().count


def limit_cpus(count: int) -> None:
    """Has granted_cpus() return at most `count`, for a scheduler that bounds nothing itself."""
    _limit[:] = [max(1, count)]


# Files and their contents: the kernel's Documentation/admin-guide/cgroup-v2.rst (cpu.max) and
# Documentation/scheduler/sched-bwc.rst (cpu.cfs_quota_us); proc(5), cgroups(7).


def _quota(proc: Path) -> float | None:
    """Returns the smallest quota of the cgroups of the process and those around them, in CPUs."""
    try:
        groups = (proc / "cgroup").read_text().splitlines()
        mounts = (proc / "mountinfo").read_text().splitlines()
    except OSError:
        return None
    quotas = []
    for line in groups:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not path.startswith("/") or (controllers and "cpu" not in controllers.split(",")):
            continue
        for root, folder in _mounts(mounts, version=1 if controllers else 2):
            quotas += [found for place in _places(path, root, folder) if (found := _read(place))]
    return min(quotas, default=None)


def _mounts(lines: list[str], version: int) -> Iterator[tuple[str, Path]]:
    """Yields the root and the mount point of each mounted hierarchy that may have quotas."""
    for line in lines:
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3:
            continue
        is_wanted = kind[0] == ("cgroup2" if version == 2 else "cgroup")
        if is_wanted and (version == 2 or "cpu" in kind[2].split(",")):
            yield fields[3], Path(fields[4].replace("\\040", " "))


def _places(path: str, root: str, folder: Path) -> Iterator[Path]:
    """Yields the folders of a cgroup and of those around it, as far as they can be seen."""
    inside = PurePosixPath(path)
    if inside.is_relative_to(root):
        inside = PurePosixPath("/") / inside.relative_to(root)
    if ".." in inside.parts:  # outside of the cgroup namespace
        inside = PurePosixPath("/")
    for place in (inside, *inside.parents):
        yield folder / place.relative_to("/")


def _read(folder: Path) -> float | None:
    """Returns the quota of a cgroup, None if it has none."""
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
        try:
            words = " ".join((folder / name).read_text() for name in names).split()
            quota, period = int(words[0]), int(words[1])
        except (OSError, ValueError, IndexError):  # "max": no quota
            continue
        if quota > 0 and period > 0:
            return quota / period
    return None
