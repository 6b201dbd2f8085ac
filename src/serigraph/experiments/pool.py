"""Runs the series of a study in parallel processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from serigraph.experiments.run import Ran, run_series
from serigraph.experiments.setting import Setting
from serigraph.experiments.source import Source
from serigraph.experiments.studies import STRATEGIES

Advance = Callable[[int, int, str], None]

_worlds: dict[bool, Source] = {}  # of a worker process, set once when it starts


def run_all(
    settings: Sequence[Setting],
    source: Source,
    small_source: Source,
    workers: int,
    advance: Advance,
) -> list[Ran]:
    """Run every series and return what they gave, in the order of the settings.

    ``small_source`` is for the comparison of strategies. ``advance`` is called with the number of
    series done, the number of all, and the name of the last. With one worker everything runs in
    this process.
    """
    done: dict[int, Ran] = {}
    if workers == 1:
        for place, setting in enumerate(settings):
            done[place] = run_series(setting, _world(setting, source, small_source))
            advance(len(done), len(settings), _title(setting))
        return [done[place] for place in range(len(settings))]
    # Polars has threads, which a forked process would inherit in an undefined state.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        workers, mp_context=context, initializer=_begin, initargs=(source, small_source)
    ) as pool:
        waiting = {
            pool.submit(_run, setting): place
            for place, setting in sorted(enumerate(settings), key=lambda each: _weight(each[1]))
        }
        try:
            for future in as_completed(waiting):
                done[waiting[future]] = future.result()
                advance(len(done), len(settings), _title(settings[waiting[future]]))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [done[place] for place in range(len(settings))]


def _begin(source: Source, small_source: Source) -> None:
    _worlds[False], _worlds[True] = source, small_source


def _run(setting: Setting) -> Ran:
    return run_series(setting, _world(setting, _worlds[False], _worlds[True]))


def _world(setting: Setting, source: Source, small_source: Source) -> Source:
    return small_source if setting.study == STRATEGIES else source


def _weight(setting: Setting) -> float:
    """The longest first, so that no worker is left alone with one at the end."""
    if setting.study == STRATEGIES:
        return 0.0
    return -setting.simulation.return_rate - float(setting.protected_share)


def _title(setting: Setting) -> str:
    return f"{setting.study}, {setting.name}"
