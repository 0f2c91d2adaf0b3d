# SPDX-License-Identifier: Apache-2.0
"""Compiles the operators of csrc/ to torchdali_solarize/_operators.so."""

from setuptools import setup

from torchdali.extension import BuildExtension, CppExtension

setup(
    ext_modules=[
        CppExtension("torchdali_solarize._operators", ["csrc/solarize.cu", "csrc/random_gain.cpp"])
    ],
    cmdclass={"build_ext": BuildExtension},
)
