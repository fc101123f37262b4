"""Questions as analysts send them, by theme: the sample hospital, a chain of wards with NULLs in most columns, and rows
that
are units of their own. Each is asked of Obverse without noise and of plain DuckDB over the same files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Asked:
    """One question; its theme; the values of its parameters."""

    theme: str
    sql: str
    parameters: Sequence[object] | Mapping[str, object] = ()

    def __str__(self) -> str:
        return f"{self.theme}: {' '.join(self.sql.split())}"


def listed(themes: Mapping[str, str]) -> tuple[Asked, ...]:
    """The questions of each theme, which stand apart by empty lines."""
    return tuple(
        Asked(theme, " ".join(sql.split()))
        for theme, text in themes.items()
        for sql in text.split("\n\n")
        if sql.strip()
    )


HOSPITAL = listed(
    {
        "counts": """
SELECT COUNT(*) FROM people

SELECT COUNT(*) AS all_of_them, COUNT(salary) AS earners, COUNT(age) AS aged, COUNT(zip) AS zips FROM people

SELECT COUNT(DISTINCT person_id) FROM visits

SELECT COUNT(DISTINCT clinic) AS clinics, COUNT(DISTINCT person_id) AS patients, COUNT(*) AS visits FROM visits

SELECT COUNT(DISTINCT zip) FROM people

SELECT COUNT(DISTINCT age) AS ages, COUNT(DISTINCT sex) AS sexes FROM people WHERE hiv

SELECT clinic, COUNT(DISTINCT person_id) AS patients FROM visits GROUP BY clinic

SELECT sex, COUNT(DISTINCT zip) AS zips, COUNT(DISTINCT age) AS ages FROM people GROUP BY sex

SELECT COUNT(DISTINCT DATE_TRUNC('day', at)) AS days FROM visits
""",
        "sums": """
SELECT SUM(cost) FROM visits

SELECT SUM(age) AS years, SUM(salary) AS payroll FROM people

SELECT clinic, SUM(cost) AS revenue, COUNT(*) AS visits FROM visits GROUP BY clinic ORDER BY revenue DESC

SELECT sex, SUM(salary) AS payroll, COUNT(salary) AS earners FROM people GROUP BY sex

SELECT SUM(salary * 0.19) AS tax FROM people

SELECT SUM(CASE WHEN hiv THEN 1 ELSE 0 END) AS positive, SUM(CASE WHEN age >= 65 THEN 1 ELSE 0 END) AS old FROM people

SELECT SUM(age * age) AS squares, SUM(120 - age) AS left_over FROM people

SELECT SUM(CAST(hiv AS INTEGER)) FROM people

SELECT SUM(COALESCE(salary, 0)) / COUNT(*) AS per_head FROM people

SELECT SUM(ROUND(cost)) AS rounded, SUM(FLOOR(cost)) AS floored, SUM(CEIL(cost)) AS ceiled FROM visits
""",
        "averages and spread": """
SELECT AVG(age) FROM people

SELECT sex, AVG(age) AS mean_age, AVG(salary) AS mean_salary FROM people GROUP BY sex

SELECT clinic, AVG(cost) AS mean, STDDEV(cost) AS deviation, VAR_POP(cost) AS variance FROM visits GROUP BY clinic

SELECT VAR_SAMP(age), VARIANCE(age), STDDEV_POP(age), STDDEV_SAMP(age) FROM people

SELECT sex, VAR_SAMP(salary) AS v FROM people WHERE age BETWEEN 30 AND 60 GROUP BY sex

SELECT AVG(LN(1 + cost)) AS mean_log FROM visits

SELECT AVG(SQRT(salary)) AS mean_root FROM people

SELECT AVG(DATE_DIFF('day', joined, DATE '2025-01-01')) AS days FROM people

SELECT EXP(AVG(LN(GREATEST(salary, 1)))) AS geometric FROM people WHERE salary > 1000
""",
        "pairs": """
SELECT CORR(salary, age) FROM people

SELECT COVAR_POP(salary, age), COVAR_SAMP(salary, age) FROM people

SELECT REGR_SLOPE(salary, age) AS slope, REGR_INTERCEPT(salary, age) AS intercept, REGR_R2(salary, age) AS r2 FROM \
people

SELECT sex, REGR_COUNT(salary, age) AS pairs, CORR(age, salary) AS c FROM people GROUP BY sex

SELECT CORR(v.cost, p.age) FROM visits v JOIN people p ON p.person_id = v.person_id
""",
        "places": """
SELECT MEDIAN(age) FROM people

SELECT MIN(age), MAX(age) FROM people

SELECT MIN(cost), MAX(cost), MEDIAN(cost) FROM visits

SELECT sex, MEDIAN(salary) AS median FROM people GROUP BY sex

SELECT QUANTILE_CONT(cost, 0.25) AS q1, QUANTILE_CONT(cost, 0.5) AS q2, QUANTILE_CONT(cost, 0.75) AS q3 FROM visits

SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY salary) AS p90 FROM people

SELECT clinic, PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY cost) AS middle, COUNT(*) AS n FROM visits GROUP BY clinic

SELECT QUANTILE_DISC(age, 0.1) AS young, QUANTILE_DISC(age, 0.9) AS old FROM people

SELECT PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY age DESC) FROM people

SELECT MIN(joined) AS first, MAX(joined) AS last FROM people

SELECT MIN(at) AS first, MAX(at) AS last, MEDIAN(at) AS middle FROM visits

SELECT MAX(age) - MIN(age) AS span FROM people

SELECT clinic, MIN(cost) AS least, MAX(cost) AS most FROM visits WHERE at >= DATE '2020-01-01' GROUP BY clinic

SELECT sex, hiv, MAX(age) AS oldest, COUNT(*) AS n FROM people GROUP BY sex, hiv
""",
        "choices": """
SELECT MODE(sex) FROM people

SELECT MODE(clinic) FROM visits WHERE cost > 500

SELECT sex, MODE(age >= 40) AS older, COUNT(*) AS n FROM people GROUP BY sex

SELECT MODE(EXTRACT(YEAR FROM at)) AS busiest FROM visits

