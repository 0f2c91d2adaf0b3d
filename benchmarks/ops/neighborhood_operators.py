# SPDX-License-Identifier: Apache-2.0
"""Cases of operators whose result depends on the neighbors of an element, for operators.py."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarks.ops.case import Case


def _morphology(name: str, size: int) -> Case:
    return Case(
        lambda d, x: getattr(d.fn.experimental, name)(x, mask_size=[size, size]),
        opencv=lambda cv, x: getattr(cv, name)(x, np.ones((size, size), np.uint8)),
    )


NEIGHBORHOOD_CASES: Mapping[str, Case] = {
    **{f"dilate {size}": _morphology("dilate", size) for size in (3, 7, 15)},
    "erode 5": _morphology("erode", 5),
    **{
        f"median_blur {size}": Case(
            lambda d, x, size=size: d.fn.experimental.median_blur(x, window_size=[size, size]),
            opencv=lambda cv, x, size=size: cv.medianBlur(x, size),
        )
        for size in (3, 5, 7, 15, 31)
    },
    **{
        f"debayer {name}": Case(
            lambda d, x, name=name: d.fn.debayer(x, blue_position=[0, 0], algorithm=f"{name}_ocv"),
            ("sensor",),
            opencv=lambda cv, x, code=code: cv.cvtColor(x, getattr(cv, f"COLOR_BayerBG2{code}")),
        )
        for name, code in (("bilinear", "RGB"), ("edgeaware", "RGB_EA"), ("gray", "GRAY"))
    },
}
