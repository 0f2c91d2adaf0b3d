# SPDX-License-Identifier: Apache-2.0
"""fn.readers.coco: samples, boxes, labels, polygons and pixelwise masks; parity with DALI."""

from __future__ import annotations

import hashlib
import itertools
import json
import random

import numpy as np
import pytest
from helpers import coco_programs, dali_oracle
from helpers.coco import annotation, epoch, image, make, write

import torchdali
from torchdali import fn, pipeline_def


def write_source(folder):
    return write(folder, *make(1, images=10)) | {"random_shuffle": True, "polygon_masks": True}


# For test_contract.py.
SOURCES = {"readers.coco": write_source}


@pytest.fixture
def small(tmp_path):
    """Three images, of which the last has no objects."""
    images = [image(7), image(2), image(5, width=40)]
    objects = [
        annotation(7, category_id=77),
        annotation(2, bbox=[0, 0, 8, 0.05]),
        annotation(7, category_id=18, iscrowd=1, bbox=[4.5, 6, 8, 2]),
        annotation(2, segmentation=[[0, 0, 3, 0, 3, 3], [5, 5, 9, 5, 9, 9, 5, 9]]),
    ]
    return write(tmp_path, images, objects)


def test_samples_are_in_the_order_of_ids_and_objects_in_that_of_the_file(small):
    samples = epoch(**small, image_ids=True)
    assert [bytes(data).decode() for data, *_ in samples] == ["2.jpg", "5.jpg", "7.jpg"]
    assert [ids.tolist() for *_, ids, _ in samples] == [[2], [5], [7]]
    assert [labels.tolist() for _, _, labels, *_ in samples] == [[2], [], [3, 1]]
    assert samples[2][1].tolist() == [[1, 2, 3, 4], [4.5, 6, 8, 2]]
    assert samples[1][1].shape == (0, 4)
    assert [s[-1] for s in samples] == ["2.jpg", "5.jpg", "7.jpg"]


def test_objects_and_images_can_be_left_out(small):
    def count(**args):
        return [len(labels) for _, _, labels, *_ in epoch(**small, **args)]

    assert count(include_iscrowd=False) == [1, 0, 1]
    assert count(skip_empty=True) == [1, 2]
    assert count(size_threshold=0.0) == [2, 0, 2]
    assert count(size_threshold=3.5) == [0, 0, 0]
    assert count(size_threshold=2.5, skip_empty=True) == [1, 1]
    assert count(images=["7.jpg", "2.jpg", "7.jpg"]) == [2, 1, 2]


def test_images_of_the_same_name_have_their_own_objects(tmp_path):
    images = [image(1, file_name="x"), image(2, file_name="x")]
    args = write(tmp_path, images, [annotation(1), annotation(2), annotation(2)])
    assert [len(labels) for _, _, labels, *_ in epoch(**args)] == [1, 2]


def test_labels_can_be_the_ids_of_categories(small):
    assert epoch(**small, avoid_class_remapping=True)[2][2].tolist() == [77, 18]


def test_boxes_and_vertices_can_be_converted(small):
    plain = epoch(**small, polygon_masks=True)[2]
    edges = epoch(**small, ltrb=True)[2][1]
    ratio = epoch(**small, ratio=True, polygon_masks=True)[2]
    assert edges.tolist() == [[1, 2, 4, 6], [4.5, 6, 12.5, 8]]
    np.testing.assert_array_equal(ratio[1], plain[1] / np.float32([20, 10, 20, 10]))
    np.testing.assert_array_equal(ratio[4], plain[4] / np.float32([20, 10]))


def test_polygons_number_the_vertices_of_their_sample(small):
    first, _, last, *_ = epoch(**small, polygon_masks=True)
    assert first[3].tolist() == [[0, 0, 3], [0, 3, 7]]
    assert first[4].tolist() == [[0, 0], [3, 0], [3, 3], [5, 5], [9, 5], [9, 9], [5, 9]]
    assert last[3].tolist() == [[0, 0, 3], [1, 3, 6]]
    [older, *_] = epoch(**small, masks=True)
    assert older[3].tolist() == [[0, 0, 6], [0, 6, 14]]
    np.testing.assert_array_equal(older[4], first[4])


