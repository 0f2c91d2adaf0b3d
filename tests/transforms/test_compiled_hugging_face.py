# SPDX-License-Identifier: Apache-2.0
"""DataLoader(accelerate=True) with datasets of Hugging Face, with the real package."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.transforms import photos
from PIL import Image

import torchdali
from torchdali import transforms as T
from torchdali.errors import ArgumentError, ArgumentTypeError
from torchdali.loader._dataset import accelerated

datasets = pytest.importorskip("datasets")

COUNT = 12


@pytest.fixture(autouse=True)
def _say_again(monkeypatch, keep_random_state):
    monkeypatch.setattr(accelerated, "_said", set())


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Images in the table and in files, one of them turned, with other columns."""
    folder = tmp_path_factory.mktemp("images")
    images = []
    for number, pixels in enumerate(photos(COUNT)):
        turned = Image.Exif()
        turned[274] = 6 if number == 2 else 1
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "PNG" if number % 2 else "JPEG", exif=turned)
        path = folder / str(number)
        path.write_bytes(file.getvalue())
        in_table = {"bytes": file.getvalue(), "path": None}
        images.append(in_table if number < 6 else {"bytes": None, "path": str(path)})
    features = datasets.Features(
        {
            "label": datasets.Value("int64"),
            "image": datasets.Image(),
            "text": datasets.Value("string"),
            "raw": datasets.Value("binary"),
            "box": datasets.Sequence(datasets.Value("float32"), length=2),
        }
    )
    columns = {
        "label": list(range(COUNT)),
        "image": images,
        "text": [f"t{number}" for number in range(COUNT)],
        "raw": [b"abcd"] * COUNT,
        "box": [[number, 0.5] for number in range(COUNT)],
    }
    return datasets.Dataset.from_dict(columns, features=features)


def native(*more):
    return T.Compose([T.Resize((24, 20)), *more, T.ToTensor(), T.Normalize([0.4] * 3, [0.2] * 3)])


def assert_equal(made, want):
    assert type(made) is type(want)
    assert list(made) == list(want)
    for name, value in want.items():
        if isinstance(value, torch.Tensor):
            assert made[name].dtype == value.dtype
            assert torch.equal(made[name], value), name
        elif isinstance(value, list) and isinstance(value[0], torch.Tensor):
            assert all(map(torch.equal, made[name], value)), name
        else:
            assert made[name] == value


def both(dataset, **options):
    """Returns the batches of torch's loader, and of an accelerated one."""
    torch.manual_seed(5)
    want = list(torch.utils.data.DataLoader(dataset, **options))
    torch.manual_seed(5)
    return want, list(torchdali.DataLoader(dataset, accelerate=True, **options))


def changed(rows, how):
    return {
        "all": lambda: rows.with_transform(T.OnColumn("image", native(), "pixel_values")),
        "same name": lambda: rows.with_transform(T.OnColumn("image", native())),
        "columns": lambda: rows.with_transform(
            T.OnColumn("image", native(), "pixel_values"), columns=["image", "label"]
        ),
        "others": lambda: rows.with_transform(
            T.OnColumn("image", native()), columns=["image"], output_all_columns=True
        ),
        "shuffled": lambda: (
            rows.shuffle(seed=1).select(range(1, 9)).with_transform(T.OnColumn("image", native()))
        ),
        "not decoded": lambda: rows.cast_column(
            "image", datasets.Image(decode=False)
        ).with_transform(T.OnColumn("image", native())),
        "Subset": lambda: torch.utils.data.Subset(
            rows.with_transform(T.OnColumn("image", native())), [5, 2, 7]
        ),
    }[how]()


@for_each("how", ["all", "same name", "columns", "others", "shuffled", "not decoded", "Subset"])
def test_batches_are_equal_to_those_of_the_function(rows, how):
    dataset = changed(rows, how)
    compiled = torchdali.compile_dataset(dataset)
    assert compiled.is_compiled, compiled
    assert "datasets.Dataset is compiled. The engine runs: decoding, Resize" in compiled.report
    want, made = both(dataset, batch_size=5, shuffle=True)
    assert len(made) == len(want)
    for x, y in zip(made, want, strict=True):
        assert_equal(x, y)


def test_workers_read_rows(rows):
    dataset = changed(rows, "all")
    want = list(torch.utils.data.DataLoader(dataset, batch_size=4))
    made = list(torchdali.DataLoader(dataset, batch_size=4, num_workers=2, accelerate=True))
    for x, y in zip(made, want, strict=True):
        assert_equal(x, y)


def test_another_name_counts_in_the_next_epoch(rows):
    dataset = changed(rows, "all")
    loader = torchdali.DataLoader(dataset, batch_size=2, accelerate=True)
    assert "pixel_values" in next(iter(loader))
    dataset.set_transform(T.OnColumn("image", native(), "pixels"))
    assert set(next(iter(loader))) == {"label", "pixels", "text", "raw", "box"}


