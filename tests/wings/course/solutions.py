"""Solutions of the exercises: cells that one could type below a notebook, in order. They are here and nowhere else."""

SOLUTIONS: dict[str, tuple[str, ...]] = {
    "00": (
        "%agent What is the average body_mass_g by species in my_table?",
        "%agent Remember that Gentoo penguins are the heaviest",
    ),
    "01": (
        "%agent new exercise",
        "%agent Remember that my favourite planet is Saturn",
        "%agent new later",
        "%agent What do you know about my favourite planet?",
    ),
    "02": (
        "%agent new exercise --empty",
        "%agent Remember that the report is due on Fridays",
        "%%memory /AGENTS.md\n- the report is due on Mondays\n",
        "session.memory.revert([one.id for one in session.memory.log_entries() if one.origin == 'user'][-1])",
    ),
    "03": (
        "%%skills count-moons\n---\nname: count-moons\ndescription: Counts moons. Use it when the user asks for moons.\n"
        "---\n\n1. Look at the table.\n2. Name the planet with the most moons.",
        "%agent Use the count-moons skill on planets",
    ),
    "04": (
        "%agent new exercise",
        "for hall in ('north', 'south', 'east', 'west'):\n"
        "    session.files[f'/log/{hall}.md'] = f'- early shift: all quiet in the {hall} hall, filters clean, nothing leaks, the fan runs as it should\\n' * 15",
        "%agent The west hall was swept and the lamps above the big door were repaired in the afternoon, and Otto keeps the ladder.",
        "%agent Read /log/north.md",
        "%agent Read /log/south.md",
        "%agent Read /log/east.md",
        "%agent history --bring 1:1",
        "%agent Who keeps the ladder?",
    ),
    "05": (
        '%config DeepNB.clock = "2026-03-05T09:00:00+01:00"\n%agent new thursday',
        "%agent Note that the archive moves to the cellar",
        '%config DeepNB.clock = "2026-03-07T09:00:00+01:00"',
        "notes = session.memory.promote().candidates\n"
        "session.memory.promote([one.entry.text for one in notes].index('the archive moves to the cellar') + 1, yes=True)",
        "%agent new saturday",
        "%agent Where does the archive move?",
    ),
    "06": (
        "%agent new exercise",
        "%%agent\nPut the average bill length on each island into a variable called by_island",
        "%agent approve",
        "%%agent\nPlot the average bill depth of each species",
        "%agent reject the figures are enough",
    ),
    "07": ("%agent fork second --at 1", "%agent How do I compare penguins?"),
    "08": (
        "from deepagents import create_deep_agent\n"
        "from deepnb.middleware import MemoryMiddleware, SkillsMiddleware\n"
        "from deepnb.models import TeachingModel\n\n"
        "mine = create_deep_agent(TeachingModel(window=6_000), middleware=[MemoryMiddleware(), SkillsMiddleware()])",
        "%agent use mine",
        "%agent Remember that I compare penguins by island",
        "%agent What do you know about penguins?",
    ),
}
