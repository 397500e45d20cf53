"""One JupyterLab and one Chromium for all tests of this folder; each module has a directory in them.

They are of the package, not of the whole run: as long as Playwright is started, an event loop runs in this thread, which
`asyncio.run` in the tests of another folder would find there. In several processes each process has its own.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.browsers import SIZE, Server, Workspace, jupyter_lab, started_chromium


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The JupyterLab of all tests; it serves Notebook 7, too."""
    place = tmp_path_factory.mktemp("browser")
    root, home = place / "notebooks", place / "home"
    root.mkdir()
    with jupyter_lab(root, home) as address:
        yield Server(address, root, home)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    with started_chromium() as browser:
        yield browser


@pytest.fixture(scope="package")
def context(chromium: Any) -> Iterator[Any]:
    """The browser context of all tests: a page that is opened anew finds its scripts in the cache."""
    context = chromium.new_context(viewport=dict(zip(("width", "height"), SIZE, strict=True)))
    yield context
    context.close()


@pytest.fixture(scope="module")
def workspace(request: pytest.FixtureRequest, server: Server, context: Any) -> Iterator[Workspace]:
    """A directory for the notebooks of a module; their kernels end with it."""
    workspace = Workspace(server, context, request.module.__name__.rpartition(".test_")[2])
    yield workspace
    workspace.end_kernels()
    print(f"screenshots in {workspace.place}")
