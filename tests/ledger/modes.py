"""The rights on files, as tests look at them."""

from __future__ import annotations

from pathlib import Path


def modes(folder: Path) -> dict[str, str]:
    """The rights on a folder and on everything below it, by kind."""
    return {
        ("folder " if path.is_dir() else "file ") + path.relative_to(folder.parent).as_posix(): oct(
            path.lstat().st_mode & 0o7777
        )
        for path in (folder, *sorted(folder.rglob("*")))
    }


def open_to_others(folder: Path) -> dict[str, str]:
    """What is not for the owner alone, or not even for the owner."""
    return {
        name: mode
        for name, mode in modes(folder).items()
        if mode != ("0o700" if name.startswith("folder") else "0o600")
    }
