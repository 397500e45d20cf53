"""What a user forbids, asks to remember and says of themselves, sentence by sentence."""

import re
from collections.abc import Iterator

from deepnb.core.own_words import sentences
from deepnb.core.regex import regex

_LONGEST = 400
"""Characters of a prohibition; a longer sentence is cut to the clause that holds it."""

_FORBIDS = regex(
    r"\b(?:do not|don['’]?t|does not|doesn['’]t|must not|mustn['’]t|may not|should not|shouldn['’]t|shall not|you can ?not|you can['’]t"
    r"|never|avoid|refrain from|stop (?:using|doing|adding|writing|making|sending|calling)|no longer|under no circumstances"
    r"|(?:is|are|it's) (?:forbidden|prohibited|off[- ]limits|not (?:allowed|permitted|ok(?:ay)?|acceptable|to be))"
    r"|not allowed|not permitted|forbidden|prohibited|off[- ]limits|keep (?:away|off|out)|hands off|leave .{1,60} (?:alone|untouched|as (?:it|they) (?:is|are))"
    r"|without (?:asking|my|telling|permission|approval)|no (?:more )?[a-z-]{2,30} (?:in|on|at|for|from|without|please|ever|allowed))\b"
    r"|不要|不得|不能|不可|不许|不准|不应|不该|禁止|严禁|切勿|请勿|勿|千万别|(?<![特分区级类个性差识辨告离])别(?![的人处墅名])|避免|不再"
    r"|しないで|するな|ないでください|てはいけ|てはなら|ちゃだめ|禁止|厳禁|避けて"
    r"|하지\s?마|지\s?마세요|지\s?말|금지|안\s?됩니다|안\s?돼|하면\s?안"
    r"|\b(?:niemals|nie|nicht|kein(?:e[mnrs]?)?|verboten|vermeide[nt]?|keinesfalls)\b"
    r"|\b(?:jamais|interdit|évite[zr]?|n['’e]\s?[\wéèêà]{1,20} (?:pas|jamais|plus))\b"
    r"|\b(?:nunca|jamás|prohibid[oa]|evita[rd]?|no (?:uses?|hagas?|toques?|borres?|cambies?|modifiques?|escribas?|envíes?|debes?|se (?:debe|puede)))\b",
    re.IGNORECASE,
)
_ONLY_TALK = regex(
    r"\b(?:I|we|you|it|they|he|she|that|this|there|which|who|what|why) (?:(?:really|just|still|also) )?(?:do not|don['’]?t|does not|doesn['’]t|can ?not|can['’]t)"
    r" (?!want|wish|like|allow|accept|touch|use|let|ever)[a-z]"
    r"|\b(?:why|how come|what if) .{0,40}(?:not|n['’]t)\b|\bdon['’]?t (?:worry|mind|bother me|know|think)\b|\bnever ?mind\b"
    r"|\bnot (?:only|sure|yet|bad)\b|能不能|可不可以|要不要|是不是|不能不|不得不|(?:我|他|她|它|我们)(?:不能|不可|不再)",
    re.IGNORECASE,
)
_WISHES = regex(
    r"\b(?:remember|note that|keep (?:this |that )?in mind|bear in mind|don(?:'|’)?t forget|do not forget|for the record|for future reference|from now on|in future|important:"
    r"|call me|always|every time|whenever|(?:make|be) sure (?:to |that |you )?always|we must|you must|must (?:be|always|stay|have)|(?:each|every|all|any) .{1,60}? (?:must|shall|ha(?:s|ve) to))\b"  # always answer in Finnish
    r"|(?:\A|[,;:] )(?:please )?(?:answer|reply|respond|write|speak|talk)(?: to me| everything)?(?: only)? in (?:[A-Z]\w+|(?:plain|simple|short))"  # Answer in German
    r"|\b(?:use|write|say|prefer|take|format|choose|keep to)\b.{1,80}?(?:,? not\b|\binstead of\b|\brather than\b|\beverywhere\b|\bthroughout\b|\bby default\b|\bonly\b)"  # Use tabs, not spaces
    r"|\b(?:merke? (?:dir|sich)|notier(?:e|en)|denke? daran|vergiss nicht|behalte?|ab (?:jetzt|sofort|heute)|künftig|in zukunft|immer|stets|jedes ?mal|nenn(?:e)? mich|wichtig:)(?!\w)"  # Antworte immer
    r"|\b(?:nutze?|verwende?|nimm|schreibe?|sag|benutze?)\b.{1,80}?\b(?:statt|anstatt|anstelle|nicht|nur)\b|\b(?:antworte|schreibe?|sprich)(?: mir)?(?: nur)? auf [A-Z]\w+"  # Nutze Tabs statt Leerzeichen
    r"|\b(?:souviens-toi|souvenez-vous|retiens|retenez|n(?:'|’)oublie[rz]? pas|désormais|dorénavant|toujours|à partir de maintenant|appelle[- ]moi|réponds? en)(?!\w)"  # Réponds toujours
    r"|\b(?:recuerd[ae]|no olvides|anota|apunta|a partir de ahora|de ahora en adelante|siempre|llámame|responde en)\b"  # Recuerda que
    r"|\b(?:utilise[rz]?|usa|utiliza)\b.{1,80}?\b(?:au lieu de|plutôt que|pas|en lugar de|en vez de|no|solo|seulement)\b"  # Utilise A, pas B
    r"|记住|记得|牢记|谨记|从现在起|从今以后|今后|以后|总是|始终|一律|每次|永远|务必|必须|重要[：:]|叫我|请?用.{1,10}(?:回答|回复)|而不是|别忘|(?:请|要|只)用.{1,30}[，,]?不[是要用]"  # 始终用中文回答
    r"|覚えて|今後|常に|いつも|必ず|忘れないで|기억해|앞으로|항상|반드시|잊지",  # 覚えておいて
    re.IGNORECASE,
)
_OF_THEMSELVES = regex(
    r"\b(?:my (?:(?:full|first|last|nick|work|home|preferred|favou?rite|native|main|current|own|two|three|older|younger) ?)*(?:name|e-?mail|team|project|boss|manager|goal|preference|birthday|job|role"
    r"|company|employer|address|phone|number|time ?zone|language|wife|husband|partner|son|daughter|kid|child|dog|cat|mother|father|sister|brother|budget|deadline|username|colou?r|food|editor|city|country)"
    r"(?:s|'s|’s)?(?: \w+)? (?:is|are|was)|my (?:\w+ )?(?:wife|husband|partner|son|daughter|kid|child|mother|father|sister|brother|team|boss|manager)(?: [A-Z]\w+)? \w+s|(?:i(?:'|’)m|i am) (?:an? (?!bit|little|lot|few)\w+|allergic|vegetarian|vegan|diabetic|colou?r-?blind|left-handed|from|based|called|working (?:on|at|for|with)|\d+\b|responsible|in charge|the \w+)"  # My name is Ida
    r"|i (?:really |also |usually |mostly |only |strongly )*(?:prefer|like(?! to (?:see|know))|love|hate|dislike|enjoy|live|work|use|speak|was born|grew up|never|avoid|chose|decided|study|teach|lead|manage|own)"
    r"|i have (?:an? |two |three |\d+ |no )?(?:\w+ ){0,3}?(?:allerg\w+|intolerance|asthma|diabetes|dog|cat|son|daughter|kid|child(?:ren)?|wife|husband|sister|brother|team|house|car)s?|allerg(?:y|ic)\b"  # I have a nut allergy
    r"|we(?:(?:'|’)ve| have)? (?:all )?(?:decided|agreed|chose|chosen|settled|switched|moved|will (?:use|go with|keep)|(?:'|’)ll (?:use|go with|keep)|use|are using|standardi[sz]ed)|let(?:'|’)s (?:use|go with|keep|call|stick)|let us (?:use|go with|keep|call)"  # We decided to use
    r"|decision\b|next step|to-?do\b|(?:the |our )?deadline|due (?:on|by)|i (?:need|want) .{1,80}? (?:by|before|until|every)|(?:is|are) called|the (?:reason|cause|bug|fix|answer|result|plan|goal|password policy) (?:is|was))(?!\w)"
    r"|\b(?:ich hei(?:ß|ss)e|mein(?:e|em|en)? (?:\w+ )?(?:name|e-?mail|team|projekt|chefin|chef|ziel|geburtstag|beruf|firma|adresse|telefonnummer|sprache|frau|mann|sohn|tochter|hund|katze|stadt|lieblings\w+|mutter|vater|schwester|bruder)\w* (?:ist|sind|hei(?:ß|ss)t|lautet)"
    r"|ich bin (?:allergisch|gegen|vegetarier\w*|veganer\w*|vegetarisch|vegan|diabetiker\w*|farbenblind|eine?\b|aus|von beruf|\d+|\w+(?:in|er|ist)\b)|ich (?:habe .{0,40}(?:allergie|unverträglichkeit|hund|katze|kind|sohn|tochter)|bevorzuge|mag|liebe|hasse|wohne|lebe|arbeite|nutze|benutze|verwende|spreche|esse)"
    r"|wir (?:haben (?:uns )?.{0,80}(?:beschlossen|entschieden|vereinbart|geeinigt)|nutzen|verwenden|nehmen|benutzen)|(?:die |der )?(?:frist|abgabetermin|deadline))(?!\w)"  # Ich heiße Ida
    r"|\b(?:je m(?:'|’)appelle|mon (?:nom|prénom|e-?mail|projet|anniversaire|chef|fils|chien|chat) (?:est|s(?:'|’)appelle)|ma (?:femme|fille|langue|ville|société) (?:est|s(?:'|’)appelle)|je suis (?:allergique|végétarien\w*|un|une|né|de)|je (?:préfère|n(?:'|’)aime|aime|déteste|travaille|vis|parle|habite|mange)|j(?:'|’)(?:aime|habite|utilise|ai)|nous (?:avons (?:décidé|choisi|convenu)|utilisons))(?!\w)"
    r"|\b(?:me llamo|mi (?:nombre|correo|proyecto|cumpleaños|jefe|hijo|hija|perro|gato|ciudad|empresa) (?:es|se llama)|soy (?:alérgic|vegetarian|vegan|de|una?|médic|ingenier|profesor)\w*|tengo (?:una )?(?:alergia|\w+ años)|prefiero|(?:no )?me gusta|odio|vivo|trabajo|hablo|uso|hemos (?:decidido|acordado|elegido)|decidimos|usamos)(?!\w)"
    r"|我(?:的(?:名字|姓名|邮箱|生日|老板|团队|项目|目标|电话|地址|时区|狗|猫|女儿|儿子|妻子|丈夫|母语|职业|公司)(?:是|叫)|叫|姓|是(?!不是|否|想|要|说)|更?喜欢|偏好|偏爱|讨厌|不喜欢|不吃|住在|来自|在.{1,20}工作|总是|从不|习惯|说.{1,4}语|对.{1,20}过敏|有.{0,10}过敏)|我们(?:已经)?(?:决定|约定|商定|选择|选定|选|改用|采用|使用|用|同意)|决定|约定|偏好|截止|结论|原因是|过敏"
    r"|私(?:は|の名前)|アレルギー|決め(?:た|まし)|締め切り|저는|제 이름|알레르기|결정했|마감",
    re.IGNORECASE,
)
_ASKING = regex(r"\A(?:what|which|when|where|who|why|how|do you|does|did)\b|吗[?？。]?\s*\Z", re.IGNORECASE)
_CLAUSE = regex(r"(?<=[,;:，；：、])\s*")


def statements(text: str) -> Iterator[str]:
    """The sentences of a text in which the user asks to remember something, sets a rule, or says something of themselves."""
    for sentence in sentences(text):
        if len(sentence) > _LONGEST or _ASKING().search(sentence) or forbids(sentence):
            continue
        if _WISHES().search(sentence) or _OF_THEMSELVES().search(sentence):
            yield sentence


def prohibitions(text: str) -> Iterator[str]:
    """The sentences of a text that forbid something."""
    for sentence in sentences(text):
        if forbids(sentence):
            if len(sentence) <= _LONGEST:
                yield sentence
            else:
                yield from (c[:_LONGEST] for c in _CLAUSE().split(sentence) if _FORBIDS().search(c))


def forbids(sentence: str) -> bool:
    """Whether a sentence forbids something."""
    return bool(_FORBIDS().search(sentence) and _FORBIDS().search(_ONLY_TALK().sub(" ", sentence)))
