"""The rows for people, programs and Prometheus."""

import json
from collections import Counter
from collections.abc import Sequence

from base.errors import one_line
from cli.shared.command_line import table
from cli.status.answers import Level, Row
from cli.status.cluster import Cluster

LEVEL, ENDS = "okd_baremetal_status_level", "okd_baremetal_certificate_end_timestamp_seconds"
HELP = {
    LEVEL: "0: good; 1: a warning; 2: wrong.",
    ENDS: "When the certificate expires, in seconds since 1970.",
}


def lines_of(rows: Sequence[Row]) -> list[str]:
    """Return a table, and below it how many rows have each level."""
    cells = [[row.kind, row.name, row.level.word, one_line(row.says)] for row in rows]
    count = Counter(row.level for row in rows)
    tally = ", ".join(f"{count[level]} {level.word}" for level in Level)
    return [*table([["WHAT", "WHICH", "LEVEL", "SAYS"], *cells]), "", tally]


def json_of(cluster: Cluster, rows: Sequence[Row]) -> str:
    """Return the rows as JSON. Times are of ISO 8601."""
    printed = [
        {
            "kind": row.kind,
            "name": row.name,
            "level": row.level.word,
            "says": row.says,
            "ends": row.ends.isoformat() if row.ends else None,
        }
        for row in rows
    ]
    head = {"stack": cluster.stack, "phase": cluster.plan.options.phase.value, "at": cluster.now.isoformat()}
    return json.dumps({**head, "rows": printed}, indent=2)


def openmetrics_of(cluster: Cluster, rows: Sequence[Row]) -> str:
    """Return the levels and expiries as OpenMetrics text.

    Gauges only, without times: the textfile collector of the node exporter reads the older text format, in which the
    same lines mean the same, and it refuses times.
    """
    samples = {
        LEVEL: [(row, float(row.level)) for row in rows],
        ENDS: [(row, row.ends.timestamp()) for row in rows if row.ends],
    }
    lines = []
    for metric, values in samples.items():
        lines += [f"# TYPE {metric} gauge", f"# HELP {metric} {HELP[metric]}"]
        for row, value in values:
            labels = {"stack": cluster.stack, "kind": row.kind, "name": row.name}
            shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
            lines.append(f"{metric}{{{shown}}} {value:.0f}")
    return "\n".join([*lines, "# EOF"])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
