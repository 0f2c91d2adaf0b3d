# SPDX-License-Identifier: Apache-2.0
"""The engine's registry of operators as frozen dataclasses, and its Python names."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from torchdali._common.enums import DALIDataType, DALIImageType, DALIInterpType
from torchdali._engine.extension import _C

__all__ = [
    "ALIASES",
    "SUPERSEDED",
    "UNIVERSAL",
    "Argument",
    "InputSpec",
    "OperatorSchema",
    "OutputSpec",
    "class_name",
    "every_operator",
    "operator_schema",
    "read_again",
    "registry",
]

ENUMS: dict[str, type[DALIDataType] | type[DALIImageType] | type[DALIInterpType]] = {
    "DALIDataType": DALIDataType,
    "DALIImageType": DALIImageType,
    "DALIInterpType": DALIInterpType,
}

# Words that DALI's class names do not spell as one capital and the rest small.
_WORDS = {
    "bbox": "BBox",
    "coco": "COCO",
    "dl": "DL",
    "mfcc": "MFCC",
    "mxnet": "MXNet",
    "rms": "RMS",
    "roi": "ROI",
    "ssd": "SSD",
    "tfrecord": "TFRecord",
}

# Operators that DALI deprecates, and what takes their place.
SUPERSEDED: dict[str, str] = {"ssd_random_crop": "random_bbox_crop"}

# Old names of operators that DALI still takes, with a DeprecationWarning.
ALIASES: dict[str, str] = {
    "audio_decoder": "decoders.audio",
    "caffe2_reader": "readers.caffe2",
    "caffe_reader": "readers.caffe",
    "coco_reader": "readers.coco",
    "coin_flip": "random.coin_flip",
    "experimental.audio_resample": "audio_resample",
    "experimental.debayer": "debayer",
    "experimental.decoders.image": "decoders.image",
    "experimental.decoders.image_crop": "decoders.image_crop",
    "experimental.decoders.image_random_crop": "decoders.image_random_crop",
    "experimental.decoders.image_slice": "decoders.image_slice",
    "experimental.decoders.video": "decoders.video",
    "experimental.equalize": "equalize",
    "experimental.filter": "filter",
    "experimental.inflate": "decoders.inflate",
    "experimental.peek_image_shape": "peek_image_shape",
    "experimental.tensor_resize": "tensor_resize",
    "fast_resize_crop_mirror": "resize_crop_mirror",
    "file_reader": "readers.file",
    "image_decoder": "decoders.image",
    "image_decoder_crop": "decoders.image_crop",
    "image_decoder_random_crop": "decoders.image_random_crop",
    "image_decoder_slice": "decoders.image_slice",
    "mxnet_reader": "readers.mxnet",
    "nemo_asr_reader": "readers.nemo_asr",
    "normal_distribution": "random.normal",
    "numpy_reader": "readers.numpy",
    "sequence_reader": "readers.sequence",
    "tfrecord_reader": "readers.tfrecord",
    "transform_translation": "transforms.translation",
    "uniform": "random.uniform",
    "video_reader": "readers.video",
    "video_reader_resize": "readers.video_resize",
}


@dataclass(frozen=True)
class Argument:
    """One keyword argument of an operator.

    `type` is one of bool, int, float, str, DALIDataType, DALIImageType, DALIInterpType, layout,
    int_list, float_list, str_list, layout_list, DALIDataType_list, bytes, function, code,
    expression, object, features.
    """

    name: str
    type: str
    doc: str = ""
    has_default: bool = False
    default: Any = None
    required: bool = False
    per_sample: bool = False
    deprecated: bool = False
    ignored: bool = False
    renamed_to: str = ""

    def type_text(self) -> str:
        """Returns the type as a reader sees it, such as "float or list of float"."""
        if self.type == "layout_list":
            text = "layout str or list of layout str"
        elif self.type.endswith("_list"):
            text = f"{self.type[:-5]} or list of {self.type[:-5]}"
        elif self.type == "layout":
            text = "layout str"
        elif self.type == "features":
            text = "dict of str to tfrecord.Feature"
        elif self.type in ENUMS:
            text = f"types.{self.type}"
        else:
            text = self.type
        return f"{text} or DataNode" if self.per_sample else text

    def value_text(self, value: Any) -> str:
        """Returns a constant as a reader wrote it: "types.UINT8", not its number."""
        if self.type in ENUMS and isinstance(value, int):
            return f"types.{ENUMS[self.type](value).name}"
        if isinstance(value, bytes):
            return f"<{len(value)} bytes>"
        return str(getattr(value, "__qualname__", repr(value)))

    def default_text(self) -> str:
        """Returns the default as Python source."""
        if not self.has_default:
            return "None"
        if self.type in ENUMS:
            return f"types.{ENUMS[self.type](self.default)}"
        if self.type == "bool":
            return repr(bool(self.default))
        # JSON writes strings and lists of numbers or strings as formatters write Python.
        return json.dumps(self.default, ensure_ascii=False)


@dataclass(frozen=True)
class InputSpec:
    """One positional input of an operator."""

    name: str
    doc: str = ""
    layouts: tuple[str, ...] = ()  # empty: any
    optional: bool = False
    host: bool = False  # on the CPU for GPU operators too
    data_unread: bool = False  # may be on the GPU for CPU operators too


@dataclass(frozen=True)
class OutputSpec:
    """One output of an operator."""

    name: str
    doc: str = ""


@dataclass(frozen=True)
class OperatorSchema:
    """All that the engine says about an operator."""

    name: str  # "decoders.image"
    doc: str = ""
    inputs: tuple[InputSpec, ...] = ()
    max_inputs: int = 0  # more than there are `inputs`: the last describes all further ones
    outputs: tuple[OutputSpec, ...] = ()
    args: tuple[Argument, ...] = ()
    variable_outputs: bool = False
    outputs_by: str = ""  # an argument of type features: outputs are a dictionary with its names
    devices: tuple[str, ...] = ("cpu",)
    gpu_by_copy: bool = False  # "gpu": runs on the CPU on copies of its inputs
    has_kernel: bool = False  # runs on the GPU; "gpu" without it: runs on the CPU and is copied
    random: bool = False
    side_effects: bool = False
    source: bool = False
    external: bool = False  # a source of data that the user feeds
    hidden: bool = False
    sequences: bool = False
    volumes: bool = False
    library: str = ""  # the file that it comes from; empty for torchdali's own
    lacks: tuple[str, ...] = ()  # what it cannot do yet, though DALI's can
    never: str = ""  # why every use raises an error, which suggests `instead`
    instead: str = ""
    by_name: dict[str, Argument] = field(default_factory=dict, compare=False, repr=False)

    @property
    def path(self) -> tuple[str, ...]:
        """The modules it lives in and its own name, such as ("decoders", "image")."""
        return tuple(self.name.split("."))

    @property
    def fn_name(self) -> str:
        """Its name in messages, such as "fn.decoders.image"."""
        return self.name if self.name.startswith("plugin.") else f"fn.{self.name}"

    @property
    def class_name(self) -> str:
        """Name of its class in ``ops``, without the module, such as "Image"."""
        return class_name(self.name)

    @property
    def min_inputs(self) -> int:
        """The least number of inputs."""
        return sum(not i.optional for i in self.inputs)

    @property
    def variadic(self) -> bool:
        """Whether the last of `inputs` may be repeated."""
        return self.max_inputs > len(self.inputs)


# What every operator accepts in addition to its own arguments.
UNIVERSAL: tuple[Argument, ...] = (
    Argument(
        "device",
        "str",
        'Where the operator runs: "cpu", or for operators that have a GPU implementation "gpu" or '
        '"mixed" (CPU inputs, GPU outputs).',
        has_default=True,
        default="cpu",
    ),
    Argument(
        "name",
        "str",
        "Name of the operator in its pipeline, for `reader_meta`, `feed_input` and messages; by "
        "default made from the operator and a number.",
    ),
    Argument(
        "seed",
        "int",
        "Seed of the operator's random values; -1 derives it from the seed of the pipeline. "
        "Operators with the same seed draw the same values.",
        has_default=True,
        default=-1,
    ),
    Argument(
        "preserve",
        "bool",
        "Run the operator even if nothing uses its outputs.",
        has_default=True,
        default=False,
    ),
    Argument(
        "bytes_per_sample_hint",
        "int_list",
        "Accepted for compatibility; memory is sized by what samples need.",
        has_default=True,
        default=[0],
    ),
    Argument(
        "on_error",
        "str",
        'What happens to a sample that the operator fails for: "raise", "skip" or "replace"; by '
        "default what the pipeline's `on_error` says.",
    ),
)


def class_name(name: str) -> str:
    """Returns the name of an operator's class in ``ops``: "decoders.image_crop" -> "ImageCrop"."""
    words = name.rpartition(".")[2].split("_")
    return "".join(_WORDS.get(word, word[:1].upper() + word[1:]) for word in words)


