from advisor.models.compliance import ComplianceRecord
from advisor.models.congestion import Incident, ResourceStatus, State, StatePoint
from advisor.models.maintenance_window import MaintenanceWindow, Recurrence
from advisor.models.policy import Enforcer, Policy, PublishedDocument
from advisor.models.prediction_score import PredictionScore
from advisor.models.recommendation import POLICY_TOPIC, Recommendation, RecommendationState
from advisor.models.resource import Attachment, Mode, Resource, ResourceKind, ThresholdMode, Unit
from advisor.models.workload import (
    AdapterKind,
    Allocation,
    IoCount,
    LimitScope,
    Tier,
    Workload,
    WorkloadKind,
)

__all__ = [
    "POLICY_TOPIC",
    "AdapterKind",
    "Allocation",
    "Attachment",
    "ComplianceRecord",
    "Enforcer",
    "Incident",
    "IoCount",
    "LimitScope",
    "MaintenanceWindow",
    "Mode",
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
    "Unit",
    "Workload",
    "WorkloadKind",
]
