"""The plan: the one object that everything downstream reads; both inputs are judged and joined here."""

from cluster.plan.as_json import plan_json
from cluster.plan.load import load_intent, load_plan
from cluster.plan.model import ClusterPlan, Intent, Server
from cluster.values.role import Role

__all__ = ["ClusterPlan", "Intent", "Role", "Server", "load_intent", "load_plan", "plan_json"]
