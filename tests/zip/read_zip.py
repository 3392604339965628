"""Reads an archive of numbered entries with Python's zipfile: each holds its own name."""
import sys
import zipfile

path, count = sys.argv[1], int(sys.argv[2])
with zipfile.ZipFile(path) as archive:
    assert archive.namelist() == [f"n/{k}" for k in range(count)], len(archive.namelist())
    assert archive.testzip() is None
    for name in ("n/0", "n/65535", f"n/{count - 1}"):
        assert archive.read(name) == name.encode(), name
    assert archive.infolist()[0].compress_type == zipfile.ZIP_STORED
print("read")
