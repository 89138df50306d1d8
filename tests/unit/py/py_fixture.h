/* The interpreter that the tests of py share, with a module of their own (probe.py) in the package.
 */
#pragma once

#include "py/py.h"
#include "unit/cases.h"

/* Started when first asked for, freed when the tests end. */
/* A folder with the program's Python files and those of these tests; owned, and to be removed. */
char *package_copy(void);
/* A folder with the program's Python files, of which that one is empty; owned, and to be removed. */
char *package_without(const char *left_out);
AcrPython *the_python(void);
/* Frees the shared one, so that a test may start its own. */
void no_python(void);
/* The folder that holds the package `acr` and in it the module `probe`; borrowed. */
const char *package_dir(void);

/* acr.probe.FUNCTION(argument) as text; owned; fails the test when it fails. */
char *probe(AcrPython *python, const char *function, const char *argument);
/* The same, which must fail with that code and exactly that message (NULL: any). */
void probe_fails(AcrPython *python, const char *function, gint64 deadline_ms, AcrPyError code,
                 const char *message);
GBytes *bytes_of(const char *text); /* owned */
