"""Makes pages, texts and the formats of other tools from the bytes of files in run folders and folders of many runs."""
