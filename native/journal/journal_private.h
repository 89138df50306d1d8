/* Shared inside the library: the index of a journal's records, the description of a divergence,
 * and the kept answers. */
#pragma once

#include "journal/journal.h"

/* Where a record's line lies in the file, without its line feed. */
typedef struct {
    guint64 off;
    gsize len;
} AcrJournalEntry;

/* Finds the records of a journal file without parsing each.
 *   entries     gets an AcrJournalEntry for each complete record.
 *   out_end     offset after the last complete record; the file must be truncated there.
 *   out_remark  owned (g_free); why bytes after out_end must be dropped; NULL if there are none.
 * Errors: DAMAGED, FAILED. O(bytes). */
bool acr_journal_index(int fd, GArray *entries, guint64 *out_end, char **out_remark,
                       GError **error) ACR_MUST_USE;

/* Reads and parses record `n` and checks its members; owned (acr_json_free). Errors: DAMAGED (names
 * the line), FAILED. */
AcrJson *acr_journal_read(int fd, const AcrJournalEntry *entry, gsize n,
                          GError **error) ACR_MUST_USE;

/* One line that names the first place where two requests differ and shows both sides there,
 * bounded; members named "time" are left out. Owned (g_free). */
char *acr_journal_difference(const AcrJson *recorded, const AcrJson *asked) ACR_MUST_USE;

/* The table of decoded answers by event and request (recorded_call.c), which is freed with the
 * journal; NULL: none is kept yet. */
GHashTable **acr_journal_known(AcrJournal *journal);
