SELECT b.auction, b.bidder, b.price, b.channel, b.url, epoch_ms(b.date_time) AS at,
       b.extra AS bid_extra,
       a.item_name, a.description, a.initial_bid, a.reserve, a.seller, a.category,
       epoch_ms(a.date_time) AS opened, epoch_ms(a.expires) AS expires, a.extra
FROM bid b JOIN auction a ON b.auction = a.id
WHERE a.category = 10
