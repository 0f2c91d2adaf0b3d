# SPDX-License-Identifier: Apache-2.0
"""fn.readers.coco: annotations, preprocessed files and arguments that cannot be used."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from helpers.cases import for_each
from helpers.coco import annotation, epoch, image, write

from torchdali import fn, pipeline_def
from torchdali.errors import DataError

OPERATORS = ["readers.coco"]


def without(entry, key):
    return {name: value for name, value in entry.items() if name != key}


def runs(**fields):
    return annotation(1, segmentation={"size": [10, 20], "counts": [200]} | fields)


def polygon(*coordinates):
    return annotation(1, segmentation=[list(coordinates)])


# Images, objects, arguments, and the error.
WRONG = [
    ([without(image(1), "id")], [], {}, "the image has no `id`"),
    ([without(image(1), "file_name")], [], {}, "image 1 has no `file_name`"),
    ([image(1), image(1)], [], {}, "has two images with the id 1"),
    ([image("1")], [], {}, 'line 1, column .*: expected a number, got: "1"'),
    ([image(1.5)], [], {}, "expected an integer of 64 bits, got 1.5"),
    ([image(2**64)], [], {}, "expected an integer of 64 bits, got 18446744073709551616"),
    ([image(1, width=-3)], [], {}, "the width or height of an image is -3"),
    (
        [image(1, width=0)],
        [annotation(1)],
        {"ratio": True},
        "image 1 has the height 10 and the wid",
    ),
    ([without(image(1), "width")], [], {"pixelwise_masks": True}, 'image "1.jpg" has the height'),
    ([image(1, width=2**20, height=2**20)], [], {"pixelwise_masks": True}, "at most 1073741824"),
    (
        [image(1)],
        [annotation(8)],
        {},
        "annotation 1 is about image 8, which `images` does not have",
    ),
    ([image(1)], [annotation(1, category_id=5)], {}, "annotation 1 of image 1 has the category 5"),
    (
        [image(1)],
        [without(annotation(1), "bbox")],
        {},
        r"no `bbox` \(element 0 .*, id 1, image 1\)",
    ),
    ([image(1)], [without(annotation(1), "image_id")], {}, "no `image_id`"),
    ([image(1)], [without(annotation(1), "category_id")], {}, "no `category_id`"),
    ([image(1)], [annotation(1, category_id=2**40)], {}, "`category_id` is 1099511627776"),
    ([image(1)], [annotation(1, bbox=[1, 2, 3])], {}, "`bbox` has 3 numbers, expected 4"),
    ([image(1)], [annotation(1, bbox=[1, 2, 3, 4, 5])], {}, "`bbox` has 5 numbers"),
    ([image(1)], [annotation(1, bbox=["1", 2, 3, 4])], {}, 'expected a number, got: "1"'),
    ([image(1)], [annotation(1, bbox=None)], {}, "expected an array, got: null"),
    ([image(1)], [annotation(1, bbox=[1, 2, 3, 1e39])], {}, "too large for float32"),
    ([image(1)], [annotation(1, bbox=[1, 2, 3, float("nan")])], {}, "got: NaN"),
    (
        [image(1)],
        [polygon(1, 1, 5, 5, 9)],
        {"polygon_masks": True},
        "5 coordinates, expected an ev",
    ),
    ([image(1)], [polygon(1, 1, 5, 5)], {"polygon_masks": True}, "4 coordinates, .* 6 or more"),
    (
        [image(1)],
        [annotation(1, segmentation=[1, 1])],
        {"masks": True},
        "expected an array, got: 1",
    ),
    (
        [image(1)],
        [annotation(1, segmentation="x")],
        {"masks": True},
        "`segmentation` is neither an",
    ),
    ([image(1)], [polygon(1, 1, 5, 2e6, 5, 5)], {"pixelwise_masks": True}, "a vertex is at 2e.06"),
    ([image(1)], [runs(counts=[100, 99])], {"pixelwise_masks": True}, "add up to 199, expected 10"),
    ([image(1)], [runs(counts=[-1, 201])], {"pixelwise_masks": True}, "`counts` has -1"),
    (
        [image(1)],
        [runs(counts="zzz")],
        {"pixelwise_masks": True},
        "`counts` is not a string of run",
    ),
    ([image(1)], [runs(counts="3o")], {"pixelwise_masks": True}, "`counts` is not a string of run"),
    ([image(1)], [runs(size=[10])], {"pixelwise_masks": True}, "need `counts` and `size`"),
    ([image(1)], [runs(size=[0, 20])], {"pixelwise_masks": True}, "`size` must be two numbers"),
    (
        [image(1)],
        [runs(size=[20, 10])],
        {"pixelwise_masks": True},
        "20 x 10 pixels, and image 1 has",
    ),
    (
        [image(1)],
        [annotation(1)],
        {"images": ["2.jpg"]},
        'has no image "2.jpg", which `images` list',
    ),
    ([image(1), image(2, file_name="1.jpg")], [], {"images": ["1.jpg"]}, 'has several images "1.j'),
    ([image(1)], [], {"skip_empty": True}, "has no images with objects"),
    ([], [], {}, "has no images"),
]


@for_each(("images", "objects", "args", "message"), WRONG)
def test_wrong_annotations_are_errors_of_the_build(
    tmp_path_factory, images, objects, args, message
):
    folder = tmp_path_factory.mktemp("coco")
    files = write(folder, [entry for entry in images if "file_name" in entry], objects)
    path = Path(files["annotations_file"])
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"images": images}))
    with pytest.raises(DataError, match=f'(?s)annotations.json".*{message}') as caught:
        epoch(**files, **args)
    assert "fn.readers.coco" in str(caught.value)


@for_each(
    ("text", "message"),
    [
        ('{"images": []', 'line 1, column 14: expected "," or "}", but the text ends here'),
        ('{"images": [],\n  x', "line 2, column 3: expected a key in quotes, got: x"),
        ('{"images": [] "a"}', 'expected "," or "}", got: "a"}'),
        ('{"images": []}\n[]', r"line 2, column 1: expected the end of the text, got: \[\]"),
        ('{"images": [], "images": []}', "`images` is in the file twice"),
        ('{"annotations": []}', "the file has no `images`"),
        ("[]", r"expected an object, got: \[\]"),
        ("", "line 1, column 1: expected an object, but the text ends here"),
        ('{"a": "\\x"}', "column 8: unknown escape in a string"),
        ('{"a": ' + "[" * 100, "column 70: arrays and objects are nested more than 64 levels deep"),
        ('{"a": 01}', "a number has leading zeros"),
    ],
)
def test_a_file_that_is_no_json_is_an_error_with_line_and_column(tmp_path_factory, text, message):
    path = tmp_path_factory.mktemp("coco") / "annotations.json"
    path.write_text(text)
    with pytest.raises(DataError, match=f'annotations.json", .*{message}'):
        epoch(file_root="x", annotations_file=str(path))


def test_a_missing_image_is_named(tmp_path):
    args = write(tmp_path, [image(1, file_name="a/1.jpg")], [])
    (tmp_path / "images/a/1.jpg").unlink()
    with pytest.raises(OSError, match="cannot open") as caught:
        epoch(**args)
    assert str(tmp_path / "images/a/1.jpg") in str(caught.value)
    assert "sample 0 of 1" in str(caught.value)


def test_missing_annotations_are_named(tmp_path):
    with pytest.raises(OSError, match=r'cannot open ".*absent.json"'):
        epoch(file_root="x", annotations_file=str(tmp_path / "absent.json"))
    with pytest.raises(OSError, match=r'cannot open ".*labels.dat"'):
        epoch(file_root="x", preprocessed_annotations=str(tmp_path))


@for_each(
    ("args", "message"),
    [
        ({"annotations_file": "x"}, "`file_root` is not given"),
        ({"file_root": "x"}, "no annotations are given"),
        ({"pixelwise_masks": True, "polygon_masks": True}, "`pixelwise_masks` excludes"),
        ({"pixelwise_masks": True, "masks": True}, "`pixelwise_masks` excludes"),
        ({"save_preprocessed_annotations": True}, "need each other"),
        ({"save_preprocessed_annotations_dir": "x"}, "need each other"),
        *(
            ({"preprocessed_annotations": "x", name: value}, f"`{name}` excludes `preproc")
            for name, value in {
                "annotations_file": "x",
                "images": ["x"],
                "skip_empty": True,
                "size_threshold": 0.0,
                "ltrb": True,
                "ratio": True,
                "include_iscrowd": False,
                "avoid_class_remapping": True,
            }.items()
        ),
    ],
)
def test_contradicting_arguments_are_errors_of_the_build(args, message):
    if args.keys() & {"preprocessed_annotations", "annotations_file"}:
        args = {"file_root": "x", **args} if len(args) > 1 else args
    elif "file_root" not in args:
        args = {"file_root": "x", "annotations_file": "x", **args}

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def define():
        return tuple(fn.readers.coco(**args))

    with pytest.raises(ValueError, match=message):
        define().build()


def test_annotations_are_saved_to_a_folder_that_exists(tmp_path):
    args = write(tmp_path, [image(1)], [])
    args |= {"save_preprocessed_annotations": True}
    with pytest.raises(OSError, match=r'cannot write ".*absent/offsets.dat": No such file'):
        epoch(**args, save_preprocessed_annotations_dir=str(tmp_path / "absent"))
    args = write(tmp_path, [image(1, file_name="a\nb")], []) | args
    with pytest.raises(ValueError, match="has a line break"):
        epoch(**args, save_preprocessed_annotations_dir=str(tmp_path))


def numbers(*values, kind="i"):
    return struct.pack(f"<I{len(values)}{kind}", len(values), *values)


def polygons(mask, begin, end):
    """A sound polygon of the first object, and another one."""
    return struct.pack("<I6i", 2, 0, 0, 3, mask, begin, end)


ONE = struct.pack("<I", 1)


@for_each(
    ("name", "content", "message"),
    [
        ("boxes.dat", b"\1\0", "has 2 bytes, expected the number of its elements first"),
        ("boxes.dat", numbers(1, 2, 3), "has 3 elements, expected 12"),
        (
            "labels.dat",
            b"\xff\xff\xff\xff",
            "has 4 bytes, expected 17179869184 for 4294967295 elem",
        ),
        ("counts.dat", numbers(2, 0), "adds up to 2, expected 3"),
        ("counts.dat", numbers(2, 2), "has 2 for sample 1, expected 0 to 1"),
        ("counts.dat", numbers(2, -1), "has -1 for sample 1, expected 0 to 1"),
        ("offsets.dat", numbers(0), "has 1 elements, expected 2"),
        ("offsets.dat", numbers(0, 1), "has 1 for sample 1, expected 2"),
        ("filenames.dat", b"a\n", "has 1 lines, expected 2"),
        ("filenames.dat", b"a\n\nb\n", "a line that is empty"),
        ("original_ids.dat", numbers(1), "has 1 elements, expected 2"),
        ("polygon_data.dat", numbers(0, 0, 3, 2, 3, 6), "expected 76 for 6"),
        ("polygon_data.dat", polygons(2, 3, 6), r"polygon \[2, 3, 6\]"),
        ("polygon_data.dat", polygons(1, 2, 6), r"polygon \[1, 2, 6\]"),
        ("polygon_data.dat", polygons(1, 3, 5), "has 5 vertices for sample 0, expected 6"),
        ("polygons_count.dat", numbers(2, 1, kind="q"), "has 1 for sample 1, expected 0 to 0"),
        ("vertices_offset.dat", numbers(0, 7, kind="q"), "has 7 for sample 1, expected 6"),
        ("heights.dat", numbers(0, 10), "has the height 0"),
        ("masks_rles_idx.dat", numbers(1), "has 1 for sample 1, expected 0 to 0"),
        ("masks_rles.dat", numbers(), "has 0 elements, expected 1"),
        ("masks_rles.dat", ONE + b"\0" * 20, "ends within the run lengths of sample 1"),
        (
            "masks_rles.dat",
            ONE + struct.pack("<3Q2I", 10, 20, 2, 100, 99),
            "of 10 x 20 and 199 pixels for sample 1, which has 10 x 20",
        ),
        ("masks_rles.dat", ONE + struct.pack("<3QIQ", 10, 20, 1, 200, 0), "8 bytes too many"),
    ],
)
def test_damaged_preprocessed_files_are_errors(tmp_path_factory, name, content, message):
    folder = tmp_path_factory.mktemp("coco")
    args = write(
        folder, [image(1), image(2)], [annotation(1), annotation(1), runs() | {"image_id": 2}]
    )
    args |= {"pixelwise_masks": True, "image_ids": True}
    epoch(
        **args,
        save_preprocessed_annotations=True,
        save_preprocessed_annotations_dir=str(folder),
    )
    del args["annotations_file"]
    epoch(**args, preprocessed_annotations=str(folder))
    (folder / name).write_bytes(content)
    with pytest.raises(DataError, match=f'"{folder}(/{name})?".*{message}'):
        epoch(**args, preprocessed_annotations=str(folder))
