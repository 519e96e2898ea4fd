"""The events of Nexmark: people, auctions and bids, from a seed."""
