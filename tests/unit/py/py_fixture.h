/* The interpreter that most tests of py share; its package also has the module probe.py. */
#pragma once

#include "py/py.h"
#include "unit/cases.h"

/* Started on first use, freed when the tests end. */
/* A folder with the Python files of the program and of these tests; owned. The caller removes
 * it. */
char *package_copy(void);
/* A folder with the program's Python files, in which the file `left_out` is empty; owned. The
 * caller removes it. */
char *package_without(const char *left_out);
AcrPython *the_python(void);
/* Frees the shared interpreter, so that a test can start its own. */
void no_python(void);
/* The folder with the package `acr`, which includes the module `probe`; borrowed. */
const char *package_dir(void);

/* The result of acr.probe.FUNCTION(argument) as text; owned. The call must succeed. */
char *probe(AcrPython *python, const char *function, const char *argument);
/* The same call must fail with that code and exactly that message (NULL: any). */
void probe_fails(AcrPython *python, const char *function, gint64 deadline_ms, AcrPyError code, const char *message);
GBytes *bytes_of(const char *text); /* owned */
