"""Cells that fail, in three sets: KINDS, which the teaching model's rules were written on, OTHERS, written before them,
and LATER, written when the rules were done, of errors that most of them do not know.

A case says what a good teacher names: the line of the user's code that fails (by a piece of it), a variable on it, and
a piece of the corrected code, empty where a correction can't be derived from the error.
"""

import linecache
from dataclasses import dataclass


@dataclass(frozen=True)
class ErrorCase:
    """Cells that are run one after the other, the last of which fails."""

    name: str
    cells: tuple[str, ...]
    line: str
    variable: str
    fixed: str = ""


def _case(name: str, *cells: str, line: str, variable: str, fixed: str = "") -> ErrorCase:
    return ErrorCase(name, cells, line, variable, fixed)


KINDS = (
    _case(
        "KeyError",
        'prices = {"apple": 1.2, "pear": 0.8}',
        'total = 0\nfor name in ["apple"]:\n    total += prices["appel"]',
        line='total += prices["appel"]',
        variable="prices",
        fixed='total += prices["apple"]',
    ),
    _case(
        "KeyError of pandas",
        'import pandas as pd\nsales = pd.DataFrame({"region": ["n", "s"], "revenue": [1, 2]})',
        'by_region = sales.groupby("region")["revnue"].sum()',
        line='sales.groupby("region")["revnue"]',
        variable="sales",
        fixed='sales.groupby("region")["revenue"].sum()',
    ),
    _case(
        "ZeroDivisionError",
        "def mean(values):\n    total = sum(values)\n    return total / len(values)",
        "mean([])",
        line="return total / len(values)",
        variable="values",
    ),
    _case(
        "NameError",
        "temperature = 21.5",
        "print('it is', temperatur, 'degrees')",
        line="print('it is', temperatur, 'degrees')",
        variable="temperatur",
        fixed="print('it is', temperature, 'degrees')",
    ),
    _case(
        "AttributeError",
        "names = ['Ana', 'Bo']",
        "names.appendd('Cy')",
        line="names.appendd('Cy')",
        variable="names",
        fixed="names.append('Cy')",
    ),
    _case(
        "TypeError of types",
        "count = 3",
        "message = 'there are ' + count + ' rows'",
        line="message = 'there are ' + count + ' rows'",
        variable="count",
        fixed="'there are ' + str(count) + ' rows'",
    ),
    _case(
        "TypeError of arguments",
        "def area(width, height):\n    return width * height",
        "room = area(4)",
        line="room = area(4)",
        variable="area",
    ),
    _case(
        "ValueError of int",
        "answers = ['12', '7', 'seven']",
        "numbers = []\nfor answer in answers:\n    numbers.append(int(answer))",
        line="numbers.append(int(answer))",
        variable="answer",
    ),
    _case(
        "ValueError of shapes",
        "import numpy as np\nheights = np.ones(3)\nweights = np.ones(4)",
        "bmi = weights / heights ** 2",
        line="bmi = weights / heights ** 2",
        variable="weights",
    ),
    _case(
        "IndexError",
        "days = ['Mon', 'Tue', 'Wed']",
        "for i in range(len(days) + 1):\n    print(days[i])",
        line="print(days[i])",
        variable="days",
    ),
    _case(
        "SyntaxError",
        "for i in range(3)\n    print(i)",
        line="for i in range(3)",
        variable="",
    ),
    _case(
        "UnboundLocalError",
        "counter = 0",
        "def count_up():\n    counter += 1\n    return counter\ncount_up()",
        line="counter += 1",
        variable="counter",
    ),
    _case(
        "FileNotFoundError",
        "from pathlib import Path\nPath('measurements.csv').write_text('a,b')\npath = 'measurement.csv'",
        "with open('measurment.csv') as file:\n    text = file.read()",
        line="open('measurment.csv')",
        variable="measurment.csv",
        fixed="open('measurements.csv')",
    ),
    _case(
        "RecursionError",
        "def factorial(n):\n    return n * factorial(n - 1)",
        "factorial(5)",
        line="return n * factorial(n - 1)",
        variable="factorial",
    ),
)
"""One for each kind of error that the rules know; the teaching model names line and variable in all of them."""