def _shortest(value: Any) -> Any:
    """Returns a default with floats as they were written: 0.65, not 0.6499999761581421."""
    if isinstance(value, list):
        return [_shortest(item) for item in value]
    if isinstance(value, float) and float(np.float32(value)) == value:
        return float(str(np.float32(value)))
    return value


def _schema(raw: dict[str, Any]) -> OperatorSchema:
    """Returns a dataclass for plain dicts and lists of the engine."""
    args = tuple(Argument(**{**arg, "default": _shortest(arg["default"])}) for arg in raw["args"])
    return OperatorSchema(
        name=raw["name"],
        doc=raw["doc"],
        inputs=tuple(
            InputSpec(
                i["name"],
                i["doc"],
                tuple(i["layouts"]),
                i["optional"],
                i["host"],
                i["data_unread"],
            )
            for i in raw["inputs"]
        ),
        max_inputs=raw["max_inputs"],
        outputs=tuple(OutputSpec(o["name"], o["doc"]) for o in raw["outputs"]),
        args=args,
        variable_outputs=raw["variable_outputs"],
        outputs_by=raw["outputs_by"],
        devices=tuple(raw["devices"]),
        gpu_by_copy=raw["gpu_by_copy"],
        has_kernel=raw["has_kernel"],
        random=raw["random"],
        side_effects=raw["side_effects"],
        source=raw["source"],
        external=raw["external"],
        hidden=raw["hidden"],
        sequences=raw["sequences"],
        volumes=raw["volumes"],
        library=os.fsdecode(_C.library_of(raw["name"])),
        lacks=tuple(raw["lacks"]),
        never=raw["never"],
        instead=raw["instead"],
        by_name={arg.name: arg for arg in args},
    )


_operators: dict[str, OperatorSchema] = {}


def _all() -> dict[str, OperatorSchema]:
    if not _operators:
        try:
            schemas = sorted((_schema(raw) for raw in _C.schemas()), key=lambda s: s.name)
        except (AttributeError, KeyError, TypeError) as error:
            raise ImportError(
                "torchdali's engine was built from other sources than its Python files are of: "
                "build it again, with `make build` or `pip install .`"
            ) from error
        _operators.update({s.name: s for s in schemas})
    return _operators


def read_again() -> None:
    """Makes the functions of this module see operators that were added to the engine."""
    _operators.clear()


def every_operator() -> dict[str, OperatorSchema]:
    """Returns the operators by name, sorted, with the hidden ones."""
    return dict(_all())


def registry() -> dict[str, OperatorSchema]:
    """Returns the operators by name, sorted; hidden ones are left out."""
    return {name: schema for name, schema in _all().items() if not schema.hidden}


def operator_schema(name: str) -> OperatorSchema:
    """Returns an operator, which may be hidden: one that the language needs, without a name in fn.

    Raises:
        KeyError: there is no such operator.
    """
    return _all()[name]
