"""Compares our requests with those of the official SDKs; one intercepting proxy records both."""
