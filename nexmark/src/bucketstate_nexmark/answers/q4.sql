WITH final AS (
  SELECT time_bucket(INTERVAL '10 seconds', a.date_time) AS started, a.id, a.category, max(b.price) AS final
  FROM auction a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires
  GROUP BY ALL
)
SELECT started, category, avg(final) AS average FROM final GROUP BY ALL
