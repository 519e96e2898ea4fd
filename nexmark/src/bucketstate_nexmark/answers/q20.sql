SELECT b.auction, b.bidder, b.price, b.channel, b.url, epoch_ms(b.date_time) AS at,
       a.item_name, a.initial_bid, a.reserve, a.seller, epoch_ms(a.expires) AS expires
FROM bid b JOIN auction a ON b.auction = a.id
WHERE a.category = 10
