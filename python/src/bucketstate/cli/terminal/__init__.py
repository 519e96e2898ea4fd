"""What commands share: how they read arguments, and what they print."""
