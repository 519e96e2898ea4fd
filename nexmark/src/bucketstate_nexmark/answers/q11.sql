WITH gaps AS (
  SELECT bidder, date_time,
         date_time - lag(date_time) OVER by_time >= INTERVAL '10 seconds' AS is_new
  FROM bid WINDOW by_time AS (PARTITION BY bidder ORDER BY date_time)
), numbered AS (
  SELECT bidder, date_time,
         count(*) FILTER (is_new) OVER (PARTITION BY bidder ORDER BY date_time) AS number
  FROM gaps
)
SELECT bidder, min(date_time) AS started, max(date_time) + INTERVAL '10 seconds' AS ended, count(*) AS bids
FROM numbered GROUP BY bidder, number
