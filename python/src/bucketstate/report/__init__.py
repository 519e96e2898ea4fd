"""One HTML page about a checkpoint, and the query that wrote it, for a team to pass around.

    from bucketstate.report import write_report

    write_report("checkpoint", "report.html", progress="progress.parquet")

The page is one file that opens anywhere without a network: charts, styles and the library that
draws them are inside. Needs plotly (`bucketstate[cli]`).

Charts are Plotly's, although its library makes a page of 5 MB where Vega's would make one of 1 MB:
all series of a batch are read in one hover, spans are zoomed into and series taken away with
nothing written for it, and it brings less to install than what Vega needs in Python.
"""

from bucketstate.report.writing import Written, write_report

__all__ = ["Written", "write_report"]
