from advisor.models.compliance import ComplianceRecord
from advisor.models.congestion import Episode, ResourceStatus, State, StatePoint
from advisor.models.planned_job import PlannedJob, Recurrence
from advisor.models.policy import Enforcer, Policy, PublishedDocument
from advisor.models.prediction_score import PredictionScore
from advisor.models.recommendation import Recommendation, RecommendationState, Topic
from advisor.models.resource import Attachment, Mode, Resource, ResourceKind, ThresholdMode, Unit
from advisor.models.workload import (
    AdapterKind,
    Claim,
    IoCount,
    LimitScope,
    Tier,
    Workload,
    WorkloadKind,
)

__all__ = [
    "AdapterKind",
    "Attachment",
    "Claim",
    "ComplianceRecord",
    "Enforcer",
    "Episode",
    "IoCount",
    "LimitScope",
    "Mode",
    "PlannedJob",
    "Policy",
    "PredictionScore",
    "PublishedDocument",
    "Recommendation",
    "RecommendationState",
    "Recurrence",
    "Resource",
    "ResourceKind",
    "ResourceStatus",
    "State",
    "StatePoint",
    "ThresholdMode",
    "Tier",
    "Topic",
    "Unit",
    "Workload",
    "WorkloadKind",
]
