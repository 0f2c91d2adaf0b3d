# SPDX-License-Identifier: Apache-2.0
"""torchdali.lightning: DataModule under Lightning's Trainer."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from collections import Counter
from typing import Any, NamedTuple

import pytest
import torch

pytest.importorskip("lightning")

from helpers.bad_files import decoded, write_files
from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.utilities import CombinedLoader
from torch.utils.data import BatchSampler, Sampler

from tests.lightning.modules import Numbers, Recorder
from tests.loader.pipeline.numbered_files import labels, numbers, write_numbers
from torchdali import DataLoader, PipelineLoader, fn, pipeline_def
from torchdali.lightning import DataModule

SIZE = 24
ORDER = {"shuffle": True, "seed": 3}  # of training; seeds are drawn otherwise
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("keep_random_state"),  # loaders draw seeds
]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return write_numbers(tmp_path_factory.mktemp("numbers"), SIZE)


@pytest.fixture(autouse=True)
def _models_start_anywhere():
    """Restores torch's global generator, which layers draw their weights from."""
    with torch.random.fork_rng(devices=[]):
        yield


def trainer_of(tmp_path, **options):
    options = {"max_epochs": 2, "enable_checkpointing": False, **options}
    return Trainer(
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
        **options,
    )


def data_of(root, **options):
    options = {"train": numbers, "val": numbers, **options}
    options.setdefault("stages", {"train": {"loader_args": ORDER}})
    return DataModule(batch_size=4, pipeline_args={"root": root}, **options)


def expected(root, epochs):
    loader = PipelineLoader(numbers, pipeline_args={"root": root}, **ORDER)
    return [labels(loader) for _ in range(epochs)]


def test_each_epoch_has_its_own_order_and_every_sample_once(root, tmp_path):
    model = Recorder()
    trainer_of(tmp_path, num_sanity_val_steps=2).fit(model, data_of(root))
    assert [model.of_epoch(epoch) for epoch in range(2)] == expected(root, 2)
    sanity, *validation = (model.of_epoch(0, "val"), model.of_epoch(1, "val"))
    assert sanity == [*range(8), *range(SIZE)]
    assert validation == [list(range(SIZE))]


def test_test_and_predict_use_their_loaders(root, tmp_path):
    data = data_of(root, train=None, val=None, test=numbers, predict=numbers, stages={})
    trainer, model = trainer_of(tmp_path), Recorder()
    trainer.test(model, data, verbose=False)
    assert model.of_epoch(0, "test") == list(range(SIZE))
    found = trainer.predict(model, data)
    assert torch.cat(found).tolist() == list(range(SIZE))


def test_absent_stages_have_no_loader(root, tmp_path):
    trainer_of(tmp_path).fit(Recorder(), data_of(root, val=None))
    with pytest.raises(Exception, match="test_dataloader"):
        trainer_of(tmp_path).test(Recorder(), data_of(root), verbose=False)


@pytest.mark.parametrize(
    "options",
    [
        {"limit_train_batches": 2},
        {"limit_train_batches": 0.5, "limit_val_batches": 1},
        {"val_check_interval": 2},
        {"val_check_interval": 0.5, "num_sanity_val_steps": 0},
        {"reload_dataloaders_every_n_epochs": 1},
        {"overfit_batches": 2},
    ],
    ids=str,
)
def test_the_loader_works_with_options_of_the_trainer(root, tmp_path, options):
    model = Recorder()
    trainer_of(tmp_path, **options).fit(model, data_of(root))
    orders = expected(root, 2)
    if "overfit_batches" in options:
        orders = [list(range(8))] * 2
    limit = options.get("limit_train_batches", 6)
    count = limit * 4 if isinstance(limit, int) else SIZE // 2
    assert [model.of_epoch(epoch) for epoch in range(2)] == [order[:count] for order in orders]
    if "val_check_interval" in options:
        times = 3 if options["val_check_interval"] == 2 else 2
        assert Counter(model.of_epoch(1, "val")) == Counter(list(range(SIZE)) * times)


class StopAt(Callback):
    """Saves a checkpoint after a step, and ends the run like a crash."""

    def __init__(self, step: int, path: Any) -> None:
        self.step, self.path = step, path

    def on_train_batch_end(self, trainer, *_args: Any) -> None:
        if trainer.global_step == self.step:
            trainer.save_checkpoint(self.path)
            raise KeyboardInterrupt


@pytest.mark.parametrize("step", [1, 5, 6, 7, 10])
def test_a_run_resumes_in_the_middle_of_an_epoch(root, tmp_path, step):
    path = tmp_path / "last.ckpt"
    first, second = Recorder(), Recorder()
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        trainer_of(tmp_path, max_epochs=3, callbacks=[StopAt(step, path)]).fit(first, data_of(root))
    trainer = trainer_of(tmp_path, max_epochs=3)
    trainer.fit(second, data_of(root), ckpt_path=path, weights_only=False)
    assert trainer.global_step == 18
    orders = expected(root, 3)
    for epoch in range(3):
        assert first.of_epoch(epoch) + second.of_epoch(epoch) == orders[epoch]


