SELECT bidder, auction, epoch_ms(date_time) AS at, price, channel, url, extra FROM bid
QUALIFY row_number() OVER (
  PARTITION BY bidder, auction
  ORDER BY date_time DESC, price DESC, channel DESC, url DESC, extra DESC
) = 1
