# SPDX-License-Identifier: Apache-2.0
"""Automatic augmentations that run in real DALI and in torchdali.

Loaded in DALI's process too (helpers/dali_oracle.call), so it depends on NumPy only.
"""

from __future__ import annotations

import importlib
import inspect
import warnings
from typing import Any

import numpy as np

MODULES = ["augmentations", "auto_augment", "rand_augment", "trivial_augment"]
POLICIES = ["image_net", "reduced_image_net", "svhn", "reduced_cifar10"]
# name -> (module, function)
SUITES = {
    "rand": ("rand_augment", "get_rand_augment_suite"),
    "rand non-monotonic": ("rand_augment", "get_rand_augment_non_monotonic_suite"),
    "trivial wide": ("trivial_augment", "get_trivial_augment_wide_suite"),
}
# The augmentations of the suites in order, and those outside of them.
IN_SUITES = [
    *["translate_x", "translate_y", "shear_x", "shear_y", "rotate", "brightness", "contrast"],
    *["color", "sharpness", "posterize", "solarize", "equalize", "auto_contrast", "identity"],
]
ALONE = [*IN_SUITES, "translate_x_no_shape", "translate_y_no_shape", "solarize_add", "invert"]
BINS = 11
# Magnitude bins and signs of the samples of a batch.
SAMPLES = [(0, 0), (0, 1), (2, 0), (3, 1), (5, 0), (5, 1), (8, 0), (9, 1), (10, 0), (10, 1)]
SHAPES = [(40, 61), (57, 38), (1, 1), (64, 48)]


def module(package: str, name: str) -> Any:
    return importlib.import_module(f"{package}.auto_aug.{name}")


def images(frames: int = 0) -> list[np.ndarray]:
    """Returns images of several shapes, smooth with noise and a black and a white patch."""
    rng = np.random.default_rng(7)
    made = []
    for i in range(len(SAMPLES)):
        height, width = SHAPES[i % len(SHAPES)]
        shape = (max(frames, 1) + i % 2 * bool(frames), height, width, 3)
        y, x = np.mgrid[:height, :width, :1][:2] / 9
        smooth = 128 + 70 * np.sin(x + np.arange(3) + i) * np.cos(y - np.arange(3))
        image = (smooth + rng.integers(-6, 7, shape)).clip(0, 255).astype(np.uint8)
        image[:, 2:9, 3:9] = 0
        image[:, 9:12, 20:40] = 255
        made.append(image if frames else image[0])
    # Constant images are not changed by stretching and equalization.
    made[4][...] = 77
    return made


def _found(package: str, where: str, name: str, use_shape: bool) -> Any:
    if where == "augmentations":
        return getattr(module(package, where), name)
    of, function = SUITES[where]
    return getattr(module(package, of), function)(use_shape)[IN_SUITES.index(name)]


def augmented(
    package: str, where: str, name: str, frames: int, whole: bool, options: dict[str, Any]
) -> list[np.ndarray]:
    """Applies an augmentation to images or sequences with the bins and signs of SAMPLES.

    Args:
        package: "torchdali" or "nvidia.dali".
        where: a suite, or "augmentations".
        name: of the augmentation.
        frames: of the shortest sequence; 0 for images.
        whole: one bin for all samples, as a number, instead of one for each.
        options: more arguments of the augmentation; "use_shape" passes the shapes of the images,
            "nearest" selects that interpolation.
    """
    dali, core = importlib.import_module(package), module(package, "core")
    fn, types = dali.fn, dali.types
    options = dict(options)
    use_shape = options.pop("use_shape", False)
    if options.pop("nearest", False):
        options["interp_type"] = types.INTERP_NN
    batch = images(frames)
    numbers = np.array(SAMPLES, np.int32)
    one = _found(package, where, name, use_shape)

    @dali.pipeline_def(batch_size=len(batch), num_threads=1, device_id=None)
    def definition() -> Any:
        data = fn.external_source(
            source=lambda: batch, batch=True, layout="FHWC" if frames else "HWC"
        )
        bins = fn.external_source(source=lambda: list(numbers[:, 0]), batch=True)
        signs = fn.external_source(source=lambda: list(numbers[:, 1]), batch=True)
        given: dict[str, Any] = dict(options)
        if use_shape:
            shapes = [np.array(b.shape[-3:], np.int64) for b in batch]
            given["shape"] = fn.external_source(source=lambda: shapes, batch=True)
        if one.mag_range is not None:
            given["magnitude_bin"] = 7 if whole else bins
            given["num_magnitude_bins"] = BINS
        if one.randomly_negate:
            given["magnitude_bin"] = core.signed_bin(given["magnitude_bin"], random_sign=signs)
        return one(data, **given)

    pipe = definition()
    pipe.build()
    (out,) = pipe.run()
    return [np.array(out[i]) for i in range(len(batch))]


