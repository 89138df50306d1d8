"""Mock model servers for tests, which reject incorrect requests and inject faults. Standard library only."""
