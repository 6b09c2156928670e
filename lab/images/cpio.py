"""Write cpio archives of the kernel's format, newc, and return the offset of each file in them."""

from typing import BinaryIO

_HEADER_BYTES = 110
_FILE, _FOLDER = 0o100644, 0o040755
_WORD = 4  # newc starts each header, and each content, at a multiple of it
_BLOCK = 512  # cpio's own; what follows an archive may need the alignment


class Archive:
    """An archive that is being written, from the position of `file` to its end."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._pad(_WORD)

    def add_folder(self, name: str) -> None:
        """Append a folder. The kernel makes a file only in a folder that exists."""
        self._add(name, b"", _FOLDER, _WORD)

    def add(self, name: str, content: bytes, alignment: int = _WORD) -> int:
        """Append a file, and return the offset of its content in the whole file: a multiple of `alignment`."""
        return self._add(name, content, _FILE, alignment)

    def end(self) -> None:
        """Write the mark of the end."""
        self._add("TRAILER!!!", b"", 0, _WORD)
        self._pad(_BLOCK)

    def _add(self, name: str, content: bytes, mode: int, alignment: int) -> int:
        begin = self._file.tell()
        name_end = begin + _HEADER_BYTES + len(name.encode()) + 1
        # Further zero bytes may follow the one that ends a name: they move the content.
        start = name_end + -name_end % alignment
        name_bytes = start - begin - _HEADER_BYTES
        # Inode, mode, user, group, links, time, size, four device numbers, size of the name, checksum.
        fields = (0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, name_bytes, 0)
        self._file.write(b"070701" + b"".join(b"%08X" % field for field in fields))
        self._file.write(name.encode().ljust(name_bytes, b"\0") + content)
        self._pad(_WORD)
        return start

    def _pad(self, size: int) -> None:
        self._file.write(bytes(-self._file.tell() % size))
