"""The last move as a chart: `pulumi stack output handoff --json | python -m providers.vip_handoff`."""

import json
import sys

from providers.vip_handoff import chart

if __name__ == "__main__":
    try:
        print(chart.text(json.load(sys.stdin)))
    except (ValueError, TypeError, KeyError):
        sys.exit("no outputs of a handoff on standard input; give it those of `pulumi stack output handoff --json`")
