from advisor.core.allocation import ReservationMode
from advisor.core.detection.congestion import CongestionState as State
from advisor.core.detection.maintenance_windows import Recurrence
from advisor.core.detection.threshold import ThresholdMode
from advisor.core.resource import IoCount, LimitScope, ResourceKind, Tier, Unit
from advisor.models.agent_key import AgentKey
from advisor.models.class_change import ChangeState, ClassChange
from advisor.models.cluster import ClusterClaim, ClusterPod, VolumeClass
from advisor.models.compliance import ComplianceRecord
from advisor.models.congestion import (
    EvaluationGroup,
    Incident,
    LearntSizeTerm,
    LearntThreshold,
    LevelRecords,
    NewestRates,
    ResourceStatus,
    StateRun,
)
from advisor.models.demand_outlook import DemandOutlook
from advisor.models.failed_work import FailedWork
from advisor.models.history import (
    Chunk,
    Day,
    DroppedHistory,
    HistoryRetention,
    Member,
    Quarter,
    Shard,
    StaleDay,
    Track,
)
from advisor.models.incident_note import IncidentNote
from advisor.models.ladder_rule import LadderRule
from advisor.models.maintenance_window import MaintenanceWindow
from advisor.models.natural_score import NaturalLook, NaturalScore
from advisor.models.notification import (
    ChannelKind,
    Delivery,
    DeliveryState,
    NotificationChannel,
    NotificationRule,
    NotificationSilence,
    ToldIncident,
)
from advisor.models.placement_move import MoveState, PlacementMove
from advisor.models.policy import Enforcer, Policy, PublishedDocument
from advisor.models.pool import Pool
from advisor.models.prediction_score import PredictionScore
from advisor.models.recommendation import (
    OPEN_STATES,
    POLICY_TOPIC,
    Recommendation,
    RecommendationState,
)
from advisor.models.recommendation_change import RecommendationChange, Step
from advisor.models.rejudgement import (
    DetectorCheckpoint,
    EarlierStates,
    IncidentVersion,
    LateChange,
)
from advisor.models.report import ReportDelivery, ReportSubscription, SharedKind, SharedReport
from advisor.models.resource import Attachment, Resource, SharedAlarmBudget
from advisor.models.rollout import PolicyChange, PolicyRollout, RolloutHost, RolloutTerms
from advisor.models.saved_view import SavedView
from advisor.models.source import ReadSource
from advisor.models.team import Team
from advisor.models.workload import AdapterKind, Allocation, Workload, WorkloadKind
from advisor.models.workload_rules import WorkloadRules

__all__ = [
    "OPEN_STATES",
    "POLICY_TOPIC",
    "AdapterKind",
    "AgentKey",
    "Allocation",
    "Attachment",
    "ChangeState",
    "ChannelKind",
    "Chunk",
    "ClassChange",
    "ClusterClaim",
    "ClusterPod",
    "ComplianceRecord",
    "Day",
    "Delivery",
    "DeliveryState",
    "DemandOutlook",
    "DetectorCheckpoint",
    "DroppedHistory",
    "EarlierStates",
    "Enforcer",
    "EvaluationGroup",
    "FailedWork",
    "HistoryRetention",
    "Incident",
    "IncidentNote",
    "IncidentVersion",
    "IoCount",
    "LadderRule",
    "LateChange",
    "LearntSizeTerm",
    "LearntThreshold",
    "LevelRecords",
    "LimitScope",
    "MaintenanceWindow",
    "Member",
    "MoveState",
    "NaturalLook",
    "NaturalScore",
    "NewestRates",
    "NotificationChannel",
    "NotificationRule",
    "NotificationSilence",
    "PlacementMove",
    "Policy",
    "PolicyChange",
    "PolicyRollout",
    "Pool",
    "PredictionScore",
    "PublishedDocument",
    "Quarter",
    "ReadSource",
    "Recommendation",
    "RecommendationChange",
    "RecommendationState",
    "Recurrence",
    "ReportDelivery",
    "ReportSubscription",
    "ReservationMode",
    "Resource",
    "ResourceKind",
    "ResourceStatus",
    "RolloutHost",
    "RolloutTerms",
    "SavedView",
    "Shard",
    "SharedAlarmBudget",
    "SharedKind",
    "SharedReport",
    "StaleDay",
    "State",
    "StateRun",
    "Step",
    "Team",
    "ThresholdMode",
    "Tier",
    "ToldIncident",
    "Track",
    "Unit",
    "VolumeClass",
    "Workload",
    "WorkloadKind",
    "WorkloadRules",
]
