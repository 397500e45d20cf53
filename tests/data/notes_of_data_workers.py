"""Sentences that people who work with data write down, without any credential: arguments, passes, keys, tokens of text."""

import random

from tests.data import sections

_ARGUMENTS_TEXT = """
encoding='utf-8' random_state=42 how="left" n_jobs=-1 index_col=0 parse_dates=['day'] dtype={'id':'Int64'} engine='pyarrow'
usecols=[0,3] sep=';' na_values='n/a' errors='coerce' axis=1 inplace=False ascending=[True,False] orient='records' lines=True
chunksize=100_000 memory_map=True low_memory=False keep_default_na=False validate='1:1' suffixes=('_x','_y') on='customer_id'
format='%Y-%m-%d' utc=True tz='Europe/Berlin' freq='15min' closed='left' fill_value=0 margins=True observed=True sparse_output=True
max_iter=500 cv=StratifiedKFold(5) scoring='neg_log_loss' C=0.01 gamma='scale' learning_rate=3e-4 batch_size=64 device='cuda:0'
torch_dtype=torch.bfloat16 dpi=300 figsize=(8,4) cmap='viridis' bbox_inches='tight' key='df_2024' data_columns=True
compression='zstd' partition_cols=['year','month'] schema=schema_v2 storage_options={'anon':True} header=None skiprows=[1,2]
"""
ARGUMENTS = _ARGUMENTS_TEXT.split()
VERBS = (
    "Always pass {0} to open", "Pass {0} to merge", "pass {0}", "If it hangs, pass {0} and {1}.", "You can pass either {0} or {1}",
    "We pass {0} to read_csv, never {1}", "remember to pass {0} explicitly", "please pass {0}, {1}", "- pass {0} (default is {1})",
    "`df.to_parquet` needs {0}; pass {1} too", "don't pass {0} twice", "use the keyword {0} with {1}", "the key argument: {0}",
)  # fmt: skip


def notes() -> tuple[str, ...]:
    """All of them, the same in every run."""
    chance = random.Random(3532)
    made = [one.format(*chance.sample(ARGUMENTS, 2)) for one in VERBS for _ in range(6)]
    return tuple(dict.fromkeys([*made, *sections("notes_of_data_workers")["notes"]]))
