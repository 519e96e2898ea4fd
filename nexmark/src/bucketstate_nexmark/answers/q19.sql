SELECT auction,
       row_number() OVER (PARTITION BY auction ORDER BY price DESC, date_time, bidder) AS rank,
       price, epoch_ms(date_time) AS at, bidder
FROM bid
QUALIFY rank <= 10