SELECT MODE() WITHIN GROUP (ORDER BY clinic) AS busiest FROM visits
""",
        "filter": """
SELECT COUNT(*) FILTER (WHERE sex = 'F') AS women, COUNT(*) FILTER (WHERE sex = 'M') AS men, COUNT(*) AS n FROM people

SELECT clinic, SUM(cost) FILTER (WHERE at >= DATE '2023-01-01') AS lately, SUM(cost) AS ever FROM visits GROUP BY clinic

SELECT AVG(age) FILTER (WHERE hiv) AS with_hiv, AVG(age) FILTER (WHERE NOT hiv) AS without FROM people

SELECT MEDIAN(salary) FILTER (WHERE age < 30) AS young, MEDIAN(salary) FILTER (WHERE age >= 30) AS old FROM people

SELECT COUNT(DISTINCT person_id) FILTER (WHERE cost > 1000) AS dear, COUNT(DISTINCT person_id) AS n FROM visits

SELECT CORR(salary, age) FILTER (WHERE sex = 'F') AS women FROM people
""",
        "where": """
SELECT COUNT(*) FROM people WHERE age BETWEEN 30 AND 39 AND sex IN ('F', 'X')

SELECT COUNT(*) FROM people WHERE NOT (age < 18 OR age > 65)

SELECT COUNT(*) FROM people WHERE salary IS NULL

SELECT COUNT(*) FROM people WHERE salary IS NOT NULL AND hiv IS NOT TRUE

SELECT COUNT(*) FROM people WHERE name LIKE 'A%' OR name ILIKE '%ez'

SELECT COUNT(*) FROM people WHERE zip IS DISTINCT FROM '10115'

SELECT COUNT(*) FROM people WHERE COALESCE(salary, 0) > 40000 AND age % 2 = 0

SELECT COUNT(*) FROM visits WHERE clinic <> 'Emergency' AND cost / 2 > 100

SELECT COUNT(*) FROM visits WHERE at BETWEEN TIMESTAMP '2020-03-01 00:00:00' AND TIMESTAMP '2020-06-30 23:59:59'

SELECT COUNT(*) FROM people WHERE (sex, hiv) = ('F', TRUE)

SELECT COUNT(*) FROM people WHERE age NOT IN (18, 19, 20) AND zip NOT LIKE '10%'

SELECT COUNT(*) FROM people WHERE CASE WHEN sex = 'F' THEN age > 60 ELSE age > 65 END

SELECT COUNT(*) FROM people WHERE 1 = 0
""",
        "text": """
SELECT LENGTH(name) AS length, COUNT(*) AS n FROM people GROUP BY length

SELECT LEFT(zip, 2) AS region, COUNT(*) AS n FROM people GROUP BY region

SELECT UPPER(SUBSTRING(name, 1, 1)) AS initial, COUNT(*) AS n FROM people GROUP BY 1 ORDER BY n DESC, initial LIMIT 5

SELECT COUNT(*) FROM people WHERE SPLIT_PART(name, ' ', 2) = 'Toth'

SELECT COUNT(*) FROM people WHERE STARTS_WITH(zip, '11') AND ENDS_WITH(name, 'a') AND CONTAINS(LOWER(name), 'e')

SELECT COUNT(*) FROM people WHERE REPLACE(name, ' ', '') || '!' LIKE '%n!' AND POSITION('a' IN name) > 0

SELECT AVG(CASE WHEN LENGTH(TRIM(name)) > 10 THEN 1 ELSE 0 END) AS long_names FROM people

SELECT sex || '/' || CASE WHEN hiv THEN 'yes' ELSE 'no' END AS label, COUNT(*) AS n FROM people GROUP BY label

SELECT CONCAT(LEFT(clinic, 3), '-', EXTRACT(YEAR FROM at)) AS label, COUNT(*) AS n FROM visits GROUP BY 1
""",
        "dates": """
SELECT EXTRACT(YEAR FROM at) AS year, COUNT(*) AS visits FROM visits GROUP BY year ORDER BY year

SELECT DATE_TRUNC('month', at) AS month, COUNT(*) AS visits, SUM(cost) AS cost FROM visits GROUP BY month

SELECT DATE_TRUNC('quarter', joined) AS quarter, COUNT(*) AS people FROM people GROUP BY 1

SELECT EXTRACT(ISODOW FROM at) AS day, AVG(cost) AS mean FROM visits GROUP BY day

SELECT DAYNAME(at) AS day, EXTRACT(HOUR FROM at) AS hour, COUNT(*) AS n FROM visits GROUP BY day, hour

SELECT COUNT(*) FROM people WHERE joined > CURRENT_DATE - INTERVAL '8 years'

SELECT COUNT(*) FROM visits WHERE at::DATE = DATE '2021-05-03'

SELECT COUNT(*) FROM visits WHERE EXTRACT(HOUR FROM at) < 9 OR EXTRACT(HOUR FROM at) >= 18

SELECT MONTHNAME(at) AS month, COUNT(*) AS n FROM visits WHERE YEAR(at) = 2022 GROUP BY month

SELECT COUNT(*) FROM people WHERE joined + INTERVAL 1 YEAR < DATE '2015-01-01'

SELECT DATE_DIFF('year', joined, DATE '2024-12-31') AS years, COUNT(*) AS n FROM people GROUP BY years

SELECT STRFTIME(at, '%Y-%m') AS month, COUNT(*) AS n FROM visits WHERE clinic = 'Emergency' GROUP BY month

SELECT LAST_DAY(joined) AS month_end, COUNT(*) AS n FROM people WHERE joined >= DATE '2020-01-01' GROUP BY month_end

SELECT CAST(at AS DATE) AS day, COUNT(*) AS n FROM visits WHERE at >= '2024-01-01' AND at < '2024-02-01' GROUP BY day
""",
        "case and buckets": """
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'senior' END AS life, COUNT(*) AS n FROM people
GROUP BY 1

SELECT age // 10 * 10 AS decade, COUNT(*) AS n, AVG(salary) AS mean FROM people GROUP BY decade ORDER BY decade

