/* Private to search.c: calls that people write in words, and the lines of an interactive search. */
#pragma once

#include "verbs/verbs_private.h"

/* Places to search for the answer to a question, in this order, until something is found. */
enum { IN_CODE, IN_TESTS, IN_ALL_FILES };

/* ---- Words (search_words.c) ---- */

/* number of lines before and after the line in "line FILE:NUMBER" */
#define ACR_SEARCH_WORD_WINDOW "10"

/* Returns whether the word begins a call in words: "class", "method", "code", "line", …. */
bool acr_search_is_word(const char *word);
/* Makes the call that the words and the options --in and --regex express. Errors: USAGE of task. */
bool acr_search_word_call(const char *word, const char *text, const AcrRunSpec *spec, AcrCall *out,
                          GError **error) ACR_MUST_USE;
/* Returns whether an option is given that applies only to a search for text. */
bool acr_search_is_text(const AcrRunSpec *spec);
/* Appends the results of `from`, for people, to those of `into`. */
void acr_search_append_answer(AcrAnswer *into, AcrAnswer *from);
/* Returns the options (whose members are borrowed) without those that apply only to text. */
AcrRunSpec acr_search_without_text(const AcrRunSpec *spec);
/* Returns the number of lines of context; `own` is the value of the option for one side. */
guint acr_search_context(const AcrRunSpec *spec, gint64 own);
/* The file and lines in "FILE:NUMBER" or "FILE:FROM-TO". */
typedef struct {
    gsize file_len; /* length of FILE in bytes, at the beginning of the text */
    guint from, to; /* equal if the text names one line */
    bool is_range;
} AcrSearchLines;
/* Parses "FILE:NUMBER" or "FILE:FROM-TO"; returns false if `text` has another form. */
bool acr_search_word_lines(const char *text, AcrSearchLines *out);
/* Returns the i-th word that begins a call; NULL after the last word. */
const char *acr_search_word(guint i);
/* Returns whether the text is a call in the form that models write, `name(...)`. The name must be
 * known or similar to a known name, unless `with_unknown`. */
bool acr_search_is_call(const AcrCalls *calls, const char *text, bool with_unknown);
/* Returns whether the text is the name of a call and its arguments, as in a shell: "name 'a b'
 * 3". */
bool acr_search_is_plain(const AcrCalls *calls, const char *text);
/* Returns whether the line is a call in any of these forms, or in words. */
bool acr_search_is_line(const AcrCalls *calls, const char *line);
/* Makes the call that `words` express; words[0] is the name of the call. Errors: BAD_CALL of
 * search. */
bool acr_search_plain_call(const AcrCalls *calls, char *const *words, AcrCall *out,
                           GError **error) ACR_MUST_USE;
/* Splits a line if it is a call in words; otherwise returns false. *out_word is owned; *out_text is
 * a part of the line. */
bool acr_search_split_words(const char *line, char **out_word, const char **out_text);

/* The current folder in the repository (search_paths.c). */
typedef struct {
    char *root;   /* the repository's folder if the current folder is in it, or NULL; owned */
    char *folder; /* the current folder relative to it, with a slash at the end; NULL: equal;
                          * owned */
    GStringChunk *shown; /* paths of answers; owned */
} AcrSearchPaths;

/* A question of a person. Its word is a word that begins a call, or ACR_SEARCH_NAME if only a name
 * was given. */
#define ACR_SEARCH_NAME "name"
typedef struct {
    const char *word;
    char *text, *where; /* owned; where: files, folders or patterns, one per line; NULL: all */
    bool is_call;       /* only calls are wanted, not other uses of the name */
} AcrQuestion;
void acr_question_clear(AcrQuestion *question);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrQuestion, acr_question_clear)
/* Makes a question of words: [WORD] TEXT [WHERE]..., at least one word; --in, whose places must be
 * relative to the repository, adds to WHERE. */
void acr_search_question(AcrSearch *search, const AcrSearchPaths *paths, char *const *words,
                         const AcrRunSpec *spec, AcrQuestion *out);
/* Checks that each place matches a file. Errors: USAGE of task (names the first other place). */
bool acr_search_check_places(AcrSearch *search, const char *where, const AcrRunSpec *spec,
                             GError **error) ACR_MUST_USE;
/* Checks the arguments as far as possible before the repository is opened. Errors: USAGE of task. */
bool acr_search_check_request(const AcrRunSpec *spec, GError **error) ACR_MUST_USE;
/* Splits a typed line into words (owned) and options. Errors: USAGE of task, those of
 * g_shell_parse_argv. */
bool acr_search_typed_words(const AcrVerb *verb, const char *line, AcrRunSpec *options,
                            char ***out_words, GError **error) ACR_MUST_USE;
/* Lists the search calls with their signatures, one on each line; owned. */
char *acr_search_list(const AcrCalls *calls) ACR_MUST_USE;

