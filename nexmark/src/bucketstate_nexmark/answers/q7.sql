SELECT auction, bidder, price, channel, extra, epoch_ms(date_time) AS at FROM bid
QUALIFY price = max(price) OVER (PARTITION BY time_bucket(INTERVAL '10 seconds', date_time))
