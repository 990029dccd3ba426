"""A LUN over eight days, with SCSI reservation conflicts wherever a test wants them."""

from datetime import UTC, datetime, timedelta

from advisor.advice.off_peak_work.decide.scsi_conflicts import ConflictInputs, ConflictWindow

START = datetime(2026, 3, 2, tzinfo=UTC)
NORMAL_DAYS, DAYS = 4, 8


def day_and_night(hour):
    """1000 commands a minute by day, 100 in the six hours of the night."""
    return 100.0 if hour < 6 else 1000.0


def study(*, conflicts, load=day_and_night, counted=False):
    """Hourly windows over eight days; `conflicts(day, hour)` is a part of commands."""
    windows = []
    for index in range(DAYS * 24):
        day, hour = divmod(index, 24)
        part = conflicts(day, hour)
        windows.append(
            ConflictWindow(
                at=START + timedelta(hours=index, minutes=30),
                commands=load(hour),
                conflicts=part * load(hour),
                operations=(5.0 if part > 0.01 else 0.0) if counted else None,
            )
        )
    return ConflictInputs(
        datastore="lun7",
        windows=tuple(windows),
        normal_until=START + timedelta(days=NORMAL_DAYS),
    )


def snapshots_by_day(day, hour):
    """One conflict in a hundred thousand, but one in ten from nine to eleven since day four."""
    return 0.1 if day >= NORMAL_DAYS and 9 <= hour < 11 else 0.00001
