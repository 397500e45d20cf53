"""Markdown of a model, as HTML that can do nothing: no script, no picture from afar, no style of its own.

markdown-it with raw HTML off makes the markup, the rules here give it our few inline styles, and
nh3 then lets through listed elements, and of `style` only the very values that the rules wrote.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import nh3
from markdown_it import MarkdownIt

from deepnb.views import html as h
from deepnb.views.plain import clean

if TYPE_CHECKING:
    from markdown_it.token import Token

_MOST = 100_000
"""Longer texts are shown as they were written: the parser takes about a second for twice as many characters."""
_MOST_SIGNS = 20_000
"""So are those with more signs of Markdown in one paragraph: on brackets the parser's time grows faster."""

_CELL = f"border-bottom:1px solid {h.LINE};padding:3px 12px 3px 0;text-align:"
_STYLES = {
    "table_open": "border-collapse:collapse;border:none;margin:8px 0;font-size:13px;color:inherit",
    "tr_open": "background:transparent",
    "blockquote_open": f"border-left:3px solid {h.LINE};margin:8px 0;padding:0 12px",
    "pre": f"{h.MONO};line-height:1.45;{h.SOFT};border-radius:6px;margin:8px 0;padding:8px 10px;overflow-x:auto;white-space:pre",
    "code": f"{h.MONO};{h.SOFT};border-radius:4px;padding:1px 4px",
    "h1": "font-size:1.35em;line-height:1.3;margin:14px 0 6px 0",
    "h2": "font-size:1.2em;line-height:1.3;margin:12px 0 6px 0",
    "h3": "font-size:1.08em;line-height:1.3;margin:10px 0 4px 0",
    "p": "margin:6px 0",
}
_ALLOWED_STYLES = frozenset({*_STYLES.values(), *(_CELL + side for side in ("left", "right", "center"))})
_TAGS = {
    *(
        [
            "a",
            "b",
            "blockquote",
            "br",
            "code",
            "del",
            "em",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "hr",
            "i",
            "li",
            "ol",
            "p",
            "pre",
            "s",
            "strong",
        ]
    ),
    *(["table", "tbody", "td", "th", "thead", "tr", "ul"]),
}
_STYLED = ("table", "tr", "td", "th", "blockquote", "pre", "code", "h1", "h2", "h3", "h4", "h5", "h6", "p")
_SIGNS = re.compile(r"[\[\]*_`<>!~|&\\()]")
_SAFE_LINK = re.compile(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)


def markdown_html(text: str) -> h.Html:
    """`text` as sanitised markup; one that is too long for the parser as plain text."""
    text = clean(text)
    if len(text) > _MOST or _signs(text) > _MOST_SIGNS:
        return h.pre(text)
    return h.Html(
        nh3.clean(
            _parser().render(text),
            tags=_TAGS,
            attributes={"a": {"href", "target"}, "ol": {"start"}, **{tag: {"style"} for tag in _STYLED}},
            attribute_filter=_attribute,
            url_schemes={"http", "https", "mailto"},
            link_rel="noopener noreferrer",
            clean_content_tags=set(),
        )
    )


def _signs(text: str) -> int:
    """The most brackets, stars, ticks and the like in one paragraph."""
    return max(len(_SIGNS.findall(paragraph)) for paragraph in text.split("\n\n"))


def _attribute(tag: str, name: str, value: str) -> str | None:
    if name == "style":
        return value if value in _ALLOWED_STYLES else None
    return value


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "typographer": False})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = _link  # type: ignore[assignment, method-assign]
    for name in ("fence", "code_block", "code_inline", "image", "link_open"):
        parser.add_render_rule(name, globals()[f"_{name}"])
    parser.core.ruler.push("deepnb_styles", _style)
    return parser


def _link(address: str) -> bool:
    """Whether an address may be one of a link; what may not stays in the text as it was written."""
    return bool(_SAFE_LINK.match(address))


def _style(state: Any) -> None:
    """Give block tokens our styles, in place of what the parser would write."""
    for token in state.tokens:
        if token.type in ("td_open", "th_open"):
            side = str(token.attrs.get("style", "text-align:left")).removeprefix("text-align:")
            token.attrs["style"] = _CELL + side
        elif token.type == "heading_open":
            token.attrs["style"] = _STYLES.get(token.tag, _STYLES["h3"])
        elif token.type == "paragraph_open":
            token.attrs["style"] = _STYLES["p"]
        elif token.type in _STYLES:
            token.attrs["style"] = _STYLES[token.type]


def _fence(self: Any, tokens: Sequence[Token], at: int, options: Any, env: MutableMapping[str, Any]) -> str:
    body = h.el("code", tokens[at].content, style="")
    return h.el("pre", body, style=_STYLES["pre"]) + "\n"


_code_block = _fence


def _code_inline(self: Any, tokens: Sequence[Token], at: int, options: Any, env: MutableMapping[str, Any]) -> str:
    return h.el("code", tokens[at].content, style=_STYLES["code"])


def _image(self: Any, tokens: Sequence[Token], at: int, options: Any, env: MutableMapping[str, Any]) -> str:
    """The picture's words and its address as a link: opening a notebook must load nothing from afar."""
    token = tokens[at]
    words = f"[picture: {token.content}]" if token.content else "[picture]"
    inside = sum({"link_open": 1, "link_close": -1}.get(t.type, 0) for t in tokens[:at])
    if inside > 0:
        return h.esc(words)
    address = str(token.attrs.get("src", ""))
    return h.join(words, " ", h.el("a", address, href=address, target="_blank"))


def _link_open(self: Any, tokens: Sequence[Token], at: int, options: Any, env: MutableMapping[str, Any]) -> str:
    address = h.el("a", href=str(tokens[at].attrs.get("href", "")), target="_blank")
    return address.removesuffix("</a>")
