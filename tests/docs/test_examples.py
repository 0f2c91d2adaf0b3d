# SPDX-License-Identifier: Apache-2.0
"""The examples, README's included, run as a user would run them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from helpers import programs, ray_nodes, videos

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def run(*command: object, cwd: Path) -> str:
    # Tests run in parallel: with more OpenMP threads they would wait for each other.
    done = programs.run(*map(str, command), cwd=cwd, env={"OMP_NUM_THREADS": "1"}, timeout=240)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def make_photos(folder: Path, count: int, suffix: str) -> None:
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for name, color in (("dark", 40), ("light", 200)):
        (folder / name).mkdir(parents=True)
        for index in range(count):
            size = tuple(rng.integers(60, 200, 2))
            pixels = rng.integers(color - 40, color + 40, (*size, 3))
            image.fromarray(pixels.astype(np.uint8)).save(folder / name / f"{index}{suffix}")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_example_has_a_help_text(path, tmp_path):
    if "lightning" in path.stem and not importlib.util.find_spec("lightning"):
        pytest.skip("needs lightning")
    text = run(path, "--help", cwd=tmp_path)
    assert "usage:" in text
    assert "--data" in text


def test_the_quickstart_learns_handwritten_digits(tmp_path):
    # Importing scikit-learn here would change the environment of this process.
    if not (importlib.util.find_spec("sklearn") and importlib.util.find_spec("PIL")):
        pytest.skip("needs scikit-learn and Pillow")
    text = run(ROOT / "examples" / "train_classifier.py", "--at-least", 97, cwd=tmp_path)
    for part in ("images/s", "first batch after", "waited for data", "held-out accuracy"):
        assert part in text
    assert len(list((tmp_path / "out" / "digits").rglob("*.jpg"))) == 1797
    sheet = tmp_path / "out" / "augmented.png"
    assert sheet.read_bytes().startswith(PNG_SIGNATURE)
    from PIL import Image

    # Digits are white on black: a sheet of one gray would mean that nothing was decoded.
    pixels = np.asarray(Image.open(sheet).convert("L"))
    assert pixels.min() < 20
    assert pixels.std() > 40


def test_the_example_of_videos_sees_motion(tmp_path):
    videos.require()
    script = ROOT / "examples" / "video_classification.py"
    text = run(script, "--at-least", 80, cwd=tmp_path)
    assert "40 videos made" in text
    assert "clips/s" in text


@pytest.mark.parametrize("cli", [False, True])
def test_lightning_trains_from_a_config(cli, tmp_path):
    for name in ("lightning", "sklearn", "PIL", *(["jsonargparse"] if cli else [])):
        if not importlib.util.find_spec(name):
            pytest.skip(f"needs {name}")
    script = ROOT / "examples" / "train_lightning.py"
    if cli:
        config = script.with_suffix(".yaml")
        run(script, "--cli", "fit", "--config", config, "--trainer.max_epochs=1", cwd=tmp_path)
    else:
        text = run(script, "--at-least", 90, cwd=tmp_path)
        assert "after 5 epochs" in text


@pytest.mark.parametrize("lightning", [False, True], ids=["torch", "lightning"])
def test_the_example_of_ray_learns_handwritten_digits(lightning, tmp_path):
    ray_nodes.require("ray.train", "sklearn", "PIL", *(["lightning"] if lightning else []))
    arguments = ["--lightning"] if lightning else []
    text = run(ROOT / "examples" / "train_ray.py", "--at-least", 90, *arguments, cwd=tmp_path)
    assert "of 360 images, 4 epochs on 2 workers" in text


def test_the_quickstart_trains_on_any_folder_of_images(tmp_path):
    make_photos(tmp_path / "photos", 20, ".png")
    arguments = ["--data", tmp_path / "photos", "--epochs", 3, "--batch", 8, "--size", 32]
    text = run(ROOT / "examples" / "train_classifier.py", *arguments, cwd=tmp_path)
    assert "32 images to train on, 8 held out, 2 classes" in text


def test_a_folder_without_images_is_an_error_of_the_quickstart(tmp_path):
    example = ROOT / "examples" / "train_classifier.py"
    done = programs.run(example, "--data", tmp_path, cwd=tmp_path)
    assert done.returncode == 1
    assert "at least two sub-folders with images" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_example_of_expressions_equals_its_single_steps(tmp_path):
    script, sheet = ROOT / "examples" / "expressions.py", tmp_path / "out" / "expressions.ppm"
    assert "16 images, contrast" in run(script, cwd=tmp_path)
    at_once = sheet.read_bytes()
    assert at_once.startswith(b"P6 768 192 255\n")
    pixels = np.frombuffer(at_once[-768 * 192 * 3 :], np.uint8)
    assert pixels.std() > 40
    text = run(script, "--debug", cwd=tmp_path)
    assert "contrast [" in text
    assert "means [" in text
    assert sheet.read_bytes() == at_once
    make_photos(tmp_path / "photos", 3, ".png")
    text = run(script, "--data", tmp_path / "photos", "--batch", 6, "--size", 20, cwd=tmp_path)
    assert "6 images" in text
    assert sheet.read_bytes().startswith(b"P6 120 20 255\n")


def test_the_example_of_profiling_finds_the_bottleneck(tmp_path):
    script = ROOT / "examples" / "find_the_bottleneck.py"
    text = run(script, "--profile", "trace.json", cwd=tmp_path)
    fast, slow = text.split("-- a slow step")
    assert "the training loop waits for the pipeline" in fast
    # The second loop waits for its first batch only.
    assert "batches that were ready when it came: " in slow
    assert (tmp_path / "trace.json").read_text().startswith("{")
    make_photos(tmp_path / "photos", 20, ".png")
    text = run(script, "--data", tmp_path / "photos", cwd=tmp_path)
    assert text.count("decoders.image + random_resized_crop") >= 2


@pytest.mark.parametrize("how", ["numpy", "dlpack", "torch"])
def test_the_example_of_python_functions_does_not_depend_on_threads(how, tmp_path):
    script, sheet = ROOT / "examples" / "python_functions.py", "out/python_functions.ppm"
    sheets = set()
    for threads in (1, 3):
        text = run(script, "--how", how, "--threads", threads, "--size", 48, cwd=tmp_path)
        assert f"16 images through {how}" in text
        sheets.add((tmp_path / sheet).read_bytes())
    assert len(sheets) == 1
    (data,) = sheets
    assert data.startswith(b"P6 384 96 255\n")
    pixels = np.frombuffer(data[-384 * 96 * 3 :], np.uint8)
    assert pixels.std() > 20
    make_photos(tmp_path / "photos", 3, ".png")
    arguments = ["--how", how, "--data", tmp_path / "photos", "--batch", 6, "--size", 20]
    assert "6 images" in run(script, *arguments, cwd=tmp_path)


def test_the_example_of_numba_rotates_upright_images(tmp_path):
    pytest.importorskip("numba")
    script, sheet = ROOT / "examples" / "numba_kernel.py", tmp_path / "out" / "numba_kernel.ppm"
    assert "8 images, up to 96 pixels wide" in run(script, cwd=tmp_path)
    assert sheet.read_bytes().startswith(b"P6 768 128 255\n")
    pixels = np.frombuffer(sheet.read_bytes()[-768 * 128 * 3 :], np.uint8).reshape(128, 768, 3)
    images, edges = pixels[:64], pixels[64:]
    # Every image fills its cell, so none of them is upright; edges are mostly dark.
    assert all(images[:, 96 * i : 96 * (i + 1)].mean() > 20 for i in range(8))
    assert edges.max() > 60
    assert edges.mean() < images.mean() / 2
    make_photos(tmp_path / "photos", 3, ".png")
    text = run(script, "--data", tmp_path / "photos", "--batch", 6, cwd=tmp_path)
    assert "6 images" in text


def test_the_example_of_audio_learns_spoken_digits(tmp_path):
    script = ROOT / "examples" / "classify_digits.py"
    text = run(script, "--at-least", 95, cwd=tmp_path)
    assert "900 recordings to train on, 300 held out" in text
    from PIL import Image

    # Noise, formants and masks; padding and masks are the mean.
    sheet = np.asarray(Image.open(tmp_path / "out" / "spectrograms.png"))
    values, counts = np.unique(sheet.reshape(-1, 3), axis=0, return_counts=True)
    assert len(values) > 200
    assert 0.05 < counts.max() / counts.sum() < 0.8
    done = programs.run(script, "--data", tmp_path, cwd=tmp_path)
    assert done.returncode == 1
    assert "train.json is missing" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_example_of_the_readme_runs(tmp_path):
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    assert len([line for line in code.splitlines() if line.strip()]) <= 16
    make_photos(tmp_path / "photos", 20, ".jpg")
    (tmp_path / "example.py").write_text(code)
    text = run("example.py", cwd=tmp_path)
    assert text.splitlines()[0] == "torch.Size([32, 3, 224, 224]) torch.Size([32, 1])"