SELECT FLOOR(salary / 10000) AS band, COUNT(*) AS n FROM people GROUP BY band

SELECT LEAST(age, 90) AS capped, COUNT(*) AS n FROM people GROUP BY capped

SELECT CASE sex WHEN 'F' THEN 'female' WHEN 'M' THEN 'male' END AS word, COUNT(*) AS n FROM people GROUP BY word

SELECT age >= 65 AS retired, hiv, COUNT(*) AS n FROM people GROUP BY retired, hiv

SELECT COALESCE(CAST(hiv AS TEXT), 'unknown') AS told, COUNT(*) AS n FROM people GROUP BY told
""",
        "keys": """
SELECT zip, COUNT(*) AS n FROM people GROUP BY zip

SELECT zip, sex, COUNT(*) AS n, AVG(age) AS mean FROM people GROUP BY zip, sex

SELECT zip, MEDIAN(age) AS median FROM people WHERE zip IS NOT NULL GROUP BY zip

SELECT sex, clinic, COUNT(*) AS n FROM visits JOIN people USING (person_id) GROUP BY sex, clinic

SELECT salary > 50000 AS rich, COUNT(*) AS n FROM people GROUP BY salary > 50000

SELECT name, COUNT(*) AS n FROM people WHERE age > 95 GROUP BY name

SELECT DISTINCT sex FROM people

SELECT DISTINCT clinic, COUNT(*) AS n FROM visits GROUP BY clinic
""",
        "subtotals": """
SELECT sex, hiv, COUNT(*) AS n FROM people WHERE hiv IS NOT NULL GROUP BY ROLLUP (sex, hiv)

SELECT sex, age >= 65 AS retired, COUNT(*) AS n, AVG(salary) AS mean FROM people WHERE age IS NOT NULL GROUP BY CUBE
(sex, retired)

SELECT clinic, EXTRACT(YEAR FROM at) AS year, SUM(cost) AS cost, COUNT(*) AS n FROM visits
GROUP BY GROUPING SETS ((clinic), (year), ())

SELECT c.city, v.clinic, COUNT(*) AS n FROM visits v JOIN clinics c ON c.clinic = v.clinic GROUP BY ROLLUP (c.city, \
v.clinic)

SELECT sex, COUNT(*) AS n FROM people GROUP BY GROUPING SETS ((sex), ())

SELECT clinic, COUNT(DISTINCT person_id) AS patients, MEDIAN(cost) AS median FROM visits GROUP BY ROLLUP (clinic)

SELECT sex, hiv, COUNT(*) AS n FROM people WHERE hiv IS NOT NULL GROUP BY sex, ROLLUP (hiv)
""",
        "after grouping": """
SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic HAVING COUNT(*) > 7000 ORDER BY n DESC

SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic ORDER BY n DESC LIMIT 3

SELECT clinic, SUM(cost) AS revenue FROM visits GROUP BY clinic ORDER BY 2 DESC LIMIT 3 OFFSET 2

SELECT clinic, AVG(cost) AS mean FROM visits GROUP BY clinic HAVING AVG(cost) BETWEEN 100 AND 300 AND COUNT(*) > 100

SELECT zip, COUNT(*) AS n FROM people GROUP BY zip HAVING n >= 500 ORDER BY zip NULLS FIRST

SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY COUNT(*) DESC, sex

SELECT EXTRACT(YEAR FROM at) AS year, SUM(cost) AS s FROM visits GROUP BY year HAVING SUM(cost) > 1000000 ORDER BY \
year DESC

SELECT age, COUNT(*) AS n FROM people GROUP BY age HAVING COUNT(*) > 300 ORDER BY age DESC
""",
        "arithmetic": """
SELECT SUM(cost) / COUNT(DISTINCT person_id) AS per_patient FROM visits

SELECT 100.0 * COUNT(*) FILTER (WHERE hiv) / COUNT(*) AS percent FROM people

SELECT clinic, ROUND(AVG(cost), 2) AS mean, ROUND(SUM(cost) / 1000, 1) AS thousands FROM visits GROUP BY clinic

SELECT sex, COUNT(*) - COUNT(salary) AS unpaid, COUNT(salary) * 1.0 / COUNT(*) AS share FROM people GROUP BY sex

SELECT COUNT(*) AS n, n * 2 AS twice, SQRT(n) AS root FROM people

SELECT clinic, COUNT(*) AS n, CASE WHEN COUNT(*) > 9000 THEN 'busy' ELSE 'calm' END AS mood FROM visits GROUP BY clinic

SELECT SUM(salary) / NULLIF(COUNT(salary), 0) AS mean, STDDEV(salary) / AVG(salary) AS spread FROM people

SELECT COALESCE(SUM(cost), 0) AS total FROM visits WHERE cost < 0
""",
        "joins": """
SELECT COUNT(*) FROM people p JOIN visits v ON p.person_id = v.person_id

SELECT p.sex, COUNT(*) AS visits, SUM(v.cost) AS cost FROM visits v INNER JOIN people p USING (person_id) GROUP BY p.sex

SELECT COUNT(*) AS rows_, COUNT(v.cost) AS costs FROM people p LEFT JOIN visits v ON v.person_id = p.person_id

SELECT p.sex, COUNT(*) AS rows_, COUNT(v.visit_id) AS visits FROM people p LEFT JOIN visits v ON v.person_id =
p.person_id AND v.cost > 1000 GROUP BY p.sex

SELECT COUNT(*) FROM people p LEFT JOIN visits v ON v.person_id = p.person_id WHERE v.visit_id IS NULL

SELECT p.sex, COUNT(*) AS n FROM visits v RIGHT JOIN people p ON p.person_id = v.person_id GROUP BY p.sex

SELECT COUNT(*) AS n, COUNT(p.age) AS ages, COUNT(v.cost) AS costs FROM people p FULL OUTER JOIN visits v USING \
(person_id)

SELECT COUNT(*) AS n, COUNT(v.cost) AS costs FROM people p FULL JOIN visits v ON p.person_id = v.person_id AND p.age \
> 50