def test_a_run_resumes_after_an_epoch(root, tmp_path):
    first, second = Recorder(), Recorder()
    saves = ModelCheckpoint(tmp_path, save_last=True)
    trainer_of(tmp_path, max_epochs=1, enable_checkpointing=True, callbacks=[saves]).fit(
        first, data_of(root)
    )
    trainer_of(tmp_path).fit(
        second, data_of(root), ckpt_path=tmp_path / "last.ckpt", weights_only=False
    )
    assert not second.of_epoch(0)
    assert second.of_epoch(1) == expected(root, 2)[1]


def test_several_loaders_are_combined(root, tmp_path):
    model = Recorder()
    data = data_of(root, train={"a": numbers, "b": numbers}, val=[numbers, numbers])
    trainer_of(tmp_path, max_epochs=1, num_sanity_val_steps=0).fit(model, data)
    assert model.of_epoch(0) == expected(root, 1)[0]
    assert model.of_epoch(0, "val") == model.of_epoch(0, "val1") == list(range(SIZE))


@pytest.mark.parametrize("mode", ["min_size", "max_size", "max_size_cycle", "sequential"])
def test_combined_loader_of_lightning_works(root, mode):
    loaders = [PipelineLoader(numbers(root)), PipelineLoader(numbers(root, batch_size=8))]
    combined = CombinedLoader(loaders, mode)
    length = {"min_size": 3, "max_size": 6, "max_size_cycle": 6, "sequential": 9}[mode]
    for _ in range(2):
        found = list(combined)
        assert len(found) == len(combined) == length
        assert labels([found[0][0][0] if mode != "sequential" else found[0][0]]) == [0, 1, 2, 3]


def test_a_loader_works_without_a_data_module(root, tmp_path):
    model = Recorder()
    loader = PipelineLoader(numbers, pipeline_args={"root": root}, **ORDER)
    trainer_of(tmp_path, num_sanity_val_steps=0).fit(model, loader, PipelineLoader(numbers(root)))
    assert [model.of_epoch(epoch) for epoch in range(2)] == expected(root, 2)


def test_pipeline_functions_get_the_facts_of_the_trainer(root, tmp_path):
    told = []

    @pipeline_def(batch_size=4, num_threads=1)
    def curious(root, rank, world_size, local_rank, precision, device_id):
        told.append((rank, world_size, local_rank, precision, device_id))
        _, label = fn.readers.file(file_list=str(root / "list.txt"))
        return {"label": label, "noise": fn.random.uniform()}

    data = data_of(root, train=curious, val=None)
    trainer_of(tmp_path, max_epochs=1, precision="bf16-mixed").fit(Recorder(), data)
    assert told == [(0, 1, 0, "bf16-mixed", None)]


