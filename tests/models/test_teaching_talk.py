"""What the teaching model says where it has no rule."""

from deepnb import Session
from deepnb.models.teaching.talk import TRIES, TRIES_ZH
from tests.support.tables import every_row


@every_row(("request_", "tries"), [("sing for me", TRIES), ("唱首歌", TRIES_ZH)])
def test_a_request_without_a_rule_is_answered_with_two_prompts_that_have_one(request_: str, tries: tuple[str, ...]):
    session = Session()
    said = session.run(request_).text
    assert len(said.splitlines()) == 1
    for prompt in tries:
        assert prompt in said
        answer = session.run(prompt).text
        assert "rule-based" not in answer and "基于规则" not in answer and "没有正好" not in answer, answer


def test_what_no_prompt_says_is_not_known() -> None:
    assert Session().run("Who has the key?").text.startswith("Nothing in my prompt says that.")
    assert Session().run("谁有钥匙？").text.startswith("我的提示词里没有提到这个。")


def test_a_tool_of_the_users_is_called_by_name() -> None:
    def sales(region: str, year: int = 2026) -> str:
        """Units sold in a region."""
        return f"{region} {year}: 42"

    session = Session()
    session.tools.add(sales)
    session.run("call sales with region North and year 2025")
    while session.asked:
        list(session.resume(session.asked[0].approve()))
    assert session.last and session.last.text == "`sales` gave: North 2025: 42"
    assert "I can't place" in session.run("call sales with colour red").text
