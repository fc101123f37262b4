"""Questions with which one row could make a naive engine raise, and tables without and with that row."""

from __future__ import annotations

from dataclasses import replace

from tests.engines.sites import Held, Table

EVE = "eve 4711 qx"  # what no error may tell
PROBES: dict[str, str] = {
    "division by zero": "SELECT SUM(CLAMP(1 / (age - 42), -9, 9)) FROM t",
    "whole division by zero": "SELECT SUM(CLAMP(100 // (age - 42), -9, 9)) FROM t",
    "modulo by zero": "SELECT SUM(CLAMP(100 % (age - 42), -9, 9)) FROM t",
    "division of the least integer": "SELECT COUNT(*) FROM t WHERE low // (41 - age) > 0 OR low % (41 - age) = 0",
    "the least integer, negated": "SELECT COUNT(*) FROM t WHERE ABS(low) > 3 OR -low > 3 OR SIGN(low) = 0",
    "text to an integer": "SELECT SUM(CLAMP(CAST(CASE WHEN age = 42 THEN name ELSE '1' END AS INTEGER), 0, 9)) FROM t",
    "text to a double": "SELECT SUM(CLAMP(CAST(CASE WHEN age = 42 THEN name ELSE '1.5' END AS DOUBLE), 0, 9)) FROM t",
    "text to a truth": "SELECT COUNT(*) FROM t WHERE CAST(CASE WHEN age = 42 THEN name ELSE 'yes' END AS BOOLEAN)",
    "text to a date": "SELECT COUNT(CAST(CASE WHEN age = 42 THEN name ELSE '2020-01-01' END AS DATE)) FROM t",
    "text to a moment": "SELECT COUNT(CAST(CASE WHEN age = 42 THEN '2020-02-30' ELSE '2020-01-01' END AS TIMESTAMP)) "
    "FROM t",
    "double to an integer": "SELECT COUNT(CAST(salary * 1e300 AS INTEGER)), COUNT(CAST(0 * (salary * 9e99) AS "
    "INTEGER)) FROM t",
    "large exponent in a text": "SELECT COUNT(CAST(CASE WHEN age = 42 THEN '1e9999' ELSE '1' END AS DOUBLE)) FROM t",
    "root of a negative": "SELECT SUM(CLAMP(SQRT(41.5 - age), 0, 9)) FROM t",
    "logarithm of zero": "SELECT SUM(CLAMP(LN(42 - age), -9, 9)), COUNT(LOG2(42 - age)), COUNT(LOG10(42 - age)) FROM t",
    "arc of two": "SELECT COUNT(ASIN(age - 40)), COUNT(ACOS(age - 40)) FROM t",
    "exponential": "SELECT SUM(CLAMP(EXP(CASE WHEN age = 42 THEN 1000 ELSE 1 END), 0, 9)), COUNT(EXP(-1000 * age)) "
    "FROM t",
    "power": "SELECT COUNT(POWER(salary, age * 10)), COUNT(POWER(42 - age, -1)), COUNT(POWER(40 - age, 0.5)) FROM t",
    "sum of integers": "SELECT SUM(big), AVG(big) FROM t",
    "product of integers": "SELECT COUNT(*) FROM t WHERE big * age > 5 OR big + age > 5 OR -big - age < 5 OR ABS(big - "
    "1) > 3",
    "product of doubles": "SELECT COUNT(salary * 1e308 * salary), SUM(CLAMP(salary * 1e308 + 1e308, 0, 1)) FROM t",
    "sum of a unit": "SELECT SUM(CLAMP(s, -9, 9)) FROM (SELECT u, SUM(big) AS s FROM t GROUP BY u) AS q",
    "day out of range": "SELECT COUNT(*) FROM t WHERE day + INTERVAL '1 day' > at OR day + INTERVAL '1 year' > at",
    "days added": "SELECT COUNT(*) FROM t WHERE day + (big // 1000) > DATE '2020-01-01' OR day - age > DATE "
    "'2020-01-01'",
    "moment out of range": "SELECT COUNT(TO_TIMESTAMP(big)), COUNT(TO_TIMESTAMP(salary * 1e300)) FROM t",
    "made date": "SELECT COUNT(MAKE_DATE(big, age, age)), COUNT(MAKE_DATE(2020, 2, age)), COUNT(MAKE_DATE(age, 13, 1)) "
    "FROM t",
    "distance of days": "SELECT SUM(CLAMP(DATE_DIFF('second', at, TIMESTAMP '9999-12-31'), 0, 9)) FROM t",
    "negative length": "SELECT COUNT(SUBSTRING(name, 1, 41 - age)) FROM t",
    "negative length, written": "SELECT COUNT(*) FROM t WHERE LEFT(name, -3) = 'e' OR RIGHT(name, -2) = 'b'",
    "repeated text": "SELECT SUM(LENGTH(REPEAT(name, 2000000000))) FROM t",
    "filled text": "SELECT COUNT(*) FROM t WHERE LPAD(name, age * 100000000) = 'x'",
    "filled text, written": "SELECT COUNT(*) FROM t WHERE LPAD(name, 2000000000, 'x') = 'x' OR RPAD(name, -7, 'y') = "
    "''",
    "replaced text": "SELECT COUNT(*) FROM t WHERE REPLACE(name, 'e', 'eee') = 'eee'",
    "pattern of the row": "SELECT COUNT(*) FROM t WHERE 'abc' LIKE name",
    "pattern that ends in its escape": "SELECT COUNT(*) FROM t WHERE name LIKE '%\\'",
    "pattern of many wildcards": "SELECT COUNT(*) FROM t WHERE name LIKE '%a%b%c%d%e%f%g%h%' OR name ILIKE "
    "'%(%[%*%+%?%\\\\%'",
    "regular expression": "SELECT COUNT(*) FROM t WHERE regexp_matches(name, CASE WHEN age = 42 THEN '(' ELSE 'a' END)",
    "character of a number": "SELECT COUNT(CHR(CASE WHEN age = 42 THEN -5 ELSE 65 END)) FROM t",
    "error by name": "SELECT COUNT(CASE WHEN age = 42 THEN error('x') ELSE 1 END) FROM t",
    "subquery of two rows": "SELECT COUNT(*) FROM t WHERE salary > (SELECT salary FROM t WHERE age >= 42)",
    "split text": "SELECT COUNT(*) FROM t WHERE SPLIT_PART(name, ' ', 2) = 'x' OR SPLIT_PART(name, ' ', -1) = 'x'",
    "bucket": "SELECT COUNT(WIDTH_BUCKET(salary * 1e300, 0, 10, 5)) FROM t",
    "rounding": "SELECT COUNT(ROUND(salary * 1e300, 2)), COUNT(ROUND(salary, 2)), COUNT(FLOOR(salary * 1e300)) FROM t",
    "formatted moment": "SELECT COUNT(*) FROM t WHERE STRFTIME(at, '%Y') = '2020' OR DAYNAME(day) = 'Monday'",
    "discovered key": "SELECT name, COUNT(*) FROM t GROUP BY name",
    "key cast": "SELECT CAST(name AS INTEGER) AS k, COUNT(*) FROM t GROUP BY k",
}