class Pair(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: Any
    name: str = "n"


def test_a_batch_on_the_device_is_not_copied(root):
    data = data_of(root)
    x = torch.ones(2)
    batch = {"a": [x, Pair(x, x)], "b": Frozen(x), "c": "text"}
    assert data.transfer_batch_to_device(batch, torch.device("cpu"), 0) is batch
    moved = data.transfer_batch_to_device(batch, torch.device("meta"), 0)
    assert moved["a"][0].device.type == "meta"
    assert isinstance(moved["a"][1], Pair)
    assert moved["b"].x.device.type == "meta"
    assert (moved["b"].name, moved["c"]) == ("n", "text")


def test_a_data_module_can_be_made_from_a_config(root):
    def made(config):
        import importlib

        module, _, name = config["class_path"].rpartition(".")
        return getattr(importlib.import_module(module), name)(**config["init_args"])

    data = made(
        {
            "class_path": "torchdali.lightning.DataModule",
            "init_args": {
                "train": "tests.loader.pipeline.numbered_files.numbers",
                "val": ["tests.loader.pipeline.numbered_files.numbers"],
                "batch_size": 8,
                "pipeline_args": {"root": root},
                "stages": {"val": {"batch_size": 12}},
            },
        }
    )
    assert labels(data.train_dataloader()) == list(range(SIZE))
    assert [len(loader) for loader in data.val_dataloader()] == [2]


def test_datasets_use_the_data_loader(tmp_path):
    model = Recorder()
    config = {"class_path": "tests.lightning.modules.Numbers", "init_args": {"count": SIZE}}
    data = DataModule(config, Numbers(SIZE), batch_size=4)
    trainer_of(tmp_path, num_sanity_val_steps=0).fit(model, data)
    assert sorted(model.of_epoch(0)) == sorted(model.of_epoch(1)) == list(range(SIZE))
    assert model.of_epoch(0) != model.of_epoch(1)
    assert model.of_epoch(0, "val") == list(range(SIZE))


class Backwards(Sampler):
    """The indices of an epoch in descending order; has no set_epoch()."""

    def __iter__(self):
        return reversed(range(SIZE))

    def __len__(self):
        return SIZE


@pytest.mark.parametrize("step", [3, 6, 12])
@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 4, "shuffle": True},
        {"batch_size": 4, "shuffle": True, "num_workers": 2, "workers": "threads"},
        {"batch_size": 4, "sampler": Backwards()},
        {"batch_sampler": BatchSampler(Backwards(), 4, drop_last=False)},
    ],
)
def test_data_loaders_resume_in_the_middle_and_at_the_end_of_an_epoch(tmp_path, step, options):
    path = tmp_path / "last.ckpt"
    first, second = Recorder(), Recorder()

    def loader():
        return DataLoader(Numbers(SIZE), **copy.deepcopy(options))

    with pytest.raises((KeyboardInterrupt, SystemExit)):
        trainer_of(tmp_path, max_epochs=3, callbacks=[StopAt(step, path)]).fit(first, loader())
    trainer = trainer_of(tmp_path, max_epochs=3)
    trainer.fit(second, loader(), ckpt_path=path, weights_only=False)
    assert trainer.global_step == 18
    for epoch in range(3):
        assert sorted(first.of_epoch(epoch) + second.of_epoch(epoch)) == list(range(SIZE))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train": None, "val": None}, "there is no data"),
        ({"train": 3}, "got a int"),
        ({"train": "nowhere.at_all"}, '"nowhere.at_all" cannot be imported'),
        ({"train": "numbers"}, '"numbers" cannot be imported'),
        ({"stages": {"test": {}}}, '`stages` has "test", expected some of train, val'),
        ({"stages": {"val": {"batch": 3}}}, '`stages` has "batch"'),
        ({"train": Numbers(4), "val": None}, "`pipeline_args` are for functions, not for datasets"),
        (
            {"val": Numbers(4), "stages": {"val": {"pipeline_args": {"a": 1}}}},
            "`pipeline_args` of `val` are for functions",
        ),
    ],
)
def test_wrong_arguments_are_errors(root, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        data_of(root, **options)


def test_a_checkpoint_of_other_data_is_an_error(root):
    data = data_of(root, train=[numbers, numbers])
    with warnings.catch_warnings():
        data.load_state_dict({"train": [{}]})
    with pytest.raises(ValueError, match="1 loaders for `train`, there are 2"):
        data.train_dataloader()


def test_samples_that_fail_are_left_out_and_listed(tmp_path):
    paths = write_files(tmp_path / "images", SIZE, {3: "truncated", 9: "missing"})
    data = DataModule(
        decoded, batch_size=4, pipeline_args={"paths": paths}, loader_args={"on_error": "skip"}
    )
    model = Recorder()
    trainer_of(tmp_path, max_epochs=1).fit(model, data)
    assert model.of_epoch(0) == [i for i in range(SIZE) if i not in (3, 9)]
    assert [error.source for error in data.errors] == [paths[3], paths[9]]


class SavesAll(Callback):
    """Saves a checkpoint after each training batch, and after the validation of each epoch."""

    def __init__(self, folder):
        self.folder, self.steps = folder, []

    def save(self, trainer):
        self.steps.append(trainer.global_step)
        trainer.save_checkpoint(self.folder / f"{len(self.steps)}.ckpt")

    def on_train_batch_end(self, trainer, *_):
        self.save(trainer)

    def on_validation_end(self, trainer, _model):
        self.save(trainer)


def test_filled_batches_are_validated_and_resumed(tmp_path):
    bad = (1, 2, 8, 15, 16, 20)
    paths = write_files(tmp_path / "images", SIZE, dict.fromkeys(bad, "text"))

    def data():
        options = {"on_error": "skip", "fill_batches": True, "seed": 3}
        return DataModule(
            decoded, decoded, batch_size=4, pipeline_args={"paths": paths, "seed": 1},
            loader_args=options, stages={"train": {"loader_args": {"shuffle": True}}},
        )  # fmt: skip

    def trained(path=None, callbacks=()):
        model, module = Recorder(), data()
        trainer_of(tmp_path, callbacks=list(callbacks), num_sanity_val_steps=0).fit(
            model, module, ckpt_path=path, weights_only=False
        )
        assert module.error_count == 2 * len(bad)  # of training and validation
        return model.seen

    saves = SavesAll(tmp_path)
    whole = trained(callbacks=[saves])
    assert [len(found) for _, found in whole["train"]] == [4, 4, 4, 4, 2] * 2
    good = [i for i in range(SIZE) if i not in bad]
    for epoch in range(2):
        assert sorted(label for e, found in whole["train"] if e == epoch for label in found) == good
        assert [label for e, found in whole["val"] if e == epoch for label in found] == good
    for number, step in enumerate(saves.steps[:-2]):
        resumed = trained(tmp_path / f"{number + 1}.ckpt")
        assert resumed["train"] == whole["train"][step:]
        assert len(resumed["val"]) in (5, 10)
