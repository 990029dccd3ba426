"""Errors of the advisor's services, with texts for people.

AdvisorError
├── InventoryError      a resource, workload or allocation was described wrongly
├── DecisionRefused     approving, rejecting or rolling back is not possible (any more)
├── ReportRefused       an agent's report does not fit what the service knows
│   └── ReportReplayed  it came before, or one that is newer did
├── EnrolmentRefused    a host cannot get such an agent, or not now
├── DocumentRefused     the host has no key of the kind that its agent reads
├── DocumentUnavailable nobody signs the host's document now
├── ExchangeRefused     a host speaks of a datastore that it does not use, or for another host
├── ExchangeUnavailable what other hosts do cannot be known now
├── UnknownExperiment   no experiment of that name can be replayed
├── PlottingUnavailable figures cannot be drawn or written here
└── ExportImpossible    the history cannot be written in this form here
"""

from collections.abc import Mapping


class AdvisorError(Exception):
    """Base of these errors; the text says what, which, and what to do."""


class InventoryError(AdvisorError):
    pass


class DecisionRefused(AdvisorError):
    pass


class ReportRefused(AdvisorError):
    pass


class ReportReplayed(ReportRefused):
    """The number of a report is not above the newest; `details` tell its agent which that is."""

    def __init__(self, message: str, *, details: Mapping[str, int]) -> None:
        super().__init__(message)
        self.details = details


class EnrolmentRefused(AdvisorError):
    pass


class DocumentRefused(AdvisorError):
    pass


class DocumentUnavailable(AdvisorError):
    pass


class ExchangeRefused(AdvisorError):
    pass


class ExchangeUnavailable(AdvisorError):
    pass


class UnknownExperiment(AdvisorError):
    pass


class PlottingUnavailable(AdvisorError):
    pass


class ExportImpossible(AdvisorError):
    pass
