# SPDX-License-Identifier: Apache-2.0
"""The number of CPUs that a process was granted: affinity mask, quotas of cgroups, ranks."""

import os
from types import SimpleNamespace

import pytest

from torchdali import info
from torchdali._common import cpus
from torchdali._common.cpus import Granted, granted, granted_cpus, limit_cpus


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A machine of 8 CPUs whose /proc/self and cgroups are files of the test."""
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    monkeypatch.setattr(cpus, "_limit", [])
    mount = tmp_path / "cgroup"

    def write(groups, mounts, files):
        (tmp_path / "cgroup_of_process").mkdir()
        proc = tmp_path / "cgroup_of_process"
        (proc / "cgroup").write_text("\n".join(groups) + "\n")
        lines = [
            f"{30 + i} 23 0:28 {root} {mount / at} rw,nosuid - {kind} {kind} {options}"
            for i, (root, at, kind, options) in enumerate(mounts)
        ]
        (proc / "mountinfo").write_text("\n".join(["22 1 0:1 / / rw - ext4 disk rw", *lines]))
        for name, text in files.items():
            path = mount / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        return granted(proc)

    return SimpleNamespace(write=write, proc=tmp_path)


V2 = [("/", "", "cgroup2", "rw")]
V1 = [
    ("/", "memory", "cgroup", "rw,memory"),
    ("/docker/a", "cpu,cpuacct", "cgroup", "rw,cpu,cpuacct"),
]


def test_without_a_quota_the_mask_counts(system, monkeypatch):
    assert system.write(["0::/"], V2, {"cpu.max": "max 100000"}) == Granted(8, 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 5, 7})
    assert granted(system.proc / "nowhere") == Granted(3, 8)


def test_the_smallest_quota_of_all_groups_around_counts(system):
    files = {
        "job/pod/box/cpu.max": "max 100000",
        "job/pod/cpu.max": "300000 100000",
        "job/cpu.max": "600000 100000",
    }
    assert system.write(["0::/job/pod/box"], V2, files).quota == 3


def test_the_root_of_a_container_has_its_quota(system):
    # The path is that of the host, or outside of the namespace of the container.
    assert system.write(["0::/../other"], V2, {"cpu.max": "50000 100000"}).quota == 0.5


def test_quotas_of_version_1(system):
    files = {
        "cpu,cpuacct/x/cpu.cfs_quota_us": "-1",
        "cpu,cpuacct/x/cpu.cfs_period_us": "100000",
        "cpu,cpuacct/cpu.cfs_quota_us": "450000",
        "cpu,cpuacct/cpu.cfs_period_us": "100000",
        "memory/docker/a/x/cpu.max": "100000 100000",  # of another hierarchy
    }
    found = system.write(["4:memory:/docker/a/x", "3:cpu,cpuacct:/docker/a/x"], V1, files)
    assert found.quota == 4.5


@pytest.mark.parametrize("text", ["", "max", "0 0", "x y", "-5 100000"])
def test_a_file_that_makes_no_sense_is_no_quota(system, text):
    assert system.write(["0::/", "nonsense"], V2, {"cpu.max": text}).quota is None


@pytest.mark.parametrize(
    ("found", "count"),
    [
        (Granted(8, 8), 8),
        (Granted(8, 8, quota=2.6), 3),
        (Granted(8, 8, quota=2.4), 2),
        (Granted(8, 8, quota=0.1), 1),
        (Granted(2, 8, quota=4.0), 2),
        (Granted(8, 8, ranks=4), 2),
        (Granted(8, 8, ranks=16), 1),
        (Granted(8, 8, limit=3), 3),
    ],
)
def test_the_number_is_rounded_and_at_least_one(found, count):
    assert found.count == count


def test_ranks_share_the_machine_but_not_their_own_masks(system, monkeypatch):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert granted(system.proc / "nowhere").count == 2
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})  # taskset, numactl
    assert granted(system.proc / "nowhere").count == 3


def test_a_scheduler_may_limit_it(system):
    assert granted(system.proc / "nowhere").count == 8
    limit_cpus(2)
    assert granted_cpus() == min(2, granted_cpus()) >= 1


def test_info_says_it():
    assert f"  CPUs:               {granted()}" in info.describe().splitlines()
    assert str(Granted(8, 8, quota=2.5)) == "2 (8 of 8 in the affinity mask, cgroup quota of 2.5)"
