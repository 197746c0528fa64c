"""The columns of a corpus in Arrow: raw text, and text with token ids beside it."""

import pyarrow as pa

RAW = pa.schema([("source", pa.string()), ("targets", pa.list_(pa.string()))])
IDS = pa.list_(pa.int32())
ENCODED = RAW.append(pa.field("source_ids", IDS)).append(pa.field("target_ids", pa.list_(IDS)))
ROWS = 2_000  # per record batch
