"""Sentences that people who work with data write down, without any credential: arguments, passes, keys, tokens of text."""

from __future__ import annotations

import random

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
_PLAIN = """
The join key is customer_id2 and the date.
Use key 'order_2024' when reading the HDF store.
key = row['customer_id_2023']
keys: year2023, year2024, region_eu1
the dictionary's keys are 'mean_5min', 'std_15min' and 'n_1h'
df = df.set_index(['key1', 'key2'])
merge on key1 and key2, then drop key2
The sort key is (year, month, station_id).
cache_key = f"{station}:{day}:v2"
primary key = (station_id, ts_utc)
config['model']['key_dim'] = 64
sorted(items, key=lambda kv: kv[1])
max(scores, key=scores.get)
groupby(key=pd.Grouper(freq="W-MON"))
the key insight: churn falls after day 30
Foreign key customer_id2 points to crm.customers_v3
Two passes over the file: pass 1 counts, pass 2 writes.
pass 3: normalise, pass 4: write parquet
The test pass rate is 98.5% (197/200).
first pass 12 min, second pass 3 min
passes=2 is enough for convergence
a single pass with chunksize=50000
low-pass filter at 0.5 Hz, high-pass at 40 Hz
band_pass = (0.5, 40.0)
All 412 tests pass, 3 are skipped.
pass through the values where status==200
boarding pass scans are in gate_events_2024
The pass/fail column is named qc_pass2.
def f(x): pass  # TODO v2
if df.empty: pass
Tokens: 128k context, 4096 out
token count = 3500 for the prompt, 512 for the answer
max_tokens=4096, temperature=0.2
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
n_tokens: 1834221
each token costs 0.003 ct
token_type_ids and attention_mask are int64
The padding token is [PAD], its id is 50256.
tokens per second: 1450.7
bos_token = '<s>', eos_token = '</s>'
Column 'password' must be dropped before sharing.
The password column is hashed with sha256 already.
the users table has id, name, password_hash, created_at
Never store a password in the notebook.
Ask Ann for the password of the warehouse.
The password is in the team vault, item "warehouse-ro".
password fields are masked as *** in the export
secrets live in .env, not in the repo
The secret of the good score is feature 12.
Use os.environ["API_KEY"] for the weather service.
the api key is read from ~/.config/weather.toml
api_key=os.getenv("WEATHER_KEY")
token = get_token(scope="read:data")
login is by SSO, no password needed
Log in to the cluster with ssh node07 and start jupyter.
the wifi is slow on floor 3, use the cable
log in with your company account, then open Databricks
connect to db-prod-2 with psql and the read-only role
connect to postgres 15.4 with sslmode=require
Sign in with SSO, choose tenant eu-west-1
use 2-fold CV and 500 trees
The code for Germany is DE, for Bavaria DE-BY.
the ISO code is EUR2024
the login page uses OAuth2.0 and PKCE
The admin is ann.miller, her deputy is Ben.
username is ann42, ask her for the rest
unlock the file with rm .~lock.report.xlsx#
the root is /data/2024Q3/raw
root = Path("/data/v2_2024")
the account is 4711-0815, cost centre 12AB
The vault is in building C3.
pin numpy to 1.26.4 and pandas to 2.2.2
pin is numpy==1.26.4
Zugang zum Cluster gibt es bei Ben (Raum 3.14).
Das Passwort steht im Tresor, Eintrag "dwh-ro2".
Der Schlüssel der Tabelle ist kunde_id2.
Anmelden mit SSO, dann Projekt dwh2024 wählen
Le mot de passe est dans le coffre, entrée "dwh-ro2".
La clé de jointure est client_id2.
La clave primaria es cliente_id2.
La contraseña está en el gestor, entrada dwh_ro2.
La clave del éxito es limpiar los datos de 2023.
密码在保险箱里，条目 dwh-ro2。
主键是 customer_id2。
用 pandas 2.2.2 和 pyarrow 15.0.2 读取
登录后选择 dwh2024 项目
rows with sensor=='T800-X2' are broken
model Qwen2.5-7B-Instruct beats Llama-3.1-8B
the GPU is an H100-80GB, driver 550.54.15
the commit is 4f9a8c1e7b2d6053a1c4e8f7b9d203650a1b2c3d
git revert 4f9a8c1e7b2d6053a1c4e8f7b9d203650a1b2c3d
sha256 of the file: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
md5 = d41d8cd98f00b204e9800998ecf8427e
run id 0a1b2c3d-0a1b-4c3d-8e5f-0a1b2c3d4e5f was the best
the dataset's uuid is 7d444840-9dc0-11d1-b245-5ffdce74fad2
MLflow run 3f2a9c8e7b6d4f1ea0b1c2d3e4f5a6b7 has AUC 0.91
wandb run 2xk9q1zp is the baseline
Datadog shows 4.2 GB per worker
the Mapbox layer is satellite-v9, zoom 12
GitHub issue pandas-dev/pandas#58123 explains it
OpenWeather gives us temp_2m and rh_2m hourly
the Kaggle set is titanic_2012_v3
Snowflake stage @raw_2024/part-0001.parquet
S3 path s3://lake/raw/2024/03/part-00001-5d487b7f.parquet
checkpoint-12000 was best, checkpoint-14000 overfits
seed = 20240314
random seed: 42, split seed: 1234567
salt the index with 0.5% noise
license: CC-BY-4.0, see LICENSE.txt
the hash column is int64, computed with xxhash64
station ids: DEBW015, DEBY120, DENW067
features f_01 to f_64 come from encoder_v3_large
rename {'a1b2': 'alpha_2', 'c3d4': 'gamma_4'}
df.query("region == 'EU1' and year >= 2020")
plt.plot(x, y, color='#1f77b4', label='2024Q1')
ax.text(0.5, 0.9, r'$R^2=0.87$')
the ODBC driver is 'ODBC Driver 18 for SQL Server'
curl -s https://api.example.org/v1/stations?limit=50
docker run -p 8888:8888 jupyter/scipy-notebook:2024-03-14
docker login is needed before the push
conda install -c conda-forge geopandas=0.14.3
pip install "pandas>=2.2,<3"
ssh -L 8888:localhost:8888 node07
unzip -p data_2024.zip | head -n 5
zip -r figs_2024.zip figs/
echo "done 2024" | tee run.log
psql -h db -U reader -d dwh2024
mysql -u reader -p dwh2024
export OMP_NUM_THREADS=8
CUDA_VISIBLE_DEVICES=0,1 python train.py --lr 3e-4
Passau and Passau2 are two stations.
Passengers per flight: 143.7
compass readings are in deg, bypass valve V12
the passage of 2023 is quoted twice
encoder.key_proj.weight has shape (768, 768)
past_key_values=None disables the cache
attn: query 64x128, key 64x128
monkeypatch the loader in test_v2
hotkey Ctrl+Shift+P opens the palette
keyword=value pairs as in param_12=0.5
""".strip().splitlines()


def notes() -> tuple[str, ...]:
    """All of them, the same in every run."""
    chance = random.Random(3532)
    made = [one.format(*chance.sample(ARGUMENTS, 2)) for one in VERBS for _ in range(6)]
    return tuple(dict.fromkeys([*made, *_PLAIN]))