SELECT COUNT(*) FROM people p, visits v WHERE p.person_id = v.person_id AND p.age > 70 AND v.cost > 100

SELECT COUNT(*) FROM people p CROSS JOIN visits v WHERE p.person_id = v.person_id AND p.hiv

SELECT c.city, p.sex, COUNT(*) AS n FROM people p JOIN visits v ON p.person_id = v.person_id JOIN clinics c ON v.clinic
= c.clinic
GROUP BY c.city, p.sex

SELECT COUNT(*) FROM visits a JOIN visits b ON a.person_id = b.person_id AND a.at < b.at AND a.clinic = b.clinic

SELECT COUNT(*) FROM visits a JOIN visits b ON a.person_id = b.person_id WHERE a.clinic = 'Emergency' AND b.clinic =
'Cardiology'

SELECT p.hiv, AVG(v.cost) AS mean FROM people AS p JOIN visits AS v ON (v.person_id = p.person_id AND v.at > p.joined)
GROUP BY p.hiv

SELECT COUNT(*) FROM people JOIN visits USING (person_id) JOIN clinics USING (clinic) WHERE city = 'Lakeside'

SELECT person_count.n, COUNT(*) AS people FROM (SELECT person_id, COUNT(*) AS n FROM visits GROUP BY person_id) AS \
person_count
JOIN people p ON p.person_id = person_count.person_id WHERE p.age >= 65 GROUP BY person_count.n
""",
        "public joins": """
SELECT c.city, COUNT(*) AS visits, SUM(v.cost) AS cost FROM visits v JOIN clinics c ON v.clinic = c.clinic GROUP BY \
c.city

SELECT city, COUNT(*) AS n FROM visits LEFT JOIN clinics USING (clinic) GROUP BY city

SELECT c.city, COUNT(*) AS n FROM clinics c JOIN visits v ON v.clinic = c.clinic GROUP BY c.city

SELECT c.city, AVG(v.cost) AS mean FROM clinics c RIGHT JOIN visits v ON v.clinic = c.clinic GROUP BY c.city

SELECT city, clinic, COUNT(*) AS n FROM visits JOIN clinics USING (clinic) GROUP BY city, clinic HAVING COUNT(*) > 0

SELECT clinic, city FROM clinics ORDER BY clinic

SELECT city, COUNT(*) AS clinics FROM clinics GROUP BY city ORDER BY clinics DESC, city

SELECT COUNT(DISTINCT city) AS cities FROM clinics
""",
        "with": """
WITH adults AS (SELECT * FROM people WHERE age >= 18) SELECT sex, COUNT(*) AS n FROM adults GROUP BY sex

WITH adults AS (SELECT person_id, sex FROM people WHERE age >= 18), dear AS (SELECT person_id, cost FROM visits WHERE
cost > 500)
SELECT a.sex, COUNT(*) AS n, SUM(d.cost) AS cost FROM adults a JOIN dear d ON a.person_id = d.person_id GROUP BY a.sex

WITH dear AS (SELECT * FROM visits WHERE cost > 500), totals AS (SELECT person_id, SUM(cost) AS total FROM dear GROUP BY
person_id),
rich AS (SELECT person_id FROM totals WHERE total > 3000) SELECT COUNT(*) FROM rich

WITH people AS (SELECT * FROM people WHERE hiv) SELECT COUNT(*) FROM people

WITH t(a, b) AS (SELECT age, sex FROM people) SELECT b, AVG(a) AS mean FROM t GROUP BY b

WITH v AS (SELECT person_id, cost FROM visits) SELECT COUNT(*) FROM v x JOIN v y ON x.person_id = y.person_id AND x.cost
= y.cost

WITH per AS (SELECT person_id, clinic, COUNT(*) AS n FROM visits GROUP BY person_id, clinic)
SELECT clinic, SUM(CASE WHEN n > 1 THEN 1 ELSE 0 END) AS regulars, COUNT(*) AS patients FROM per GROUP BY clinic
""",
        "derived tables": """
SELECT COUNT(*) FROM (SELECT age FROM people WHERE sex = 'F') AS women WHERE age > 30

SELECT t.band, COUNT(*) AS n FROM (SELECT CASE WHEN salary > 60000 THEN 'high' WHEN salary > 30000 THEN 'middle' ELSE
'low' END AS band
FROM people WHERE salary IS NOT NULL) AS t GROUP BY t.band

SELECT AVG(x) FROM (SELECT cost * 2 AS x FROM visits WHERE clinic IN ('Emergency', 'Cardiology')) t

SELECT life, AVG(salary) AS mean FROM (SELECT CASE WHEN age < 40 THEN 'young' ELSE 'old' END AS life, salary FROM
(SELECT age, salary FROM people WHERE hiv IS FALSE) AS inner_most) AS middle GROUP BY life

SELECT COUNT(*) FROM (SELECT DISTINCT person_id, clinic FROM visits) AS pairs

SELECT clinic, COUNT(*) AS patients FROM (SELECT DISTINCT person_id, clinic FROM visits) AS pairs GROUP BY clinic
""",
        "set operations": """
SELECT COUNT(*) FROM (SELECT person_id FROM people UNION ALL SELECT person_id FROM visits) AS t

SELECT kind, COUNT(*) AS n FROM (SELECT person_id, 'cheap' AS kind FROM visits WHERE cost < 100
UNION ALL SELECT person_id, 'dear' FROM visits WHERE cost >= 100) AS t GROUP BY kind

SELECT COUNT(*) FROM (SELECT person_id FROM visits WHERE clinic = 'Emergency' UNION SELECT person_id FROM people \
WHERE hiv) AS t

SELECT COUNT(*) FROM (SELECT person_id FROM visits WHERE clinic = 'Emergency' INTERSECT SELECT person_id FROM visits
WHERE clinic = 'Cardiology') AS t

SELECT COUNT(*) FROM (SELECT person_id FROM people EXCEPT SELECT person_id FROM visits) AS never

SELECT clinic, COUNT(*) AS n FROM (SELECT person_id, clinic FROM visits WHERE at < DATE '2020-01-01'
EXCEPT SELECT person_id, clinic FROM visits WHERE at >= DATE '2020-01-01') AS lost GROUP BY clinic

