"""Whether a prompt asks for what only a tool can do: to remember something, or to write a file."""

import re

from deepnb.gate.own_words import Filled, own_words
from deepnb.gate.spans import regex

_FILE = (
    r"(?:(?<![\w.])[\w~./-]*\w\.(?:md|txt|[ct]sv|jsonl?|ya?ml|toml|ini|cfg|conf|py|ipynb|html?|css|[jt]sx?|sql|xlsx?|docx?|pdf|png|jpe?g"
    r"|svg|parquet|log|xml|sh|tex|rst|env|db|sqlite)(?!\w)|(?<![\w.:])/\w[\w./-]*)"
)
_PLACE = (
    r"(?:(?:\S+ ){0,3}?(?:(?:files?|folder|directory|disk|memory|notes?|csv|excel|parquet)\b(?! (?:manage|usage|leak|system|form|style|name))"  # to a file
    r"|\w*(?:datei|gedächtnis|notiz(?:en)?|ordner|festplatte|csv)\b"  # in eine Datei
    r"|(?:fichier|dossier|disque|mémoire|notes?)\b|(?:archivo|fichero|carpeta|disco|memoria|notas?)\b))"
)
_CHINESE_PLACE = rf"(?:{_FILE}|文件|笔记|记忆|备忘|磁盘|csv)"
_CODE = (
    r"(?:\w+ ){0,4}?(?:code|functions?|script|program|snippet|quer(?:y|ies)|regex|command|class|method|loop|example|cell|test|sql"
    r"|funktion|skript|programm|beispiel|befehl|fonction|función)\b(?! (?:in|to|into|called|named) \S*\.)"
)
_LEAD = (
    r"(?:(?:please|kindly|also|from now on|now|then|next|finally|and|ok(?:ay)?|so|hey|hi|hello|thanks?|just|yes|first|(?:can|could|would|will) you|you (?:should|must|can)"
    r"|(?:i want|i need|i'd like|i would like) you to|let(?:'|’)?s|let us|(?:make|be) sure (?:to|you)|go ahead and|for (?:next time|later|the future)"
    r"|bitte|auch|dann|und|nun|jetzt|(?:ich möchte|ich will|ich hätte gern),? dass du|(?:kannst|könntest|würdest) du|können sie|könnten sie|mal|doch"
    r"|s(?:'|’)il te plaît|s(?:'|’)il vous plaît|peux-tu|pouvez-vous|et|aussi|por favor|¿?puedes|y|también)[,!:]? +)*"
)
_START = rf"(?:\A|[.;:!,，。；！：] *| (?:and|then|und|dann|et|y) ){_LEAD}"
_KEEPS = regex(
    rf"{_START}(?:"
    r"remember(?!\s(?:me\b|what|when|where|who|which|how|if|whether|why|any|the (?:time|day)\b))\b|memori[sz]e (?:that|this|my|our)\b"  # remember that
    r"|(?:do not|don(?:'|’)?t|never) forget\b(?! to (?:cite|mention|include|add|use|explain))|(?:keep|bear) (?:this |that |it )?in mind\b"  # don't forget
    r"|(?:make|take|add|leave|write) (?:a |another |yourself a )?(?:\w+ )?notes?\b|note(?: down| this| my)|(?:write|jot|note) (?:this|that|it|these) down\b"  # make a note
    r"|(?:write|jot|note) down (?:that|this|my|our|:)|(?:save|store|record|log) (?:this|that|it|these|my|our|the decision)\b"  # save this
    r"|forget (?:that|my|our|what|everything|all|the)\b|remind me (?:to|that|about|on|tomorrow|next)\b|commit (?:\w+ ){1,5}to memory\b"  # forget my
    r"|(?:merke? dir|merken sie sich|notiere?(?:n sie)?|behalte? (?:im|in|das|dir|bitte)\b|denke? daran|erinnere? dich (?:daran, )?dass|vergiss (?:nicht\b|dass|bitte|meine|alles|was))\b"  # merk dir
    r"|(?:schreibe?|halte?) (?:\w+ ){0,4}?(?:auf|fest)\b|(?:speichere?|sichere?) (?:dir |das|dies|es|meine)\b|(?:dir |das |es |bitte )+(?:\S+ ){0,6}?(?:merken|notieren|aufschreiben|merkst|notierst)\b"
    r"|(?:retiens|retenez|mémorise[rz]?|souviens-toi|souvenez-vous|n(?:'|’)oublie[rz]? pas|note[rz]?(?= que| ça| mon| ma)|prends? note|enregistre[rz]? (?:que|ça|mon|ma|cela))"
    r"|(?:recuerd[ae]|no olvid(?:es|e)|anot[ae]|apunt[ae]|memoriza|toma nota|guarda (?:que|esto|mi))(?! qué)\b"  # recuerda que
    r")|(?<![还记不])(?:记住|牢记|记下|记一下|记录(?:下来|一下)|记着|谨记|别忘|不要忘|勿忘|请记|帮我记|记到|记在|(?:请|就|把.{1,20})忘(?:记|掉)(?:我|吧)?|(?:\A|请|要|，|,|。)记得|覚えて|메모|기억해)",
    re.IGNORECASE,
)
_WRITES = regex(
    rf"{_START}(?:"
    rf"(?:write|save|store|put|append|add|export|dump|record|insert|copy|move|convert|rename|turn|schreibe?|nimm|speichere?|sichere?|füge?|hänge?|trage?|packe?|exportiere?|kopiere?|benenne?"
    rf"|écri[st]|écrivez|enregistre[rz]?|sauvegarde[rz]?|ajoute[rz]?|mets|escrib[ae]|guard[ae]|añad[ae]|agreg[ae]|pon)\b(?! (?:me )?(?:mir |uns )?{_CODE})"
    rf"[^.!?;\n]{{0,160}}? (?:{_FILE}|(?:to|into|in|as|onto|als|zu|ins?|auf|dans|sur|à|en|como) {_PLACE})"  # write it to a file
    rf"|(?:create|make|start|generate|erstelle?|erzeuge?|lege?|crée[rz]?|créez|crea|genera)\b(?! (?:me )?(?:mir )?{_CODE}) (?:\S+ ){{0,4}}?(?:{_FILE}|files?\b|folder\b|directory\b|\w*datei\b|\w*notiz\b|\w*ordner\b|fichier\b|dossier\b|archivo\b|carpeta\b|fichero\b)"  # create a file
    rf"|(?:update|edit|change|modify|fix|correct|delete|remove|overwrite|replace|clean up|ändere?|bearbeite?|korrigiere?|lösche?|entferne?|ersetze?|aktualisiere?|ergänze?|überschreibe?|modifie[rz]?|supprime[rz]?|corrige[rz]?|remplace[rz]?|met(?:s|tez) à jour|actualiza|modifica|borra|elimina|corrige|reemplaza|cambia)\b"
    rf"[^.!?;\n]{{0,120}}? (?:{_FILE}|(?:in |from |aus |dans |en |de )?{_PLACE})"  # fix the typo in README.md
    rf")|\b(?:in|to) (?:the )?(?:file )?{_FILE},? (?:please )?(?:add|put|write|change|replace|insert|fix|append|delete)\b"  # in notes.md, add
    rf"|(?<!怎么)(?<!如何)(?<!怎样)(?:保存|写入|写到|写进|存到|存为|存入|存成|另存|导出|添加|追加|加到|放到|放进)[^。！？\n]{{0,40}}?{_CHINESE_PLACE}"  # 保存到 notes.md
    rf"|写(?![^。！？\n]{{0,30}}(?:函数|代码|脚本|程序))[^。！？\n]{{0,40}}?(?:{_FILE}|[到入进在成]{_CHINESE_PLACE})"
    rf"|(?:把|将)[^。！？\n]{{0,40}}?(?:保存|写入|写到|写进|存到|存为|存入|存成|另存|导出)|(?:把|将|在) ?{_FILE}[^。！？\n]{{0,30}}?[改换删加写添替]"
    rf"|(?:创建|新建|建立|修改|更新|删除|编辑|替换|重命名|生成)[^。！？\n]{{0,40}}?{_CHINESE_PLACE}",
    re.IGNORECASE,
)
_TALK = regex(
    r"\A(?:explain|describe|discuss|compare|tell me|what|how|why|when|show me how|is it|does|erkläre?|beschreibe?|wie|was|warum|zeige? mir,? wie|explique|comment|pourquoi|décri[st]|cómo|qué|por qué"
    r"|forget (?:it|about it|that,)|remember,? (?:\w+ )?(?:said|once)|解释|说明|介绍|怎么|如何|为什么|什么)",
    re.IGNORECASE,
)
_RESULT = regex(
    rf" (?:and|then|und|dann|et|y) (?:save|write|store|put|speichere?|schreibe?|enregistre|écris|guarda|escribe)\b [^.!?;\n]{{0,60}}?\b(?:to|into|in|as|als|unter|dans|en) [^.!?;\n]{{0,30}}?{_FILE}",
    re.IGNORECASE,
)


_LONGEST = 1_000
"""Characters of a sentence that are looked at."""


def asks_to_write(prompt: str) -> bool:
    """Whether the user asks in a prompt to have something remembered, forgotten or written to a file."""
    typed = prompt.typed if isinstance(prompt, Filled) else prompt
    said = own_words(typed).split("\n")
    if len(said) == 1 and re.match(r"(?:please )?note(?: that\b|:)", said[0], re.IGNORECASE):
        return True
    for sentence in (one[:_LONGEST] for one in said):
        if _TALK().match(sentence):
            if _RESULT().search(sentence):
                return True
        elif not sentence.endswith(("吗？", "吗?", "吗")) and (_KEEPS().search(sentence) or _WRITES().search(sentence)):
            return True
    return False
