# SPDX-License-Identifier: Apache-2.0
"""``python -m torchdali``: the same as the command ``torchdali``."""

import sys

from torchdali._cli.main import main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(main())
