SELECT a.id, a.seller, a.category, b.price, b.bidder, epoch_ms(b.date_time) AS at
FROM auction a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires
QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time, b.bidder DESC) = 1
