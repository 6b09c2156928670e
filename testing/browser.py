"""A page as a real browser shows it: headless Chromium, which can reach only the page's file."""

import json
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

BROWSER = "chromium-headless-shell"
OPTIONS = (
    "--no-sandbox",  # tests run as root
    "--disable-gpu",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--hide-scrollbars",
)
HEIGHT_PX = 1000
LIMIT_S = 60
DARK = "--blink-settings=preferredColorScheme=0"
MEASURE = Path(__file__).with_name("browser.js")
MEASURED = re.compile(r'data-measured="([^"]*)"')


def measure(page: Path, width_px: int, *, dark: bool = False) -> dict[str, Any]:
    """Open a page in a window of this width, and return what `browser.js` measures in it."""
    dom = dom_after(page, MEASURE.read_text(), width_px, *([DARK] if dark else []))
    figures = MEASURED.search(dom)
    assert figures, dom[-2000:]
    return dict(json.loads(unescape(figures[1])))


def dom_after(page: Path, script: str, width_px: int, *options: str) -> str:
    """Open a page, run a script in it, and return the document that this leaves, as HTML."""
    changed = page.with_name(f"{page.stem}-changed.html")
    changed.write_text(f"{page.read_text()}<script>{script}</script>")
    return _run(changed, width_px, "--dump-dom", *options)


def screenshot(page: Path, picture: Path, width_px: int, height_px: int) -> None:
    """Save the part of a page that a window of this size shows."""
    _run(page, width_px, f"--screenshot={picture}", height_px=height_px)


def _run(page: Path, width_px: int, *options: str, height_px: int = HEIGHT_PX) -> str:
    command = [BROWSER, *OPTIONS, f"--window-size={width_px},{height_px}", *options, page.resolve().as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    return done.stdout