@for_each("options", [{}, {"num_workers": 1, "multiprocessing_context": "spawn"}], ids=str)
def test_a_compiled_dataset_is_made_by_the_engine_in_other_loaders(rows, options):
    dataset = changed(rows, "all")
    want = list(torch.utils.data.DataLoader(dataset, batch_size=5))
    compiled = torchdali.compile_dataset(dataset)
    for x, y in zip(
        torch.utils.data.DataLoader(compiled, batch_size=5, **options), want, strict=True
    ):
        assert_equal(x, y)


class Darker:
    def __call__(self, image):
        return image.point(lambda value: value // 2)


@for_each("workers", [0, 2])
def test_a_transform_that_is_not_known_runs_after_the_engine(rows, workers):
    resize, *others = native().transforms

    def transform(image):
        for part in (resize, Darker(), *others):
            image = part(image)
        return image

    partly = _Compose([resize, Darker(), *others], transform)
    dataset = rows.with_transform(T.OnColumn("image", partly, "pixel_values"))
    want, made = both(dataset, batch_size=4, num_workers=workers)
    for x, y in zip(made, want, strict=True):
        assert_equal(x, y)
    text = torchdali.compile_dataset(dataset).report
    assert "The engine runs, in workers: decoding, Resize. Python, in workers: Darker" in text


def _Compose(transforms, call):
    """Returns what looks like a Compose of torchvision."""
    kind = type("Compose", (), {"__call__": lambda self, image: call(image)})
    kind.__module__ = kind.__call__.__module__ = "torchvision.transforms.transforms"
    made = kind()
    made.transforms = transforms
    return made


def test_a_function_runs_in_python_and_the_line_says_what_to_do(rows, capsys):
    transform = native()

    def prepare(batch):
        batch["pixel_values"] = [transform(image.convert("RGB")) for image in batch.pop("image")]
        return batch

    want, made = both(rows.with_transform(prepare), batch_size=5)
    for x, y in zip(made, want, strict=True):
        assert_equal(x, y)
    (line,) = capsys.readouterr().err.splitlines()
    assert "prepare of set_transform() may do anything" in line
    assert "torchdali.transforms.OnColumn(column, transform) in its place" in line


class Other(T.OnColumn):
    def __call__(self, batch):
        return {"label": [-label for label in batch["label"]]}


@for_each(
    "change, why",
    [
        (lambda d: d.with_format("torch"), "there is no set_transform"),
        (lambda d: d.with_transform(Other("image", native())), "Other of set_transform()"),
        (lambda d: d.with_transform(T.OnColumn("none", native())), "no column `none`"),
        (lambda d: d.with_transform(T.OnColumn("text", native())), "expected datasets.Image()"),
        (
            lambda d: d.cast_column("image", datasets.Image(mode="L")).with_transform(
                T.OnColumn("image", native())
            ),
            'images of mode "L"',
        ),
        (lambda d: d.to_iterable_dataset(), "it is iterable"),
    ],
)
def test_what_is_not_compiled_says_why(rows, change, why):
    compiled = torchdali.compile_dataset(change(rows))
    assert not compiled.is_compiled
    assert why in compiled.report


def test_random_values_are_drawn_for_each_image(rows):
    one = rows.select([0] * 40).with_transform(
        T.OnColumn("image", native(T.RandomHorizontalFlip()), "pixel_values"), columns=["image"]
    )
    assert torchdali.compile_dataset(one).is_compiled
    (batch,) = torchdali.DataLoader(one, batch_size=40, accelerate=True)
    same = (batch["pixel_values"] == batch["pixel_values"][0]).flatten(1).all(1)
    assert 5 <= same.sum() <= 35


def test_a_function_of_samples_gets_dicts(rows):
    def collate(samples):
        return [(type(s), s["pixel_values"].shape, s["raw"], s["text"]) for s in samples]

    want, made = both(changed(rows, "all"), batch_size=5, collate_fn=collate)
    assert made == want


def test_mistakes_are_named(rows):
    with pytest.raises(ArgumentTypeError, match="`column` is 3"):
        T.OnColumn(3, native())
    with pytest.raises(ArgumentTypeError, match="`transform` is a str"):
        T.OnColumn("image", "Resize")
    with pytest.raises(ArgumentError, match="there is no column `picture`; there are `image`"):
        T.OnColumn("picture", native())({"image": []})
    with pytest.raises(ArgumentError, match="`output` is `label`, which is another column"):
        T.OnColumn("image", native(), "label")({"image": [], "label": []})
    with pytest.raises(ArgumentTypeError, match="expected a dict of columns"):
        T.OnColumn("image", native())(Image.fromarray(np.zeros((2, 2, 3), np.uint8)))
    with pytest.raises(ArgumentTypeError, match="the column `text` has a str"):
        T.OnColumn("text", native())({"text": ["x"]})
