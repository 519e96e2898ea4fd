SELECT date_time::DATE AS day, auction,
       count(*) AS total,
       count(*) FILTER (price < 10000) AS rank1,
       count(*) FILTER (price >= 10000 AND price < 1000000) AS rank2,
       count(*) FILTER (price >= 1000000) AS rank3,
       min(price) AS least, max(price) AS most, avg(price) AS average, sum(price)::BIGINT AS sum
FROM bid GROUP BY ALL
