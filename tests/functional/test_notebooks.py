# SPDX-License-Identifier: Apache-2.0
"""What notebooks show of batches, plans and statistics."""

from __future__ import annotations

import base64
import html
import re
from pathlib import Path

import torch
from PIL import Image

from torchdali import fn, functional, pipeline_def
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


def test_plans_and_statistics_show_their_text():
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def define():
        return fn.random.uniform(range=[0, 1]) < 0.5

    pipe = define()
    pipe.build()
    pipe.run()
    for shown in (pipe.plan(), pipe.stats()):
        first = str(shown).partition("\n")[0]
        assert f"<b>{html.escape(first)}</b>" in shown._repr_html_()
    pipe.close()
