"""The firmware of a server, as files of Debian's packages. sushy-tools derives a server's boot mode from them.

A server starts with UEFI and without Secure Boot, whatever its `bootMode`: the program switches it, and back again.
"""

UEFI = "/usr/share/OVMF/OVMF_CODE_4M.secboot.fd"
"""From package ovmf. It can enforce Secure Boot, for which it needs a machine q35 with SMM."""
NVRAM = "/usr/share/OVMF/OVMF_VARS_4M.fd"
"""The initial variables of a server, without keys, so that Secure Boot is off."""
SECURE_NVRAM = "/usr/share/OVMF/OVMF_VARS_4M.ms.fd"
"""The same with Microsoft's keys, so that Secure Boot is on."""
LEGACY = "/usr/share/seabios/bios-256k.bin"
"""From package seabios."""
