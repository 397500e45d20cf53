"""A key is asked for in a real kernel through the front end's hidden prompt, and is in no message but that answer."""

from __future__ import annotations

import json

import pytest

from tests.support.kernels import Kernel, asked

pytestmark = pytest.mark.kernel
KEY = "correct-horse-battery-staple-unlike-any-other"


def test_the_prompt_is_hidden_and_what_is_typed_is_shown_nowhere(kernel: Kernel) -> None:
    prompts, published, reply = asked(kernel, "%agent key openai", KEY)
    assert reply["status"] == "ok"
    assert prompts == [{"prompt": "key for openai (hidden, kept in this process only): ", "password": True}]
    shown = json.dumps(published, default=str)
    assert "key for openai kept in this process only" in shown
    later = [kernel.run(cell) for cell in ("%agent models", "%agent", "%history", "%config DeepNB", "deepnb", "1 / 0")]
    assert "key entered here" in later[0].text
    assert KEY not in shown + json.dumps([[r.messages, r.reply] for r in later], default=str)
    held = "from deepnb.models.keys import kept_key; print(kept_key('openai'), len(kept_key('openai').reveal()))"
    assert kernel.ok(held).text.strip() == f"Key(hidden) {len(KEY)}"


def test_a_client_that_can_not_be_asked_gets_one_line(kernel: Kernel) -> None:
    ran = kernel.run("%agent key anthropic")
    assert ran.status == "error"
    assert ran.reply["evalue"] == (
        "this front end can't ask for a key: set ANTHROPIC_API_KEY in the environment that starts Jupyter"
    )
    assert len([line for line in ran.printed.splitlines() if line.strip()]) == 1
