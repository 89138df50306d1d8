/*
 * extensions: the user's own Python files. Each runs in a process of its own (acr-host
 * extension-worker), adds search calls, checks patches and observes what happens in a run.
 *
 * What an extension does wrong (raises, hangs, ends its process, takes all memory, answers with
 * something else) costs that one answer and is reported in one line; a function of it that did so
 * ACR_EXTENSION_MAX_FAILURES times is not asked again. Where there is a journal, it is asked first: a replay needs no extension.
 */
#ifndef ACR_EXTENSIONS_H
#define ACR_EXTENSIONS_H

#include "base/base.h"
#include "journal/journal.h"
#include "search/search.h"
#include "vcs/vcs.h"

typedef enum {
    ACR_EXTENSIONS_ERROR_USAGE, /* no such file; one of the repository that is worked on, or that cannot be loaded */
    ACR_EXTENSIONS_ERROR_INTERRUPTED,
} AcrExtensionsError;
#define ACR_EXTENSIONS_ERROR acr_extensions_error_quark()
GQuark acr_extensions_error_quark(void);

#define ACR_EXTENSION_VERB "extension-worker" /* what its process is started with */
#define ACR_EXTENSION_MAX_FAILURES 3u
#define ACR_EXTENSION_MAX_SOURCE (1u * 1024 * 1024) /* bytes of its file */
#define ACR_EXTENSION_MAX_ANSWER (4u * 1024 * 1024) /* bytes of one answer */
#define ACR_EXTENSION_MAX_HOOKS 50u                 /* of each kind */
#define ACR_EXTENSION_TIMEOUT_MS 30000              /* of one call, if nothing else is said */
/* Variables of the environment whose names begin so, and a few that programs need, are passed on. */
#define ACR_EXTENSION_PREFIX "ACR_EXTENSION_"

/* All borrowed; must outlive the extensions. */
typedef struct {
    const char *const *files; /* NULL-terminated; NULL: none */
    const char *exe;          /* this program; NULL in a replay, which starts no process */
    const char *repo;         /* the repository's folder, for git's history; NULL: not known */
    gint64 timeout_ms;        /* of one call */
    AcrJournal *journal;      /* NULL: nothing is recorded */
    const AcrInterrupt *interrupt;
    bool keeps_broken; /* one that cannot be loaded is reported and described, and does nothing */
    gsize n_own_calls; /* built-in calls beside theirs, as in acr_calls_new; 0: all */
    void *ctx;
    void (*warn)(void *ctx, const char *line); /* for the user */
} AcrExtensionOptions;

/* Puts the file of an installed package in the place of each path that does not exist and ends in the name of an
 * entry point of the group acr_host.extensions. `files` are owned by the caller. Errors: USAGE, INTERRUPTED. */
bool acr_extensions_locate(char **files, const AcrExtensionOptions *options,
                           GError **error) ACR_MUST_USE;
/* Whether each of the files can be read and lies outside `workdir` (NULL: no such folder). Errors: USAGE. */
bool acr_extensions_check_files(const char *const *files, const char *workdir,
                                GError **error) ACR_MUST_USE;

/* The loaded extensions. One thread at a time. Functions accept NULL for none. */
typedef struct AcrExtensions AcrExtensions;
/* Loads them. Errors: USAGE (one cannot be loaded; not in a replay, nor where broken ones are kept), INTERRUPTED, those of the
 * journal. NULL without an error where there are no files. */
bool acr_extensions_load(const AcrExtensionOptions *options, AcrExtensions **out,
                         GError **error) ACR_MUST_USE;
void acr_extensions_free(AcrExtensions *all);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrExtensions, acr_extensions_free)

/* The registry with their search calls; borrowed; NULL without extensions. */
const AcrCalls *acr_extensions_calls(const AcrExtensions *all);
/* [{"file", "version", "calls": [{"name", "summary", "params": [{"name", "type", "about"}]}],
 * "checks": [name], "parsers": [name], "localisers": [name], "sources": [scheme],
 * "prompts": folder (where there is one), "events": [{"kind", "name"}], "tests": [name],
 * "settings": [{"variable", "type", "default", "about"}], "error"}]: "error" alone beside the
 * file where it could not be loaded; owned. */
AcrJson *acr_extensions_describe(const AcrExtensions *all) ACR_MUST_USE;

/*
 * Tells those that observe `event` (python/acr/extensions.py lists them). `data` is borrowed. *out_note (owned, may be NULL to drop it):
 * what they say of it, NULL: nothing; *out_veto likewise. Errors: INTERRUPTED, those of the journal.
 */
bool acr_extensions_tell(AcrExtensions *all, AcrSearch *search, const char *event,
                         const AcrJson *data, char **out_note, char **out_veto,
                         GError **error) ACR_MUST_USE;
/* Asks their checks about a patch. *out_why (owned): why it is wrong, NULL: nothing is said against
 * it. Errors: INTERRUPTED, those of the journal and of acr_overlay_read. */
bool acr_extensions_check(AcrExtensions *all, AcrSearch *search, AcrSnapshot *before,
                          const AcrOverlay *after, GBytes *diff, char **out_why,
                          GError **error) ACR_MUST_USE;
/* Asks their localisers about an issue. *out_text (owned): the places that they suspect, a line each, NULL: none.
 * Errors: INTERRUPTED, those of the journal. */
bool acr_extensions_localise(AcrExtensions *all, AcrSearch *search, const char *issue,
                             char **out_text, GError **error) ACR_MUST_USE;
/* The issue that `reference` ("scheme:rest") stands for. *out_text (owned): NULL where none of them has the
 * scheme. Errors: USAGE, with why its source failed; INTERRUPTED. */
bool acr_extensions_issue(AcrExtensions *all, const char *reference, char **out_text,
                          GError **error) ACR_MUST_USE;
/* The folder of prompts that belongs to an extension's file: `mine_prompts` beside `mine.py`. Owned; NULL: there
 * is none. */
char *acr_extension_prompts(const char *file) ACR_MUST_USE;
/* A mark of the extension that has the parser of logs `name` (a digest of its file; borrowed), or NULL: none
 * has. */
const char *acr_extensions_parser(const AcrExtensions *all, const char *name);
/* What it reads in the output of tests: *out (owned) is {test: outcome}, or NULL where it failed, which was
 * reported. Thread-safe with itself. Errors: INTERRUPTED. */
bool acr_extensions_parse(AcrExtensions *all, const char *name, const char *output, AcrJson **out,
                          GError **error) ACR_MUST_USE;
/* Runs the test `name` of the extension number `i` (as described). *out_why (owned): why it fails, NULL:
 * it passes. Errors: INTERRUPTED. */
bool acr_extensions_test(AcrExtensions *all, guint i, const char *name, AcrSearch *search,
                         char **out_why, GError **error) ACR_MUST_USE;

#endif
