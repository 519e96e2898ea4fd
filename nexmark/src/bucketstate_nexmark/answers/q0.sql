SELECT auction, bidder, price, epoch_ms(date_time) AS at, extra
FROM bid
