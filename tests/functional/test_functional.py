# SPDX-License-Identifier: Apache-2.0
"""Operators on tensors: what they take and return, seeds, layouts, deferred calls, errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from helpers.image_files import encode, photo_like
from PIL import Image

from torchdali import errors, fn, pipeline_def, types
from torchdali import functional as F
from torchdali.functional import Batch
from torchdali.tensors import TensorListCPU


def jpeg(width: int, height: int) -> bytes:
    return encode(photo_like(height, width, seed=width))


def image(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, shape or (24, 32, 3), dtype=torch.uint8, generator=generator)


@pytest.fixture
def own_generator() -> Iterator[None]:
    """Keeps the draws of a test from torch's global generator to itself."""
    with torch.random.fork_rng(devices=[]):
        yield


# -- what is passed, and what comes back


def test_one_image_in_any_form_gives_one_tensor():
    tensor = image()
    expected = torch.flip(tensor, (1,))
    for given in (tensor, tensor.numpy(), Image.fromarray(tensor.numpy()), tensor.numpy()[:, :]):
        made = F.flip(given)
        assert type(made) is torch.Tensor
        assert torch.equal(made, expected)


def test_encoded_bytes_and_paths_are_decoded(tmp_path):
    data = jpeg(40, 30)
    path = tmp_path / "image.jpg"
    path.write_bytes(data)
    expected = F.decode(data)
    assert expected.shape == (30, 40, 3)
    for given in (path, str(path), bytearray(data), np.frombuffer(data, np.uint8)):
        assert torch.equal(F.decode(given), expected)
    with pytest.raises(errors.FileError, match=r"functional\.decoders\.image.*missing\.jpg"):
        F.decode(tmp_path / "missing.jpg")


def test_a_gray_image_of_pil_has_one_channel_and_a_palette_is_refused():
    gray = Image.fromarray(image(6, 5).numpy())
    assert F.resize(gray, size=[3, 3]).shape == (3, 3, 1)
    with pytest.raises(errors.ArgumentError, match=r"mode 'P'.*\n.*\n.*\n.*convert"):
        F.flip(gray.convert("P"))


def test_a_list_gives_a_batch_and_batched_tensors_a_tensor():
    images = [image(20, 30, 3), image(31, 25, 3, seed=1)]
    batch = F.resize(images, size=[8, 9])
    assert isinstance(batch, Batch)
    assert len(batch) == 2
    assert batch.as_tensor().shape == (2, 8, 9, 3)
    assert torch.equal(batch[1], F.resize(images[1], size=[8, 9]))
    for same in (TensorListCPU(images, layout="HWC"), Batch(images), tuple(images)):
        assert torch.equal(F.resize(same, size=[8, 9]).as_tensor(), batch.as_tensor())
    whole = torch.stack([image(seed=i) for i in range(3)])
    made = F.flip(whole, batched=True)
    assert torch.equal(made, torch.flip(whole, (2,)))
    with pytest.raises(errors.ArgumentError, match=r"different shapes"):
        F.flip(images).as_tensor()


@pytest.mark.usefixtures("own_generator")
def test_an_argument_for_each_sample_is_a_batch():
    images = [image(seed=i) for i in range(3)]
    flips = Batch([0, 1, 0])
    made = F.flip(images, horizontal=flips).as_list()
    assert torch.equal(made[0], images[0])
    assert torch.equal(made[1], torch.flip(images[1], (1,)))
    drawn = F.random.uniform(range=[0.5, 1.5], batch_size=3)
    bright = F.brightness(images, brightness=drawn)
    for one, factor, result in zip(images, drawn, bright, strict=True):
        assert torch.equal(F.brightness(one, brightness=factor), result)
    with pytest.raises(errors.ArgumentTypeError, match=r"`dtype` has one value for all samples"):
        F.cast(images, dtype=drawn)


def test_an_argument_that_changes_with_each_call_stays_right():
    """After some calls it is no constant of a plan any more."""
    one = image()
    for i in range(60):
        angle, fill = i * 3.0, float(i % 5)
        made = F.rotate(one, angle=angle, fill_value=fill, keep_size=True)
        as_tensor = F.rotate(one, angle=torch.tensor(angle), fill_value=fill, keep_size=True)
        assert torch.equal(made, as_tensor)


def test_an_argument_that_changes_is_checked_as_before():
    one = image()
    for i in range(40):
        assert F.resize(one, size=i + 1).shape[:2] == F.resize(one, size=[i + 1]).shape[:2]
        assert F.resize(one, resize_x=float(i + 1)).shape[1] == i + 1
        assert F.crop(one, crop_h=i % 20 + 1, crop_w=3).shape == (i % 20 + 1, 3, 3)
        F.flip(one, horizontal=i)
    with pytest.raises(errors.TorchdaliError, match="`horizontal` takes a whole number"):
        F.flip(one, horizontal=0.5)
    with pytest.raises(errors.TorchdaliError, match="`size` takes"):
        F.resize(one, size="large")
    with pytest.raises(errors.TorchdaliError, match="`horizontal`"):
        F.flip(one, horizontal=1 << 70)


