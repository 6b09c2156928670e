"""The firmware of a server, as files of Debian's packages. By them, sushy-tools knows in which mode a server boots.

A server is found with UEFI and without Secure Boot, whatever its `bootMode`: the program switches it, and back again.
"""

UEFI = "/usr/share/OVMF/OVMF_CODE_4M.secboot.fd"
"""Of package ovmf: it can enforce Secure Boot, for which it needs a machine q35 with SMM."""
NVRAM = "/usr/share/OVMF/OVMF_VARS_4M.fd"
"""What each server's own variables start from: no keys, so Secure Boot is off."""
SECURE_NVRAM = "/usr/share/OVMF/OVMF_VARS_4M.ms.fd"
"""The same with Microsoft's keys, so Secure Boot is on."""
LEGACY = "/usr/share/seabios/bios-256k.bin"
"""Of package seabios."""
