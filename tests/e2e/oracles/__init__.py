"""Official SDKs as oracles: their requests beside ours, taken down by one intercepting proxy."""
