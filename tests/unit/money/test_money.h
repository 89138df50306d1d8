/* The groups of tests of money; each file adds its own. */
#pragma once

#include "money/money.h"
#include "unit/cases.h"

/* A process that reserves and settles in a ledger, for the tests that need several. */
int budget_worker(int argc, char **argv);
