"""One rendered file: judged by its reader, shown line by line in previews."""
