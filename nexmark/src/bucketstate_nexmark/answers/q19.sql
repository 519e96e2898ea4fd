SELECT auction,
       row_number() OVER (
         PARTITION BY auction ORDER BY price DESC, date_time, bidder, channel, url, extra
       ) AS rank,
       price, epoch_ms(date_time) AS at, bidder, channel, url, extra
FROM bid
QUALIFY rank <= 10