SELECT AVG(amount) AS mean, COUNT(*) AS n FROM (SELECT salary AS amount FROM people UNION ALL SELECT cost FROM \
visits) AS t

SELECT COUNT(*) FROM (SELECT person_id, age FROM people WHERE age > 60 UNION SELECT person_id, age FROM people WHERE \
sex = 'F'
UNION SELECT person_id, age FROM people WHERE hiv) AS t
""",
        "in and exists": """
SELECT COUNT(*) FROM people WHERE person_id IN (SELECT person_id FROM visits WHERE clinic = 'Cardiology')

SELECT COUNT(*) FROM people WHERE person_id NOT IN (SELECT person_id FROM visits WHERE cost > 1000)

SELECT sex, COUNT(*) AS n FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person_id = p.person_id AND v.cost
> 2000) GROUP BY sex

SELECT COUNT(*) FROM people p WHERE NOT EXISTS (SELECT * FROM visits v WHERE v.person_id = p.person_id)

SELECT COUNT(*) FROM people p WHERE p.age > 80 OR EXISTS (SELECT 1 FROM visits v WHERE p.person_id = v.person_id AND
v.clinic = 'Emergency')

SELECT SUM(cost) FROM visits WHERE clinic IN (SELECT clinic FROM clinics WHERE city = 'Northfield')

SELECT g.name, COUNT(*) AS n, AVG(p.age) AS age FROM people p JOIN (VALUES ('F', 'women'), ('M', 'men')) AS g(sex, name)
ON g.sex = p.sex GROUP BY g.name

SELECT COUNT(*), SUM(w.weight) FROM visits v JOIN (VALUES ('Cardiology', 2.5e0), ('Oncology', 1e1), ('Nowhere', \
NULL)) AS
w(clinic, weight) ON w.clinic = v.clinic

SELECT COUNT(*) FROM visits WHERE clinic IN (SELECT c.name FROM UNNEST(['Cardiology', 'Emergency', 'Cardiology']) AS \
c(name))

WITH mine AS (SELECT 'Cardiology' AS clinic UNION ALL SELECT 'Neurology') SELECT mine.clinic, COUNT(*) AS n FROM \
visits JOIN
mine USING (clinic) GROUP BY mine.clinic

SELECT 1 + 1 AS two, 'x' AS x

SELECT COUNT(*) FROM visits WHERE clinic = ANY(['Cardiology', 'Emergency']) AND clinic <> ALL(['Emergency', \
'Neurology'])

SELECT COUNT(*) FROM people WHERE person_id = ANY(SELECT person_id FROM visits WHERE cost > 1000)

SELECT sex, hiv, GROUPING(sex, hiv) AS which, GROUPING(sex), COUNT(*) AS n FROM people GROUP BY CUBE (sex, hiv) HAVING
GROUPING(hiv) = 1 ORDER BY which, sex

SELECT MAX(col1), COUNT(DISTINCT col0) FROM (VALUES (1, DATE '2020-02-03'), (2, DATE '2021-01-01'), (2, NULL)) AS v

SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM clinics c WHERE c.clinic = v.clinic AND c.city = \
'Lakeside')

SELECT COUNT(*) FROM visits WHERE clinic NOT IN (SELECT clinic FROM clinics WHERE city LIKE 'L%') AND cost < 50

SELECT COUNT(*) FROM visits WHERE person_id IN (SELECT person_id FROM people WHERE sex = 'X')

SELECT COUNT(*) FROM people WHERE person_id IN (SELECT person_id FROM visits GROUP BY person_id HAVING COUNT(*) >= 10)

SELECT CASE WHEN EXISTS (SELECT 1 FROM visits v WHERE v.person_id = p.person_id) THEN 'patient' ELSE 'other' END AS
kind, COUNT(*) AS n
FROM people p GROUP BY kind

SELECT COUNT(*) FROM visits v WHERE (v.person_id, v.clinic) IN (SELECT person_id, clinic FROM visits WHERE clinic IS NOT
NULL AND cost > 3000)

SELECT COUNT(*) FILTER (WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person_id = p.person_id AND v.cost > 500)) AS dear
FROM people p
""",
        "per unit": """
SELECT AVG(n) AS mean_visits, MAX(n) AS most FROM (SELECT person_id, COUNT(*) AS n FROM visits GROUP BY person_id) AS t

SELECT n, COUNT(*) AS people FROM (SELECT COUNT(*) AS n FROM visits GROUP BY person_id) AS t GROUP BY n ORDER BY n

SELECT COUNT(*) FROM (SELECT person_id FROM visits GROUP BY person_id HAVING SUM(cost) > 5000) AS t

SELECT AVG(total) AS mean, MEDIAN(total) AS median FROM (SELECT SUM(cost) AS total FROM visits GROUP BY person_id) AS t

SELECT p.sex, AVG(t.total) AS mean FROM people p JOIN (SELECT person_id, SUM(cost) AS total FROM visits GROUP BY \
person_id) AS t
ON t.person_id = p.person_id GROUP BY p.sex

SELECT COUNT(*) FROM (SELECT person_id, MIN(at) AS first FROM visits GROUP BY person_id) AS t WHERE first >= DATE \
'2022-01-01'

SELECT clinics, COUNT(*) AS people FROM (SELECT COUNT(DISTINCT clinic) AS clinics FROM visits GROUP BY person_id) AS t
GROUP BY clinics

SELECT DATE_TRUNC('year', first) AS cohort, COUNT(*) AS n FROM (SELECT MIN(at) AS first FROM visits GROUP BY person_id)
AS t GROUP BY cohort

SELECT AVG(dearest - cheapest) AS span FROM (SELECT MAX(cost) AS dearest, MIN(cost) AS cheapest FROM visits GROUP BY \
person_id
HAVING COUNT(*) > 1) AS t

SELECT COUNT(*) AS n, SUM(emergencies) AS emergencies FROM (SELECT COUNT(*) FILTER (WHERE clinic = 'Emergency') AS
emergencies FROM visits
GROUP BY person_id) AS t WHERE emergencies > 0