def test_the_greatest_label_is_on_top(tmp_path):
    square = [[0, 0, 10, 0, 10, 10, 0, 10]]
    runs = {"size": [10, 20], "counts": [50, 100, 50]}
    objects = [
        annotation(1, category_id=1, segmentation=square),
        annotation(1, category_id=3, segmentation=runs),
        annotation(1, category_id=3, segmentation=[[0, 0, 2, 0, 2, 10, 0, 10]]),
    ]
    args = write(tmp_path, [image(1)], objects)
    for converted in ({}, {"ratio": True}):
        mask = epoch(**args, **converted, pixelwise_masks=True)[0][3]
        assert mask.shape == (10, 20, 1)
        assert mask.dtype == np.int32
        # Label 4 fills columns 0 to 9, label 2 columns 5 to 14 and, in another object, 0 and 1.
        expected = [4] * 10 + [2] * 5 + [0] * 5
        assert mask[:, :, 0].tolist() == [expected] * 10


# SHA-256 of all masks, from pycocotools 2.0.11:
#   mask.decode(mask.merge(mask.frPyObjects(polygons, height, width)))
POLYGONS = "dea336066d6bb6327576dc5461dc808d5392943c406a5d1ba98394d6ceb91a59"


def test_polygons_are_drawn_as_by_pycocotools(tmp_path):
    """With coordinates on and between the steps of the grid, outside and far outside."""
    images, objects = random_polygons()
    args = write(tmp_path, images, objects)
    digest = hashlib.sha256()
    for _, _, _, mask, _ in epoch(**args, pixelwise_masks=True):
        digest.update((mask > 0).astype(np.uint8).tobytes())
    assert digest.hexdigest() == POLYGONS


def random_polygons():
    draw = random.Random(11)
    images, objects = [], []
    for number in range(600):
        extents = [draw.randint(1, (5, 40, 300)[number % 3]) for _ in range(2)]
        images.append(image(number, width=extents[0], height=extents[1]))
        margin = (0, 0.3, 2, 30)[number % 4]
        polygons = []
        for _ in range(draw.randint(1, 3)):
            values = [
                draw.uniform(-margin * extent, (1 + margin) * extent)
                for _ in range(draw.randint(3, 9))
                for extent in extents
            ]
            digits = number % 5
            polygons.append(values if digits == 4 else [round(v, digits) for v in values])
        objects.append(annotation(number, segmentation=polygons, bbox=[0, 0, 1, 1]))
    return images, objects


def test_run_lengths_are_numbers_or_a_string(tmp_path):
    # The string is from pycocotools 2.0.11.
    counts = [3, 0, 7, 40, 1, 2, 100, 47]
    text = "307X1JjNS3]1"
    objects = [
        annotation(number, segmentation={"size": [10, 20], "counts": form})
        for number, form in enumerate((counts, text))
    ]
    args = write(tmp_path, [image(0), image(1)], objects)
    numbers, string = (sample[3] for sample in epoch(**args, pixelwise_masks=True))
    expected = np.repeat([0, 2] * 4, counts).reshape(20, 10).T
    np.testing.assert_array_equal(numbers[:, :, 0], expected)
    np.testing.assert_array_equal(string, numbers)


def test_objects_without_a_segmentation_have_no_mask(tmp_path):
    objects = [annotation(1, segmentation=none) for none in ([], None)]
    objects.append({k: v for k, v in annotation(1).items() if k != "segmentation"})
    args = write(tmp_path, [image(1)], objects)
    assert epoch(**args, polygon_masks=True)[0][3].shape == (0, 3)
    assert not epoch(**args, pixelwise_masks=True)[0][3].any()
    # DALI then loses the masks of greater labels.
    objects = [entry | {"category_id": 1} for entry in objects]
    square = annotation(1, segmentation=[[0, 0, 5, 0, 5, 5, 0, 5]])
    args = write(tmp_path, [image(1)], [*objects, square])
    assert np.count_nonzero(epoch(**args, pixelwise_masks=True)[0][3]) == 25


