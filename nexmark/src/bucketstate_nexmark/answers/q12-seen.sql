-- Which window a bid was in, only the clock of the run could say: each bid has to be in just one.
SELECT bidder, sum(bids)::BIGINT AS bids FROM seen GROUP BY bidder
