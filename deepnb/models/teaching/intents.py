"""All that the teaching model can do, in the order in which it is tried: one row each."""

from deepnb.models.teaching import delegating, explaining, files, frames, memory, notes, skills, summary, talk
from deepnb.models.teaching.moves import Intent

INTENTS = (
    Intent("compact", summary.wants_compaction, summary.compact),
    Intent("flush", summary.wants_flush, summary.put_down),
    Intent("explain an error", explaining.wants_explanation, explaining.explain),
    Intent("delegate by name", delegating.wants_named, delegating.delegate),
    Intent("remember a file", memory.wants_remember_file, memory.remember_file),
    Intent("add to a memory file", memory.wants_add, memory.add),
    Intent("note", notes.wants_note, notes.note),
    Intent("search memory", notes.wants_search, notes.search),
    Intent("remember", memory.wants_remember, memory.remember),
    Intent("forget", memory.wants_forget, memory.forget),
    Intent("recap", summary.wants_recap, summary.recap),
    Intent("delegate", delegating.wants_any, delegating.delegate),
    Intent("tick off", files.wants_done, files.tick_off),
    Intent("to-do list", files.wants_todo, files.write_todo),
    Intent("write a file", files.wants_write, files.write_file),
    Intent("read a file", files.wants_read, files.read_file),
    Intent("list files", files.wants_list, files.list_files),
    Intent("list skills", skills.wants_skills, skills.list_skills),
    Intent("recall", memory.wants_recall, memory.recall),
    Intent("who", talk.wants_who, talk.who),
    Intent("use a skill", skills.wants_skill, skills.follow_skill),
    Intent("look at data", frames.wants_frame, frames.look),
    Intent("recall about the user", memory.wants_own, memory.recall),
    Intent("find in data", frames.wants_superlative, frames.look),
    Intent("recall by words", memory.wants_matching, memory.recall),
    Intent("courtesy", talk.wants_courtesy, talk.courtesy),
    Intent("confess", lambda c: c.request, talk.confess),
)
