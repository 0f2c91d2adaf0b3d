# SPDX-License-Identifier: Apache-2.0
"""Mathematical functions of data nodes, element by element.

Operands are data nodes, of which each call has at least one, and numbers. Functions with
floating-point results return FLOAT for integers, and otherwise the type of their operand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchdali._graph.arithmetic import apply

if TYPE_CHECKING:
    from torchdali.data_node import DataNode

__all__ = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "clamp",
    "cos",
    "cosh",
    "exp",
    "fabs",
    "floor",
    "fpow",
    "log",
    "log2",
    "log10",
    "max",
    "min",
    "pow",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]


def abs(input: Any) -> DataNode:
    """Returns the absolute value, of the type of the input; the least integer stays as it is."""
    return apply("abs", input)


def acos(input: Any) -> DataNode:
    """Returns the angle in radians whose cosine is the input."""
    return apply("acos", input)


def acosh(input: Any) -> DataNode:
    """Returns the inverse hyperbolic cosine."""
    return apply("acosh", input)


def asin(input: Any) -> DataNode:
    """Returns the angle in radians whose sine is the input."""
    return apply("asin", input)


def asinh(input: Any) -> DataNode:
    """Returns the inverse hyperbolic sine."""
    return apply("asinh", input)


def atan(input: Any) -> DataNode:
    """Returns the angle in radians whose tangent is the input."""
    return apply("atan", input)


def atan2(x: Any, y: Any) -> DataNode:
    """Returns the angle in radians whose tangent is x / y, in the quadrant of that point."""
    return apply("atan2", x, y)


def atanh(input: Any) -> DataNode:
    """Returns the inverse hyperbolic tangent."""
    return apply("atanh", input)


def cbrt(input: Any) -> DataNode:
    """Returns the cube root."""
    return apply("cbrt", input)


def ceil(input: Any) -> DataNode:
    """Returns the least whole number that is not below the input, as a floating value."""
    return apply("ceil", input)


def clamp(value: Any, lo: Any, hi: Any) -> DataNode:
    """Returns `value`, but at least `lo` and at most `hi`, which wins; of the promoted type."""
    return apply("clamp", value, lo, hi)


def cos(input: Any) -> DataNode:
    """Returns the cosine of an angle in radians."""
    return apply("cos", input)


def cosh(input: Any) -> DataNode:
    """Returns the hyperbolic cosine."""
    return apply("cosh", input)


def exp(input: Any) -> DataNode:
    """Returns e to the power of the input."""
    return apply("exp", input)


def fabs(input: Any) -> DataNode:
    """Returns the absolute value as a floating value."""
    return apply("fabs", input)


def floor(input: Any) -> DataNode:
    """Returns the greatest whole number that is not above the input, as a floating value."""
    return apply("floor", input)


def fpow(base: Any, exponent: Any) -> DataNode:
    """Returns `base` to the power of `exponent` as a floating value."""
    return apply("fpow", base, exponent)


def log(input: Any) -> DataNode:
    """Returns the natural logarithm."""
    return apply("log", input)


def log10(input: Any) -> DataNode:
    """Returns the logarithm to base 10."""
    return apply("log10", input)


def log2(input: Any) -> DataNode:
    """Returns the logarithm to base 2."""
    return apply("log2", input)


def max(left: Any, right: Any) -> DataNode:
    """Returns the greater of two values, of the promoted type; `right` if one is NaN."""
    return apply("max", left, right)


def min(left: Any, right: Any) -> DataNode:
    """Returns the smaller of two values, of the promoted type; `right` if one is NaN."""
    return apply("min", left, right)


def pow(base: Any, exponent: Any) -> DataNode:
    """Returns `base` to the power of `exponent`, of the promoted type.

    Integers wrap around; negative exponents of integers return 0.
    """
    return apply("pow", base, exponent)


def rsqrt(input: Any) -> DataNode:
    """Returns 1 / sqrt(input); infinite for 0."""
    return apply("rsqrt", input)


def sin(input: Any) -> DataNode:
    """Returns the sine of an angle in radians."""
    return apply("sin", input)


def sinh(input: Any) -> DataNode:
    """Returns the hyperbolic sine."""
    return apply("sinh", input)


def sqrt(input: Any) -> DataNode:
    """Returns the square root; NaN for negative values."""
    return apply("sqrt", input)


def tan(input: Any) -> DataNode:
    """Returns the tangent of an angle in radians."""
    return apply("tan", input)


def tanh(input: Any) -> DataNode:
    """Returns the hyperbolic tangent."""
    return apply("tanh", input)