SELECT clinic, AVG(n) AS mean FROM (SELECT person_id, clinic, COUNT(*) AS n FROM visits GROUP BY person_id, clinic) AS t
GROUP BY clinic

SELECT AVG(n) FROM (SELECT p.person_id, COUNT(v.visit_id) AS n FROM people p LEFT JOIN visits v ON v.person_id = \
p.person_id
GROUP BY p.person_id) AS t

SELECT year, COUNT(*) AS patients FROM (SELECT person_id, EXTRACT(YEAR FROM at) AS year, COUNT(*) AS n FROM visits
GROUP BY person_id, EXTRACT(YEAR FROM at) HAVING COUNT(*) >= 2) AS t GROUP BY year
""",
    }
) + (
    Asked("parameters", "SELECT COUNT(*) FROM people WHERE age >= ? AND sex = ?", (65, "F")),
    Asked(
        "parameters",
        "SELECT clinic, COUNT(*) AS n FROM visits WHERE cost > $1 AND cost < $2 GROUP BY clinic",
        (10.5, 500),
    ),
    Asked(
        "parameters",
        "SELECT COUNT(*) FROM people WHERE joined < $day AND name LIKE $a",
        {"day": "2015-06-01", "a": "A%"},
    ),
    Asked("parameters", "SELECT COUNT(*) FROM people WHERE name = ?", ("Robert'); DROP TABLE people; --",)),
)

WARDS = listed(
    {
        "NULLs": """
SELECT COUNT(*), COUNT(sex), COUNT(weight), COUNT(smoker), COUNT(town), COUNT(score), COUNT(born) FROM people

SELECT sex, COUNT(*) AS n, SUM(score) AS score, AVG(weight) AS mean FROM people GROUP BY sex

SELECT smoker, sex, COUNT(*) AS n, MIN(score) AS least, MAX(score) AS most FROM people GROUP BY smoker, sex

SELECT ward, COUNT(*) AS n, SUM(cost) AS cost, AVG(cost) AS mean, STDDEV(cost) AS deviation FROM visits GROUP BY ward

SELECT town, COUNT(*) AS n, SUM(score) AS score FROM people GROUP BY town

SELECT COUNT(*) FROM people WHERE smoker OR weight > 80

SELECT COUNT(*) FROM people WHERE NOT (smoker AND weight > 60)

SELECT COUNT(*) FROM people WHERE sex NOT IN ('F', 'X') OR score IS NULL

SELECT COUNT(*) FROM people WHERE COALESCE(smoker, FALSE) IS NOT DISTINCT FROM (score > 0)

SELECT COALESCE(ward, 'none') AS ward, COUNT(*) AS n FROM visits GROUP BY 1

SELECT sex, COUNT(DISTINCT town) AS towns, COUNT(DISTINCT score) AS scores FROM people GROUP BY sex

SELECT SUM(weight) AS kilos, AVG(weight) AS mean, VAR_POP(weight) AS variance, STDDEV_SAMP(weight) AS deviation FROM \
people

SELECT MEDIAN(weight) AS median, MIN(weight) AS least, MAX(weight) AS most FROM people

SELECT MIN(born) AS oldest, MAX(born) AS youngest FROM people WHERE sex = 'F'

SELECT CORR(weight, score) AS c, COVAR_SAMP(weight, score) AS v, REGR_COUNT(weight, score) AS n FROM people

SELECT EXTRACT(YEAR FROM born) // 10 * 10 AS decade, COUNT(*) AS n FROM people GROUP BY decade
""",
        "joins with NULLs": """
SELECT COUNT(*) AS n, COUNT(v.cost) AS costs, COUNT(v.visit) AS visits FROM people p LEFT JOIN visits v ON p.person = \
v.person

SELECT w.wing, COUNT(*) AS n, SUM(w.beds) AS beds FROM visits v LEFT JOIN wards w ON w.ward = v.ward GROUP BY w.wing

SELECT w.wing, w.floor, COUNT(*) AS n FROM visits v JOIN wards w USING (ward) GROUP BY w.wing, w.floor

SELECT AVG(w.beds - v.cost) AS x FROM visits v JOIN wards w ON w.ward = v.ward AND v.cost > w.beds

SELECT d.kind, COUNT(*) AS n, SUM(i.n * d.price) AS worth FROM items i JOIN drugs d ON d.drug = i.drug GROUP BY d.kind

SELECT v.ward, SUM(i.n) AS n, COUNT(*) AS items FROM items i JOIN visits v ON i.visit = v.visit GROUP BY v.ward

SELECT p.sex, SUM(i.n) AS n FROM people p JOIN visits v ON v.person = p.person JOIN items i ON i.visit = v.visit \
GROUP BY p.sex

SELECT COUNT(*) AS n, COUNT(i.n) AS items FROM visits v LEFT JOIN items i USING (visit)

SELECT COUNT(*) AS n, SUM(i.n) AS items FROM people p LEFT JOIN visits v USING (person) LEFT JOIN items i USING (visit)

SELECT COUNT(*) AS n, COUNT(p.score) AS scores, COUNT(v.cost) AS costs FROM people p FULL JOIN visits v ON p.person =
v.person AND p.smoker

SELECT w.wing, d.kind, COUNT(*) AS n FROM people p JOIN visits v ON p.person = v.person JOIN wards w ON w.ward = v.ward
JOIN items i ON i.visit = v.visit JOIN drugs d ON d.drug = i.drug GROUP BY w.wing, d.kind

SELECT COUNT(*) FROM visits a JOIN visits b ON a.person = b.person AND a.visit < b.visit WHERE a.ward IS NOT DISTINCT
FROM b.ward

SELECT a.ward, b.ward AS next, COUNT(*) AS n FROM visits a JOIN visits b ON a.person = b.person WHERE a.at < b.at GROUP
BY a.ward, b.ward

SELECT COUNT(person) AS persons, COUNT(*) AS n FROM people JOIN visits USING (person)

