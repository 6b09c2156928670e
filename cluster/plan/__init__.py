"""The plan: the install-config and the options, checked and joined. All later rooms read this one object."""

from cluster.plan.as_json import plan_json
from cluster.plan.load import check_inputs, load_bmcs, load_intent, load_plan
from cluster.plan.model import BmcPlan, ClusterPlan, Intent, Server
from cluster.values.role import Role

__all__ = [
    "BmcPlan",
    "ClusterPlan",
    "Intent",
    "Role",
    "Server",
    "check_inputs",
    "load_bmcs",
    "load_intent",
    "load_plan",
    "plan_json",
]
