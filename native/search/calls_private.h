/* Private to the search calls: the functions that answer calls, and what they show on a miss. */
#pragma once

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
bool acr_answer_callers(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                        GError **error) ACR_MUST_USE;
bool acr_answer_history(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                        GError **error) ACR_MUST_USE;
bool acr_answer_around_line(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                            GError **error) ACR_MUST_USE;

/* ---- Answers without results ---- */

#define ACR_SEARCH_SUGGESTIONS 6u
/* Appends the names nearest to `name` among symbols of these `kinds`, with their places. */
void acr_suggest_append(GString *out, const AcrIndex *index, guint kinds, const char *name);
/* If `files` is empty, says that there is no such file, and lists files with similar names. */
void acr_suggest_files(GString *out, AcrSearch *search, const AcrFileMatch *files,
                       const char *argument);
/* If `files` has one file, appends the names that this file defines. */
void acr_suggest_file_contents(GString *out, AcrSearch *search, const AcrFileMatch *files);
/* Appends the names that the class defines. */
void acr_suggest_class_contents(GString *out, AcrSearch *search, guint32 class_id);
/* Appends the tests and files of other types that contain `text`, and how often each does. */
void acr_suggest_occurrences(GString *out, AcrSearch *search, const char *text);

/* ---- Other places with a name or text ---- */

/* maximum number of words of an argument that are searched for; the last words are used */
#define ACR_SEARCH_MAX_WORDS 16u
/* maximum number of files and of classes of a scope with which a place is compared */
#define ACR_SCOPE_COMPARED 50u

/* The files and classes that a call names besides the name that it searches for. Places in this
 * scope are shown first. Members are borrowed; NULL if there are none. */
typedef struct {
    const AcrFileMatch *files;
    const GArray *classes; /* array of class ids */
    bool absent;           /* no indexed file contains the first word, so they are not searched */
} AcrScope;

/* How near a snapshot entry is to the scope: a named file, in the same folder as a named file, or
 * elsewhere. ACR_NEAR_NAMED if the scope is empty. */
enum { ACR_NEAR_NAMED, ACR_NEAR_FOLDER, ACR_NEAR_ELSEWHERE };
guint32 acr_nearness(const AcrSearch *search, const AcrScope *scope, gsize entry);

/* Returns the distinct identifiers in a text, beginning with the last identifier; owned. */
GPtrArray *acr_words_of(const char *text) ACR_MUST_USE;
/* True if `text` contains `word` as a whole word. */
bool acr_has_word(const char *text, gsize len, const char *word);

typedef enum { ACR_USES_PYTHON, ACR_USES_OTHERS } AcrUsesWhere;
typedef struct {
    const char *word; /* the word that was found, an element of `words`; NULL if none was */
    AcrUsesWhere where;
} AcrUsesFound;
/* Adds the lines that contain the first of `words`, after the existing hits. Searches non-test .py
 * files and the files that the call names; if none contains the word, searches non-test files of
 * other types. The nearest lines come first, then those with most of the other words. Errors:
 * FAILED (an object is missing). O(bytes of the files). */
bool acr_uses_add(AcrReply *reply, const GPtrArray *words, const AcrScope *scope,
                  AcrUsesFound *out_found, GError **error) ACR_MUST_USE;

/* Adds definitions of any kind of the name, also outside of `scope`; if there are none, adds uses
 * of the name. If there is a hit, adds the note `missing` (a sentence that says what does not
 * exist) and a note that says what is shown instead. */
bool acr_instead_of_name(AcrReply *reply, const AcrNameArg *arg, const AcrScope *scope,
                         const char *missing, GError **error) ACR_MUST_USE;
/* Adds other places and notes like acr_instead_of_name, for a text that the files (NULL: all files)
 * do not contain. If there is a hit, finishes the answer. */
bool acr_instead_of_text(AcrReply *reply, const char *text, const AcrFileMatch *files,
                         AcrAnswer *out, GError **error) ACR_MUST_USE;
/* Moves places that define a word of the text to the front, and adds the definition of the last
 * word unless the answer already shows it. */
bool acr_rank_text_hits(AcrReply *reply, const char *text, const AcrFileMatch *files,
                        GError **error) ACR_MUST_USE;
/* Adds the assignments and renaming imports that make `name` an alias of one of the classes. */
void acr_add_aliases(AcrReply *reply, const char *name, const GArray *classes);

/* ---- Calls that search for a name ---- */

/* Describes what a call with a name searches for. */
typedef struct {
    const char *noun; /* the noun for the symbol in messages: "class" */
    guint kinds;      /* ACR_KIND bits of the symbols to suggest if nothing is found */
    AcrCollapse collapse;
} AcrSought;

/* Calls acr_reply_finish with messages about the name in `arg`. */
bool acr_named_finish(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                      AcrAnswer *out, GError **error) ACR_MUST_USE;
/* Returns symbols with that name of another kind than `sought`: functions instead of classes and
 * vice versa, otherwise assignments. If `files` is not NULL, only those in the files. Adds a note.
 * Owned array of ids. */
GArray *acr_named_otherwise(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                            const AcrFileMatch *files) ACR_MUST_USE;
/* Answers with other definitions or uses of the name in `arg`, or says that there are none. Errors:
 * FAILED (an object is missing). */
bool acr_named_instead(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                       AcrAnswer *out, GError **error) ACR_MUST_USE;
/* Appends the nearest names, and how often and where the name in `arg` occurs. */
void acr_named_append_nearest(GString *text, AcrSearch *search, const AcrSought *sought,
                              const AcrNameArg *arg);

/* How to answer a call that names a symbol and a file. `in_files` returns the ids of the symbols in
 * the files as an owned array. */
typedef struct {
    const AcrSought *sought;
    AcrView view;
    GArray *(*in_files)(AcrReply *reply, const AcrNameArg *arg, const AcrFileMatch *files);
} AcrSoughtInFiles;
/* Answers a call whose arguments are a name and a file. Errors: FAILED (an object is missing). */
bool acr_named_in_files(AcrSearch *search, const AcrCall *call, const AcrSoughtInFiles *how,
                        AcrAnswer *out, GError **error) ACR_MUST_USE;
