"""Whether markup can do nothing but show: only listed elements, attributes, styles and addresses, and it balances."""

import re
from html.parser import HTMLParser

TAGS = {
    *("a", "b", "blockquote", "br", "code", "del", "details", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr"),
    *("i", "ins", "li", "mark", "ol", "p", "pre", "s", "small", "span", "strong", "summary"),
    *("table", "tbody", "td", "th", "thead", "tr", "ul"),
}
ATTRIBUTES = {"style", "title", "open", "href", "target", "rel", "start"}
ADDRESSES = ("http://", "https://", "mailto:")
_DANGER = re.compile(r"url\(|expression|var\(|import|behavior|binding|position|@|\\|/\*", re.IGNORECASE)
_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
_STRAY = re.compile(r"<(?!/?[a-z][a-z0-9]*[ >])")


class Harmful(AssertionError):
    """Markup that can do more."""


class _Checker(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.shown: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag == "img" and set(told) == {"src", "alt", "style"} and _IMAGE.fullmatch(str(told["src"])):
            return
        if tag not in TAGS:
            raise Harmful(f"<{tag}>")
        for name, value in told.items():
            if name not in ATTRIBUTES:
                raise Harmful(f"<{tag} {name}>")
            if name == "href" and not str(value).lower().startswith(ADDRESSES):
                raise Harmful(f"{name}={value!r}")
            if name == "style" and _DANGER.search(str(value)):
                raise Harmful(f"{name}={value!r}")
        if "href" in told and (told.get("target"), told.get("rel")) != ("_blank", "noopener noreferrer"):
            raise Harmful(f"a link that opens here: {told}")
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            raise Harmful(f"</{tag}> out of its place")

    def handle_data(self, data: str) -> None:
        self.shown.append(data)

    def handle_comment(self, data: str) -> None:
        raise Harmful("a comment")

    def handle_decl(self, decl: str) -> None:
        raise Harmful("a declaration")

    def handle_pi(self, data: str) -> None:
        raise Harmful("an instruction")

    def unknown_decl(self, data: str) -> None:
        raise Harmful("a declaration")


def harmless(markup: str) -> str:
    if found := _UNSEEN.search(markup):
        raise Harmful(f"an unseen sign {found[0]!r}")
    if stray := _STRAY.search(markup):
        raise Harmful(f"not a tag of ours: {markup[stray.start() :][:20]!r}")
    checker = _Checker()
    checker.feed(markup)
    checker.close()
    if checker.open:
        raise Harmful(f"left open: {checker.open}")
    markup.encode()
    return "".join(checker.shown)
