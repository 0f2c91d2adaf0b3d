# Made by `make generate` from the engine's registry; do not edit.
from torchdali.functional.io import file as file

__all__ = [
    "file",
]
