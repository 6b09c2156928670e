#!/usr/bin/env bash
# Boot into node-image-overlay.target first, as a bootstrap does since 4.19. USAGE: node-image-generator NORMAL EARLY LATE
set -euo pipefail
/bin/ln -s /etc/systemd/system/node-image-overlay.target "${2:?EARLY}/default.target"
