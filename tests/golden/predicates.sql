-- question
SELECT COUNT(*) FROM visits WHERE (note LIKE 'a%' OR smoker) AND kind IN ('a', 'b') AND day IS NOT NULL

-- plan
scan visits
filter and(or(like("note", text:'a%'), "smoker"), in_list("kind", text:'a', text:'b'), not(is_null("day")))
limit 1 per unit: each row is its own unit
measure count(*)

-- engine
SELECT CAST(0 AS BIGINT) AS k, CAST(LEAST(GREATEST(COALESCE(SUM(t0), 0), -4611686018427387904), 4611686018427387904) AS BIGINT) AS m0 FROM (SELECT 1 AS t0 FROM (SELECT *, (CASE WHEN c1 IN ('a', 'b') THEN c1 END) AS nc1 FROM (SELECT (CASE WHEN TRY_CAST(t."day" AS DATE) BETWEEN DATE '2020-01-01' AND DATE '2020-12-31' THEN TRY_CAST(t."day" AS DATE) WHEN TRY_CAST(t."day" AS DATE) < DATE '2020-01-01' THEN DATE '2020-01-01' WHEN TRY_CAST(t."day" AS DATE) > DATE '2020-12-31' THEN DATE '2020-12-31' END) AS c0, (CASE WHEN (TRY_CAST(t."kind" AS VARCHAR) COLLATE "binary") IN ('a', 'b', 'c') THEN (TRY_CAST(t."kind" AS VARCHAR) COLLATE "binary") END) AS c1, (CASE WHEN strlen((TRY_CAST(t."note" AS VARCHAR) COLLATE "binary")) <= 65536 THEN (TRY_CAST(t."note" AS VARCHAR) COLLATE "binary") END) AS c2, TRY_CAST(t."smoker" AS BOOLEAN) AS c3 FROM "visits" AS t) AS s WHERE (((c2 LIKE 'a%') OR c3) AND (c1 IN ('a', 'b')) AND (NOT (c0 IS NULL)))) AS p) AS c
