# SPDX-License-Identifier: Apache-2.0
"""A program on a cluster of Ray with two and more nodes on this machine.

It prints a JSON document: for each check the traceback of its failure, or null. All checks use one
cluster, because starting it takes longer than they do.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
import ray
from ray._raylet import DASHBOARD_AGENT_LISTEN_PORT_NAME, persist_port
from ray.cluster_utils import Cluster
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from tests.ray.local_ray import decode, table_of_numbers
from torchdali.ray import RayLoader, SharedDataset, TorchDaliMapper
from torchdali.ray._stage import assigned_cpus

ROWS = 240
PORTS = ("runtime_env_agent_port", "metrics_agent_port", "metrics_export_port")


def start(make: Callable[..., Any]) -> Any:
    """Starts a node without waiting for its agents, which do nothing here.

    On a busy machine they take longer than the 15 seconds after which a node gives up. So their
    ports are chosen here, and one is written where they would write it.
    """
    services = ray._private.services
    original = services.start_raylet

    def start_raylet(*arguments: Any, **options: Any) -> Any:
        node_id, session_folder = arguments[2], arguments[11]
        persist_port(session_folder, node_id, DASHBOARD_AGENT_LISTEN_PORT_NAME, -1)
        return original(*arguments, **options)

    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in PORTS]
        for one in sockets:
            one.bind(("", 0))
        ports = [one.getsockname()[1] for one in sockets]
    with mock.patch.object(services, "start_raylet", start_raylet):
        return make(
            num_cpus=3, object_store_memory=80 << 20, **dict(zip(PORTS, ports, strict=True))
        )


def numbered(blocks: int = 8, wait: float = 0) -> Any:
    """Returns a dataset of ROWS images, whose blocks are made by tasks."""

    def with_images(table: pa.Table) -> pa.Table:
        time.sleep(wait)
        return table_of_numbers(table["id"].to_pylist())

    rows = ray.data.range(ROWS, override_num_blocks=blocks)
    return rows.map_batches(with_images, batch_format="pyarrow", batch_size=None)


@ray.remote(num_cpus=0)
class Rank:
    """A process that trains."""

    def make(self, data: Any, state: Any = None, **options: Any) -> int:
        self.loader = RayLoader(data, decode, **{"batch_size": 7, **options})
        if state is not None:
            self.loader.load_state_dict(state)
        self.batches: Any = iter(())
        return os.getpid()

    def epoch(self) -> None:
        self.batches = iter(self.loader)

    def steps(self, count: int = 1000) -> tuple[list[int], dict[str, Any]]:
        """Takes batches; returns their numbers, and the state."""
        return self.numbers(count), self.loader.state_dict()

    def numbers(self, count: int = 1000) -> list[int]:
        """Takes batches; returns their numbers."""
        found: list[int] = []
        for batch in itertools.islice(self.batches, count):
            assert batch["image"][:, 0, 0, 0].tolist() == batch["number"].tolist()
            found += batch["number"].tolist()
        return found


def ranks_on(nodes: list[str], data: Any, state: Any = None, **options: Any) -> list[Any]:
    """Starts a rank on each of some nodes."""
    ranks = [
        Rank.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote()
        for node in nodes
    ]
    every = {"world_size": len(ranks), "shards": "exact", **options}
    ray.get([rank.make.remote(data, state, rank=i, **every) for i, rank in enumerate(ranks)])
    return ranks


def steps(ranks: list[Any], count: int = 1000) -> tuple[list[int], Any]:
    """Has ranks take batches; returns the numbers of all, and the state of the last."""
    done = ray.get([rank.steps.remote(count) for rank in ranks])
    return [number for found, _ in done for number in found], done[-1][1]


def begin(ranks: list[Any]) -> None:
    ray.get([rank.epoch.remote() for rank in ranks])


@contextlib.contextmanager
def another_node() -> Iterator[Any]:
    """Adds a node, and removes it in the end."""
    added = start(cluster.add_node)
    cluster.wait_for_nodes()
    try:
        yield added
    finally:
        if added in cluster.list_all_nodes():
            remove(added)


def remove(added: Any) -> None:
    """Removes a node, as if its machine had failed."""
    cluster.remove_node(added, allow_graceful=False)


def check_ranks_on_two_nodes_share_each_epoch() -> None:
    data = SharedDataset(numbered(), lambda dataset, epoch: dataset.random_shuffle(seed=epoch))
    ranks = ranks_on(NODES, data)
    orders = []
    for _ in range(2):
        begin(ranks)
        found, _ = steps(ranks)
        assert Counter(found) == Counter(range(ROWS))
        orders.append(found)
    assert orders[0] != orders[1]


def check_a_state_resumes_on_another_number_of_ranks_in_the_order_of_the_epoch() -> None:
    data = SharedDataset(numbered(), lambda dataset, epoch: dataset.random_shuffle(seed=epoch))
    ranks = ranks_on(NODES, data)
    begin(ranks)
    seen, state = steps(ranks, 5)
    for rank in ranks:
        ray.kill(rank)
    again = SharedDataset(numbered(), lambda dataset, epoch: dataset.random_shuffle(seed=epoch))
    ranks = ranks_on([NODES[0], *NODES], again, state, batch_size=5)
    begin(ranks)
    found, state = steps(ranks)
    assert Counter(seen + found) == Counter(range(ROWS))
    assert state["epoch"] == 1


def check_the_actor_of_a_dataset_can_be_killed() -> None:
    data = SharedDataset(numbered())
    ranks = ranks_on(NODES, data)
    begin(ranks)
    seen, _ = steps(ranks, 4)
    ray.kill(data._actor, no_restart=False)
    found, _ = steps(ranks)
    assert Counter(seen + found) == Counter(range(ROWS))


def check_a_node_that_makes_blocks_can_be_removed() -> None:
    with another_node() as added:
        data = SharedDataset(numbered(16, wait=0.1))
        ranks = ranks_on(NODES, data)
        begin(ranks)
        seen, _ = steps(ranks, 3)
        remove(added)
        found, _ = steps(ranks)
    assert Counter(seen + found) == Counter(range(ROWS))


def check_a_rank_that_is_lost_with_its_node_can_be_replaced() -> None:
    with another_node() as added:
        data = SharedDataset(numbered())
        ranks = ranks_on([NODES[0], added.node_id], data)
        begin(ranks)
        seen, state = steps(ranks, 4)
        remove(added)
        ray.get(ranks[0].steps.remote(1))  # a step that does not end for the other rank
        ranks = ranks_on(NODES, data, state)
        begin(ranks)
        found, _ = steps(ranks)
    assert Counter(seen + found) == Counter(range(ROWS))


def check_shards_of_ray_are_read_as_they_are() -> None:
    shards = numbered().streaming_split(2, equal=False)
    ranks = [Rank.remote() for _ in shards]
    for rank, shard in zip(ranks, shards, strict=True):
        ray.get(rank.make.remote(shard))
    for _ in range(2):
        begin(ranks)
        found = [n for own in ray.get([rank.numbers.remote() for rank in ranks]) for n in own]
        assert Counter(found) == Counter(range(ROWS))
    with pytest.raises(Exception, match="has no state"):
        steps(ranks)


def check_errors_and_ctrl_c_leave_the_loop_whole() -> None:
    def slow(table: pa.Table) -> pa.Table:
        time.sleep(1)
        return table

    loader = RayLoader(numbered(2).map_batches(slow, batch_format="pyarrow"), decode, batch_size=9)
    batches, found, interrupts = iter(loader), [], 0
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3, 0.3)
    try:
        while True:
            try:
                found.append(next(batches))
            except KeyboardInterrupt:
                interrupts += 1
            except StopIteration:
                break
            if interrupts > 3:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert interrupts
    assert [n for batch in found for n in batch["number"].tolist()] == list(range(ROWS))

    def fails(table: pa.Table) -> pa.Table:
        raise ValueError("no such table")

    with pytest.raises(Exception, match="no such table"):
        next(iter(RayLoader(numbered().map_batches(fails), decode, batch_size=4)))


def check_a_mapper_has_the_cpus_of_its_actor_as_threads() -> None:
    assert assigned_cpus() is None
    found = ray.get([ray.remote(num_cpus=n)(assigned_cpus).remote() for n in (0.5, 1, 2)])
    assert found == [1, 1, 2]


class DiesOnce(TorchDaliMapper):
    """Its process ends in the middle, if no other one has before."""

    def __init__(self, folder: str) -> None:
        super().__init__(decode)
        self.folder, self.calls = Path(folder), 0

    def __call__(self, batch: Any) -> Any:
        self.calls += 1
        if self.calls == 2:
            with contextlib.suppress(FileExistsError):
                (self.folder / "died").mkdir()
                os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(batch)


def check_an_actor_of_map_batches_can_be_killed_and_its_node_removed() -> None:
    def numbers_of(dataset: Any, after: Callable[[], Any] = lambda: None) -> list[int]:
        found = []
        for index, batch in enumerate(dataset.iter_batches(batch_size=20)):
            assert batch["image"].shape[1:] == (4, 4, 3)
            assert batch["image"][:, 0, 0, 0].tolist() == batch["number"].tolist()
            found += batch["number"].tolist()
            if index == 1:
                after()
        return found

    options = {"batch_format": "pyarrow", "batch_size": 8, "concurrency": 2, "num_cpus": 1}
    with tempfile.TemporaryDirectory() as folder:
        mapped = numbered().map_batches(DiesOnce, fn_constructor_args=[folder], **options)
        assert Counter(numbers_of(mapped)) == Counter(range(ROWS))
        assert (Path(folder) / "died").exists()
    with another_node() as added:
        options["concurrency"] = 6
        mapped = numbered(16, wait=0.1).map_batches(
            TorchDaliMapper, fn_constructor_args=[decode], **options
        )
        assert Counter(numbers_of(mapped, lambda: remove(added))) == Counter(range(ROWS))


def check_rows_that_fail_in_a_fleet_are_left_out() -> None:
    def break_some(table: pa.Table) -> pa.Table:
        numbers = table["number"].to_pylist()
        return table_of_numbers(numbers, broken=[n for n in numbers if n % 10 == 3 or n < 20])

    options = {"batch_format": "pyarrow", "batch_size": 16, "num_cpus": 1, "concurrency": 2}
    broken = numbered().map_batches(break_some, batch_format="pyarrow")
    mapped = broken.map_batches(
        TorchDaliMapper, fn_constructor_args=[decode], fn_constructor_kwargs={"on_error": "skip"},
        **options,
    )  # fmt: skip
    rows = mapped.take_all()
    assert all(int(row["image"][0, 0, 0]) == row["number"] for row in rows)
    assert Counter(row["number"] for row in rows) == Counter(
        n for n in range(20, ROWS) if n % 10 != 3
    )
    with pytest.raises(Exception, match=r"images/\d+\.ppm"):
        broken.map_batches(TorchDaliMapper, fn_constructor_args=[decode], **options).take_all()


if __name__ == "__main__":
    selected = sys.argv[1:]
    os.environ["RAY_worker_register_timeout_seconds"] = "300"  # noqa: SIM112 (a name of Ray)
    cluster = start(
        lambda **node: Cluster(True, head_node_args={**node, "include_dashboard": False})
    )
    start(cluster.add_node)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    ray.data.DataContext.get_current().enable_progress_bars = False
    NODES = [node["NodeID"] for node in ray.nodes()]
    results: dict[str, str | None] = {}
    for name, check in list(globals().items()):
        if not name.startswith("check_") or (selected and name not in selected):
            continue
        began = time.monotonic()
        try:
            check()
            results[name] = None
        except Exception:
            results[name] = traceback.format_exc()
        print(f"{name}: {time.monotonic() - began:.0f} s {results[name] or ''}", file=sys.stderr)
    ray.shutdown()
    cluster.shutdown()
    print(json.dumps(results))
