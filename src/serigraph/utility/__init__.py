"""How useful a release is: what it answers, how much it hides, how large its groups are."""

from serigraph.utility.divergence import Divergence, kl_divergence
from serigraph.utility.evaluation import Evaluation, QueryPlan, ReleaseUtility, evaluate
from serigraph.utility.measures import (
    GroupSizes,
    discernibility,
    group_sizes,
    normalised_certainty_penalty,
    normalised_group_size,
    suppressed_share,
)
from serigraph.utility.published import Form
from serigraph.utility.queries import QueryErrors, answer, estimates, query_errors
from serigraph.utility.workload import (
    Queries,
    Workload,
    WorkloadKind,
    asked_about,
    draw_workload,
    put_to,
    shared_queries,
)

__all__ = [
    "Divergence",
    "Evaluation",
    "Form",
    "GroupSizes",
    "Queries",
    "QueryErrors",
    "QueryPlan",
    "ReleaseUtility",
    "Workload",
    "WorkloadKind",
    "answer",
    "asked_about",
    "discernibility",
    "draw_workload",
    "estimates",
    "evaluate",
    "group_sizes",
    "kl_divergence",
    "normalised_certainty_penalty",
    "normalised_group_size",
    "put_to",
    "query_errors",
    "shared_queries",
    "suppressed_share",
]
