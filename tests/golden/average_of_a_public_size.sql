-- question
SELECT AVG(height) FROM visits

-- plan
scan visits
limit 1 per unit: each row is its own unit
measure avg("height"), in [48, 96] on a grid of 1

-- engine
SELECT CAST(0 AS BIGINT) AS k, CAST(LEAST(GREATEST(COALESCE(SUM(t0), 0), -4611686018427387904), 4611686018427387904) AS BIGINT) AS m0 FROM (SELECT CASE WHEN rc0 BETWEEN CAST(48 AS BIGINT) AND CAST(96 AS BIGINT) THEN rc0 ELSE CASE WHEN rc0 > CAST(96 AS BIGINT) THEN 96 ELSE 48 END END AS t0 FROM (SELECT * FROM (SELECT TRY_CAST(t."height" AS BIGINT) AS rc0 FROM "visits" AS t) AS s) AS p) AS c