SELECT COUNT(p.person) AS here, COUNT(v.person) AS there, COUNT(*) AS n FROM visits v FULL JOIN people p ON v.person =
p.person AND v.cost > 500
""",
        "chains of joins": """
SELECT COUNT(ward) AS wards, COUNT(*) AS n FROM wards w JOIN visits v USING (ward) RIGHT JOIN people p ON p.person = \
v.person

SELECT COUNT(*) AS n, COUNT(w.visit) AS later FROM people p LEFT JOIN visits v ON v.person = p.person AND v.ward = 'eye'
LEFT JOIN visits w ON w.person = v.person AND w.at > v.at

SELECT COUNT(*) AS n FROM people a JOIN (SELECT v.person FROM people p LEFT JOIN visits v ON v.person = p.person) AS b
ON a.person = b.person

SELECT COUNT(DISTINCT v.person) AS seen, COUNT(DISTINCT p.person) AS n FROM people p LEFT JOIN visits v ON v.person = \
p.person

SELECT COUNT(ward) AS wards, COUNT(*) AS n FROM visits v JOIN wards w USING (ward) RIGHT JOIN people p ON p.person = \
v.person

SELECT COUNT(a.score) AS a, COUNT(b.score) AS b, COUNT(*) AS n FROM people a LEFT JOIN people b ON a.person = b.person
AND b.smoker

SELECT COUNT(*) FROM people p, visits v, wards w WHERE p.person = v.person AND v.ward = w.ward AND w.floor = 1

SELECT COUNT(*) FROM people p JOIN visits v USING (person) LEFT JOIN wards w ON w.ward = v.ward WHERE w.wing IS NULL

SELECT p.sex, COUNT(DISTINCT v.ward) AS wards, COUNT(DISTINCT p.person) AS people FROM people p LEFT JOIN visits v USING
(person) GROUP BY p.sex
""",
        "sets with NULLs": """
SELECT COUNT(*) FROM (SELECT person FROM people EXCEPT SELECT v.person FROM people p LEFT JOIN visits v ON v.person =
p.person) AS t

SELECT COUNT(*) FROM (SELECT person, ward FROM visits UNION SELECT person, town FROM people) AS t

SELECT COUNT(*) AS n, COUNT(ward) AS wards FROM (SELECT DISTINCT person, ward, nurse FROM visits) AS t

SELECT COUNT(*) FROM (SELECT person, ward FROM visits WHERE cost > 0 INTERSECT SELECT person, ward FROM visits WHERE
cost < 400) AS t

SELECT COUNT(*) FROM (SELECT person, ward FROM visits EXCEPT SELECT person, ward FROM visits WHERE cost < 200) AS t

SELECT x, COUNT(*) AS n FROM (SELECT score > 0 AS x FROM people UNION ALL SELECT cost > 300 FROM visits) AS t GROUP BY x

SELECT COUNT(*) AS n, SUM(x) AS s FROM (SELECT person, score AS x FROM people UNION SELECT person, cost FROM visits) \
AS t

SELECT COUNT(*) FROM (SELECT ward FROM visits UNION ALL (SELECT sex FROM people UNION ALL SELECT drug FROM items)) AS t
""",
        "looking up with NULLs": """
SELECT COUNT(*) FROM visits WHERE ward NOT IN (SELECT ward FROM wards WHERE wing = 'nowhere')

SELECT COUNT(*) FROM visits WHERE (ward, nurse) NOT IN (SELECT ward, wing FROM wards)

SELECT COUNT(*) FROM visits WHERE (nurse, ward) NOT IN (SELECT 'Ann', ward FROM wards WHERE wing = 'west')

SELECT COUNT(*) FROM people WHERE (person, town) NOT IN (SELECT person, ward FROM visits)

SELECT COUNT(*) FROM people WHERE ((person, town) IN (SELECT person, ward FROM visits)) IS NULL

SELECT COUNT(*) FROM people WHERE person IN (SELECT v.person FROM people p LEFT JOIN visits v ON v.person = p.person)

SELECT COUNT(*) FROM (SELECT v.person FROM people p LEFT JOIN visits v ON v.person = p.person) AS t
WHERE EXISTS (SELECT 1 FROM people q WHERE q.person = t.person)

SELECT ward IN (SELECT ward FROM wards WHERE wing = 'east') AS east, COUNT(*) AS n, SUM(cost) AS cost FROM visits \
GROUP BY east

SELECT EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person LIMIT 1) AS seen, COUNT(*) AS n FROM people p GROUP \
BY seen

SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards WHERE beds > 10)

SELECT COUNT(*) FROM visits WHERE ward NOT IN (SELECT ward FROM wards WHERE beds > 10)

SELECT COUNT(*) FROM visits WHERE ward NOT IN (SELECT wing FROM wards)

SELECT COUNT(*) FROM visits WHERE ward NOT IN (SELECT wing FROM wards WHERE wing IS NOT NULL)

SELECT COUNT(*) FROM visits WHERE (ward IN (SELECT ward FROM wards WHERE wing = 'east')) IS NULL

SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward AND w.wing = 'east') OR cost \
IS NULL

SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person AND v.ward = 'eye')
AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person AND v.ward = 'ear')

SELECT COUNT(*) FROM visits WHERE visit IN (SELECT visit FROM items WHERE n > 5)

SELECT SUM(cost) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.visit = v.visit)

SELECT COUNT(*) FROM items i WHERE i.visit NOT IN (SELECT visit FROM visits WHERE cost < 100 AND visit IS NOT NULL)

SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v, wards w WHERE v.ward = w.ward AND w.floor = 2 AND
v.person = p.person)

SELECT sex, COUNT(*) AS n FROM people WHERE person IN (SELECT person FROM visits EXCEPT SELECT person FROM visits WHERE
ward = 'skin')
GROUP BY sex

SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.person = v.person AND w.ward = v.ward AND \
w.cost < 0)
""",
        "per unit with NULLs": """
SELECT AVG(total) AS mean, MIN(total) AS least, MAX(total) AS most FROM (SELECT SUM(cost) AS total FROM visits GROUP BY
person) AS t