OTHERS = (
    _case(
        "a nested dictionary",
        'config = {"model": {"layers": 4, "dropout": 0.1}}',
        'depth = config["model"]["layer"]\nprint(depth)',
        line='depth = config["model"]["layer"]',
        variable="config",
        fixed='config["model"]["layers"]',
    ),
    _case(
        "a column in a function of an earlier cell",
        'import pandas as pd\ntrips = pd.DataFrame({"distance_km": [1.0, 2.5], "minutes": [4, 11]})',
        'def speed(table):\n    hours = table["minutes"] / 60\n    return table["distance"] / hours',
        "fast = speed(trips).max()",
        line='return table["distance"] / hours',
        variable="table",
        fixed='table["distance_km"]',
    ),
    _case(
        "a key that is a variable",
        'stock = {"A1": 5, "B2": 0}\ncode = "C3"',
        "left = stock[code] - 1",
        line="left = stock[code] - 1",
        variable="code",
    ),
    _case(
        "loc with a missing label",
        'import pandas as pd\nscores = pd.Series([7, 9], index=["ana", "bob"])',
        'print(scores.loc["anna"])',
        line='scores.loc["anna"]',
        variable="scores",
        fixed='scores.loc["ana"]',
    ),
    _case(
        "division by an attribute",
        "class Tank:\n    def __init__(self):\n        self.volume = 10\n        self.flow = 0\n\n    def hours(self):\n"
        "        return self.volume / self.flow",
        "tank = Tank()\ntank.hours()",
        line="return self.volume / self.flow",
        variable="self.flow",
    ),
    _case(
        "modulo by zero",
        "step = 0",
        "marks = [n for n in range(10) if n % step == 0]",
        line="marks = [n for n in range(10) if n % step == 0]",
        variable="step",
    ),
    _case(
        "a name of an import",
        "import math",
        "radius = 2\narea = maths.pi * radius ** 2",
        line="area = maths.pi * radius ** 2",
        variable="maths",
        fixed="area = math.pi * radius ** 2",
    ),
    _case(
        "a library that was not imported",
        "values = [1, 2, 3]",
        "mean = np.mean(values)",
        line="mean = np.mean(values)",
        variable="np",
    ),
    _case(
        "a name in a function",
        "def greet(person):\n    name = person.title()\n    return f'Hello {nam}'",
        "greet('ana')",
        line="return f'Hello {nam}'",
        variable="nam",
        fixed="f'Hello {name}'",
    ),
    _case(
        "an attribute of a table",
        'import pandas as pd\nplants = pd.DataFrame({"height": [10, 12]})',
        "tall = plants.heigth.max()",
        line="tall = plants.heigth.max()",
        variable="plants",
        fixed="plants.height.max()",
    ),
    _case(
        "an attribute of None",
        "words = ['b', 'a']\nwords_sorted = words.sort()",
        "first = words_sorted.index('a')",
        line="first = words_sorted.index('a')",
        variable="words_sorted",
    ),
    _case(
        "an attribute of an own class",
        "class Point:\n    def __init__(self, x, y):\n        self.x = x\n        self.y = y\n        self.label = 'p'",
        "p = Point(1, 2)\nprint(p.lable)",
        line="print(p.lable)",
        variable="p",
        fixed="print(p.label)",
    ),
    _case(
        "a function of a module",
        "import math\nangle = 0.5",
        "height = math.sine(angle) * 2",
        line="height = math.sine(angle) * 2",
        variable="math",
        fixed="math.sin(angle)",
    ),
    _case(
        "a number read as text",
        "rows = [{'city': 'Oslo', 'people': '700000'}, {'city': 'Bergen', 'people': '290000'}]",
        "total = 0\nfor row in rows:\n    total = total + row['people']",
        line="total = total + row['people']",
        variable="row",
    ),
    _case(
        "None is not subscriptable",
        "def find(rows, name):\n    for row in rows:\n        if row['name'] == name:\n            return row",
        "people = [{'name': 'Ana', 'age': 3}]\nbob = find(people, 'Bob')\nage = bob['age']",
        line="age = bob['age']",
        variable="bob",
    ),
    _case(
        "a list used with a text as index",
        "orders = [{'id': 1}, {'id': 2}]",
        "last = orders['id']",
        line="last = orders['id']",
        variable="orders",
    ),
    _case(
        "an unknown keyword",
        "def plot(values, colour='red'):\n    return values, colour",
        "plot([1, 2], color='blue')",
        line="plot([1, 2], color='blue')",
        variable="plot",
    ),
    _case(
        "a loop over a number",
        "rounds = 3",
        "for turn in rounds:\n    print(turn)",
        line="for turn in rounds:",
        variable="rounds",
    ),
    _case(
        "a name that hides a function",
        "list = [1, 2]",
        "letters = list('abc')",
        line="letters = list('abc')",
        variable="list",
    ),
    _case(
        "an order of unlike values",
        "ages = [31, '45', 27]",
        "oldest = max(ages)",
        line="oldest = max(ages)",
        variable="ages",
    ),
    _case(
        "a decimal comma",
        "price = '12,50'",
        "with_tax = float(price) * 1.2",
        line="with_tax = float(price) * 1.2",
        variable="price",
    ),
    _case(
        "a decimal number as int",
        "line = '3.7'",
        "n = int(line)",
        line="n = int(line)",
        variable="line",
    ),
    _case(
        "a column of another length",
        'import pandas as pd\ntable = pd.DataFrame({"day": [1, 2, 3]})\nreadings = [0.1, 0.4]',
        'table["reading"] = readings',
        line='table["reading"] = readings',
        variable="readings",
    ),
    _case(
        "matrices that do not fit",
        "import numpy as np\nA = np.ones((2, 3))\nb = np.ones(2)",
        "x = A @ b",
        line="x = A @ b",
        variable="b",
    ),
    _case(
        "too many values to unpack",
        "pair = ('Ana', 31, 'Oslo')",
        "name, age = pair",
        line="name, age = pair",
        variable="pair",
    ),
    _case(
        "the truth of a column",
        'import pandas as pd\ndf = pd.DataFrame({"a": [1, 2], "b": [3, 4]})',
        'if df["a"] > 1:\n    print("big")',
        line='if df["a"] > 1:',
        variable="df",
    ),
    _case(
        "an empty list",
        "def newest(files):\n    return sorted(files)[-1]",
        "reports = []\nlatest = newest(reports)",
        line="return sorted(files)[-1]",
        variable="files",
    ),
    _case(
        "an index past an array",
        "import numpy as np\nsignal = np.zeros(5)",
        "end = signal[5]",
        line="end = signal[5]",
        variable="signal",
    ),
    _case(
        "a module mistyped",
        "import jsn\nprint(jsn.dumps({}))",
        line="import jsn",
        variable="jsn",
    ),
    _case(
        "a name that a module does not have",
        "from collections import defaultdic\ncounts = defaultdic(int)",
        line="from collections import defaultdic",
        variable="defaultdic",
        fixed="from collections import defaultdict",
    ),
    _case(
        "a table that is not there",
        "import pandas as pd\nfolder = 'data'",
        "raw = pd.read_csv(f'{folder}/sales_2020.csv')",
        line="raw = pd.read_csv(f'{folder}/sales_2020.csv')",
        variable="folder",
    ),
    _case(
        "a bracket that is not closed",
        "total = sum([1, 2, 3]\nprint(total)",
        line="total = sum([1, 2, 3]",
        variable="",
    ),
    _case(
        "one equals sign",
        "x = 3\nif x = 3:\n    print('three')",
        line="if x = 3:",
        variable="",
    ),
    _case(
        "a body that is not indented",
        "def half(n):\nreturn n / 2",
        line="return n / 2",
        variable="",
    ),
    _case(
        "a local used before it has a value",
        "def best(scores):\n    for score in scores:\n        if score > top:\n            top = score\n    return top",
        "best([3, 9, 4])",
        line="if score > top:",
        variable="top",
    ),
    _case(
        "an assertion",
        "weights = [0.5, 0.4]",
        "total = sum(weights)\nassert total == 1, 'weights must add up to 1'",
        line="assert total == 1",
        variable="total",
    ),
)
"""Written before the rules, by what people do wrong: what the rules are measured on."""

