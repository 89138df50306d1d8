"""Run folders and folders of many runs as pages, texts and the formats of other tools. Pure functions of the files' bytes."""