def test_the_sections_of_the_file_may_be_in_any_order(small, tmp_path):
    expected = epoch(**small, ratio=True, pixelwise_masks=True)
    path = tmp_path / "annotations.json"
    document = json.loads(path.read_text())
    for order in itertools.permutations(("images", "annotations", "categories")):
        path.write_bytes(b"\xef\xbb\xbf" + json.dumps({k: document[k] for k in order}).encode())
        for ours, theirs in zip(
            epoch(**small, ratio=True, pixelwise_masks=True), expected, strict=True
        ):
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(a, b)


def test_ids_may_have_64_bits(tmp_path):
    args = write(tmp_path, [image(2**60, file_name="x")], [annotation(2**60)])
    assert epoch(**args)[0][2].tolist() == [2]
    with pytest.raises(torchdali.errors.DataError, match=f"image {2**60} does not fit into"):
        epoch(**args, image_ids=True)


PREPROCESSED = [
    {},
    {"image_ids": True},
    {"polygon_masks": True, "image_ids": True, "images": ["0031.jpg", "0031.jpg"]},
    {"masks": True, "ratio": True, "ltrb": True, "skip_empty": True},
    {"pixelwise_masks": True, "size_threshold": 9.0},
    {"pixelwise_masks": True, "ratio": True, "image_ids": True},
]
OUTPUT_ARGUMENTS = {"image_ids", "polygon_masks", "masks", "pixelwise_masks"}


def preprocessed(folder, name):
    """Cases that save annotations below a folder, and cases that read them."""
    args = write(folder, *make(2, step=0.25))
    saving, loading = [], []
    for index, case in enumerate(PREPROCESSED):
        path = folder / name / str(index)
        path.mkdir(parents=True)
        images = [s[-1] for s in epoch(**args)][:2] if "images" in case else None
        case = {**case, **({"images": images * 2} if images else {})}
        saved = {"save_preprocessed_annotations": True}
        saved["save_preprocessed_annotations_dir"] = str(path)
        saving.append({**args, **case, **saved})
        outputs = {key: value for key, value in case.items() if key in OUTPUT_ARGUMENTS}
        loading.append(
            {"file_root": args["file_root"], "preprocessed_annotations": str(path), **outputs}
        )
    return saving, loading