def test_equal_arguments_of_different_types_are_different_calls():
    one = image(4, 4, 3)
    assert F.cast(one, dtype=types.FLOAT).dtype == torch.float32
    assert F.cast(one, dtype=torch.float64).dtype == torch.float64
    shape = np.array([2, 2], np.int64)
    assert F.resize(one, size=shape).shape == (2, 2, 3)
    # The memory of both arrays is the same.
    assert F.resize(one, size=np.array([2, 3], np.int32)).shape == (2, 3, 3)
    assert F.zeros(shape=[2], dtype=types.INT32).dtype == torch.int32
    assert F.ones(shape=[2], dtype=types.UINT8).tolist() == [1, 1]


# -- seeds


@pytest.mark.usefixtures("own_generator")
def test_seeds():
    one = image()
    torch.manual_seed(3)
    first = F.random_resized_crop(one, size=[8, 8])
    second = F.random_resized_crop(one, size=[8, 8])
    torch.manual_seed(3)
    assert torch.equal(F.random_resized_crop(one, size=[8, 8]), first)
    assert not torch.equal(first, second)
    generator = torch.Generator().manual_seed(7)
    state = torch.get_rng_state()
    drawn = F.random.normal(shape=[5], generator=generator)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(F.random.normal(shape=[5], generator=generator.manual_seed(7)), drawn)
    assert torch.equal(F.random.normal(shape=[5], seed=1), F.random.normal(shape=[5], seed=1))
    assert not torch.equal(F.random.normal(shape=[5], seed=1), F.random.normal(shape=[5], seed=2))
    with pytest.raises(errors.ArgumentError, match=r"takes no `seed`"):
        F.flip(one, seed=1)
    with pytest.raises(errors.ArgumentError, match="got both"):
        F.random.uniform(seed=1, generator=generator)


def test_samples_of_a_batch_draw_different_values():
    values = F.random.uniform(batch_size=64, seed=5).as_tensor()
    assert len(set(values.tolist())) == 64


# -- layouts


@pytest.mark.parametrize("name", ["flip", "resize", "rotate", "brightness"])
def test_chw_is_the_permuted_result_of_hwc(name):
    """Also of operators that read HWC only."""
    args = {"resize": {"size": [9, 7]}, "rotate": {"angle": 30.0}, "brightness": {"brightness": 2}}
    call, given = getattr(F, name), args.get(name, {})
    hwc = image()
    expected = call(hwc, **given).permute(2, 0, 1)
    chw = hwc.permute(2, 0, 1).contiguous()
    assert torch.equal(call(chw, layout="CHW", **given), expected)
    batch = call([chw, chw], layout="CHW", **given)
    assert torch.equal(batch[1], expected)
    F.set_default_layout("CHW")
    try:
        assert torch.equal(call(chw, **given), expected)
        with pytest.raises(errors.LayoutError, match=r'looks like HWC.*\n.*\n.*\n.*layout="HWC"'):
            call(hwc, **given)
    finally:
        F.set_default_layout("HWC")
    with pytest.raises(errors.LayoutError, match="looks like CHW"):
        call(chw, **given)


def test_a_layout_that_does_not_fit_is_refused():
    with pytest.raises(errors.LayoutError, match=r'"HW" does not fit a tensor of 3 dimensions'):
        F.flip(image(), layout="HW")
    with pytest.raises(errors.LayoutError, match=r"HWC"):
        F.brightness(image(), layout="XYZ")


# -- deferred calls


def chain(images: object) -> Batch:
    cut = F.random_resized_crop(F.decode(images), size=[16, 16], seed=4)
    return F.crop_mirror_normalize(
        cut,
        mirror=F.random.coin_flip(batch_size=3, seed=5),
        mean=[1.0, 2.0, 3.0],
        dtype=types.FLOAT,
    )


def test_deferred_and_immediate_calls_agree():
    files = [jpeg(40, 30), jpeg(64, 48), jpeg(33, 57)]
    later = chain(files)
    assert "not computed yet" in repr(later)
    with F.deferred(False):
        now = chain(files)
    assert "not computed yet" not in repr(now)
    assert torch.equal(later.as_tensor(), now.as_tensor())
    assert later.layout == now.layout == "CHW"


