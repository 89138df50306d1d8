/* Private to the search calls: the functions that answer them, and the fallbacks for calls that
 * find nothing. */
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

/* ---- Misses ---- */

#define ACR_SEARCH_SUGGESTIONS 6u
/* Adds "Nearest names: …", and the file of each name. */
void acr_suggest_append(GString *out, const AcrIndex *index, guint kinds, const char *name);
/* If `files` is empty, says that there is no file `argument`, and lists files with similar
 * names. */
void acr_suggest_files(GString *out, AcrSearch *search, const AcrFileMatch *files,
                       const char *argument);
/* Adds the definitions in the files to the answer of a call without results. */
void acr_suggest_file_contents(GString *out, AcrSearch *search, const AcrFileMatch *files);
/* Adds the definitions in the class to the answer of a call without results. */
void acr_suggest_class_contents(GString *out, AcrSearch *search, guint32 class_id);
/* Adds the tests and the files of other types that contain `text`, with counts. */
void acr_suggest_occurrences(GString *out, AcrSearch *search, const char *text);

/* ---- Other places of a name or text ---- */

/* maximum number of words of an argument that are searched for; the last ones are used */
#define ACR_SEARCH_MAX_WORDS 16u
/* maximum number of files and classes of the scope with which a place is compared */
#define ACR_SCOPE_COMPARED 50u

/* The files and classes that a call names besides the name that it searches for. Places in this
 * scope come first. Borrowed; NULL if there are none. */
typedef struct {
    const AcrFileMatch *files;
    const GArray *classes; /* array of ids */
    bool absent;           /* no indexed file contains the first word */
} AcrScope;

/* How near a place is to the scope; 0 if the scope is empty. */
enum { ACR_NEAR_NAMED, ACR_NEAR_FOLDER, ACR_NEAR_ELSEWHERE };
guint32 acr_nearness(const AcrSearch *search, const AcrScope *scope, gsize entry);

/* The distinct identifiers in a text, beginning with the last; owned. */
GPtrArray *acr_words_of(const char *text) ACR_MUST_USE;
/* Whether `word` is in the text as a whole word. */
bool acr_has_word(const char *text, gsize len, const char *word);

typedef enum { ACR_USES_PYTHON, ACR_USES_OTHERS } AcrUsesWhere;
typedef struct {
    const char *word; /* the word that was found, an element of `words`; NULL if none was */
    AcrUsesWhere where;
} AcrUsesFound;
/* Takes the first of the words that occurs, and adds the lines that contain it after the
 * existing hits. Searches non-test .py files and the files that the call names; if none has the
 * words, non-test files of other types. The nearest places come first, then those with most of
 * the other words. Errors: FAILED (an object is missing). O(bytes of the files). */
bool acr_uses_add(AcrReply *reply, const GPtrArray *words, const AcrScope *scope,
                  AcrUsesFound *out_found, GError **error) ACR_MUST_USE;

/* Adds definitions of the name outside the call's scope, of any kind; if there are none, uses of
 * the name. If there is a hit, adds the note `missing` (a sentence that says what does not
 * exist) and a note that says what is shown instead. */
bool acr_instead_of_name(AcrReply *reply, const AcrNameArg *arg, const AcrScope *scope,
                         const char *missing, GError **error) ACR_MUST_USE;
/* For a text that the files (`files` NULL: all files) do not contain: adds other places and
 * notes like acr_instead_of_name. If there is a hit, finishes the answer. */
bool acr_instead_of_text(AcrReply *reply, const char *text, const AcrFileMatch *files,
                         AcrAnswer *out, GError **error) ACR_MUST_USE;
/* Moves places that define a word of the text to the front, and adds the definition of the last
 * word, unless it is already shown. */
bool acr_rank_text_hits(AcrReply *reply, const char *text, const AcrFileMatch *files,
                        GError **error) ACR_MUST_USE;
/* Adds the assignments and renaming imports that give `name` to the classes. */
void acr_add_aliases(AcrReply *reply, const char *name, const GArray *classes);

/* ---- Calls that look for a name ---- */

/* Describes what a call with a name searches for. */
typedef struct {
    const char *noun; /* the noun for such a symbol in messages: "class" */
    guint kinds;      /* ACR_KIND bits of the symbols that an answer without results suggests */
    AcrCollapse collapse;
} AcrSought;

/* Calls acr_reply_finish with the messages for that name. */
bool acr_named_finish(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                      AcrAnswer *out, GError **error) ACR_MUST_USE;
/* Symbols of another kind with that name, in the given files if there are any: functions instead
 * of classes and vice versa, otherwise assignments. Adds a note about them. Owned array of ids. */
GArray *acr_named_otherwise(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                            const AcrFileMatch *files) ACR_MUST_USE;
/* Answers with other definitions or uses of that name, or says that there are none. Errors:
 * FAILED (an object is missing). */
bool acr_named_instead(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                       AcrAnswer *out, GError **error) ACR_MUST_USE;
/* Adds the nearest names, and how often and where the name occurs. */
void acr_named_append_nearest(GString *text, AcrSearch *search, const AcrSought *sought,
                              const AcrNameArg *arg);

/* How a call searches that names a symbol and a file. The caller owns the arrays. */
typedef struct {
    const AcrSought *sought;
    AcrView view;
    GArray *(*in_files)(AcrReply *reply, const AcrNameArg *arg, const AcrFileMatch *files);
} AcrSoughtInFiles;
/* Answers a call whose arguments are the name and the file. Errors: FAILED (an object is
 * missing). */
bool acr_named_in_files(AcrSearch *search, const AcrCall *call, const AcrSoughtInFiles *how,
                        AcrAnswer *out, GError **error) ACR_MUST_USE;
