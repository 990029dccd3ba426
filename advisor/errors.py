"""Errors of the advisor's services, with texts for people.

AdvisorError
├── InventoryError      a resource, workload or allocation was described wrongly
├── DecisionRefused     approving, rejecting or rolling back is not possible (any more)
├── ReportRefused       an agent's report does not fit what the service knows
├── ExchangeRefused     a host speaks of a datastore that it does not use, or for another host
├── ExchangeUnavailable what other hosts do cannot be known now
├── UnknownExperiment   no experiment of that name can be replayed
├── PlottingUnavailable figures cannot be drawn or written here
└── ExportImpossible    the history cannot be written in this form here
"""


class AdvisorError(Exception):
    """Base of these errors; the text says what, which, and what to do."""


class InventoryError(AdvisorError):
    pass


class DecisionRefused(AdvisorError):
    pass


class ReportRefused(AdvisorError):
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
