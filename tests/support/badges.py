"""The badges of README for Binder and Colab, from the addresses in pyproject.toml.

`python -m tests.support.badges` writes them below the mark `<!-- badges -->`; without an address there are none.
"""

import re
import tomllib
from collections.abc import Mapping
from urllib.parse import quote

from tests import ROOT

MARK = "<!-- badges -->"
FIRST = "notebooks/00_start_here.ipynb"
_REPOSITORY = re.compile(r"https://github\.com/([\w.-]+/[\w-][\w.-]*?)(?:\.git)?/?")


def badges(urls: Mapping[str, str]) -> str:
    found = next(filter(None, map(_REPOSITORY.fullmatch, urls.values())), None)
    if found is None:
        return ""
    binder = f"https://mybinder.org/v2/gh/{found[1]}/HEAD?labpath={quote(FIRST, safe='')}"
    colab = f"https://colab.research.google.com/github/{found[1]}/blob/HEAD/{FIRST}"
    return (
        f"[![Open in Binder](https://mybinder.org/badge_logo.svg)]({binder})"
        f" [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({colab})"
    )


def project_urls() -> dict[str, str]:
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {}))


def with_badges(readme: str, line: str) -> str:
    before, _, after = readme.partition(f"{MARK}\n")
    rest = after.partition("\n\n")[2] if after.startswith("[![") else after.lstrip("\n")
    return f"{before}{MARK}\n" + (f"{line}\n" if line else "") + f"\n{rest}"


def main() -> None:
    file = ROOT / "README.md"
    file.write_text(with_badges(file.read_text(encoding="utf-8"), badges(project_urls())), encoding="utf-8")


if __name__ == "__main__":
    main()
