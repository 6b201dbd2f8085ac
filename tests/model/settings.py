"""How random cases are run: never against a clock, since kernels compile at their first use."""

from hypothesis import settings

unhurried = settings(deadline=None)
