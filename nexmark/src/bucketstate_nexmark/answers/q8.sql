WITH new AS (SELECT id, name, time_bucket(INTERVAL '10 seconds', date_time) AS started FROM person),
     sellers AS (
       SELECT DISTINCT seller, time_bucket(INTERVAL '10 seconds', date_time) AS started FROM auction
     )
SELECT id, name, started FROM new JOIN sellers USING (started) WHERE id = seller
