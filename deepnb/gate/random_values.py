"""Long values drawn by chance, known by their prefix or by the words beside them.

Ids and digests look the same, so the words that introduce them are known here, and a UUID or a hash counts only after
a prefix that says what it is for (`sk-`, `pat-`).
"""

import re
from collections.abc import Iterator

from deepnb.gate import shapes
from deepnb.gate.spans import Finding, regex, word_set

_SHORTEST, _SHORTEST_TELLING, _SHORTEST_HASH = 24, 20, 32
_RUN = regex(
    r"(?:(?<![A-Za-z0-9\\])(?<![A-Za-z0-9_][_-])|(?<=\\[nrt])|(?<=%[0-9A-F][0-9A-F]))"
    r"[A-Za-z][A-Za-z0-9]{1,15}[_.~-]{1,2}[A-Za-z0-9][A-Za-z0-9_+/.~-]{19,511}"  # zotero_4f9a...
)
_REST = regex(r"[A-Za-z0-9_+/.~-]{0,4096}={0,2}")
_PART = regex(r"((?![a-z]{1,15}\d{3})(?:[a-z]{1,15}|[A-Z]{1,15}|[A-Z][a-z]{1,14})(?:\d{1,2}[a-z]{0,3}){0,2})[_.~-]{1,2}")  # fmt: skip
_PARTS = 4
_UUID = regex(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")  # 0f8fad5b-d9cb-469f-a165-70867728950e
_NAME_END = regex(r"\.[A-Za-z][A-Za-z0-9]{0,4}\Z")  # a file's, or a host's
_RESOURCE = regex(
    r"(?:[a-z0-9]{1,19}[._~-]{1,2}){2,40}[a-z0-9]{1,19}"  # payment-worker-7d9c6b8f5-x2x7k, test_align_mismatched_tzs
    r"|[a-z0-9-]{1,64}-(?:[A-Z][a-z]{2,15}){2,5}-[A-Z0-9]{10,14}"  # shop-PayFunction-7LFBSG5O47PC2
    r"|[A-Z][a-z]{1,15}(?:-[A-Za-z]{1,16}){0,9}-[0-9a-f]{32}"  # Meeting-notes-4f9a...
)
_ID = regex(r"[a-z]{2,10}_01[A-Za-z0-9]{20,24}")  # msg_01...: Anthropic's ids of whatever kind
_OTHER = regex(r"[^A-Za-z0-9]")
_TELLING = word_set("""sk rk pat key keys apikey api token tok tkn secret sec auth oauth access live cred creds pass pw pwd bearer jwt priv
private service svc webhook whsec refresh personal signing sdk""")
# What is no credential though drawn by chance: stand-ins, digests and public keys, wherever the word stands in the
# prefix; what is named by its hash; and ids, whose word is all of the prefix.
_DIGESTS = word_set("""your example sample dummy fake placeholder sha md hash digest checksum etag integrity crc fingerprint pub pubkey
public ssh ecdsa rsa ed uuid guid nonce boundary webkit traceparent""")
_HASH_NAMES = word_set("""cache commit rev revision blob layer image index chunk build snapshot font bundle asset assets static trace span vpc
subnet ami arn sg eni vol igw rtb node pod cluster replicaset version form data base""")
_IDS = word_set("""call toolu tooluse srvtoolu tool msg message resp response rs fc ctc run lc thread asst assistant file chatcmpl cmpl
gen req request evt event org project proj user usr account acct item step batch job task session conv conversation
turn cell doc document page block row col id ids obj object ref ch cus pi pm in price prod product sub si seti cs
order inv invoice team group channel workspace wrkspc app client device customer tx txn vs ft upload part list link
path url chain model dataset experiment artifact worker queue process container instance deploy deployment release
branch tag name title slug section figure fig table note notes notebook kernel state ckpt checkpoint store entry record
patch diff test tests example tmp temp fixture case rule policy role plan""")
_ID_BEFORE = regex(
    r"(?i)(?:(?:\b|_|(?<=[a-z])(?=I))ids?|hash|digest|sha\d{0,3}|md5|checksum|etag|integrity|uuid|guid|fingerprint|revision|commit|nonce"  # run_id=
    r"|cursor|signature)\b[\"'\])]{0,3}(?:\s{0,2}(?:[:=]|=>)|[ ](?:is|was)|[ ,(]{1,2}(?:for example|e\.g\.),?)?\s{0,2}[\"'`(\[{]{0,3}\Z"  # the signature is
    r"|\b(?:arn|doi):\S{0,60}\Z",  # arn:aws:s3
)


def keys_by_prefix(text: str, words: list[tuple[int, int]]) -> Iterator[Finding]:
    done = 0
    for run in (run for word in words for run in _RUN().finditer(text, *word)):
        if run.start() < done:
            continue
        found = run.group().rstrip("./~+")
        prefix = _prefix(found)
        if prefix and not _ID_BEFORE().search(text, max(0, run.start() - 64), run.start()):
            done = run.start() + len(found)
            if len(run.group()) == len(found) and (rest := _REST().match(text, done)):
                done = rest.end()
            yield Finding(run.start(), done, "token", f"a long random value after the prefix {prefix}")


def _prefix(run: str) -> str | None:
    parts: list[str] = []
    ends: list[int] = [0]
    while len(parts) < _PARTS and (part := _PART().match(run, ends[-1])):
        parts.append(part[1].lower())
        ends.append(part.end())
    if not parts or sum(map(str.isalpha, parts[0])) < 2 or _NAME_END().search(run) or shapes.stand_in(run[ends[-1] :]):
        return None
    if "/" in run and run[ends[1] - 1] == ".":  # a host and a path
        return None
    if (_RESOURCE().fullmatch(run) and not _UUID().search(run)) or _ID().fullmatch(run) or shapes.is_name(run):
        return None
    telling = not _TELLING.isdisjoint(parts)
    words = {part.rstrip("0123456789") for part in parts}
    if not _DIGESTS.isdisjoint(words) or (len(words) == 1 and not telling and words <= _IDS):
        return None
    hashes = _HASH_NAMES.isdisjoint(words) and (telling or _IDS.isdisjoint(words))
    # A body that begins with something like a word has lost that to the prefix; one of hexadecimal digits has not.
    starts = ends[-1:] if shapes.is_hexadecimal(_OTHER().sub("", run[ends[-1] :])) else ends[:0:-1]
    return run[: ends[1]] if any(_is_key(run[start:], telling, hashes) for start in starts) else None


def _is_key(body: str, telling: bool, hashes: bool) -> bool:
    """Return whether the rest of a run is a key's body; one of hexadecimal digits only where `hashes` may be keys."""
    rest, ids = _UUID().subn("", body)
    plain = _OTHER().sub("", rest)
    if ids and not plain:
        return telling and hashes
    if len(plain) < (_SHORTEST_TELLING if telling else _SHORTEST) or 7 * (len(rest) - len(plain)) > len(rest):
        return False
    if shapes.is_hexadecimal(plain):
        return hashes and len(plain) >= _SHORTEST_HASH and shapes.is_random(plain)
    host, slash, _ = rest.partition("/")
    if slash and ("." in host or any(len(part) >= 4 and not shapes.is_random(part) for part in rest.split("/"))):
        return False  # a path
    if "." in rest and not any(len(part) >= 16 and shapes.is_random(part) for part in rest.split(".")):
        return False  # a name with dots
    return shapes.is_random(plain) and (len(plain) >= 40 or any(c.isdigit() for c in plain))


# -- A long value drawn by chance, known by the words beside it: a name of secrecy, a vendor, a sentence, an id
# The value is found first and then what stands beside it is read, so any name will do: `zotero_key`, `gitlabPat`.

_LONG_RUN = regex(
    r"(?:(?<![A-Za-z0-9_+/.~\\-])|(?<=\\[nrt])|(?<=[ =]-[DPpku])|(?<=--))(?:[A-Za-z0-9]|(?<=[=:\"'\s])[/+](?=[A-Za-z0-9]))(?:[A-Za-z0-9_+/.~-]{19,511})={0,2}"
)
_LEAST, _BEFORE, _AFTER = 20, 96, 48
_ANY_UUID = regex(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_WORD = r"(?:is|was|are|be|to|as|str|string|String|char|const|auto|value|content|default|Some|new|ist|es|est|lautet|b|r|f|u)"
# What may stand between a name and its value: `": "`, `</key><string>`, ` is `, `: str = "`, `"] = `
_NAMED = regex(
    rf"(?<![A-Za-z0-9])([A-Za-z][\w.-]{{1,60}})(?::[ ]?[A-Za-z_][\w.\[\], |]{{0,40}}(?==))?(?:[^\w\n]{{1,10}}|[^\w\n]{{0,8}}\n[^\w\n]{{0,40}})"
    rf"(?:(?:{_WORD}|/[\w.]{{1,60}}>\s{{0,40}}<\w{{1,20}})(?:[^\w\n]{{1,8}})){{0,2}}\Z"
)
_CAMEL = regex(r"[a-zà-ÿ]{1,60}\d{0,2}|[A-Z]{1,60}(?![a-zà-ÿ])\d{0,2}|[A-Z][a-zà-ÿ]{1,60}\d{0,2}|\d{1,60}")
_ADDED = word_set("""prod production dev test testing staging stage live sandbox ro rw read write old new val value str string raw main default
b64 base64 api acces acceso us eu v1 v2 v3 local backup primary secondary admin it""")
_SECRECY = word_set("""key keys apikey pat auth sas seed salt pepper hmac cipher sk tok tkn token tokens cred creds credential credentials secret
secrets license licence otp totp mfa psk jwt bearer dsn signing private pw pwd pass passwd password passphrase mnemonic
webhook apitoken authtoken login schluessel schlüssel geheimnis clave llave chave chiave jeton cle clef clé secreto zugang appid""")
_PLAIN = word_set("key keys auth seed salt login pass license licence signing")  # alone, they name anything
_ENDS = ("key", "token", "secret", "passwd", "creds")
_NO_ENDS = frozenset(("monkey", "turkey", "whiskey", "hockey", "jockey", "donkey", "hotkey"))
# What is no credential though chance drew it: public halves, digests, and what is found again by it.
_NO_SECRETS = word_set("""public pub hash digest sha sha1 sha256 sha512 md5 id ids uuid guid cache etag checksum integrity fingerprint primary foreign
sort partition idempotency host row group object dedup lookup index map dict blob file message event shard routing
composite unique natural item sub answer short hot commit rev revision version nonce csrf xsrf test_id site sitekey
publishable query react i18n locale translation storage state random rng node next page continuation cursor pagination""")
_NO_SECRET_SAID = regex(
    r"(?i)(?<![a-z])(?:public|hash(?:es)?|digest|sha-?\d{0,3}|md5|ids?|uuid|guid|etag|checksum|integrity|fingerprint|commits?|rev(?:ision)?"  # the sha256
    r"|version|nonce|cursor|branch|tag|snapshot|build|image|layer|cache|primary|foreign|example|placeholder|dummy|signature)(?![a-z])",  # the signature
)
_SECRECY_SAID = regex(
    r"(?i)(?:(?<![a-z_-])(?:(?<!primary )(?<!foreign )key|api|token|secret|credentials?|api[- ]?keys?|authenticat\w{1,5}|bearer|login|password|pass(?:word|phrase)"  # my API key:
    r"|passwort|kennwort|zugang(?:sdaten)?|jeton|cl\u00e9(?: d['\u2019]\w{2,8})?|mot de passe|contrase\u00f1a|clave|llave|secreto)(?![a-z_])"  # das Passwort ist
    r"|schl\u00fcssel|token(?![a-z_])|\u5bc6\u94a5|\u5bc6\u9470|\u4ee4\u724c|\u51ed\u8bc1|\u51ed\u636e|\u5bc6\u7801|\u79d8\u94a5|\u53e3\u4ee4)(?:[ ][^\s.;!?,:]{1,20}){0,7}?[^\w\n]{1,6}\Z",  # der API-Schlüssel ist
)
_SAID_AFTER = regex(
    r"(?i)[\"'`*)]{0,3}[ ,]{0,2}(?:[(](?:the |our |my )?|[ ]?=[ ]|[ ](?:is|as|for|ist|est|es|als|comme|como)[ ])(?:[\w']{1,14}[ ]){0,4}?"  # is the API key
    r"(?:key|token|secret|credential|api|schl\u00fcssel|jeton|cl\u00e9|clave|llave)(?![a-z_])",
)
_VENDORS_TEXT = """ably abstractapi adafruit adyen ahrefs airbrake airtable alchemy algolia alpaca alphavantage alpha.vantage amplitude anthropic
apify assemblyai asana atlassian auth0 axiom azure backblaze baidu betterstack bigquery binance bitbucket bitly blockfrost
braintree browserbase browserstack bugsnag bunny.net buildkite calendly cerebras chargebee checkly circleci clearbit clerk clickhouse
clickup cloudflare cloudinary cockroach codecov cohere coinbase coingecko coinmarketcap comet.ml confluent contentful convertkit coralogix
crowdstrike cryptocompare customer.io databento databricks datadog dashscope deepgram deepl deepseek digitalocean discord docusign
doppler dropbox duffel dynatrace easypost elastic elevenlabs etherscan eventbrite exa fastly fauna figma finnhub firebase firecrawl
fireworks flickr flutterwave foursquare fred freshdesk gemini geoapify ghost giphy gitea github gitlab gocardless godaddy google
grafana graphhopper groq guardian harbor helicone heroku hetzner honeybadger honeycomb hubspot huggingface hugging.face iex
imgur infracost influxdb infura instagram intercom ipinfo ipstack jfrog jina jira kaggle klaviyo kraken kucoin langfuse langsmith
launchdarkly lemonsqueezy linkedin linode locationiq logdna loggly logz logtail lokalise mailchimp mailersend mailgun mailjet mandrill
mapbox mapquest maptiler marketstack mattermost maxmind meraki messagebird mistral mixpanel moonshot moralis nasdaq neptune netlify
newsapi new.?relic ngrok notion npm nvidia nytimes okta onesignal openai opencage openrouter openrouteservice opensea opsgenie
openweather(?:map)? opsworks ovh pagerduty paddle paypal pexels perplexity pinecone pinterest pipedrive plaid planetscale postman
postmark polygon.io posthog prefect pulumi pushbullet pushover qdrant quandl quicknode rapidapi razorpay recaptcha replicate resend
rollbar runpod salesforce scaleway segment sendbird sendgrid sendinblue sentry serpapi serper shippo shodan shopify siliconflow
slack snowflake snyk sonarqube sonarcloud splunk spoonacular spotify squarespace stripe supabase tavily telegram telnyx
tencent tiingo tinify tinypng tmdb todoist togetherai trello truelayer twelvedata twilio twitch twitter typeform unsplash
upstash uptimerobot vercel virustotal voyageai vultr wandb weatherapi weatherbit weatherstack weaviate weights.and.biases wolfram
wolframalpha woocommerce xero yandex yelp youtube zendesk zenodo zerossl zilliz zoho zoom zotero zulip"""
_VENDOR = regex(rf"(?<![a-z])(?:{'|'.join(_VENDORS_TEXT.split())})(?![a-z])", re.IGNORECASE)
_ACCESS_ID = regex(r"(?:AKIA|ASIA|LTAI|AKID|GOOG1E|ALTAK)[A-Za-z0-9]{12,57}")  # AKIA...
_FORM = regex(
    r"(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:fx|[0-9a-f]{32}-us\d{1,2}|[0-9a-fA-F]{36}NRAL"  # DeepL, Mailchimp, New Relic
    r"|[0-9a-f]{32}\.[A-Za-z0-9]{16}|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{40,80}"  # Zhipu, Terraform
    r"|[A-Za-z0-9_~-]{3}\dQ~[A-Za-z0-9_.~-]{31,34}|[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}|[A-Za-z0-9+/]{86}=="  # Azure's
    r"|(?=[A-Za-z0-9]{0,80}\d)[A-Za-z0-9]{32,52}(?:JQQJ99[A-Za-z0-9]{18,30}|AC[A-Za-z]{2}[A-Za-z0-9]{4}))(?![A-Za-z0-9_=-])"  # Azure's of later years
)
_SAYS = word_set("""file path dir url uri endpoint name names count limit length len type field column columns env var policy hint prompt label
header prefix pattern regex min max version color colour format user mail""")


def beside_words(text: str, words: list[tuple[int, int]]) -> Iterator[Finding]:
    done = 0
    for run in (run for word in words for run in _LONG_RUN().finditer(text, *word)):
        if run.start() < done:
            continue
        value = run.group().rstrip("./~+-") if run.group()[-1] != "=" else run.group()
        if form := _FORM().match(text, run.start()):
            done = form.end()
            yield Finding(run.start(), done, "API key", "a long random value of a vendor's form")
            continue
        if "." in value and value.rpartition(".")[2].isalpha() and len(value.rpartition(".")[2]) < 5:
            continue  # a file's name, or a host's
        drawn = _drawn(value)
        if drawn and (why := _why(text, run.start(), run.start() + len(value), drawn)):
            done = run.start() + len(value)
            yield Finding(run.start(), done, *why)


def _drawn(value: str) -> str:
    """Return how chance drew a value: as letters, with or without digits, as a hash or as a UUID; empty where it did not."""
    if _ANY_UUID().fullmatch(value):
        return "uuid"
    plain = _OTHER().sub("", value)
    if len(plain) < _LEAST or 6 * (len(value) - len(plain)) > len(value) or not shapes.is_random(plain):
        return ""
    if shapes.stand_in(value) or shapes.is_alphabet(value) or shapes.is_name(value):
        return ""
    if shapes.is_hexadecimal(plain):
        return "hash" if plain.isalnum() and len(plain) == len(value) else ""
    if "." in value and not _is_whole(value):
        return ""
    return "letters" if any(map(str.isdigit, plain)) else "no digits"


def _is_whole(value: str) -> bool:
    """Return whether each long part between signs is drawn by chance: those of a path, a name with dots or dashes are not."""
    parts = [part for part in re.split(r"[/._~-]", value) if len(part) >= 5]
    return sum(len(part) for part in parts if not shapes.is_random(part)) * 3 <= len(value)


def _why(text: str, start: int, end: int, drawn: str) -> tuple[str, str] | None:
    """Return the kind of a value drawn by chance, and the reason; None for one that may be anything."""
    before = text[max(0, start - _BEFORE) : start]
    if name := _name_of_secrecy(before, drawn):
        return "API key", f"a value named {name}"
    if drawn == "no digits" or (drawn == "letters" and not _is_whole(text[start:end])):
        return None
    above, _, line = before.rpartition("\n")
    if not line.strip():
        line = above.rpartition("\n")[2]  # a row of its own below the id
    after = text[end : end + _AFTER].partition("\n")[0]
    if _ACCESS_ID().search(line) or _ACCESS_ID().search(after):
        return "secret", "a long random value beside the id of an access key"
    is_none = _NO_SECRET_SAID().search(line[-40:]) or _NO_SECRET_SAID().match(after.lstrip(" (["))
    if is_none or "://" in line.rpartition(" ")[2]:
        return None
    if drawn != "uuid" and (_SECRECY_SAID().search(line) or _SAID_AFTER().match(after)):
        return "token", "a long random value that is called a key"
    if vendor := _VENDOR().search(line[-60:]) or _VENDOR().search(after):
        return "token", f"a long random value beside the name {vendor.group()}"
    return None


def _name_of_secrecy(before: str, drawn: str) -> str | None:
    if (found := _NAMED().search(before)) is None:
        return None
    words = _words(found[1])
    while len(words) > 1 and (words[-1] in _ADDED or words[-1].isdigit()):
        words.pop()
    if not words or not _NO_SECRETS.isdisjoint(words):
        return None
    last = words[-1]
    if len(words) == 1 and last in _PLAIN:
        return None
    ends_so = last.endswith(_ENDS) and last not in _NO_ENDS and drawn != "uuid"
    return found[1] if ends_so or last in _SECRECY or any(map(_VENDOR().fullmatch, words)) else None


def _words(name: str) -> list[str]:
    return [word.lower() for word in _CAMEL().findall(name)]


def secrecy(name: str, value: str) -> str:
    """Return why a value in code is not to be given away, by its name or by chance, or ""; stricter than what is masked in a text."""
    words = frozenset(_words(name))
    if value != value.strip() or not 4 <= len(value) <= 512 or words & _NO_SECRETS or words & _SAYS:
        return ""
    of_other_things = {"key", "keys", "token", "tokens", "salt", "seed", "login", "license", "licence"}
    if words & (_SECRECY - of_other_things) and shapes.quoted_password_like(value):
        return f"a value named {name}"
    drawn = shapes.plainly_made(value) or _drawn(value) in ("letters", "hash")
    return "a value that is drawn by chance" if drawn else ""
