"""Lines that hold no credential, many of which look as though they did. Frozen with the credentials.

Decided here: a placeholder (`changeme`, `<your password>`, `***`, `${TOKEN}`, `xxx`) is clean, so is the
documentation's `user:password@host`; a weak but real-looking password (`hunter2`) is not.
"""

import base64
import random
import string
from pathlib import Path

HEX = "0123456789abcdef"

WRITTEN = Path(__file__).with_suffix(".txt")


def _bits(rng: random.Random, count: int) -> str:
    return "".join(rng.choices(HEX, k=count))


def _b64(rng: random.Random, count: int) -> str:
    return base64.b64encode(rng.randbytes(count)).decode()


def _uuid(rng: random.Random) -> str:
    return "-".join(_bits(rng, n) for n in (8, 4, 4, 4, 12))


def _minified(rng: random.Random) -> str:
    names = string.ascii_lowercase
    return ";".join(
        f"{a}.{b}=function({b}){{return {b}?{a}({b},{rng.randrange(99)}):t[{a}]}}"
        for a, b in zip(rng.choices(names, k=8), rng.choices(names, k=8), strict=True)
    )


def _made(rng: random.Random) -> list[str]:
    """One of each made kind: hashes, sums, ids, images, lock files, keys that are public, sequences."""
    return [
        f"commit {_bits(rng, 40)}",
        f"{_bits(rng, 7)} Fix the off-by-one in planets.csv",
        f"index {_bits(rng, 7)}..{_bits(rng, 7)} 100644",
        f"{_bits(rng, 64)}  planets-{rng.randrange(9)}.tar.gz",
        f"sha256:{_bits(rng, 64)}",
        f"    --hash=sha256:{_bits(rng, 64)} \\",
        f'"integrity": "sha512-{_b64(rng, 64)}",',
        f'  resolved "https://registry.npmjs.org/vega/-/vega-5.{rng.randrange(30)}.0.tgz#{_bits(rng, 40)}"',
        f'checksum = "{_bits(rng, 64)}"',
        f'{{ url = "https://files.pythonhosted.org/packages/{_bits(rng, 2)}/{_bits(rng, 2)}/{_bits(rng, 60)}/x-1.0-py3-none-any.whl", hash = "sha256:{_bits(rng, 64)}" }}',
        f"golang.org/x/crypto v0.{rng.randrange(30)}.0 h1:{_b64(rng, 32)}",
        _uuid(rng),
        f"run_id = {_uuid(rng)}",
        f'"thread_id": "{_uuid(rng)}", "checkpoint_id": "{_uuid(rng)}"',
        f'"id": "{_bits(rng, 8)}", "tool_call_id": "call_{_b64(rng, 18).replace("+", "a").replace("/", "b")}"',
        f"![plot](data:image/png;base64,iVBORw0KGgo{_b64(rng, 150)})",
        f'"image/png": "iVBORw0KGgo{_b64(rng, 240)}"',
        f"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{_b64(rng, 270)} ann@laptop",
        f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{_b64(rng, 31)} ann@laptop",
        f"MII{_b64(rng, 45)[:61]}",
        f'ETag: "{_bits(rng, 32)}"',
        f"md5 (planets.csv) = {_bits(rng, 32)}",
        f"0x{_bits(rng, 40)}",
        "".join(rng.choices("ACGT", k=70)),
        "".join(rng.choices("ACDEFGHIKLMNPQRSTVWY", k=60)),
        f"{rng.random() * 1e6:.6f}, {rng.random():.12f}, {rng.randrange(10**12)}, {rng.random():.3e}",
        _minified(rng),
        f"image: registry.company.dev/planets@sha256:{_bits(rng, 64)}",
        f"uses: actions/checkout@{_bits(rng, 40)} # v4.{rng.randrange(9)}.{rng.randrange(9)}",
        f"traceparent: 00-{_bits(rng, 32)}-{_bits(rng, 16)}-01",
        f"License: {'-'.join(''.join(rng.choices(string.ascii_uppercase + string.digits, k=5)) for _ in range(5))}",
        f"{rng.randrange(10**9)}:{rng.randrange(10**9)}",
        f"2026-02-{rng.randrange(10, 28)} 10:{rng.randrange(10, 59)}:07,{rng.randrange(999):03} INFO auth: token refreshed for user {rng.randrange(10**6)}",
        f"tokens: {rng.randrange(10**5)} in, {rng.randrange(10**4)} out, ${rng.random():.4f}",
        f'"usage": {{"input_tokens": {rng.randrange(10**5)}, "output_tokens": {rng.randrange(10**4)}, "total_tokens": {rng.randrange(10**6)}}}',
        f"cache-key-{_bits(rng, 32)}",
        f"https://github.com/org/repo/raw/{_bits(rng, 40)}/planets.csv",
        f"https://company.dev/share/{_b64(rng, 15).replace('+', '-').replace('/', '_')}?v={rng.randrange(9)}",
        f"s3://lake/raw/2026/02/part-{rng.randrange(10**5):05}-{_uuid(rng)}.c000.snappy.parquet",
    ]


def lines() -> tuple[str, ...]:
    rng = random.Random(20260215)
    written = WRITTEN.read_text("utf-8").splitlines()
    return (*written, *(line for _ in range(10) for line in _made(rng)))