def assert_same(ours, theirs):
    for (meta, samples), (other_meta, other_samples) in zip(ours, theirs, strict=True):
        assert meta == other_meta
        for sample, other in zip(samples, other_samples, strict=True):
            assert sample[-1] == other[-1]
            for a, b in zip(sample[:-1], other[:-1], strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_array_equal(a, b)


def test_preprocessed_annotations_are_those_that_were_saved(tmp_path):
    saving, loading = preprocessed(tmp_path, "ours")
    saved = coco_programs.read("torchdali", saving)
    assert_same(coco_programs.read("torchdali", loading), saved)


def test_masks_from_preprocessed_annotations_round_as_those_of_the_file(tmp_path):
    """Vertices are stored in float32: 12.7 becomes less, and would be drawn in another place."""
    tenths = [[x / 10 for x in (123, 7, 127, 47, 31, 93, 11, 69)]]
    args = write(tmp_path, [image(1)], [annotation(1, segmentation=tenths)])
    args["pixelwise_masks"] = True
    saved = {
        "save_preprocessed_annotations": True,
        "save_preprocessed_annotations_dir": str(tmp_path),
    }
    expected = epoch(**args, **saved)[0][3]
    del args["annotations_file"]
    again = epoch(**args, preprocessed_annotations=str(tmp_path))[0][3]
    np.testing.assert_array_equal(again, expected)


def test_older_names_of_arguments_work(small, tmp_path):
    saved = {"dump_meta_files": True, "dump_meta_files_path": str(tmp_path), "save_img_ids": True}
    first = epoch(**small, **saved)
    del small["annotations_file"]
    again = epoch(**small, meta_files_path=str(tmp_path), save_img_ids=True)
    assert [s[3].tolist() for s in again] == [s[3].tolist() for s in first] == [[2], [5], [7]]


def test_lazy_init_reads_the_file_when_it_is_needed(tmp_path):
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def define():
        return tuple(
            fn.readers.coco(
                file_root=str(tmp_path / "images"),
                annotations_file=str(tmp_path / "annotations.json"),
                lazy_init=True,
            )
        )

    pipe = define()
    pipe.build()
    write(tmp_path, [image(1)], [annotation(1)])
    assert pipe.run()[2].at(0).tolist() == [2]


def dali_cases(folder):
    args = write(folder, *make(3))
    flags = ("ltrb", "ratio", "skip_empty", "avoid_class_remapping")
    more = [
        {},
        {"polygon_masks": True},
        {"masks": True, "image_ids": True},
        {"polygon_masks": True, "size_threshold": 5.0, "include_iscrowd": False},
    ]
    cases = [
        {**args, **dict(zip(flags, values, strict=True)), **others}
        for values in itertools.product((False, True), repeat=len(flags))
        for others in more
    ]
    names = [s[-1] for s in epoch(**args)]
    return [*cases, {**args, "images": [names[5], names[2], names[5]], "image_ids": True}]


@pytest.mark.dali
def test_samples_are_those_of_dali(tmp_path):
    cases = dali_cases(tmp_path)
    theirs = dali_oracle.call(coco_programs.__file__, "read", cases)
    assert_same(coco_programs.read("torchdali", cases), theirs)


@pytest.mark.dali
def test_pixelwise_masks_are_those_of_dali_where_it_is_right(tmp_path):
    """It rounds vertices to float32, and loses runs whose label has polygons, too."""
    args = write(tmp_path, *make(4, step=0.25)) | {"pixelwise_masks": True}
    cases = [args, {**args, "image_ids": True, "include_iscrowd": False}]
    theirs = dali_oracle.call(coco_programs.__file__, "read", cases)
    assert_same(coco_programs.read("torchdali", cases), theirs)


@pytest.mark.dali
def test_preprocessed_annotations_are_exchanged_with_dali(tmp_path):
    saving, loading = preprocessed(tmp_path, "ours")
    dali_saving, dali_loading = preprocessed(tmp_path, "dali")
    # DALI divides the vertices of pixelwise masks, too, and then draws them in one pixel.
    sound = [i for i, c in enumerate(PREPROCESSED) if not {"pixelwise_masks", "ratio"} <= set(c)]
    coco_programs.read("torchdali", saving)
    dali_oracle.call(coco_programs.__file__, "read", [dali_saving[i] for i in sound])
    for i in sound:
        for path in sorted((tmp_path / "dali" / str(i)).iterdir()):
            ours = tmp_path / "ours" / str(i) / path.name
            assert ours.read_bytes() == path.read_bytes(), path
    ours = coco_programs.read("torchdali", [dali_loading[i] for i in sound])
    theirs = dali_oracle.call(coco_programs.__file__, "read", [loading[i] for i in sound])
    assert_same(ours, theirs)


@pytest.mark.dali
def test_shards_are_those_of_dali(tmp_path):
    args = write(tmp_path, *make(5, images=23)) | {"random_shuffle": True, "stick_to_shard": True}
    cases = [{**args, "num_shards": 3, "shard_id": shard} for shard in range(3)]
    sizes = [7, 8, 8]
    for case, size in zip(cases, sizes, strict=True):
        [[_, theirs]] = dali_oracle.call(coco_programs.__file__, "read", [case], size)
        [[_, ours]] = coco_programs.read("torchdali", [case], size)
        assert {s[-1] for s in ours} == {s[-1] for s in theirs}
        assert len({s[-1] for s in ours}) == size
