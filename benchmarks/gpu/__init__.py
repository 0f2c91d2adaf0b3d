# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of the GPU path: ``python -m benchmarks.gpu --data DIR --out FILE``; `make bench-gpu`.

Each part is a module with ``rows(options)``, which yields a result as soon as it is measured. Parts
run in processes of their own, one after the other, each within its share of the time: what was
measured is in the file if a part fails or takes too long.
"""