/* Lists the search calls as JSON: name, usage, summary, and the schema of the arguments; owned. */
AcrJson *acr_search_list_json(const AcrCalls *calls) ACR_MUST_USE;

/* ---- Paths for people (search_paths.c) ---- */

/* `workdir`: the folder of the repository, or NULL. */
void acr_search_paths_init(AcrSearchPaths *paths, const char *workdir);
void acr_search_paths_clear(AcrSearchPaths *paths);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrSearchPaths, acr_search_paths_clear)
/* Makes places (owned; one on each line; may be NULL) relative to the repository that are relative
 * to the current folder or absolute. Those that name no file there remain as they are. */
void acr_search_from_root(const AcrSearchPaths *paths, AcrSearch *search, char **places);
/* Makes the paths of an answer's lines relative to the current folder. They live as long as
 * `paths`. */
void acr_search_paths_show(const AcrSearchPaths *paths, AcrAnswer *answer);

/* ---- Answers for people (search_print.c) ---- */

/* Says that the whole repository is searched, if --repo names a folder inside it. */
void acr_search_tell_root(const AcrRunSpec *spec, const char *workdir);
/* Returns the answer as acr_answer_to_json does, with `lines`: those that contain the text or name,
 * as far as their place is in the answer; owned. */
AcrJson *acr_search_answer_json(const char *call, const AcrAnswer *answer) ACR_MUST_USE;
/* Removes the lines before `from` and after `to`; 0: keeps all. */
void acr_search_keep_range(AcrAnswer *answer, guint from, guint to);
/* Prints an answer as models see it, with an empty line before all but the first. */
AcrOut acr_search_print_plain(const char *output, bool is_first);
/* Returns whether the results are printed without their context. */
bool acr_search_is_list(const AcrRunSpec *spec);
/* Prints the results in the form that the options select. Notes, or that there are no results, go
 * to stderr. `mark` (may be NULL) is emphasised on a terminal. */
void acr_search_print(const AcrRunSpec *spec, const char *mark, const AcrAnswer *answer,
                      GString *out);

/* Tells the user that the results are lines with a text that is not the name of a definition (in
 * the places `where`; NULL: anywhere). */
void acr_search_tell_text(const char *name, const char *where, guint width);
/* Tells the user that the results come from tests or other files, if only those have results. */
void acr_search_tell_width(const AcrRunSpec *spec, guint width);
/* Returns the number of an answer's lines, without context. */
guint acr_search_matching(const AcrAnswer *answer);
/* Tells the user how many lines tests have, beyond `before`. */
void acr_search_tell_tests(guint before, guint after);
/* Tells the user that a text that was not found names a file, folder or module. */
void acr_search_tell_file(const char *name);
/* Tells the user that no file has that path, and names the nearest one. */
void acr_search_tell_nearest(const AcrSearch *search, const char *path);
/* Tells the user that several words were one text. */
void acr_search_tell_one_text(const char *text);
/* Tells the user that no name and no line matches, and suggests what `missed` suggests. */
void acr_search_tell_nothing(const char *name, const AcrRunSpec *spec, const AcrAnswer *missed);

/* ---- Lines (search_input.c) ---- */

typedef struct {
    AcrInterrupt *interrupt; /* borrowed; Ctrl-C at the prompt discards only the line */
    const AcrIndex *index;   /* borrowed; its names are completed at the prompt */
    bool is_terminal;        /* input is read with a prompt, editing and history */
    char *history;           /* the history file; owned; NULL if there is none */
    GByteArray *waiting;     /* input that was read but not yet returned; owned */
    gsize taken;             /* number of bytes of `waiting` that were already returned */
    gsize searched;          /* `waiting` has no line end before this byte */
    bool is_ended;
} AcrSearchInput;
/* Handles a line that is a command, such as help. Returns false if the line is not a command. */
bool acr_search_command(const AcrCalls *calls, const char *line, bool *out_quits, AcrOut *out);

/* Opens standard input. At a terminal, lines are read with readline, if that is installed.
 * Otherwise reads until the end of the input, or until the writer seems to wait for an answer.
 * Errors: TOO_BIG, FAILED of base. */
bool acr_search_input_open(AcrInterrupt *interrupt, AcrSearchInput *out,
                           GError **error) ACR_MUST_USE;
void acr_search_input_clear(AcrSearchInput *input);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrSearchInput, acr_search_input_clear)
/* Reads the next non-empty line, stripped, as UTF-8. *out is owned; NULL if the input has ended, or
 * a signal arrived. Errors: TOO_BIG, FAILED of base. */
bool acr_search_input_next(AcrSearchInput *input, char **out, GError **error) ACR_MUST_USE;
/* Consumes the remaining non-empty lines and returns their number; 0 if more input may follow. */
guint acr_search_input_left(AcrSearchInput *input);
