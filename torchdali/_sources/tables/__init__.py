# SPDX-License-Identifier: Apache-2.0
"""Tables for fn.readers.parquet and fn.readers.arrow, by pyarrow. The engine calls this module.

docs/design/tables.md
"""

from torchdali._sources.tables.memory import object_table
from torchdali._sources.tables.parquet import parquet_table
from torchdali._sources.tables.table import facts_of_error

__all__ = ["facts_of_error", "object_table", "parquet_table"]
