# SPDX-License-Identifier: Apache-2.0
"""What operators are called in errors about calls on tensors."""

from __future__ import annotations

from torchdali._common.location import SourceLocation, find_user_location
from torchdali.errors import TorchdaliError, _renamed, _with_context

__all__ = ["FUNCTIONAL", "face_name", "of_face", "seen_by_users"]

FUNCTIONAL = "functional"
_FACES = (f"{FUNCTIONAL}.", "eager.", "dynamic.")


def face_name(fn_name: str, face: str) -> str:
    """Returns "eager.resize" for "fn.resize" and "eager"."""
    return f"{face}.{fn_name.removeprefix('fn.')}"


def of_face(error: TorchdaliError, location: SourceLocation | None, face: str) -> TorchdaliError:
    """Returns an error about an operator of a pipeline as one about a call on tensors.

    Args:
        error: of a check, or of the engine.
        location: of the call.
        face: the module of the call, such as "eager".
    """
    if error.operator is None:
        return _with_context(error, location=location)
    return _renamed(error, face_name(error.operator, face), location)


def seen_by_users(error: TorchdaliError, fn_name: str, face: str) -> TorchdaliError:
    """Returns an error of a call as its user sees it, with the line that is current.

    Args:
        error: of a check, or of the engine; one that was raised where a result was read stays.
        fn_name: of the operator, such as "fn.resize".
        face: the module of the call.
    """
    if error.operator is not None and error.operator.startswith(_FACES):
        return error
    if error.operator is None:
        error.operator = fn_name
    return of_face(error, find_user_location(), face)
