"""The command line: one file a command, tables to stdout, logs to stderr. Knows words and no numbers."""
