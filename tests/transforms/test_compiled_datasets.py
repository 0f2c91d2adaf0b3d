# SPDX-License-Identifier: Apache-2.0
"""DataLoader(accelerate=True) and compile_dataset(); with real torchvision: test_torchvision.py."""

from __future__ import annotations

import functools
import logging

import numpy as np
import pytest
import torch
from helpers import torchvision_fakes as fakes
from helpers.cases import for_each
from helpers.transforms import photos
from PIL import Image

import torchdali
from torchdali import transforms as T
from torchdali.loader._dataset import accelerated

SIZE = (24, 20)
COUNT = 22


@pytest.fixture(autouse=True)
def _say_again(monkeypatch, keep_random_state):
    monkeypatch.setattr(accelerated, "_said", set())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photos")
    paths = [folder / f"{i:02}.png" for i in range(COUNT)]
    for path, image in zip(paths, photos(COUNT), strict=True):
        Image.fromarray(image).save(path)
    return paths


def plain(image):
    """What the transforms below make of a Pillow image, in Python."""
    small = np.array(image.resize(SIZE[::-1], Image.Resampling.BILINEAR))
    return torch.from_numpy(small).permute(2, 0, 1) / 255


def native():
    return T.Compose([T.Resize(SIZE), T.ToTensor()])


class Named(torch.utils.data.Dataset):
    """Names its encoded images."""

    def __init__(self, files, transform):
        self.files, self.transform = files, transform

    def __len__(self):
        return len(self.files)

    def encoded_sample(self, index):
        return self.files[index], index

    def __getitem__(self, index):
        return plain(Image.open(self.files[index])), index


def both(dataset, **options):
    """Returns the batches of torch's loader, and of an accelerated one."""
    torch.manual_seed(5)
    want = list(torch.utils.data.DataLoader(dataset, **options))
    torch.manual_seed(5)
    return want, list(torchdali.DataLoader(dataset, accelerate=True, **options))


def assert_close(made, want):
    assert type(made) is type(want)
    assert len(made) == len(want)
    for x, y in zip(made, want, strict=True):
        assert x.dtype == y.dtype
        assert x.is_contiguous()
        torch.testing.assert_close(x, y, rtol=0, atol=1.001 / 255)


@for_each("workers", [0, 2])
@for_each(
    "options",
    [
        {"batch_size": 5},
        {"batch_size": 5, "shuffle": True, "drop_last": True},
        {"batch_sampler": [[3, 1], [0], [7, 7, 2]]},
    ],
)
def test_batches_are_those_of_torch(files, workers, options):
    want, made = both(Named(files, native()), num_workers=workers, **options)
    assert len(made) == len(want)
    for x, y in zip(made, want, strict=True):
        assert_close(x, y)
        assert x[1].tolist() == y[1].tolist()


def test_a_generator_gives_the_order_of_torch(files):
    dataset = Named(files, native())
    orders = []
    accelerated = functools.partial(torchdali.DataLoader, accelerate=True)
    for kind in (torch.utils.data.DataLoader, accelerated):
        generator = torch.Generator().manual_seed(9)
        loader = kind(dataset, batch_size=4, shuffle=True, generator=generator)
        orders.append([batch[1].tolist() for _ in range(2) for batch in loader])
    assert orders[0] == orders[1]


@for_each("workers", [0, 2])
def test_random_values_continue_after_a_resume(files, workers):
    dataset = Named(files, T.Compose([native(), T.RandomHorizontalFlip()]))

    def loader():
        generator = torch.Generator().manual_seed(3)
        return torchdali.DataLoader(
            dataset, batch_size=4, shuffle=True, num_workers=workers, generator=generator,
            accelerate=True,
        )  # fmt: skip

    first = loader()
    whole = []
    for number, batch in enumerate(first):
        whole.append(batch)
        if number == 1:
            state = first.state_dict()
    again = loader()
    again.load_state_dict(state)
    rest = list(again)
    assert len(rest) == len(whole) - 2
    for x, y in zip(rest, whole[2:], strict=True):
        assert torch.equal(x[0], y[0])
        assert torch.equal(x[1], y[1])


def test_epochs_have_other_flips_and_workers_may_persist(files):
    dataset = Named(files, T.Compose([native(), T.RandomHorizontalFlip()]))
    loader = torchdali.DataLoader(
        dataset, batch_size=COUNT, num_workers=2, persistent_workers=True, accelerate=True
    )
    epochs = [next(iter(loader))[0] for _ in range(3)]
    assert not torch.equal(epochs[0], epochs[1])
    assert not torch.equal(epochs[1], epochs[2])


def test_a_class_that_overrides_getitem_is_not_bypassed(files, capsys):
    class Own(Named):
        def __getitem__(self, index):
            return torch.zeros(1), index

    want, made = both(Own(files, native()), batch_size=3)
    assert [x[0].tolist() for x in made] == [x[0].tolist() for x in want]
    text = capsys.readouterr().err
    assert "Own runs in Python, as before" in text
    assert "Own.__getitem__, which is unknown" in text


