"""One module per screen: what its address shows, and what its buttons do."""
