# SPDX-License-Identifier: Apache-2.0
"""DataLoader(accelerate=True) in loops that make another loader of it, with the real packages."""

from __future__ import annotations

import pytest
import torch
from helpers import torchvision_fakes as fakes
from helpers.cases import for_each
from helpers.transforms import photos
from PIL import Image

import torchdali
from torchdali import transforms as T
from torchdali.loader._dataset import accelerated

COUNT = 22
WORKERS = [{}, {"num_workers": 2}, {"num_workers": 2, "multiprocessing_context": "spawn"}]

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _say_again(monkeypatch, keep_random_state):
    monkeypatch.setattr(accelerated, "_said", set())


class Photos(torch.utils.data.Dataset):
    """Images in files."""

    def __init__(self, files):
        self.files = files
        self.transform = T.Compose([T.Resize((16, 12)), T.ToTensor()])

    def __len__(self):
        return COUNT

    def encoded_sample(self, index):
        return self.files[index], index

    def __getitem__(self, index):
        with Image.open(self.files[index]) as image:
            return self.transform(image.convert("RGB")), index


class OnlyEncoded(Photos):
    """Has samples for the engine only."""

    def encoded_sample(self, index):
        return super().encoded_sample(index)

    def __getitem__(self, index):
        raise AssertionError("called")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photos")
    paths = [folder / f"{number}.png" for number in range(COUNT)]
    for path, image in zip(paths, photos(COUNT), strict=True):
        Image.fromarray(image).save(path)
    return [str(path) for path in paths]


@pytest.fixture
def accelerator(monkeypatch):
    accelerate = pytest.importorskip("accelerate")
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    made = accelerate.Accelerator(cpu=True)
    yield made
    made.free_memory()
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    accelerate.state.GradientState._reset_state()


def check(batches, want):
    batches = list(batches)
    assert len(batches) == len(want)
    for made, one in zip(batches, want, strict=True):
        assert type(made) is type(one)
        assert torch.equal(made[0], one[0])
        assert torch.equal(made[1], one[1])


@for_each("options", WORKERS[:2], ids=str)
def test_a_prepared_loader_has_the_batches_and_says_what_it_lost(
    accelerator, files, options, capfd, monkeypatch
):
    monkeypatch.setattr(accelerated, "_said", set())
    dataset = Photos(files)
    loader = torchdali.DataLoader(dataset, batch_size=4, accelerate=True, **options)
    want = list(loader)
    capfd.readouterr()
    prepared = accelerator.prepare(loader)
    for _ in range(2):
        check(prepared, want)
    text = capfd.readouterr().err
    assert text.count("Photos runs in Python, as before: this loader was made of") == 1
    assert "Pass torchdali.compile_dataset(dataset) as dataset" in text
    check(loader, want)  # the loader itself stays as it was


@for_each("options", WORKERS, ids=str)
def test_a_compiled_dataset_is_made_by_the_engine_in_other_loaders(accelerator, files, options):
    compiled = torchdali.compile_dataset(OnlyEncoded(files))
    loader = torchdali.DataLoader(compiled, batch_size=4, **options)
    want = list(loader)
    assert [batch[1].tolist() for batch in want][:2] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    check(accelerator.prepare(loader), want)
    check(torch.utils.data.DataLoader(compiled, batch_size=4, **options), want)


def test_a_compiled_dataset_that_runs_in_part_does_so_in_other_loaders(files):
    def darker(image):
        return image.point(lambda value: value // 2)

    resize, to_tensor = T.Resize((16, 12)), T.ToTensor()
    dataset = fakes.ImageFolder(files, None)
    dataset.transform = fakes.transform(
        "Compose",
        lambda image: to_tensor(darker(resize(image))),
        transforms=[resize, darker, to_tensor],
    )
    compiled = torchdali.compile_dataset(dataset)
    assert "in part" in compiled.report
    want = list(torch.utils.data.DataLoader(dataset, batch_size=4))
    check(torch.utils.data.DataLoader(compiled, batch_size=4), want)


def test_a_dataset_that_is_not_compiled_keeps_its_lists(files):
    class Lists(torch.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            raise AssertionError("called")

        def __getitems__(self, indices):
            return [-index for index in indices]

    compiled = torchdali.compile_dataset(Lists())
    for kind in (torchdali.DataLoader, torch.utils.data.DataLoader):
        assert next(iter(kind(compiled, batch_size=3))).tolist() == [0, -1, -2]


def test_nothing_is_lost_without_another_loader(files, capfd):
    """Also where the dataset is not compiled: the function is called by our own workers."""

    def pairs(samples):
        return samples

    samples = torchdali.DataLoader(
        torchdali.compile_dataset(OnlyEncoded(files)), batch_size=None, num_workers=1
    )
    assert [label for _, label in samples] == list(range(COUNT))
    assert "OnlyEncoded: the engine makes samples one by one: batch_size=None" in (
        capfd.readouterr().err
    )
    for options in ({"collate_fn": pairs}, {"batch_size": None}, {"num_workers": 1}):
        list(torchdali.DataLoader([1, 2, 3], accelerate=True, **options))
        list(torchdali.DataLoader(Photos(files), accelerate=True, **options))
    assert "another package" not in capfd.readouterr().err


def test_subclasses_are_accelerated(files, capfd):
    class Own(torchdali.DataLoader):
        def __iter__(self):
            for images, labels in super().__iter__():
                yield images, labels + 100

    loader = Own(OnlyEncoded(files), 4, accelerate=True)
    assert next(iter(loader))[1].tolist() == [100, 101, 102, 103]
    assert "OnlyEncoded is compiled" in capfd.readouterr().err


def test_lightning_replaces_the_sampler(files, capfd, monkeypatch):
    """As its Trainer does it in several processes."""
    monkeypatch.setenv("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # set by the import
    data = pytest.importorskip("lightning.pytorch.utilities.data")
    hooks = pytest.importorskip("lightning.fabric.utilities.data")

    class Own(torchdali.DataLoader):
        pass

    sampler = torch.utils.data.DistributedSampler(range(COUNT), 2, 1, shuffle=False)
    for kind in (torchdali.DataLoader, Own):
        with hooks._replace_dunder_methods(torch.utils.data.DataLoader, "dataset"):
            loader = kind(OnlyEncoded(files), batch_size=4, num_workers=2, accelerate=True)
        again = data._update_dataloader(loader, sampler)
        assert type(again) is kind
        assert again.accelerate
        batches = list(again)
        assert batches[0][1].tolist() == [1, 3, 5, 7]
        assert sum(len(batch[1]) for batch in batches) == COUNT // 2
    text = capfd.readouterr().err
    assert "OnlyEncoded is compiled" in text
    assert "another package" not in text
