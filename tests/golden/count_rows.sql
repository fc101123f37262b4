-- question
SELECT COUNT(*) FROM visits

-- plan
scan visits
limit 1 per unit: each row is its own unit
measure count(*)

-- engine
SELECT CAST(0 AS BIGINT) AS k, CAST(LEAST(GREATEST(COALESCE(SUM(t0), 0), -4611686018427387904), 4611686018427387904) AS BIGINT) AS m0 FROM (SELECT 1 AS t0 FROM (SELECT * FROM (SELECT 1 AS one FROM "visits" AS t) AS s) AS p) AS c
