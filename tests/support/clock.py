"""A time that is moved on by hand, and a session that lives by it."""

from datetime import datetime, timedelta, timezone
from typing import Any

from deepnb import Session
from tests.support.scripted import Scripted


class Clock:
    def __init__(self, at: str, zone: timezone = timezone(timedelta(hours=9))) -> None:
        self.at = datetime.fromisoformat(at).replace(tzinfo=zone)

    def __call__(self) -> datetime:
        return self.at

    def to(self, at: str) -> None:
        self.at = datetime.fromisoformat(at).replace(tzinfo=self.at.tzinfo)


def session(*answers: Any, clock: Clock | None = None, **options: Any) -> Session:
    return Session(model=Scripted(answers=list(answers) or ["ok"]), clock=clock or Clock("2026-03-02T09:00"), **options)
