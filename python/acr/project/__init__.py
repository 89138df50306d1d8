"""How a project's own tests are run, told from its files; nothing of it is imported here."""
