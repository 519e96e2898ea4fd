WITH counts AS (
  SELECT time_bucket(INTERVAL '2 seconds', date_time) - INTERVAL (2 * slide) SECOND AS started,
         auction, count(*) AS bids
  FROM bid, range(5) slides(slide)
  GROUP BY ALL
)
SELECT started, auction, bids FROM counts
QUALIFY row_number() OVER (PARTITION BY started ORDER BY bids DESC, auction DESC) = 1