def test_a_batch_in_between_can_be_read_too():
    decoded = F.decode([jpeg(40, 30), jpeg(64, 48)])
    small = F.resize(decoded, size=[8, 8])
    assert small.as_tensor().shape == (2, 8, 8, 3)
    assert decoded.shape == [(30, 40, 3), (48, 64, 3)]
    with F.deferred(False):
        assert torch.equal(F.resize(decoded, size=[8, 8]).as_tensor(), small.as_tensor())


@pytest.mark.usefixtures("own_generator")
def test_two_draws_of_one_operator_stay_two():
    torch.manual_seed(0)
    a, b = (F.random.uniform(batch_size=4) for _ in range(2))
    both = F.stack(a, b).as_tensor()
    assert not torch.equal(both[:, 0], both[:, 1])
    assert torch.equal(both[:, 0], a.as_tensor())
    twice = F.stack(a, a).as_tensor()
    assert torch.equal(twice[:, 0], twice[:, 1])


def test_a_long_chain_of_calls():
    made = Batch([image(4, 4, 3)])
    for _ in range(101):
        made = F.flip(made)
    assert torch.equal(made[0], torch.flip(image(4, 4, 3), (1,)))


def test_data_that_is_changed_before_it_is_read_is_refused():
    one = image()
    made = F.flip([one])
    one.fill_(0)
    with pytest.raises(errors.PipelineError, match=r"changed in place.*\n.*test_functional\.py"):
        made.as_list()
    flipped = F.flip([image()])
    later = F.flip(flipped)
    flipped[0].fill_(0)  # computes it
    with pytest.raises(errors.PipelineError, match="changed in place"):
        later.as_list()
    assert F.flip(flipped)[0].sum() == 0


# -- errors


def test_an_error_names_the_line_of_the_call():
    made = F.decode([jpeg(8, 8), b"no image"])  # this line
    small = F.resize(made, size=[4, 4])
    with pytest.raises(errors.DataError, match=r"functional\.decoders\.image: .*") as caught:
        small.as_list()
    assert caught.value.sample == 1
    assert "test_functional.py" in str(caught.value)
    assert "# this line" in str(caught.value)
    assert torch.equal(F.decode(jpeg(8, 8)), F.decode([jpeg(8, 8)])[0])  # nothing is left behind
    with pytest.raises(errors.DataError) as caught:
        F.decode(b"no image")
    assert caught.value.sample is None


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: F.resize(image(), sizes=3), errors.ArgumentTypeError, "did you mean `size`"),
        (
            lambda: F.resize(image().float().requires_grad_(), size=3),
            errors.ArgumentError,
            "detach",
        ),
        (lambda: F.flip(), errors.ArgumentError, "takes 1 input"),
        (lambda: F.flip("image.jpg"), errors.TorchdaliError, "functional.flip"),
        (lambda: F.flip([]), errors.ArgumentError, "at least one sample"),
        (lambda: F.flip(image(), device="tpu"), errors.ArgumentError, "`device`"),
        (lambda: F.flip(image(), device="cuda:x"), errors.ArgumentError, "`device`"),
        (lambda: F.flip(torch.zeros(2, 2, 3, device="meta")), errors.UnsupportedError, "meta"),
        (lambda: F.flip(image(), name="x"), errors.ArgumentError, "pipelines only"),
        (lambda: F.flip(image(), batched="yes"), errors.ArgumentTypeError, "`batched`"),
        (lambda: F.flip(image(), batch_size=2), errors.ArgumentError, "size of the inputs"),
        (lambda: F.random.uniform(batch_size=0), errors.ArgumentError, "at least 1"),
        (
            lambda: F.stack([image()], [image(), image()]),
            errors.ArgumentError,
            "batches of one call have one size",
        ),
        (lambda: F.flip(torch.zeros(2, 2, 3, dtype=torch.bfloat16)), TypeError, "bfloat16"),
        (lambda: Batch([image(), image().float()]), errors.ArgumentTypeError, "one type"),
        (lambda: Batch([image()], "HW"), errors.LayoutError, "does not fit"),
        (lambda: F.set_default_layout("NCHW"), errors.LayoutError, "CHW"),
        (lambda: F.set_num_threads(0), errors.ArgumentError, "from 1"),
    ],
)
def test_wrong_calls(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


# -- pipelines


def test_inside_a_definition_it_is_the_operator_of_the_pipeline():
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def define():
        constant = fn.constant(idata=[1, 2], shape=[2, 1, 1], layout="HWC")
        assert isinstance(F.flip(image(4, 4, 3)), torch.Tensor)  # runs at once
        return F.flip(constant, vertical=1, horizontal=0)

    pipe = define()
    pipe.build()
    assert pipe.run()[0].as_array()[1].ravel().tolist() == [2, 1]
    pipe.close()