MOST = str(2**63 - 1)
LEAST = str(-(2**63))
WHOLE = '{ type = "integer", bounds = [-9223372036854775808, 9223372036854775807] }'
D: Table = {
    "u": Held('{ type = "integer" }', "BIGINT", ("1", "2", "3", "3", "5")),
    "name": Held(
        '{ type = "text" }', "VARCHAR", ("ann", "bob", "cyd", "", "%"), {"postgres": "TEXT", "spark": "STRING"}
    ),
    "age": Held('{ type = "integer", bounds = [0, 120] }', "BIGINT", ("30", "39", "35", "38", "7")),
    "salary": Held('{ type = "double" }', "DOUBLE", ("1", "2", "3", None, "4"), {"postgres": "DOUBLE PRECISION"}),
    "big": Held(WHOLE, "BIGINT", ("1", "2", "3", None, "9223372036854775000")),
    "low": Held(WHOLE, "BIGINT", ("1", "2", "3", None, "-4")),
    "day": Held('{ type = "date" }', "DATE", ("2020-01-01", "2021-01-01", "2020-02-29", None, "1990-01-01")),
    "at": Held(
        '{ type = "timestamp" }',
        "TIMESTAMP",
        ("2020-01-01", "2021-01-01", None, None, "2020-02-29"),
        {"spark": "TIMESTAMP_NTZ"},
    ),
}
ROW = {
    "u": "4",
    "name": EVE,
    "age": "42",
    "salary": "1.7e308",
    "big": MOST,
    "low": LEAST,
    "day": "9999-12-31",
    "at": "0001-01-01",
}


def table(planted: bool) -> Table:
    """D, or D with one row more."""
    return {name: replace(held, values=(*held.values, ROW[name])) for name, held in D.items()} if planted else D