LATER = (
    _case(
        "several columns",
        'import pandas as pd\nflights = pd.DataFrame({"origin": ["OSL"], "dest": ["BGO"], "delay": [4]})',
        'short = flights[["origin", "delays"]]',
        line='short = flights[["origin", "delays"]]',
        variable="flights",
        fixed='flights[["origin", "delay"]]',
    ),
    _case(
        "a grouping by an unknown column",
        'import pandas as pd\nflights = pd.DataFrame({"origin": ["OSL"], "delay": [4]})',
        'mean = flights.groupby("orgin").delay.mean()',
        line='flights.groupby("orgin")',
        variable="flights",
        fixed='flights.groupby("origin")',
    ),
    _case(
        "a join on a key of one table",
        'import pandas as pd\nleft = pd.DataFrame({"id": [1]})\nright = pd.DataFrame({"key": [1]})',
        'both = left.merge(right, on="id")',
        line='both = left.merge(right, on="id")',
        variable="right",
    ),
    _case(
        "a column of text as numbers",
        'import pandas as pd\nshop = pd.DataFrame({"price": ["3.5", "n/a"]})',
        'shop["price"] = shop["price"].astype(float)',
        line='shop["price"] = shop["price"].astype(float)',
        variable="shop",
    ),
    _case(
        "a reshape",
        "import numpy as np\npixels = np.arange(10)",
        "image = pixels.reshape(3, 4)",
        line="image = pixels.reshape(3, 4)",
        variable="pixels",
    ),
    _case(
        "the largest of nothing",
        "temperatures = [t for t in (12, 14) if t > 20]",
        "hottest = max(temperatures)",
        line="hottest = max(temperatures)",
        variable="temperatures",
    ),
    _case(
        "an item that is not in a list",
        "colours = ['red', 'green']",
        "position = colours.index('blue')",
        line="position = colours.index('blue')",
        variable="colours",
    ),
    _case(
        "a date in another form",
        "from datetime import datetime\nday = '31/12/2025'",
        "parsed = datetime.strptime(day, '%Y-%m-%d')",
        line="parsed = datetime.strptime(day, '%Y-%m-%d')",
        variable="day",
    ),
    _case(
        "text that is no JSON",
        "import json\nreply = \"{'name': 'Ana'}\"",
        "data = json.loads(reply)",
        line="data = json.loads(reply)",
        variable="reply",
    ),
    _case(
        "bytes of another encoding",
        "raw = 'Åse'.encode('latin-1')",
        "name = raw.decode('utf-8')",
        line="name = raw.decode('utf-8')",
        variable="raw",
    ),
    _case(
        "a method that was not called",
        "word = 'hello'",
        "first = word.upper[0]",
        line="first = word.upper[0]",
        variable="",
    ),
    _case(
        "a generator asked for an item",
        "squares = (n * n for n in range(5))",
        "third = squares[2]",
        line="third = squares[2]",
        variable="squares",
    ),
    _case(
        "a method without self",
        "class Dog:\n    def bark():\n        return 'wow'",
        "rex = Dog()\nrex.bark()",
        line="rex.bark()",
        variable="rex",
    ),
    _case(
        "a changed dictionary in a loop",
        "cache = {'a': 1, 'b': None}",
        "for key in cache:\n    if cache[key] is None:\n        del cache[key]",
        line="for key in cache:",
        variable="cache",
    ),
    _case(
        "an iterator that is at its end",
        "lines = iter(['header'])\nheader = next(lines)",
        "row = next(lines)",
        line="row = next(lines)",
        variable="lines",
    ),
    _case(
        "a date less a text",
        "from datetime import date\nstart = '2025-01-01'\nend = date(2025, 3, 1)",
        "days = end - start",
        line="days = end - start",
        variable="start",
    ),
    _case(
        "an error of one's own",
        "class TooCold(Exception):\n    pass\n\ndef check(celsius):\n    if celsius < -273:\n"
        "        raise TooCold(f'{celsius} is below zero Kelvin')",
        "check(-300)",
        line="raise TooCold(",
        variable="celsius",
    ),
    _case(
        "an error raised out of another",
        "def load(options):\n    try:\n        return options['path']\n    except KeyError as missing:\n"
        "        raise ValueError('options need a path') from missing",
        "load({'file': 'a.csv'})",
        line="raise ValueError('options need a path')",
        variable="options",
    ),
    _case(
        "a text that does not end",
        "name = 'Ana\nprint(name)",
        line="name = 'Ana",
        variable="",
    ),
    _case(
        "print of Python 2",
        "answer = 42\nprint answer",
        line="print answer",
        variable="",
    ),
    _case(
        "a line too far in",
        "x = 1\n  y = 2",
        line="y = 2",
        variable="",
    ),
    _case(
        "a comma that is missing",
        "point = (1 2)",
        line="point = (1 2)",
        variable="",
    ),
    _case(
        "an index that is a list",
        "matrix = [[1, 2], [3, 4]]",
        "corner = matrix[0, 1]",
        line="corner = matrix[0, 1]",
        variable="matrix",
    ),
    _case(
        "a sum of texts",
        "parts = ['3', '4']",
        "total = sum(parts)",
        line="total = sum(parts)",
        variable="parts",
    ),
    _case(
        "a list as a key",
        "route = ['Oslo', 'Bergen']\nfares = {}",
        "fares[route] = 499",
        line="fares[route] = 499",
        variable="route",
    ),
    _case(
        "division in a column",
        "import pandas as pd\nteams = {'a': {'games': 4, 'goals': 8}, 'b': {'games': 0, 'goals': 0}}",
        "rates = {}\nfor name, team in teams.items():\n    rates[name] = team['goals'] / team['games']",
        line="rates[name] = team['goals'] / team['games']",
        variable="team['games']",
    ),
)
"""Written after the rules: how they do on errors that they were not made for."""


def failure(case: ErrorCase) -> tuple[BaseException, dict[str, str]]:
    """What the last cell of a case raises, run as IPython runs cells, and the code of its cells: `In[2]` -> text."""
    names: dict[str, object] = {"__name__": "__main__"}
    for number, code in enumerate(case.cells, 1):
        file = cell_file(number)
        linecache.cache[file] = (len(code), None, [f"{line}\n" for line in code.split("\n")], file)
        try:
            exec(compile(code, file, "exec"), names)
        except Exception as error:
            error.__traceback__ = error.__traceback__.tb_next if error.__traceback__ else None
            return error, {cell_label(cell_file(n)): text for n, text in enumerate(case.cells, 1)}
    raise AssertionError(f"{case.name} does not fail")


def cell_file(number: int) -> str:
    """The name that the code of a cell has."""
    return f"<ipython-input-{number}-case>"


def cell_label(file: str) -> str:
    """What a front end calls it."""
    return f"In[{file.split('-')[2]}]" if file.startswith("<ipython-input") else ""
