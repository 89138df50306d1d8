"""Model servers for tests: strict about requests, exact about faults. Standard library only."""
