/*
 * What the search calls share: the functions that answer them, and what is shown where a call's
 * own rule finds nothing.
 */
#ifndef ACR_SEARCH_CALLS_PRIVATE_H
#define ACR_SEARCH_CALLS_PRIVATE_H

#include "search/reply_private.h"

/* ---- Calls ---- */

bool acr_answer_class(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                      GError **error) ACR_MUST_USE;
bool acr_answer_class_in_file(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                              GError **error) ACR_MUST_USE;
bool acr_answer_method(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                       GError **error) ACR_MUST_USE;
bool acr_answer_method_in_file(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                               GError **error) ACR_MUST_USE;
bool acr_answer_method_in_class(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                                GError **error) ACR_MUST_USE;
bool acr_answer_code(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                     GError **error) ACR_MUST_USE;
bool acr_answer_code_in_file(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                             GError **error) ACR_MUST_USE;
bool acr_answer_around_line(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                            GError **error) ACR_MUST_USE;

/* ---- Misses ---- */

#define ACR_SEARCH_SUGGESTIONS 6u
/* Adds "Nearest names: …" with the file of each. */
void acr_suggest_append(GString *out, const AcrIndex *index, guint kinds, const char *name);
/* Where `files` is empty: that there is no file `argument`, and the files whose names are near. */
void acr_suggest_files(GString *out, AcrSearch *search, const AcrFileMatch *files,
                       const char *argument);
/* Adds what a file defines. */
void acr_suggest_file_contents(GString *out, AcrSearch *search, const AcrFileMatch *files);
/* Adds what a class defines. */
void acr_suggest_class_contents(GString *out, AcrSearch *search, guint32 class_id);
/* Adds the tests and files of other types that hold `text`, with counts. */
void acr_suggest_occurrences(GString *out, AcrSearch *search, const char *text);

/* ---- Other places of a name or text ---- */

#define ACR_SEARCH_MAX_WORDS 16u /* the last words of an argument, which are searched for */
#define ACR_SCOPE_COMPARED 50u   /* named files and classes that a place is compared with */

/* What a call names beside what it looks for; places there come first. Borrowed, NULL for none. */
typedef struct {
    const AcrFileMatch *files;
    const GArray *classes; /* ids */
    bool absent;           /* the first word is in no indexed file */
} AcrScope;

/* 0 where the scope names nothing. */
enum { ACR_NEAR_NAMED, ACR_NEAR_FOLDER, ACR_NEAR_ELSEWHERE };
guint32 acr_nearness(const AcrSearch *search, const AcrScope *scope, gsize entry);

/* The identifiers of a text, the last one first, each once; owned. */
GPtrArray *acr_words_of(const char *text) ACR_MUST_USE;
/* Whether `word` is in the text and no letter touches its ends. */
bool acr_has_word(const char *text, gsize len, const char *word);

typedef enum { ACR_USES_PYTHON, ACR_USES_OTHERS } AcrUsesWhere;
typedef struct {
    const char *word; /* the one that was found, borrowed from the words; NULL: none */
    AcrUsesWhere where;
} AcrUsesFound;
/*
 * Adds the lines that hold the first of the words, after the hits that are there: of non-test .py
 * files and of the named ones, else of non-test files of other types; nearest first, then those
 * that hold most of the other words. Errors: FAILED (an object is missing). O(bytes of the files).
 */
bool acr_uses_add(AcrReply *reply, const GPtrArray *words, const AcrScope *scope,
                  AcrUsesFound *out_found, GError **error) ACR_MUST_USE;

/*
 * Adds what a name is where the call did not look: definitions of any kind, else its uses. Says so
 * in notes, after `missing`, a sentence on what there is not; adds no note where there is no hit.
 */
bool acr_instead_of_name(AcrReply *reply, const AcrNameArg *arg, const AcrScope *scope,
                         const char *missing, GError **error) ACR_MUST_USE;
/* The same for a text that is not in the files, or nowhere (`files` NULL); finishes the answer
 * where it adds a hit. */
bool acr_instead_of_text(AcrReply *reply, const char *text, const AcrFileMatch *files,
                         AcrAnswer *out, GError **error) ACR_MUST_USE;
/* Puts places first that define a word of the text; adds where the last one is defined, unless that
 * is shown. */
bool acr_rank_text_hits(AcrReply *reply, const char *text, const AcrFileMatch *files,
                        GError **error) ACR_MUST_USE;
/* Adds the assignments and renaming imports of `name` that make it another name of the classes. */
void acr_add_aliases(AcrReply *reply, const char *name, const GArray *classes);

/* ---- Calls that look for a name ---- */

/* What such a call looks for. */
typedef struct {
    const char *noun; /* "class" */
    guint kinds;      /* ACR_KIND bits of the symbols that a miss names */
    AcrCollapse collapse;
} AcrSought;

/* acr_reply_finish with the words for that name. */
bool acr_named_finish(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                      AcrAnswer *out, GError **error) ACR_MUST_USE;
/* What else the name is, in the files where some are given: the other kind, else assignments; a note
 * says so. Owned array of ids. */
GArray *acr_named_otherwise(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                            const AcrFileMatch *files) ACR_MUST_USE;
/* Answers with what else has that name or uses it, or that nothing does. Errors of both:
 * FAILED (an object is missing). */
bool acr_named_instead(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                       AcrAnswer *out, GError **error) ACR_MUST_USE;
/* The nearest names, and how often the name occurs where. */
void acr_named_append_nearest(GString *text, AcrSearch *search, const AcrSought *sought,
                              const AcrNameArg *arg);

/* How a call that names a symbol and a file looks for it. Arrays are owned by the caller. */
typedef struct {
    const AcrSought *sought;
    AcrView view;
    GArray *(*in_files)(AcrReply *reply, const AcrNameArg *arg, const AcrFileMatch *files);
} AcrSoughtInFiles;
/* Answers a call whose values are the name and the file. Errors: FAILED (an object is missing). */
bool acr_named_in_files(AcrSearch *search, const AcrCall *call, const AcrSoughtInFiles *how,
                        AcrAnswer *out, GError **error) ACR_MUST_USE;

#endif
