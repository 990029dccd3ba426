"""Put a model's numbers beside what its study prints: the one way from a row to a verdict."""

from collections.abc import Iterator, Mapping, Sequence

from advisor.lab.replay.experiment import Outcome, Premise, Replay, Value
from advisor.lab.replay.finding import Finding, Verdict, allowed, verdict_on
from advisor.lab.replay.study import Experiment, Row

WENT_IN = "it went into the model, so that agreeing with it would prove nothing"

Values = Mapping[str, Value | Mapping[str, Value]]


def replay_of(experiment: Experiment, outcome: Outcome) -> Replay:
    """The experiment with every row judged."""
    return Replay(
        experiment=experiment.name,
        study=experiment.study,
        title=experiment.title,
        premises=tuple(_premises(experiment, outcome.values)),
        findings=tuple(_findings(experiment.rows, outcome.values)),
        figures=outcome.figures,
    )


def _premises(experiment: Experiment, values: Values) -> Iterator[Premise]:
    for row in experiment.premises:
        found = values[row.value] if isinstance(row.value, str) else row.value
        for place in found if isinstance(found, Mapping) else ("",):
            words = _words(values, row.each, place)
            yield Premise(
                quantity=row.quantity.format_map(words),
                value=_number(found[place] if isinstance(found, Mapping) else found, row.quantity),
                unit=row.unit,
                basis=row.basis,
                source=row.source.format_map(words),
            )


def _findings(rows: Sequence[Row], values: Values) -> Iterator[Finding]:
    for index, row in enumerate(rows):
        for place in _places(row, values):
            yield _finding(row, row.number or str(index + 1), place, values)


def _places(row: Row, values: Values) -> Sequence[str]:
    if not row.each:
        return ("",)
    if isinstance(row.printed, Mapping):
        return tuple(row.printed)
    by_place = values[row.ours]
    if not isinstance(by_place, Mapping):
        raise TypeError(f"{row.what}: {row.ours} has one value, not one per {row.each}")
    return tuple(by_place)


def _finding(row: Row, number: str, place: str, values: Values) -> Finding:
    words = _words(values, row.each, place)
    printed = row.printed[place] if isinstance(row.printed, Mapping) else row.printed
    stated = row.in_words if printed is None else printed
    study_value = None if stated is None else float(stated)
    if isinstance(row.printed, Mapping) and not row.number:
        number = f"{number}: {place}"
    value, tolerance, verdict = None, None, Verdict.NOT_MODELLED
    why = row.why.format_map(words)
    if row.is_compared or row.ours in values:
        value = _number(words[row.ours], row.what)
    if row.calibrated:
        why = f"calibrated: {why or WENT_IN}"
    if row.is_compared:
        if study_value is None or value is None:
            raise ValueError(f"{row.what}: nothing to compare")
        tolerance = allowed(row.tolerance, study_value)
        verdict = verdict_on(value, study_value, tolerance=tolerance, relation=row.relation)
    if verdict is Verdict.DIFFERS and row.differs:
        why = f"{why}; {row.differs.format_map(words)}"
    return Finding(
        quantity=row.what.format_map(words),
        unit=row.unit,
        number=number,
        kind=row.kind,
        study_value=study_value,
        value=value,
        tolerance=tolerance,
        relation=row.relation,
        verdict=verdict,
        why=why,
    )


def _words(values: Values, each: str, place: str) -> dict[str, Value]:
    """What a text may name: the place, and every value, that of the place where it has one."""
    found = {
        name: value.get(place) if isinstance(value, Mapping) else value
        for name, value in values.items()
    }
    return found | ({each: place} if each else {})


def _number(value: Value, what: str) -> float:
    if value is None or isinstance(value, str):
        raise ValueError(f"{what}: the model gives {value!r}, which is no number")
    return float(value)
