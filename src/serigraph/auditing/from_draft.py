"""The evidence of a release that is verified and not committed yet."""

from __future__ import annotations

import numpy as np
import polars as pl

from serigraph.auditing.evidence import Evidence
from serigraph.population import History, Proof, ProtectedValue


def evidence_before_commit(
    history: History,
    history_ids: pl.Series,
    proof: Proof,
    protected: tuple[ProtectedValue, ...],
    is_presence_known: bool,
    most_people: int,
) -> tuple[Evidence, bool]:
    """The past and the draft together, for the people of the draft; and whether that is a sample.

    ``history_ids`` say whose the rows of the history are, and ascend. Of more than ``most_people``
    members every so many-th is taken: ids say nothing about values. Sizes are those of the policy's
    adversary; the history does not know of any other.
    """
    step = max(1, -(-len(proof.ids) // most_people))
    chosen = np.arange(0, len(proof.ids), step)
    ids = proof.ids.gather(chosen)
    past = history.subset(history_ids.search_sorted(ids).to_numpy())
    past_group, past_lengths, exposure = past.numbered()
    names = [each.name for each in protected]
    value = proof.value_name.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int32)
    of_entry, count = proof.value_group.astype(np.int64), proof.value_count
    place = of_entry * max(len(names), 1) + value
    if (np.diff(place) <= 0).any():
        order = np.argsort(place, kind="stable")
        of_entry, value, count = of_entry[order], value[order], count[order]
    begins = np.flatnonzero(np.diff(of_entry, prepend=-1))
    kept, lengths = of_entry[begins], np.diff(begins, append=len(of_entry))
    shown_as = np.full(len(proof.size), -1, dtype=np.int64)
    first = len(past_lengths)
    shown_as[kept] = np.arange(first, first + len(kept))
    now = shown_as[proof.group[chosen].astype(np.int64)].astype(np.int32)
    chosen_from = proof.present_size if is_presence_known else proof.size
    size = np.concatenate([past.size[exposure], chosen_from[of_entry]])
    evidence = Evidence(
        ids=ids,
        labels=tuple(str(number + 1) for number in range(past.releases + 1)),
        members=(len(ids),) * (past.releases + 1),
        values=tuple(names),
        thresholds=tuple(each.threshold for each in protected),
        group=np.concatenate([past_group.T, now[None, :]]),
        present=np.ones((past.releases + 1, len(ids)), dtype=np.bool_),
        # Past groups are numbered release by release, but where each release begins is not kept:
        # only figures over the series may be computed from this.
        first_group=np.concatenate([np.full(past.releases + 1, first), [first + len(kept)]]),
        start=np.concatenate([[0], np.cumsum(np.concatenate([past_lengths, lengths]))]),
        value=np.concatenate([past.value[exposure], value]),
        count=np.concatenate([past.count[exposure], count]),
        size=size,
        present_size=size,
    )
    return evidence, step > 1