def _described(one: Any) -> dict[str, Any]:
    made = None if one.mag_range is None else np.linspace(*one.mag_range, 9, dtype=np.float32)
    return {
        "name": one.name,
        "range": None if one.mag_range is None else [float(m) for m in one.mag_range],
        "negated": bool(one.randomly_negate),
        "device": one.param_device,
        "parameters": None if made is None else [np.array(one.mag_to_param(m)) for m in made],
    }


def described(package: str, what: str, arguments: list[Any]) -> list[Any]:
    """Describes the augmentations of a suite, or a policy.

    Args:
        package: "torchdali" or "nvidia.dali".
        what: one of SUITES, of POLICIES, or "augmentations".
        arguments: of the function that returns it.
    """
    arguments = [tuple(a) if isinstance(a, list) else a for a in arguments]
    if what == "augmentations":
        return [_described(getattr(module(package, what), name)) for name in ALONE]
    if what in SUITES:
        of, function = SUITES[what]
        return [_described(one) for one in getattr(module(package, of), function)(*arguments)]
    policy = getattr(module(package, "auto_augment"), f"get_{what}_policy")(*arguments)
    steps = [
        [(_described(one), float(p), number) for one, p, number in steps]
        for steps in policy.sub_policies
    ]
    return [policy.name, policy.num_magnitude_bins, steps, list(policy.augmentations)]


def signatures(package: str) -> dict[str, list[Any]]:
    """Returns the parameters of the public functions and their defaults."""
    found = {}
    for name in MODULES:
        of = module(package, name)
        for key, value in vars(of).items():
            if inspect.isfunction(value) and value.__module__ == of.__name__ and key[0] != "_":
                parameters = inspect.signature(value).parameters.values()
                found[f"{name}.{key}"] = [
                    [p.name, p.kind.name, repr(p.default)] for p in parameters
                ]
    core = module(package, "core")
    for key, value in {
        "signed_bin": core.signed_bin,
        "select": core.select,
        "Policy": core.Policy,
        "_Augmentation": core._Augmentation,
        "_Augmentation.augmentation": core._Augmentation.augmentation,
    }.items():
        found[f"core.{key}"] = [p.name for p in inspect.signature(value).parameters.values()]
    return found


def coded(package: str, count: int, bins: int) -> list[Any]:
    """Returns augmentations that note their number, bin and sign as digits of the data.

    Data with d becomes 1000 d + 100 number + 50 + sign * (bin + 1). Those with an odd number have
    no random sign.
    """
    core, types = module(package, "core"), importlib.import_module(package).types

    def note(number: int) -> Any:
        @core.augmentation(
            mag_range=np.arange(1, bins + 1, dtype=np.int64),
            randomly_negate=number % 2 == 0,
            mag_to_param=np.int64,
            name=f"note{number}",
        )
        def noted(data: Any, parameter: Any) -> Any:
            return data * types.Constant(np.int64(1000)) + (
                parameter + types.Constant(np.int64(100 * number + 50))
            )

        return noted

    return [note(number) for number in range(count)]


