# Made by `python -m torchdali.extension stubs`; do not edit.
# ruff: noqa
from torchdali.ops import *
from . import my as my
