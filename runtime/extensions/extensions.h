/* extensions: the user's own Python files. Each runs in a separate process (acr-host
 * extension-worker), adds search calls, checks patches and observes the events of a run.
 *
 * If an extension misbehaves (raises, hangs, ends its process, takes all memory, returns a wrong
 * type), only that one call fails, and one line reports it; after ACR_EXTENSION_MAX_FAILURES
 * failures a function is not called again. A check that fails rejects the patch. If there is a
 * journal, it is asked first: a replay needs no extension. */
#pragma once

#include "base/base.h"
#include "journal/journal.h"
#include "search/search.h"
#include "vcs/vcs.h"

typedef enum {
    /* the file is missing, lies inside the repository, or cannot be loaded */
    ACR_EXTENSIONS_ERROR_USAGE,
    ACR_EXTENSIONS_ERROR_INTERRUPTED,
} AcrExtensionsError;
#define ACR_EXTENSIONS_ERROR acr_extensions_error_quark()
GQuark acr_extensions_error_quark(void);

#define ACR_EXTENSION_VERB "extension-worker" /* the verb that starts an extension's process */
#define ACR_EXTENSION_MAX_FAILURES 3
#define ACR_EXTENSION_MAX_SOURCE (1u * 1024 * 1024) /* maximum size of a source file in bytes */
#define ACR_EXTENSION_MAX_ANSWER (4u * 1024 * 1024) /* maximum size of an answer in bytes */
#define ACR_EXTENSION_MAX_HOOKS 50u                 /* maximum number of functions of each kind */
/* Environment variables with this prefix, and a few that programs need, are passed to
 * extensions. */
#define ACR_EXTENSION_PREFIX "ACR_EXTENSION_"

/* All members are borrowed, and must outlive the extensions. */
typedef struct {
    const char *const *files; /* NULL-terminated; NULL: none */
    const char *exe;          /* path of this program; NULL in a replay, which starts no process */
    const char *repo;         /* the repository's folder, for git's history; NULL if unknown */
    gint64 timeout_ms;        /* time limit of one call */
    AcrJournal *journal;      /* NULL: nothing is recorded */
    const AcrInterrupt *interrupt;
    /* an extension that cannot be loaded is reported and listed, and otherwise ignored */
    bool keeps_broken;
    /* number of built-in calls in the registry of the extensions, as in acr_calls_new; 0: all */
    gsize n_own_calls;
    bool no_history; /* the registry of the extensions lacks search_history */
    void *ctx;
    void (*warn)(void *ctx, const char *line); /* receives a line for the user */
} AcrExtensionOptions;

/* Resolves names of entry points (group acr_host.extensions). If a path does not exist and ends
 * in such a name, replaces it by the file of that package. The caller owns `files`. Errors:
 * USAGE, INTERRUPTED. */
bool acr_extensions_locate(char **files, const AcrExtensionOptions *options,
                           GError **error) ACR_MUST_USE;
/* Checks that each file is readable and lies outside of `workdir` (NULL: there is no such
 * folder). Errors: USAGE. */
bool acr_extensions_check_files(const char *const *files, const char *workdir,
                                GError **error) ACR_MUST_USE;

/* The loaded extensions; used by one thread at a time. NULL means that there are none. */
typedef struct AcrExtensions AcrExtensions;
/* Loads the extensions. Sets *out to NULL, without an error, if there are no files. Errors: USAGE
 * (an extension cannot be loaded; not in a replay, and not with keeps_broken), INTERRUPTED, those
 * of the journal. */
bool acr_extensions_load(const AcrExtensionOptions *options, AcrExtensions **out,
                         GError **error) ACR_MUST_USE;
void acr_extensions_free(AcrExtensions *all);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrExtensions, acr_extensions_free)

/* Returns the registry with the extensions' search calls; borrowed; NULL if there are no
 * extensions. */
const AcrCalls *acr_extensions_calls(const AcrExtensions *all);
/* [{"file", "version", "calls": [{"name", "summary", "params": [{"name", "type", "about"}]}],
 * "checks": [name], "parsers": [name], "localisers": [name], "sources": [scheme], "prompts":
 * folder (if there is one), "events": [{"kind", "name"}], "tests": [name], "settings":
 * [{"variable", "type", "default", "about"}], "error"}]: if an extension could not be loaded, it
 * has only "file" and "error"; owned. */
AcrJson *acr_extensions_describe(const AcrExtensions *all) ACR_MUST_USE;

/* Calls the functions that observe `event` (see python/acr/extensions.py). `data` is borrowed.
 * *out_note (owned, may be NULL) gets the notes that the functions return, or NULL; *out_veto gets
 * their vetoes in the same way. Errors: INTERRUPTED, those of the journal. */
bool acr_extensions_tell(AcrExtensions *all, AcrSearch *search, const char *event,
                         const AcrJson *data, char **out_note, char **out_veto,
                         GError **error) ACR_MUST_USE;
/* Calls the extensions' checks with a patch. *out_why (owned) says why a check rejects the patch;
 * NULL if all checks accept it. Errors: USAGE (a check gave no answer), INTERRUPTED, those of the
 * journal and of acr_overlay_read. */
bool acr_extensions_check(AcrExtensions *all, AcrSearch *search, AcrSnapshot *before,
                          const AcrOverlay *after, GBytes *diff, char **out_why,
                          GError **error) ACR_MUST_USE;
/* Calls the extensions' localisers with an issue. *out_text (owned) has the suspected places,
 * one on each line; NULL if there are none. Errors: INTERRUPTED, those of the journal. */
bool acr_extensions_localise(AcrExtensions *all, AcrSearch *search, const char *issue,
                             char **out_text, GError **error) ACR_MUST_USE;
/* Gets the issue `reference` ("scheme:rest"). *out_text (owned) is NULL if no extension has a
 * source for the scheme. Errors: USAGE (the source failed; the message says why), INTERRUPTED. */
bool acr_extensions_issue(AcrExtensions *all, const char *reference, char **out_text,
                          GError **error) ACR_MUST_USE;
/* Returns the folder of prompts beside an extension's file: `mine_prompts` for `mine.py`. Owned;
 * NULL if there is no such folder. */
char *acr_extension_prompts(const char *file) ACR_MUST_USE;
/* Returns a digest of the extension that has the log parser `name`; borrowed; NULL if there is
 * none. */
const char *acr_extensions_parser(const AcrExtensions *all, const char *name);
/* Parses the output of tests. *out (owned) is {test: outcome}, or NULL after a failure, which
 * was reported. Several threads may call this. Errors: INTERRUPTED. */
bool acr_extensions_parse(AcrExtensions *all, const char *name, const char *output, AcrJson **out,
                          GError **error) ACR_MUST_USE;
/* Runs the test `name` of extension number `i` (in the order of the list). *out_why (owned) says
 * why the test fails; NULL if it passes. Errors: INTERRUPTED. */
bool acr_extensions_test(AcrExtensions *all, guint i, const char *name, AcrSearch *search,
                         char **out_why, GError **error) ACR_MUST_USE;
