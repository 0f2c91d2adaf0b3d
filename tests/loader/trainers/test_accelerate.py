# SPDX-License-Identifier: Apache-2.0
"""Accelerate's prepare() of loaders with pipelines, with the real package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from helpers import programs
from numbered_images import Images, prepare, train
from numbered_images import Model as Classifier

import torchdali
from torchdali.errors import ArgumentError, TorchdaliError

accelerate = pytest.importorskip("accelerate")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("keep_random_state"),
    pytest.mark.filterwarnings("ignore"),
]
WORKERS = [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}]


@pytest.fixture
def accelerator(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    made = accelerate.Accelerator(cpu=True)
    yield made
    made.free_memory()
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    accelerate.state.GradientState._reset_state()


def loader_of(**options):
    return torchdali.DataLoader(Images(), **{"batch_size": 4, "pipeline": prepare, **options})


def check(batches, numbers, size=4):
    """Checks that batches are whole, and of the images with these numbers."""
    found = []
    for batch in batches:
        assert batch["pixel_values"].shape[1:] == (1, 4, 4)
        assert torch.equal(batch["pixel_values"][:, 0, 0, 0].long(), batch["labels"])
        assert batch["name"] == [f"n{number}" for number in batch["labels"].tolist()]
        found.append(batch["labels"].tolist())
    assert found == [numbers[i : i + size] for i in range(0, len(numbers), size)]
    return found


@pytest.mark.parametrize("options", WORKERS, ids=str)
def test_a_prepared_loader_returns_what_the_pipeline_makes(accelerator, options):
    prepared = accelerator.prepare(loader_of(**options))
    assert len(prepared) == 6
    for _ in range(2):
        ends = []
        batches = []
        for batch in prepared:
            batches.append(batch)
            ends.append(accelerator.gradient_state.end_of_dataloader)
        check(batches, list(range(22)))
        assert ends == [False] * 5 + [True]
    check(accelerator.skip_first_batches(prepared, 2), list(range(8, 22)))
    for _ in prepared:  # is left
        break
    check(prepared, list(range(22)))


def test_random_values_follow_from_the_order_of_batches(accelerator):
    """Also where batches are begun before they are asked for, and others are asked for instead."""
    torch.manual_seed(4)
    found = []
    for options in WORKERS:
        prepared = accelerator.prepare(loader_of(**options))
        values = [batch["random"].tolist() for batch in prepared]
        for number, batch in enumerate(prepared):
            values.append(batch["random"].tolist())
            if number == 1:
                break
        values += [batch["random"].tolist() for batch in prepared]
        found.append(values)
    assert found[1] == found[2] == found[0]
    flat = [value for values in found[0] for value in values]
    assert len(set(flat)) == len(flat)


def test_a_given_seed_is_used(accelerator):
    def first(seed):
        prepared = accelerator.prepare(loader_of(pipeline_options={"seed": seed}))
        return next(iter(prepared))["random"].tolist()

    assert first(1) == first(1)
    assert first(1) != first(2)


def test_loops_that_move_nothing_get_the_same(accelerator):
    prepared = accelerator.prepare_data_loader(loader_of(), device_placement=False)
    check(prepared, list(range(22)))
    batch = next(iter(prepared))
    assert set({**batch}) == {"pixel_values", "labels", "name", "random"}
    assert len(batch) == 4


@pytest.mark.parametrize("num_workers", [0, 2])
def test_an_error_of_the_pipeline_is_raised(accelerator, num_workers):
    def fails(pixel_values, labels, name):
        return torchdali.fn.decoders.image(labels)

    prepared = accelerator.prepare(loader_of(pipeline=fails, num_workers=num_workers))
    with pytest.raises(TorchdaliError, match=r"(?s)decoders\.image.*fails"):
        next(iter(prepared))


@pytest.mark.parametrize("options", [{"on_error": "skip"}, {"on_error": "replace"}], ids=str)
def test_options_that_accelerate_loses_are_errors(accelerator, options):
    prepared = accelerator.prepare(loader_of(**options))
    with pytest.raises(ArgumentError, match="lost `on_error`"):
        next(iter(prepared))


def test_a_training_loop_with_accumulation_learns(accelerator):
    torch.manual_seed(0)
    accelerator.gradient_accumulation_steps = 4
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    loader = loader_of(pipeline=train, shuffle=True, num_workers=2)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    losses, steps = [], 0
    for _ in range(12):
        for batch in loader:
            with accelerator.accumulate(model):
                loss = model(**batch)["loss"]
                accelerator.backward(loss)
                steps += accelerator.sync_gradients
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.item())
    assert steps == 12 * 2  # six batches: after four, and at the end
    assert sum(losses[-6:]) < sum(losses[:6])


def test_two_processes_share_the_samples(tmp_path):
    root = tmp_path / "files"
    for number in range(10):
        (root / f"{number}").mkdir(parents=True)
        (root / f"{number}" / "a.jpg").write_bytes(b"x")
    here = Path(__file__).parent
    path = f"{here.parents[2]}:{here}:{Path(accelerate.__file__).parents[1]}"
    done = programs.run_ranks(
        2, here / "accelerate_worker.py", str(root), env={"PYTHONPATH": path}, preload=["torch"]
    )
    assert done.returncode == 0, done.stderr[-4000:]
    ranks = [json.loads((tmp_path / f"files.{rank}.json").read_text()) for rank in range(2)]
    for name in ("shuffled", "workers"):
        labels = [[n for batch in rank[name] for n in batch["labels"]] for rank in ranks]
        assert [len(own) for own in labels] == [12, 12]  # even batches: two samples come again
        assert sorted(set(labels[0] + labels[1])) == list(range(22))
        for rank in ranks:
            assert all(batch["pixels"] == batch["labels"] for batch in rank[name])
        values = [v for rank in ranks for batch in rank[name] for v in batch["random"]]
        assert len(set(values)) == len(values)
        assert sorted(ranks[0][f"{name} gathered"]) == list(range(22))
    assert ranks[0]["shuffled"][0]["labels"] != [0, 1, 2, 3]
    # The loader itself divides readers among the ranks; prepare() does not change it.
    parts = [[n for batch in rank["pipelines"] for n in batch] for rank in ranks]
    assert sorted(parts[0] + parts[1]) == list(range(10))
    parts = [[n for batch in rank["stream"] for n in batch] for rank in ranks]
    assert [len(part) for part in parts] == [12, 12]
    assert sorted(set(parts[0] + parts[1])) == list(range(22))
