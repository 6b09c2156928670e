"""The world, one wire each: a protocol first, the library behind it."""
