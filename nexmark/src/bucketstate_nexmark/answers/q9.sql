SELECT a.id, a.item_name, a.description, a.initial_bid, a.reserve, a.seller, a.category,
       epoch_ms(a.date_time) AS opened, epoch_ms(a.expires) AS expires, a.extra,
       b.price, b.bidder, epoch_ms(b.date_time) AS at, b.extra AS bid_extra
FROM auction a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires
QUALIFY row_number() OVER (
  PARTITION BY a.id
  ORDER BY b.price DESC, b.date_time, b.bidder DESC, b.extra DESC
) = 1
