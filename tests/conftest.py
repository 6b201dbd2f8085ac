"""What all tests share."""

from __future__ import annotations

import os

from hypothesis import settings

# A developer's runs look for new cases; a change is judged by the same cases whenever it is tried.
settings.register_profile("the same every time", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("the same every time")
