"""Where a stream's rows go: a folder of parquet for each batch, or nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

from bucketstate_nexmark.answers.compare import BATCH

SinkName = Literal["parquet", "noop"]


def into(writer: DataStreamWriter, sink: SinkName, folder: Path) -> DataStreamWriter:
    """Gives a writer its sink: a batch that is run again replaces what it had put out."""
    if sink == "noop":
        return writer.format("noop")

    def put_out(rows: DataFrame, batch: int) -> None:
        target = folder / f"{BATCH}={batch}"
        rows.write.mode("overwrite").option("compression", "none").parquet(str(target))

    return writer.foreachBatch(put_out)