SELECT n, COUNT(*) AS people, SUM(total) AS cost FROM (SELECT COUNT(*) AS n, SUM(cost) AS total FROM visits GROUP BY
person) AS t GROUP BY n

SELECT wards, AVG(mean) AS mean FROM (SELECT COUNT(DISTINCT ward) AS wards, AVG(cost) AS mean FROM visits GROUP BY
person) AS t GROUP BY wards

SELECT COUNT(*) AS n, COUNT(least) AS known FROM (SELECT person, MIN(cost) AS least FROM visits GROUP BY person
HAVING COUNT(DISTINCT ward) > 1 AND MAX(cost) > 300) AS t

SELECT ward, COUNT(*) AS people, AVG(n) AS mean FROM (SELECT person, ward, COUNT(*) AS n FROM visits GROUP BY person,
ward) AS t GROUP BY ward

SELECT AVG(n) AS mean, COUNT(*) AS visits FROM (SELECT visit, SUM(n) AS n FROM items GROUP BY visit) AS t

SELECT m, COUNT(*) AS people FROM (SELECT person, MAX(n) AS m FROM (SELECT person, ward, COUNT(*) AS n FROM visits GROUP
BY person, ward)
AS inner_ GROUP BY person) AS t GROUP BY m

SELECT p.smoker, AVG(t.n) AS mean FROM people p JOIN (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) AS t
USING (person) GROUP BY p.smoker

SELECT COUNT(*) AS n, AVG(COALESCE(t.n, 0)) AS mean FROM people p LEFT JOIN (SELECT person, COUNT(*) AS n FROM visits
GROUP BY person) AS t
ON t.person = p.person

SELECT first_ward, COUNT(*) AS n FROM (SELECT MIN(ward) AS first_ward FROM visits GROUP BY person) AS t GROUP BY \
first_ward

SELECT SUM(cheap) AS cheap, SUM(dear) AS dear FROM (SELECT COUNT(*) FILTER (WHERE cost < 100) AS cheap, SUM(cost) FILTER
(WHERE cost > 500) AS dear
FROM visits GROUP BY person) AS t

WITH v AS (SELECT person, cost FROM visits WHERE ward = 'eye'), t AS (SELECT person, SUM(cost) AS c FROM v GROUP BY \
person),
r AS (SELECT p.sex, t.c FROM t JOIN people p ON p.person = t.person WHERE p.score > 0) SELECT sex, COUNT(*) AS n, SUM(c)
AS c FROM r GROUP BY sex
""",
        "subtotals with NULLs": """
SELECT sex, smoker, COUNT(*) AS n, SUM(score) AS score FROM people GROUP BY ROLLUP (sex, smoker)

SELECT ward, EXTRACT(YEAR FROM at) AS year, COUNT(*) AS n, AVG(cost) AS mean FROM visits GROUP BY CUBE (ward, year)

SELECT sex, smoker, COUNT(*) AS n FROM people GROUP BY GROUPING SETS ((sex, smoker), (smoker), ())
""",
        "public tables": """
SELECT wing, COUNT(*) AS n, SUM(beds) AS beds, AVG(beds) AS mean FROM wards GROUP BY wing

SELECT d.kind, MIN(d.price) AS least, MAX(d.since) AS latest FROM drugs d GROUP BY d.kind ORDER BY d.kind

SELECT a.ward, b.ward AS other FROM wards a JOIN wards b ON a.floor = b.floor AND a.ward < b.ward

SELECT COUNT(*) FROM wards WHERE wing NOT IN (SELECT kind FROM drugs WHERE kind IS NOT NULL)

SELECT w.wing, COUNT(*) AS n FROM visits v JOIN (SELECT ward, wing FROM wards WHERE beds >= 10) AS w ON w.ward = v.ward
GROUP BY w.wing

SELECT t.rooms, COUNT(*) AS n FROM visits v JOIN wards w ON w.ward = v.ward JOIN (SELECT wing, SUM(beds) AS rooms FROM
wards GROUP BY wing) AS t
ON t.wing = w.wing GROUP BY t.rooms

SELECT wing, rooms, mean FROM (SELECT wing, SUM(beds) AS rooms, AVG(beds) AS mean FROM wards GROUP BY wing) AS t

SELECT kind, worth FROM (SELECT kind, SUM(price) AS worth FROM drugs WHERE kind IS NOT NULL GROUP BY kind) AS t
""",
    }
)

ROWS = listed({
    "rows": """
SELECT COUNT(*), COUNT(zone), COUNT(fare), SUM(seats), SUM(fare) FROM trips

SELECT zone, COUNT(*) AS n, SUM(fare) AS fares, AVG(km) AS mean, MEDIAN(fare) AS median FROM trips GROUP BY zone

SELECT driver, paid, COUNT(*) AS n, SUM(fare) AS fares FROM trips GROUP BY driver, paid

SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n, MAX(km) AS furthest FROM trips GROUP BY month

SELECT seats, STDDEV(km) AS deviation, VAR_POP(fare) AS variance, CORR(km, fare) AS c FROM trips GROUP BY seats

SELECT z.tariff, COUNT(*) AS n, SUM(z.rate * t.km) AS x FROM trips t JOIN zones z ON z.zone = t.zone GROUP BY z.tariff

SELECT COUNT(*) AS n, COUNT(z.rate) AS rated FROM trips t LEFT JOIN zones z ON z.zone = t.zone

SELECT COUNT(*) FROM trips WHERE zone IN (SELECT zone FROM zones WHERE rate > 2) AND paid

SELECT COUNT(*) AS n, SUM(x) AS x FROM (SELECT km AS x FROM trips WHERE paid UNION ALL SELECT fare FROM trips WHERE NOT
paid) AS t

SELECT zone, paid, COUNT(*) AS n FROM trips GROUP BY CUBE (zone, paid)

SELECT driver, COUNT(DISTINCT zone) AS zones, MODE(seats > 3) AS many FROM trips GROUP BY driver

SELECT fare / NULLIF(km, 0) > 5 AS dear, COUNT(*) AS n FROM trips GROUP BY dear
""",
})  # fmt: skip
