"""Runs a reproducer in the sandbox and reports what it was seen to do; `acr.verdict` judges that outside.

The host sends these files to the project's own Python (3.6 or later) on its standard input, and calls `runner.run`;
nothing imports them in the host. Only the script's syntax tree is rewritten, never the project's: each statement is
counted before and behind, and what the script compares or asks for its truth goes through functions of `watch.py`,
which report operands that are plain data. The rewritten script names none of them: they are constants of its code.

A report is a frame on standard error: RS TAG MAC BODY RS. BODY is a tuple (number, kind, ...) as `ascii` prints it, of
at most MAX_BODY bytes, so that a pipe takes it whole; MAC is a keyed digest of it. Kinds:

  ("held", line, column, operator, left, right, outcome)  operands ("plain", text), ("digest", type, digest), ("own",)
  ("truth", line, column, outcome)
  ("called", line, column, name, operands)                 of an assertion's method
  ("own", line, column, operator or name, type of the outcome, codes, classes, odd)     see operands.Own;
                                                           by parts where it is long
  ("caught", line, column, ORIGIN)                         by a handler of the script
  ("failed", ORIGIN)                                       left a function or a `with` of the script, or it
                                                           ORIGIN: type, its lines in the script, file, function, line
  ("reach", what, file, line, file, line)                  code took hold of frames, code objects, all objects, memory;
                                                           where, and where that was called from
  ("read", event, path)                                    the script read the project's source, or listed its folders
  ("replaced", name)                                       part of Python is the project's at the end
  ("lost", kind, line)                                     a report was too long
  ("more", line, column)                                   a statement with more than MAX_EACH reports
  ("counts", {(line, column, side): times})                side 0: a statement was reached, 1: it was passed
  ("end", how)                                             "end", "exit" (by its own), "ended": by something else

`line` and `column` are those of the statement. A file is a path in the project's tree, "=" the script, "" Python's own,
or "?" and another name.
"""