def applied(
    package: str,
    family: str,
    notes: list[Any],
    data: Any,
    bins: int,
    n: int = 2,
    m: int = 4,
    seed: int | None = None,
) -> Any:
    """Applies one of the families to data; "auto" with sub_policies()."""
    if family == "rand":
        apply = module(package, "rand_augment").apply_rand_augment
        return apply(notes, data, n, m, num_magnitude_bins=bins, seed=seed)
    if family == "trivial":
        apply = module(package, "trivial_augment").apply_trivial_augment
        return apply(notes, data, num_magnitude_bins=bins, seed=seed)
    policy = module(package, "core").Policy("coded", bins, sub_policies(notes))
    return module(package, "auto_augment").apply_auto_augment(policy, data, seed=seed)


def draws(package: str, family: str, batches: int, options: dict[str, Any]) -> np.ndarray:
    """Returns for each sample what was drawn, as coded() notes it.

    Args:
        package: "torchdali" or "nvidia.dali".
        family: "rand", "trivial" or "auto".
        batches: how many.
        options: "count" of augmentations, "bins", "n", "m", "seed", and arguments of the pipeline.
    """
    dali = importlib.import_module(package)
    options = {"count": 5, "bins": 7, "n": 2, "m": 4, "seed": None, **options}
    count, bins, n, m, seed = (options.pop(k) for k in ("count", "bins", "n", "m", "seed"))
    size = options.get("batch_size", 64)
    notes = coded(package, count, bins)
    zeros = [np.int64(0)] * size

    def definition() -> Any:
        data = dali.fn.external_source(source=lambda: zeros, batch=True)
        return applied(package, family, notes, data, bins, n, m, seed)

    pipe = dali.pipeline_def(
        **{
            "batch_size": size,
            "num_threads": 1,
            "device_id": None,
            "seed": 17,
            "enable_conditionals": True,
            **options,
        }
    )(definition)()
    pipe.build()
    codes = []
    for _ in range(batches):
        (out,) = pipe.run()
        codes += [int(np.array(out[i])) for i in range(size)]
    return np.array(codes, np.int64)


def sub_policies(notes: list[Any]) -> list[Any]:
    """Returns sub-policies of one to three steps."""
    return [
        [(notes[0], 0.8, 3), (notes[1], 0.4, 6)],
        [(notes[2], 1.0, 0)],
        [(notes[1], 0.3, 1), (notes[2], 0.5, 2), (notes[0], 0.9, 4)],
    ]


