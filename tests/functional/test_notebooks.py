# SPDX-License-Identifier: Apache-2.0
"""What notebooks show of batches, plans and statistics."""

from __future__ import annotations

import base64
import html
import io
import re
import sys
import types
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from torchdali import Pipeline, fn, functional, pipeline_def
from torchdali import types as dali_types
from torchdali._common.location import SourceLocation
from torchdali.functional import Batch
from torchdali.tensors import TensorListCPU


def image(height: int, width: int) -> torch.Tensor:
    return torch.arange(height * width * 3).reshape(height, width, 3).to(torch.uint8)


def test_a_batch_of_images_shows_thumbnails(tmp_path: Path):
    images = functional.resize([image(300, 200), image(24, 32)], size=[150, 100])
    text = images._repr_html_()
    assert text.count("data:image/png;base64,") == 2
    assert "150 x 100 x 3" in text
    data = re.search(r"base64,([^\"]+)", text)
    assert data is not None
    path = tmp_path / "thumbnail.png"
    path.write_bytes(base64.b64decode(data[1]))
    with Image.open(path) as shown:
        assert shown.size == (85, 128)
        shown.load()
    numbers = Batch([torch.zeros(3), torch.ones(3)])
    assert "png" not in numbers._repr_html_()
    batch = TensorListCPU([image(24, 32), image(20, 20)], layout="HWC")
    assert batch._repr_html_().count("<img") == 2


def shown_pictures(text: str) -> list[torch.Tensor]:
    pictures = (
        Image.open(io.BytesIO(base64.b64decode(data)))
        for data in re.findall(r"base64,([^\"]+)", text)
    )
    return [torch.from_numpy(np.array(picture)) for picture in pictures]


def test_a_thumbnail_is_the_mean_of_the_pixels():
    lines = torch.zeros(512, 512, 3, dtype=torch.uint8)
    lines[::2] = 200  # every second line alone would be white or black
    for sample in (lines, lines.float()):
        (shown,) = shown_pictures(TensorListCPU([sample], layout="HWC")._repr_html_())
        assert shown.shape == (128, 128, 3)
        assert shown[4:-4].float().std() < 5


def test_a_clip_shows_frames_from_all_over_it():
    clip = torch.arange(16, dtype=torch.uint8).mul(15)[:, None, None, None].expand(16, 40, 30, 3)
    for sample, layout in ((clip, "FHWC"), (clip.permute(0, 3, 1, 2), "FCHW")):
        (shown,) = shown_pictures(TensorListCPU([sample], layout=layout)._repr_html_())
        assert shown.shape == (40, 8 * 30 + 7 * 2, 3)
        frames = shown[20, 15::32, 0].tolist()
        assert frames == [15 * (i * 15 // 7) for i in range(8)]


def test_locations_in_notebooks_name_the_cell(monkeypatch):
    names = {"/tmp/ipykernel_1/23.py": ("Cell", "In[3]")}
    compiler = types.SimpleNamespace(format_code_name=names.get)
    shell = types.SimpleNamespace(compile=compiler)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert SourceLocation("/tmp/ipykernel_1/23.py", 4, "define").short() == "In[3]:4"
    assert SourceLocation("/elsewhere/train.py", 4, "define").short() == "/elsewhere/train.py:4"


def test_plans_and_statistics_show_their_text():
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def define():
        return fn.random.uniform(range=[0, 1]) < 0.5

    pipe = define()
    pipe.build()
    pipe.run()
    for shown in (pipe.plan(), pipe.stats()):
        first = str(shown).partition("\n")[0]
        assert f">{html.escape(first)}</b>" in shown._repr_html_()
    pipe.close()


def test_nodes_show_constants_as_a_definition_has_them():
    pipe = Pipeline(2, 1)
    with pipe:
        floats = fn.cast(fn.random.coin_flip(), dtype=dali_types.FLOAT)
        pipe.set_outputs(fn.python_function(floats, function=image))
    for text in (repr(pipe), pipe._repr_html_()):
        assert "dtype=types.FLOAT" in text
        assert "function=image" in text
