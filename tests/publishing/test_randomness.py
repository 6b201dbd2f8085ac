"""Random keys are there for everybody, and no two processes draw the same ones."""

from __future__ import annotations

import multiprocessing

import numpy as np

from serigraph.runtime.randomness import SystemRandomness


def drawn() -> list[int]:
    keys: list[int] = SystemRandomness().keys(3).tolist()
    return keys


def test_every_key_is_drawn() -> None:
    keys = SystemRandomness().keys(200_001)
    assert len(np.unique(keys)) == len(keys)
    # Each bit is set in half of the keys: 10 standard deviations are 1.1 %.
    for bit in range(64):
        assert abs(np.mean(keys >> np.uint64(bit) & np.uint64(1)) - 0.5) < 0.012
    assert len(SystemRandomness().keys(0)) == 0


def test_a_forked_process_draws_keys_of_its_own() -> None:
    drawn()  # the generator is seeded before the fork
    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        found = [tuple(each) for each in pool.starmap(drawn, [()] * 4, chunksize=1)]
    assert len({*found, tuple(drawn())}) == 5
