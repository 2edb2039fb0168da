"""A small trace of storage: a job that writes 1.2 TB every 15 min at 20 GB/s.

As a script: `python traces.py FILE [DAYS]`.
"""

from __future__ import annotations

import sys
from pathlib import Path

SIZE_GB, INTERVAL_S, RATE = 1200.0, 900, 20.0


def write_trace(path: Path, days: float = 2.0) -> Path:
    """Write a trace with samples of 10 s; its third quarter begins with a restart and a restore."""
    lines = ["time,write_gb_per_s,read_gb_per_s"]
    restart_s = 0.5 * days * 86_400 + 400
    for at in range(0, int(days * 86_400), 10):
        since = (at - restart_s - 700) if at >= restart_s else at
        writes = since >= 0 and since % INTERVAL_S < SIZE_GB / RATE
        reads = restart_s + 600 <= at < restart_s + 660
        lines.append(f"{1_767_225_600 + at},{RATE if writes else 0.05},{20.0 if reads else 0.05}")
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


if __name__ == "__main__":
    write_trace(Path(sys.argv[1]), float((*sys.argv, "2")[2]))