def _refusals(package: str) -> dict[str, Any]:
    core = module(package, "core")
    rand, trivial = module(package, "rand_augment"), module(package, "trivial_augment")
    auto, a = module(package, "auto_augment"), module(package, "augmentations")
    types = importlib.import_module(package).types
    fn = importlib.import_module(package).fn

    def plain(data: Any, parameter: Any) -> Any:
        return data

    def unary(data: Any) -> Any:
        return data

    ranged = core.augmentation(mag_range=(0, 9))(plain)
    listed = core.augmentation(mag_range=np.arange(5))(plain)
    mixed = core.augmentation(mag_range=(0, 9), mag_to_param=lambda m: [m] * (1 + (m > 4)))(plain)
    nodes = core.augmentation(mag_range=(0, 9), mag_to_param=lambda m: fn.constant(fdata=m))(plain)
    triple = core.augmentation(mag_range=(0, 1, 2))(plain)
    suite = rand.get_rand_augment_suite()
    relative = rand.get_rand_augment_suite(True)
    return {
        "augmentation of a number": lambda x: core.augmentation(3),
        "augmentation twice": lambda x: core.augmentation(ranged),
        "one argument": lambda x: core.augmentation(unary)(x),
        "no bin": lambda x: ranged(x, num_magnitude_bins=5),
        "no bins": lambda x: ranged(x, magnitude_bin=2),
        "other length": lambda x: listed(x, magnitude_bin=2, num_magnitude_bins=6),
        "shapes differ": lambda x: mixed(
            x, magnitude_bin=types.Constant(2, device="cpu"), num_magnitude_bins=6
        ),
        "a node": lambda x: nodes(x, magnitude_bin=2, num_magnitude_bins=6),
        "three ends": lambda x: triple(x, magnitude_bin=2, num_magnitude_bins=6),
        "a float bin": lambda x: core.signed_bin(1.5),
        "sign and seed": lambda x: core.signed_bin(1, random_sign=x, seed=3),
        "sign and shape": lambda x: core.signed_bin(1, random_sign=x, shape=[3]),
        "no shape": lambda x: a.translate_x(
            x, magnitude_bin=core.signed_bin(1), num_magnitude_bins=4
        ),
        "no shape in a suite": lambda x: rand.apply_rand_augment(relative, x, 2, 9),
        "m too large": lambda x: rand.rand_augment(x, n=2, m=31),
        "m negative": lambda x: rand.rand_augment(x, n=2, m=-1),
        "n negative": lambda x: rand.rand_augment(x, n=-1, m=3),
        "no augmentations": lambda x: rand.apply_rand_augment([], x, 2, 9),
        "none to choose": lambda x: trivial.apply_trivial_augment([], x),
        "unused": lambda x: rand.apply_rand_augment(suite, x, 2, 9, color=3),
        "unused trivial": lambda x: trivial.apply_trivial_augment(suite, x, color=3),
        "excluded": lambda x: rand.rand_augment(x, n=2, m=9, excluded=["equalise"]),
        "excluded trivial": lambda x: trivial.trivial_augment_wide(x, excluded=["equalise"]),
        "no bins for rand": lambda x: rand.rand_augment(x, n=2, m=0, num_magnitude_bins=0),
        "no bins for trivial": lambda x: trivial.trivial_augment_wide(x, num_magnitude_bins=0),
        "abs with shape": lambda x: rand.rand_augment(x, 2, 9, shape=x, max_translate_abs=3),
        "rel without": lambda x: trivial.trivial_augment_wide(x, max_translate_rel=0.3),
        "use_shape": lambda x: rand.get_rand_augment_suite(use_shape=x),
        "policy": lambda x: auto.auto_augment(x, "imagenet"),
        "reduced policy": lambda x: auto.auto_augment(x, "reduced_image_net", max_translate_abs=3),
        "no sub-policies": lambda x: auto.apply_auto_augment(core.Policy("p", 3, []), x),
        "policy bins": lambda x: core.Policy("p", 0, []),
        "policy type": lambda x: core.Policy("p", 3, {}),
        "sub-policy type": lambda x: core.Policy("p", 3, [3]),
        "step type": lambda x: core.Policy("p", 3, [[3]]),
        "step length": lambda x: core.Policy("p", 3, [[(ranged, 0.5)]]),
        "step of a function": lambda x: core.Policy("p", 3, [[(plain, 0.5, 1)]]),
        "probability": lambda x: core.Policy("p", 3, [[(ranged, 1.5, 1)]]),
        "probability type": lambda x: core.Policy("p", 3, [[(ranged, "1", 1)]]),
        "step without a bin": lambda x: core.Policy("p", 3, [[(ranged, 0.5, None)]]),
        "step bin": lambda x: core.Policy("p", 3, [[(ranged, 0.5, 3)]]),
        "step bin type": lambda x: core.Policy("p", 3, [[(ranged, 0.5, 1.0)]]),
        "unused of a policy": lambda x: auto.apply_auto_augment(
            core.Policy("p", 3, [[(ranged, 0.5, 1)]]), x, color=3
        ),
        # Uses with a warning.
        "n=0": lambda x: rand.rand_augment(x, n=0, m=9),
        "unsigned bin": lambda x: a.shear_x(x, magnitude_bin=2, num_magnitude_bins=5),
        "probability 0": lambda x: core.Policy("p", 3, [[(ranged, 0, 1)]]),
        "a bin without use": lambda x: core.Policy("p", 3, [[(a.invert, 0.5, 1)]]),
    }


def answers(package: str) -> dict[str, Any]:
    """Returns for each wrong use whether it is an error, a warning, or accepted."""
    dali = importlib.import_module(package)
    found = {}
    for name, use in _refusals(package).items():
        pipe = dali.Pipeline(batch_size=2, num_threads=1, device_id=None)
        with pipe, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            data = dali.fn.external_source(name="data", layout="HWC")
            try:
                use(data)
                found[name] = f"{len(caught)} warnings"
            except Exception:  # the test compares
                found[name] = "refused"
    return found
