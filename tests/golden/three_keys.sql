-- question
SELECT sex, kind, smoker, COUNT(*) FROM visits GROUP BY sex, kind, smoker

-- plan
scan visits
limit 1 per unit: each row is its own unit
group by "sex": 2 public keys
group by "kind": 4 public keys
group by "smoker": 3 public keys
measure count(*)

-- engine
SELECT k, CAST(LEAST(GREATEST(COALESCE(SUM(t0), 0), -4611686018427387904), 4611686018427387904) AS BIGINT) AS m0 FROM (SELECT (((CAST(0 AS BIGINT) * 2 + (CASE WHEN v0 = 'F' THEN 0 WHEN v0 = 'M' THEN 1 END)) * 4 + (CASE WHEN v1 = 'a' THEN 0 WHEN v1 = 'b' THEN 1 WHEN v1 = 'c' THEN 2 WHEN v1 IS NULL THEN 3 END)) * 3 + (CASE WHEN NOT v2 THEN 0 WHEN v2 THEN 1 WHEN v2 IS NULL THEN 2 END)) AS k, 1 AS t0 FROM (SELECT *, c1 AS v0, c0 AS v1, c2 AS v2 FROM (SELECT * FROM (SELECT (CASE WHEN (TRY_CAST(t."kind" AS VARCHAR) COLLATE "binary") IN ('a', 'b', 'c') THEN (TRY_CAST(t."kind" AS VARCHAR) COLLATE "binary") END) AS c0, (CASE WHEN (TRY_CAST(t."sex" AS VARCHAR) COLLATE "binary") IN ('F', 'M') THEN (TRY_CAST(t."sex" AS VARCHAR) COLLATE "binary") END) AS c1, TRY_CAST(t."smoker" AS BOOLEAN) AS c2 FROM "visits" AS t) AS s WHERE c1 IS NOT NULL) AS v) AS p) AS c WHERE k IS NOT NULL GROUP BY k
