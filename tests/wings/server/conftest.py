"""A real `langgraph dev` with the graphs of tests/support/server_app, and sessions on it."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import deepnb
from tests import ROOT
from tests.support.environments import built, environment
from tests.support.langgraph_server import CLI, LangGraphServer
from tests.support.loopback_server import LoopbackServer, loopback_server

APP = ROOT / "tests" / "support" / "server_app"


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("environment")
    return environment(place / "env", [str(built(place / "wheel", "wheel")), CLI])


def made(programs: Path, place: Path) -> LangGraphServer:
    shutil.copytree(APP, place / "app", ignore=shutil.ignore_patterns("__pycache__", ".langgraph_api"))
    (place / "home").mkdir()
    env = {name: os.environ[name] for name in ("TIKTOKEN_CACHE_DIR",) if name in os.environ}
    return LangGraphServer(place / "app", programs, place / "home", env, "--n-jobs-per-worker", "10")


@pytest.fixture(scope="session")
def served(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = made(programs, tmp_path_factory.mktemp("served"))
    server.start()
    yield server.url
    server.stop()


@pytest.fixture
def mortal(programs: Path, tmp_path: Path) -> Iterator[LangGraphServer]:
    server = made(programs, tmp_path)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with loopback_server() as one:
        yield one


@pytest.fixture
def session() -> Iterator[Callable[..., deepnb.Session]]:
    open_: list[deepnb.Session] = []

    def begin(url: str, thread: str = "main") -> deepnb.Session:
        open_.append(deepnb.Session(graph=url))
        if thread != "main":
            name = thread in {one.name for one in open_[-1].threads}
            (open_[-1].switch if name else open_[-1].new)(thread)
        return open_[-1]

    yield begin
    for one in open_:
        one.close()
