"""One line of the table: a figure, its baseline from the same run, and the bound it is held to."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    what: str
    figure: float
    unit: str
    baseline: float | None = None
    ratio: float | None = None
    bound: str = ""
    ok: bool | None = None
    detail: bool = False

    def __str__(self) -> str:
        beside = "" if self.baseline is None else _number(self.baseline)
        times = "" if self.ratio is None else f"{self.ratio:.2f} x"
        verdict = {None: "", True: "ok", False: "MISSED"}[self.ok]
        figure = f"{_number(self.figure)} {self.unit}"
        return f"{self.what:62}{figure:>14}{beside:>11}{times:>9}  {self.bound:>9}  {verdict}".rstrip()


HEAD = f"{'':62}{'figure':>14}{'baseline':>11}{'ratio':>9}  {'bound':>9}"


def held(what: str, figure: float, baseline: float, unit: str, most: float, *, ratio: float | None = None) -> Row:
    times = figure / baseline if ratio is None else ratio
    return Row(what, figure, unit, baseline, times, f"{most:g} x", times <= most)


def added(what: str, figure: float, baseline: float, unit: str, more: float) -> Row:
    over = figure - baseline
    return Row(what, figure, unit, baseline, figure / baseline, f"+{more:g} {unit}", over <= more)


def below(what: str, figure: float, baseline: float | None, unit: str, most: float) -> Row:
    ratio = figure / baseline if baseline else None
    return Row(what, figure, unit, baseline, ratio, f"{most:g} {unit}", figure <= most)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"
