/* Private declarations of the journal: the index of a journal's records, the description of a
 * divergence, and the kept answers. */
#pragma once

#include "journal/journal.h"

/* The position of a record's line in the file; `len` excludes the line feed. */
typedef struct {
    guint64 off;
    gsize len;
} AcrJournalEntry;

/* Finds the records of a journal file without parsing all of them.
 *   entries     an AcrJournalEntry is appended for each complete record.
 *   out_end     offset after the last complete record; the file must be truncated to this length.
 *   out_remark  owned (g_free); the reason why bytes after out_end must be dropped; NULL if no
 *               bytes follow.
 * Errors: DAMAGED, FAILED. O(bytes). */
bool acr_journal_index(int fd, GArray *entries, guint64 *out_end, char **out_remark,
                       GError **error) ACR_MUST_USE;

/* Reads and parses record `n` and checks its members; owned (acr_json_free). Errors: DAMAGED (names
 * the line), FAILED. */
AcrJson *acr_journal_read(int fd, const AcrJournalEntry *entry, gsize n,
                          GError **error) ACR_MUST_USE;

/* Describes, in one line, the first place where two requests differ, and shows both sides of the
 * difference, shortened. Ignores members named "time". Owned (g_free). */
char *acr_journal_difference(const AcrJson *recorded, const AcrJson *asked) ACR_MUST_USE;

/* Returns the table of decoded answers by event and request (recorded_call.c), which is freed with
 * the journal; *result is NULL while no answer is kept. */
GHashTable **acr_journal_known(AcrJournal *journal);
