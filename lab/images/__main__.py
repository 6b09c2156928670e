"""`python -m lab.images`: build the images, and print their paths."""

import sys
from functools import partial

from lab.images import ensure_images

if __name__ == "__main__":
    built = ensure_images(partial(print, file=sys.stderr, flush=True))
    print(f"iso {built.iso}\niso_sha256 {built.iso_sha256}\nbase_volume {built.base_volume}")
