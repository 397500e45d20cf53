"""What users ask of three small tables, and what the code that answers must give.

`QUESTIONS` was written before the rules of the teaching model: 5 of 71 before them, 68 with their first version.
`LATER` was written after that version and before it was tried on them: 50 of 54. Every result follows from the tables
by hand or by one line of pandas here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd


def tables() -> dict[str, Any]:
    """Fresh tables, by the names of their variables."""
    return {
        "sales": pd.DataFrame(
            {
                "region": ["North", "South", "North", "South", "West", "West", "North", "South"],
                "product": ["tea", "tea", "coffee", "coffee", "tea", "coffee", "cocoa", "cocoa"],
                "month": pd.to_datetime(["2026-01-01", "2026-01-01", "2026-02-01", "2026-02-01"] * 2),
                "units": [5, 9, 6, 1, 7, 4, 2, 8],
                "revenue": [10.0, 18.0, 21.0, 3.5, 14.0, 14.0, 5.0, 20.0],
            }
        ),
        "products": pd.DataFrame(
            {"product": ["tea", "coffee", "cocoa"], "category": ["leaf", "bean", "bean"], "price": [2.0, 3.5, 2.5]}
        ),
        "weather": pd.DataFrame(
            {
                "date": pd.date_range("2026-03-01", periods=6),
                "city": ["Oslo", "Rome"] * 3,
                "temperature_c": [-2.0, 14.0, 1.0, 15.0, 4.0, 16.0],
                "rain_mm": [3.0, 0.0, 1.0, 6.0, 0.0, 2.0],
            }
        ),
    }


@dataclass(frozen=True)
class Plot:
    """Code that draws: `bar` (either way round), `line`, `scatter` or `hist`, and what it draws."""

    kind: str
    marks: Any
    """Bars: label -> size; lines: a set of tuples of heights; points: a set of pairs; a histogram: how many values."""


@dataclass(frozen=True)
class Variable:
    """Code that makes a variable."""

    name: str
    value: Any


@dataclass(frozen=True)
class Value:
    """Code whose last line, or what it prints, has this value. A set is compared without order."""

    value: Any


@dataclass(frozen=True)
class Cell:
    """Code that is put into the next cell and not run; if it were, this would come of it."""

    gives: Plot | Variable | Value


@dataclass(frozen=True)
class Query:
    """No code: `query_table`, and an answer that has these texts."""

    says: tuple[str, ...]


@dataclass(frozen=True)
class NoCode:
    """Neither code nor a cell: the request is about something else."""


Expected = Plot | Variable | Value | Cell | Query | NoCode

UNITS = {"North": 13, "South": 18, "West": 11}
REVENUE = {"North": 36.0, "South": 41.5, "West": 28.0}
BY_PRODUCT = {"tea": 21, "coffee": 11, "cocoa": 10}
RAIN = {"Oslo": 4.0, "Rome": 8.0}
WARMTH = {"Oslo": 1.0, "Rome": 15.0}
MONTHLY = frozenset({(25, 17)})
POINTS = frozenset({(5, 10.0), (9, 18.0), (6, 21.0), (1, 3.5), (7, 14.0), (4, 14.0), (2, 5.0), (8, 20.0)})
BIG = {("South", "tea", 9), ("North", "coffee", 6), ("West", "tea", 7), ("South", "cocoa", 8)}
"""Rows of more than five units: region, product, units."""


def pairs(totals: dict[str, Any]) -> frozenset[tuple[str, Any]]:
    return frozenset(totals.items())


QUESTIONS: tuple[tuple[str, Expected], ...] = (
    # bars
    ("plot units by region", Plot("bar", UNITS)),
    ("Draw a bar chart of the units sold in each region.", Plot("bar", UNITS)),
    ("Can you make me a bar plot of revenue per region?", Plot("bar", REVENUE)),
    ("please chart total units for each product", Plot("bar", BY_PRODUCT)),
    ("I'd like to see rain_mm by city as bars", Plot("bar", RAIN)),
    ("graph the average temperature per city", Plot("bar", WARMTH)),
    ("Visualize the price of every product as a bar chart", Plot("bar", {"tea": 2.0, "coffee": 3.5, "cocoa": 2.5})),
    ("plot how many rows each region has in sales", Plot("bar", {"North": 3, "South": 3, "West": 2})),
    ("Plot the units by region, only for tea", Plot("bar", {"North": 5, "South": 9, "West": 7})),
    (
        "bar chart of revenue by product where region is South",
        Plot("bar", {"tea": 18.0, "coffee": 3.5, "cocoa": 20.0}),
    ),
    ("Show me a chart comparing revenue between the regions", Plot("bar", REVENUE)),
    ("plot the maximum units of each product", Plot("bar", {"tea": 9, "coffee": 6, "cocoa": 8})),
    # lines
    ("show units over time as a line", Plot("line", MONTHLY)),
    ("Plot the revenue over time", Plot("line", frozenset({(56.0, 49.5)}))),
    ("draw a line chart of units by month", Plot("line", MONTHLY)),
    ("How did the units develop over the months? Draw a line.", Plot("line", MONTHLY)),
    (
        "plot the temperature in Oslo over time",
        Plot("line", frozenset({(-2.0, 1.0, 4.0)})),
    ),
    ("line plot of rain_mm against date", Plot("line", frozenset({(3.0, 0.0, 1.0, 6.0, 0.0, 2.0)}))),
    (
        "plot units by month, one line for each region",
        Plot("line", frozenset({(5, 8), (9, 9), (11,)})),
    ),
    # points and distributions
    ("scatter plot of units and revenue", Plot("scatter", POINTS)),
    ("plot revenue against units", Plot("scatter", POINTS)),
    ("Is there a relationship between units and revenue? Show it in a plot.", Plot("scatter", POINTS)),
    ("make a histogram of units", Plot("hist", 8)),
    ("plot the distribution of rain_mm", Plot("hist", 6)),
    # variables
    ("put the total units by region into a variable totals", Variable("totals", pairs(UNITS))),
    ("Compute the revenue per product and store it in a variable called per_product",
     Variable("per_product", frozenset({("tea", 42.0), ("coffee", 38.5), ("cocoa", 25.0)}))),
    ("make a table of the three largest sales by units called top",
     Variable("top", [("South", "tea", 9), ("South", "cocoa", 8), ("West", "tea", 7)])),
    ("keep the rows of sales with units above 5 as big", Variable("big", frozenset(BIG))),
    ("Create a new table tea_sales with only the rows where product is tea",
     Variable("tea_sales", frozenset({("North", "tea", 5), ("South", "tea", 9), ("West", "tea", 7)}))),
    ("Join sales with products on product and call the result joined", Variable("joined", (8, 7))),
    ("merge sales and products into a variable named full", Variable("full", (8, 7))),
    ("save the mean temperature of each city as warmth", Variable("warmth", pairs(WARMTH))),
    ("sort products by price from high to low and keep that as dear",
     Variable("dear", [("coffee", "bean", 3.5), ("cocoa", "bean", 2.5), ("tea", "leaf", 2.0)])),
    ("assign the number of rows per region to counts",
     Variable("counts", frozenset({("North", 3), ("South", 3), ("West", 2)}))),
    ("Make a variable rainiest that holds the 2 days with the most rain_mm in weather",
     Variable("rainiest", [("Rome", 15.0, 6.0), ("Oslo", -2.0, 3.0)])),
    ("total revenue of the North, in a variable north_revenue", Variable("north_revenue", 36.0)),
    # with code
    ("With code: which region sold the most units?", Value(("South", 18))),
    ("in pandas, total units by region", Value(pairs(UNITS))),
    ("Use pandas to count the rows of sales per product",
     Value(frozenset({("tea", 3), ("coffee", 3), ("cocoa", 2)}))),
    ("using Python, what is the median price of products?", Value(2.5)),
    ("run some code to get the mean revenue by product",
     Value(frozenset({("tea", 14.0), ("coffee", 38.5 / 3), ("cocoa", 12.5)}))),
    ("filter the sales to units of at least 7 with pandas",
     Value(frozenset({("South", "tea", 9), ("West", "tea", 7), ("South", "cocoa", 8)}))),
    ("sort sales by units descending with code",
     Value([("South", "tea", 9), ("South", "cocoa", 8), ("West", "tea", 7), ("North", "coffee", 6),
            ("North", "tea", 5), ("West", "coffee", 4), ("North", "cocoa", 2), ("South", "coffee", 1)])),
    ("with pandas: the average price by category", Value(frozenset({("leaf", 2.0), ("bean", 3.0)}))),
    ("Use code to add up the rain in Rome", Value(8.0)),
    ("join sales with products and give the units by category, in pandas",
     Value(frozenset({("leaf", 21), ("bean", 21)}))),
    ("show the top 2 regions by revenue using pandas", Value([("South", 41.5), ("North", 36.0)])),
    # misspelt: the code is corrected once
    ("plot units by regoin", Plot("bar", UNITS)),
    ("with pandas, sum revenu by region", Value(pairs(REVENUE))),
    ("put the total units by prodct into a variable by_product", Variable("by_product", pairs(BY_PRODUCT))),
    ("draw a histogram of rain_mmm in weather", Plot("hist", 6)),
    # cells
    ("give me a cell that plots units by region", Cell(Plot("bar", UNITS))),
    ("Write a cell that computes the total revenue by product",
     Cell(Value(frozenset({("tea", 42.0), ("coffee", 38.5), ("cocoa", 25.0)})))),
    ("Can I have the code for a line chart of units over time?", Cell(Plot("line", MONTHLY))),
    ("put code into the next cell that joins sales and products as joined", Cell(Variable("joined", (8, 7)))),
    # structured questions, without code
    ("what are the total units by region?", Query(("South", "18", "North", "13", "West", "11"))),
    ("average temperature per city", Query(("Oslo", "1", "Rome", "15"))),
    ("How many rows does each product have in sales?", Query(("tea", "3", "cocoa", "2"))),
    ("which rows of sales have more than 6 units?", Query(("9", "7", "8"))),
    ("which product brought the most revenue?", Query(("tea", "42"))),
    # about something else
    ("Remember that I like bar charts", NoCode()),
    ("What do you know about plots?", NoCode()),
    ("make a to-do list: plot the units, write the report", NoCode()),
    ("read /plot.md", NoCode()),
    ("who are you?", NoCode()),
    # Chinese
    ("画出每个 region 的 units 柱状图", Plot("bar", UNITS)),
    ("用折线图显示 units 随 month 的变化", Plot("line", MONTHLY)),
    ("画 units 和 revenue 的散点图", Plot("scatter", POINTS)),
    ("把每个 product 的 units 总和存到变量 sums", Variable("sums", pairs(BY_PRODUCT))),
    ("用 pandas 计算每个 city 的平均 temperature_c", Value(pairs(WARMTH))),
    ("写一个单元格，画出每个 region 的 revenue", Cell(Plot("bar", REVENUE))),
)  # fmt: skip

LATER: tuple[tuple[str, Expected], ...] = (
    # written once the rules for the others were there, and before they were tried on these
    ("Draw the total revenue for every region as horizontal bars", Plot("bar", REVENUE)),
    ("chart of average price by category, please", Plot("bar", {"leaf": 2.0, "bean": 3.0})),
    ("bars: rain_mm per city", Plot("bar", RAIN)),
    ("Could you plot which product sells the most units?", Plot("bar", BY_PRODUCT)),
    ("plot the number of sales rows per product", Plot("bar", {"tea": 3, "coffee": 3, "cocoa": 2})),
    ("I want a bar graph with revenue on one axis and region on the other", Plot("bar", REVENUE)),
    ("plot the mean units per region for coffee and tea only", Plot("bar", {"North": 5.5, "South": 5.0, "West": 5.5})),
    ("plot units by product where units > 4", Plot("bar", {"tea": 21, "coffee": 6, "cocoa": 8})),
    ("Give me a line graph showing revenue per month", Plot("line", frozenset({(56.0, 49.5)}))),
    ("How does the temperature in Rome change over time? plot it", Plot("line", frozenset({(14.0, 15.0, 16.0)}))),
    ("plot rain over the days", Plot("line", frozenset({(3.0, 0.0, 1.0, 6.0, 0.0, 2.0)}))),
    ("line chart: temperature_c by date, separate lines per city", Plot("line", frozenset({(-2.0, 1.0, 4.0), (14.0, 15.0, 16.0)}))),
    ("scatter units vs revenue", Plot("scatter", frozenset((y, x) for x, y in POINTS))),
    ("draw temperature_c and rain_mm as points", Plot("scatter", frozenset({(-2.0, 3.0), (14.0, 0.0), (1.0, 1.0), (15.0, 6.0), (4.0, 0.0), (16.0, 2.0)}))),
    ("how are the revenues distributed? show a histogram", Plot("hist", 8)),
    ("histogram for temperature_c", Plot("hist", 6)),
    ("Create a variable named avg with the average units of each product", Variable("avg", frozenset({("tea", 7.0), ("coffee", 11 / 3), ("cocoa", 5.0)}))),
    ("store the sum of revenue in a variable total_revenue", Variable("total_revenue", 105.5)),
    ("filter sales to region North and call it north", Variable("north", frozenset({("North", "tea", 5), ("North", "coffee", 6), ("North", "cocoa", 2)}))),
    ("keep only rows with rain_mm below 2 from weather in a new variable dry", Variable("dry", frozenset({("Rome", 14.0, 0.0), ("Oslo", 1.0, 1.0), ("Oslo", 4.0, 0.0)}))),
    ("combine products with sales and save the table as everything", Variable("everything", (8, 7))),
    ("get the 2 regions with the highest revenue into a variable best", Variable("best", [("South", 41.5), ("North", 36.0)])),
        ("build a table called cheap with the products under 3", Variable("cheap", frozenset({("tea", "leaf", 2.0), ("cocoa", "bean", 2.5)}))),
    ("number of rows per city as a variable n_city", Variable("n_city", frozenset({("Oslo", 3), ("Rome", 3)}))),
    ("with python: what's the largest number of units in each region?", Value(frozenset({("North", 6), ("South", 9), ("West", 7)}))),
    ("Using code, find the minimum temperature per city", Value(frozenset({("Oslo", -2.0), ("Rome", 14.0)}))),
    ("in pandas: how many rows of sales have units over 5?", Value(4)),
    ("with pandas, list the sales with revenue between 10 and 20", Value(frozenset({("North", "tea", 5), ("South", "tea", 9), ("West", "tea", 7), ("West", "coffee", 4), ("South", "cocoa", 8)}))),
    ("median units per region using pandas", Value(frozenset({("North", 5.0), ("South", 8.0), ("West", 5.5)}))),
    ("What is the average temperature in Oslo? Use code.", Value(1.0)),
    ("sort the products by price, lowest first, with pandas", Value([("tea", "leaf", 2.0), ("cocoa", "bean", 2.5), ("coffee", "bean", 3.5)])),
    ("use python to show the first three rows of weather", Value([("Oslo", -2.0, 3.0), ("Rome", 14.0, 0.0), ("Oslo", 1.0, 1.0)])),
    ("which city is the warmest on average? do it with code", Value(("Rome", 15.0))),
    ("total units for tea, with code", Value(21)),
    ("plot revenu_ by region", Plot("bar", REVENUE)),
    ("with code: mean temprature_c per city", Value(pairs(WARMTH))),
    ("with pandas, total units per prduct", Value(pairs(BY_PRODUCT))),
    ("chart the units per regiom", Plot("bar", UNITS)),
    ("write me a cell which draws the revenue by month as a line", Cell(Plot("line", frozenset({(56.0, 49.5)})))),
    ("show me the code for the mean price per category", Cell(Value(frozenset({("leaf", 2.0), ("bean", 3.0)})))),
    ("I need a code snippet: units per region", Cell(Value(pairs(UNITS)))),
    ("total revenue per product?", Query(("tea", "42", "coffee", "38.5"))),
    ("How many rows are there for each city?", Query(("Oslo", "3", "Rome", "3"))),
    ("Show the rows of weather where rain_mm > 1", Query(("Oslo", "Rome", "6"))),
    ("what is the mean price of each category", Query(("bean", "3", "leaf", "2"))),
    ("List my files", NoCode()),
    ("Forget that I like charts", NoCode()),
    ("summarize our conversation", NoCode()),
    ("用柱状图画每个 product 的 revenue", Plot("bar", {"tea": 42.0, "coffee": 38.5, "cocoa": 25.0})),
    ("画 rain_mm 的直方图", Plot("hist", 6)),
    ("用代码求每个 region 的 units 总和", Value(pairs(UNITS))),
    ("每个 product 的 units 总和是多少？", Query(("tea", "21", "cocoa", "10"))),
)  # fmt: skip