def test_a_transform_that_is_unknown_is_named(files, capsys):
    class Mine:
        def __call__(self, image):
            return plain(image)

    want, made = both(fakes.ImageFolder(files, Mine()), batch_size=4)
    for x, y in zip(made, want, strict=True):
        assert_close(x, y)
    (line,) = capsys.readouterr().err.splitlines()  # once, for any number of epochs
    assert line.startswith("torchdali: ImageFolder runs in Python, as before: ")
    assert "Mine: there is no native equivalent" in line


class Brighter:
    """Something that only Python can do."""

    def __call__(self, image):
        assert isinstance(image, Image.Image)
        return image.point(lambda value: value // 2)


@for_each("options", [{}, {"num_workers": 2}, {"num_workers": 1, "workers": "threads"}])
def test_transforms_after_an_unknown_one_run_in_workers(files, options):
    resize, to_tensor = folder_transform().transforms
    first = fakes.ImageFolder(files, None)
    first.transform = fakes.transform(
        "Compose",
        lambda image: to_tensor(Brighter()(resize(image))),
        transforms=[resize, Brighter(), to_tensor],
    )
    compiled = torchdali.compile_dataset(first)
    assert "in part. The engine runs, in workers: decoding, Resize." in compiled.report
    assert "Python, in workers: Brighter, ToTensor, because" in compiled.report
    want = list(torch.utils.data.DataLoader(first, batch_size=4))
    made = list(torchdali.DataLoader(compiled, batch_size=4, **options))
    assert len(made) == len(want)
    for x, y in zip(made, want, strict=True):
        assert_close(x, y)
        assert x[1].tolist() == y[1].tolist()


def test_a_file_that_the_engine_does_not_read_is_left_to_python(files, tmp_path):
    gif = tmp_path / "moving.gif"
    Image.fromarray(photos(1)[0]).save(gif)
    resize, to_tensor = folder_transform().transforms
    dataset = fakes.ImageFolder([gif, *files[:2]], None)
    dataset.transform = fakes.transform(
        "Compose",
        lambda image: to_tensor(Brighter()(resize(image))),
        transforms=[resize, Brighter(), to_tensor],
    )
    want, made = both(dataset, batch_size=3)
    assert_close(made[0], want[0])


def folder_transform():
    resize = fakes.transform(
        "Resize",
        lambda image: image.resize(SIZE[::-1], Image.Resampling.BILINEAR),
        size=list(SIZE),
        interpolation="bilinear",
        max_size=None,
        antialias=True,
    )
    to_tensor = fakes.transform(
        "ToTensor", lambda image: torch.from_numpy(np.array(image)).permute(2, 0, 1) / 255
    )
    return fakes.transform(
        "Compose", lambda image: to_tensor(resize(image)), transforms=[resize, to_tensor]
    )


def test_a_folder_is_compiled_and_target_transforms_are_called(files, capsys):
    dataset = fakes.ImageFolder(files, folder_transform(), target_transform=lambda label: -label)
    want, made = both(dataset, batch_size=8, num_workers=2)
    for x, y in zip(made, want, strict=True):
        assert_close(x, y)
        assert x[1].tolist() == y[1].tolist()
    text = capsys.readouterr().err
    assert "ImageFolder is compiled. The engine runs: decoding, Resize, ToTensor." in text
    assert "Python: target_transform" in text


def test_tiff_files_are_turned_as_pillow_turns_them(tmp_path):
    files = []
    for orientation, image in zip((1, 6, 3), photos(3), strict=True):
        turned = Image.Exif()
        turned[274] = orientation
        for suffix in ("tif", "png", "TIFF"):
            files.append(tmp_path / f"{orientation}.{suffix}")
            Image.fromarray(image).save(files[-1], exif=turned)
    want, made = both(fakes.ImageFolder(files, folder_transform()), batch_size=9)
    assert_close(made[0], want[0])


def test_subsets_and_concatenations_are_compiled(files):
    dataset = fakes.ImageFolder(files, folder_transform())
    parts = torch.utils.data.random_split(dataset, [10, 12])
    joined = torch.utils.data.ConcatDataset([parts[1], dataset])
    assert torchdali.compile_dataset(joined).is_compiled
    want, made = both(joined, batch_size=9, shuffle=True)
    for x, y in zip(made, want, strict=True):
        assert_close(x, y)
        assert x[1].tolist() == y[1].tolist()


@for_each(
    "change, why",
    [
        (lambda d: setattr(d, "loader", lambda path: None), "`loader` is"),
        (lambda d: setattr(d, "transform", None), "there is no `transform`"),
        (lambda d: setattr(d, "state_dict", dict), "a state"),
        (
            lambda d: setattr(d.transform.transforms[0], "__call__", print),
            "Resize: `__call__` was replaced",
        ),
        (lambda d: d.transform.transforms.pop(), "the transforms return a Pillow image"),
    ],
)
def test_what_is_not_compiled_says_why(files, change, why):
    dataset = fakes.ImageFolder(files, folder_transform())
    assert torchdali.compile_dataset(dataset).is_compiled
    change(dataset)
    compiled = torchdali.compile_dataset(dataset)
    assert not compiled.is_compiled
    assert why in compiled.report


def test_a_transform_that_is_replaced_later_counts(files):
    dataset = Named(files, native())
    loader = torchdali.DataLoader(dataset, batch_size=3, accelerate=True)
    assert next(iter(loader))[0].shape[2:] == SIZE
    dataset.transform = T.Compose([T.Resize((8, 9)), T.ToTensor()])
    assert next(iter(loader))[0].shape[2:] == (8, 9)


@for_each("workers", [0, 2])
def test_functions_that_are_replaced_by_others_of_the_same_name_count(files, workers):
    dataset = fakes.ImageFolder(files, folder_transform())
    loader = torchdali.DataLoader(dataset, batch_size=3, num_workers=workers, accelerate=True)
    for factor in (2, 5):
        dataset.target_transform = lambda label, factor=factor: label * factor
        assert next(iter(loader))[1].tolist() == [0, factor, 2 * factor]


def test_a_compiled_dataset_is_accelerated_and_still_a_dataset(files, capsys):
    compiled = torchdali.compile_dataset(Named(files, native()))
    assert compiled.is_compiled
    assert len(compiled) == COUNT
    assert compiled[3][1] == 3
    loader = torchdali.DataLoader(compiled, batch_size=4)
    assert loader.dataset is compiled
    assert_close(next(iter(loader)), next(iter(torch.utils.data.DataLoader(compiled, 4))))
    assert "compiled" in capsys.readouterr().err


def test_the_report_is_logged_if_logging_is_configured(files, caplog, capsys):
    caplog.set_level(logging.INFO)
    next(iter(torchdali.DataLoader(Named(files, native()), accelerate=True)))
    assert "Named is compiled" in caplog.text
    assert "compiled" not in capsys.readouterr().err


def test_a_collate_function_gets_samples(files, capsys):
    def pairs(samples):
        assert all(type(sample) is tuple for sample in samples)
        return [image.sum() for image, _ in samples], [label for _, label in samples]

    want, made = both(Named(files, native()), batch_size=5, collate_fn=pairs)
    assert [x[1] for x in made] == [x[1] for x in want]
    assert made[0][1] == [0, 1, 2, 3, 4]
    assert "collate_fn test_a_collate_function_gets_samples" in capsys.readouterr().err


def test_other_fields_are_those_of_default_collate(files):
    """Bytes, arrays and dicts are not taken for images."""

    class More(Named):
        def encoded_sample(self, index):
            return (self.files[index], *self.others(index))

        def __getitem__(self, index):
            return (plain(Image.open(self.files[index])), *self.others(index))

        def others(self, index):
            return b"abc", {"bytes": b"xy", "path": "p"}, np.full(2, index), [index, 2.5], "t"

    want, made = both(More(files[:4], native()), batch_size=2)
    for x, y in zip(made, want, strict=True):
        assert str(x[1:]) == str(y[1:])


def test_images_that_differ_in_shape_fail_as_in_torch(files):
    class Images(Named):
        def encoded_sample(self, index):
            return self.files[index]

        def __getitem__(self, index):
            return plain(Image.open(self.files[index]))

    transform = T.Compose([T.Resize(20), T.ToTensor()])
    for dataset in (Named(files, transform), Images(files, transform)):
        loader = torchdali.DataLoader(dataset, batch_size=6, accelerate=True)
        with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
            next(iter(loader))


def test_bad_samples_may_be_left_out(files, tmp_path):
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"no image")
    dataset = Named([*files[:3], bad, *files[3:5]], native())
    loader = torchdali.DataLoader(dataset, batch_size=6, accelerate=True, on_error="skip")
    with pytest.warns(UserWarning, match="a sample of Named could not be read"):
        (batch,) = loader
    assert batch[1].tolist() == [0, 1, 2, 4, 5]
    assert batch[0].shape[0] == 5


def test_arguments_that_contradict_each_other(files):
    dataset = Named(files, native())
    for name, value in {"pipeline": lambda *x: x, "fields": {0: "HWC"}}.items():
        with pytest.raises(ValueError, match=f"`accelerate` with `{name}`"):
            torchdali.DataLoader(dataset, accelerate=True, **{name: value})
    with pytest.raises(ValueError, match="batch_size"):
        torchdali.DataLoader(dataset, accelerate=True, pipeline_options={"batch_size": 3})


def test_without_batches_python_makes_the_samples(files, capsys):
    sample = next(iter(torchdali.DataLoader(Named(files, native()), None, accelerate=True)))
    assert sample[0].shape == (3, *SIZE)
    assert "batch_size=None" in capsys.readouterr().err
