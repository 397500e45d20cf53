"""What the teaching model says where it has no rule."""

from deepnb import Session
from deepnb.models.teaching.talk import TRIES, TRIES_ZH
from tests.support.tables import every_row


@every_row(("request_", "tries"), [("sing for me", TRIES), ("唱首歌", TRIES_ZH)])
def test_a_request_without_a_rule_is_answered_with_three_prompts_that_have_one(request_: str, tries: tuple[str, ...]):
    session = Session()
    said = session.run(request_).text
    for prompt in tries:
        assert f"\n%agent {prompt}\n" in said
        answer = session.run(prompt).text
        assert "rule-based" not in answer and "基于规则" not in answer and "没有正好" not in answer, answer
