/* trace: prints the program's decisions for debugging. */
#pragma once

#include <glib.h>

/* Writes one line about a decision, if $ACR_TRACE names the room (the name of the source folder):
 * "1" traces all rooms to standard error, a list of rooms ("patch,search") only the listed rooms,
 * and an absolute path in the list names a file to append to. The line says what was decided and
 * why; it must not contain keys or the texts of requests. Thread-safe. */
void acr_trace(const char *room, const char *format, ...) G_GNUC_PRINTF(2, 3);
