/* base: helpers that all libraries share: JSON, text encodings, files, locks, child processes,
 * interruption.
 *
 * The four ownership words used in all headers:
 *   owned     the caller frees it, with the named function.
 *   borrowed  valid until the named point; the receiver never frees it.
 *   taken     the callee frees it, also on failure.
 *   shared    reference counted.
 * Outputs are written only on success. Lifecycle functions (free, clear, unref) accept NULL. */
#pragma once

#include <glib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* In newer GLibs, g_str_has_prefix is a macro that calls strlen on the whole text, so a loop
 * over the lines of a text takes quadratic time. */
#undef g_str_has_prefix

typedef enum {
    ACR_BASE_ERROR_FAILED,
    ACR_BASE_ERROR_NOT_FOUND, /* no such file */
    ACR_BASE_ERROR_TOO_BIG,   /* a named limit was exceeded */
    ACR_BASE_ERROR_BUSY,      /* a lock is held by another process */
    ACR_BASE_ERROR_MALFORMED, /* the text does not have the expected format */
    ACR_BASE_ERROR_NO_SPACE,  /* disk full, quota or read-only file system */
} AcrBaseError;
#define ACR_BASE_ERROR acr_base_error_quark()
GQuark acr_base_error_quark(void);

#define ACR_MUST_USE G_GNUC_WARN_UNUSED_RESULT

/* Sets an error like g_set_error. Returns false, so that a caller can write `return
 * acr_set_error(…)`. */
bool acr_set_error(GError **error, GQuark domain, int code, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
bool acr_pass_error(GError **error, GError **from);
/* Returns NULL after `failed` has set the error, in a function that returns a pointer. */
#define ACR_NULL(failed) ((void)(failed), NULL)

/* Frees each of the pointers with g_free. */
#define ACR_FREE(...)                                                                              \
    acr_free_all((gpointer[]){__VA_ARGS__}, sizeof((gpointer[]){__VA_ARGS__}) / sizeof(gpointer))
static inline void acr_free_all(gpointer *pointers, gsize n)
{
    for (gsize i = 0; i < n; i++)
        g_free(pointers[i]);
}

static inline int acr_order(guint64 a, guint64 b)
{
    return a < b ? -1 : a > b;
}

/* ---- Interruption ---- */

/* The flag of an interrupt. A signal handler sets it; every function that waits polls it.
 * Zero-initialise. */
typedef struct {
    volatile sig_atomic_t signal; /* 0, or the number of the first signal that arrived */
    /* whether a SIGALRM means that --max-time is reached */
    volatile sig_atomic_t ends_at_alarm;
} AcrInterrupt;

/* Whether a signal has arrived. False if `interrupt` is NULL. Async-signal-safe, thread-safe. */
static inline bool acr_interrupted(const AcrInterrupt *interrupt)
{
    return interrupt && __atomic_load_n(&interrupt->signal, __ATOMIC_RELAXED) != 0;
}

/* Whether a signal has arrived which means that the time limit is reached. */
static inline bool acr_time_is_over(const AcrInterrupt *interrupt)
{
    return interrupt && __atomic_load_n(&interrupt->signal, __ATOMIC_RELAXED) == SIGALRM;
}

/* ---- JSON ---- */

/* A JSON value. Strings are valid UTF-8 without NUL: \u0000 and lone surrogates in a parsed text
 * become U+FFFD. Numbers are doubles; integers are exact up to 2^53. */
typedef struct AcrJson AcrJson;

#define ACR_JSON_MAX_DEPTH 200
#define ACR_JSON_MAX_BYTES (256u * 1024 * 1024)
/* maximum number of values of a text; a value takes about 80 bytes, however short its text is */
#define ACR_JSON_MAX_VALUES 8000000

typedef enum {
    ACR_JSON_NULL,
    ACR_JSON_BOOL,
    ACR_JSON_NUMBER,
    ACR_JSON_STRING,
    ACR_JSON_ARRAY,
    ACR_JSON_OBJECT,
} AcrJsonType;

/* Parses one JSON value; only white space may follow it. Returns the value, owned (acr_json_free),
 * or NULL. If several members have the same name, the last member counts. Errors: MALFORMED (with
 * the byte offset; also for bytes that are not UTF-8), TOO_BIG (bytes, depth or values). */
AcrJson *acr_json_parse(const char *text, gsize len, GError **error) ACR_MUST_USE;
/* Parses bytes that another function has read. If `bytes` is NULL, because that function failed and
 * set *error, returns NULL. */
AcrJson *acr_json_parse_bytes(GBytes *bytes, GError **error) ACR_MUST_USE;
/* Reads JSON lines: calls `take` for each line that is not blank, with the line's number from 1,
 * until `take` returns false. Errors: the errors of acr_json_parse, with `name` and the line's
 * number, and the errors of `take`. */
bool acr_json_lines(const char *text, gsize len, const char *name,
                    bool (*take)(void *ctx, const AcrJson *line, guint number, GError **error),
                    void *ctx, GError **error) ACR_MUST_USE;
void acr_json_free(AcrJson *json);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrJson, acr_json_free)
AcrJson *acr_json_copy(const AcrJson *json) ACR_MUST_USE; /* returns a deep copy; owned */

/* Returns the version of cJSON; static. */
const char *acr_json_library(void);

/* Prints a value on one line without spaces; owned (g_free). Keys keep the order in which they were
 * set. */
char *acr_json_print(const AcrJson *json) ACR_MUST_USE;
/* Prints a value with indentation, for files that people read. The result ends in a newline; owned
 * (g_free). */
char *acr_json_print_pretty(const AcrJson *json) ACR_MUST_USE;

AcrJson *acr_json_new_object(void) ACR_MUST_USE;
AcrJson *acr_json_new_array(void) ACR_MUST_USE;
AcrJson *acr_json_new_null(void) ACR_MUST_USE;
AcrJson *acr_json_new_bool(bool value) ACR_MUST_USE;
AcrJson *acr_json_new_int(gint64 value) ACR_MUST_USE;
AcrJson *acr_json_new_double(double value) ACR_MUST_USE;
/* Makes a JSON string, or null if `text` is NULL. Text that is not valid UTF-8 becomes
 * {"base64": "…"}, as everywhere in the program's JSON. */
AcrJson *acr_json_new_string(const char *text) ACR_MUST_USE;
/* Makes a JSON value like acr_json_new_string, from bytes. Bytes that contain a NUL become
 * {"base64": "…"}, too. */
AcrJson *acr_json_new_bytes(const void *data, gsize len) ACR_MUST_USE;
/* Makes a JSON value from a GBytes, like acr_json_new_bytes. */
AcrJson *acr_json_new_gbytes(GBytes *bytes) ACR_MUST_USE;
/* Makes an array of the strings in `texts`, which is NULL-terminated and may be NULL. */
AcrJson *acr_json_new_strings(const char *const *texts) ACR_MUST_USE;
/* Makes an array of strings, like acr_json_new_strings. */
AcrJson *acr_json_new_texts(const GPtrArray *texts) ACR_MUST_USE;

/* Sets or replaces a member (value taken); `object` must be an object. Keys are repaired to valid
 * UTF-8. O(members). */
void acr_json_set(AcrJson *object, const char *key, AcrJson *value);
void acr_json_set_string(AcrJson *object, const char *key, const char *text);
void acr_json_set_int(AcrJson *object, const char *key, gint64 value);
void acr_json_set_bool(AcrJson *object, const char *key, bool value);
void acr_json_append(AcrJson *array, AcrJson *value); /* `value` is taken */

/* Makes an object of pairs of a key and an AcrJson (taken), ended by a NULL key. Omits a pair with
 * the value NULL. */
AcrJson *acr_json_of(const char *key, ...) G_GNUC_NULL_TERMINATED ACR_MUST_USE;
/* Makes an object as acr_json_of does and appends it to `list`, which then owns the object.
 * Returns the object, borrowed. */
#define acr_json_add(list, ...) acr_json_added(list, acr_json_of(__VA_ARGS__, NULL))
AcrJson *acr_json_added(AcrJson *list, AcrJson *object);
#define ACR_TEXT(text) acr_json_new_string(text)
/* A key and a value for acr_json_of: a string, a number, a boolean, or another value (NULL: JSON
 * null). */
#define ACR_STRING(key, text) key, acr_json_new_string(text)
#define ACR_INT(key, value) key, acr_json_new_int(value)
#define ACR_BOOL(key, value) key, acr_json_new_bool(value)
#define ACR_JSON(key, value) key, acr_json_or_null(value)
/* Returns `value` (taken), or JSON null if it is NULL; owned. */
AcrJson *acr_json_or_null(AcrJson *value) ACR_MUST_USE;
/* Makes a JSON string from the string member `key`; JSON null if the object has no such string. */
#define ACR_MEMBER(object, key) acr_json_new_string(acr_json_get_string(object, key))

AcrJsonType acr_json_type(const AcrJson *json); /* NULL is treated as ACR_JSON_NULL */
/* Returns the member `key`, borrowed until `object` changes; NULL if there is no such member or
 * `object` is not an object. Case-sensitive. */
const AcrJson *acr_json_get(const AcrJson *object, const char *key);
/* Returns the string of the member `key`, borrowed; NULL if the member is absent or not a
 * string. */
const char *acr_json_get_string(const AcrJson *object, const char *key);
/* Returns the bytes of a string or of {"base64": "…"}, owned (g_bytes_unref); NULL for other
 * values, or if the base64 is invalid. */
GBytes *acr_json_bytes(const AcrJson *json) ACR_MUST_USE;
/* Returns the bytes of the member `key`, like acr_json_bytes. */
GBytes *acr_json_get_bytes(const AcrJson *object, const char *key) ACR_MUST_USE;
/* Returns the integer of the member `key`, or `otherwise` if the member is absent, is not a number,
 * has a fraction, or exceeds 64 bits. */
gint64 acr_json_get_int(const AcrJson *object, const char *key, gint64 otherwise);
double acr_json_get_double(const AcrJson *object, const char *key, double otherwise);
bool acr_json_get_bool(const AcrJson *object, const char *key, bool otherwise);
const char *acr_json_string(const AcrJson *json); /* borrowed; NULL if `json` is not a string */
/* Returns the strings of an array, NULL-terminated; skips other elements; owned (g_strfreev). */
char **acr_json_strings(const AcrJson *array) ACR_MUST_USE;
gint64 acr_json_int(const AcrJson *json, gint64 otherwise);
bool acr_json_bool(const AcrJson *json);
/* Returns the number of members or elements; 0 for other types. O(n). */
gsize acr_json_size(const AcrJson *json);
/* Iterates over elements or members: first child, then next sibling; borrowed. acr_json_key
 * gives a member's name. */
const AcrJson *acr_json_first(const AcrJson *json);
const AcrJson *acr_json_next(const AcrJson *child);
const char *acr_json_key(const AcrJson *member);
/* Whether both values are equal at all depths. Ignores the order of members, and members named
 * `ignore` (may be NULL). */
bool acr_json_equal(const AcrJson *a, const AcrJson *b, const char *ignore);

/* ---- Text ---- */

/* Whether the data are valid UTF-8 without NUL. */
bool acr_utf8_is_text(const void *data, gsize len);
/* Returns the length in bytes of UTF-8's byte order mark at the start of the data: 3, or 0. */
gsize acr_utf8_mark_len(const void *data, gsize len);
/* Returns a copy in which each invalid byte, and each NUL, is replaced by U+FFFD; owned
 * (g_free). */
char *acr_utf8_repair(const void *data, gsize len) ACR_MUST_USE;
char *acr_utf8_repair_bytes(GBytes *bytes) ACR_MUST_USE; /* like acr_utf8_repair */
/* Returns the bytes up to the first NUL as a C string; "" for NULL; owned (g_free). */
char *acr_bytes_text(GBytes *bytes) ACR_MUST_USE;
/* Returns the last line of a process's output, repaired to valid UTF-8; "" if the output is empty;
 * owned (g_free). */
char *acr_bytes_last_line(GBytes *bytes) ACR_MUST_USE;

/* The text of a source file as Python decodes it: without its BOM, and decoded by its PEP 263
 * cookie, else as UTF-8, else as latin-1. Latin-1 decodes any bytes, so every file has a text. Line
 * endings are kept. */
typedef struct {
    char *text;     /* owned; UTF-8, NUL-terminated */
    gsize len;      /* number of bytes of `text` */
    char *encoding; /* owned; canonical lower-case name, e.g. "utf-8", "latin-1", "cp1252" */
    bool bom;       /* the file began with the UTF-8 byte order mark */
    bool exact;     /* acr_text_encode of `text` returns exactly the bytes of the file */
    bool binary;    /* the file contains a NUL byte; `text` is repaired, and only for display */
} AcrText;

void acr_text_decode(const void *data, gsize len, AcrText *out);
/* Whether the file's bytes equal its text: valid UTF-8 without BOM or NUL, and no cookie that names
 * another encoding. */
bool acr_text_is_plain(const void *data, gsize len);
void acr_text_clear(AcrText *text);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrText, acr_text_clear)
/* Encodes UTF-8 `text` in the encoding of `like`, with its BOM; owned (g_bytes_unref). Errors:
 * FAILED (the encoding lacks a character). */
GBytes *acr_text_encode(const AcrText *like, const char *text, gsize len,
                        GError **error) ACR_MUST_USE;

/* Returns the byte offsets at which the lines of `text` begin. LF, CRLF and CR end a line; a form
 * feed does not (as in Python's ast). Element 0 is 0; no empty line is counted after a final line
 * end. Owned (g_array_unref) array of gsize with an extra last element, `len`: line N (1-based) is
 * [starts[N-1], starts[N]), including its line end. */
GArray *acr_text_lines(const char *text, gsize len) ACR_MUST_USE;

/* Whether a byte may be part of a Python name. All bytes of characters beyond ASCII may be. */
static inline bool acr_is_word(char c)
{
    return g_ascii_isalnum(c) || c == '_' || (guchar)c >= 0x80;
}
/* Makes `text` safe to print on a terminal: control characters (C0, DEL, C1) except line feed
 * and tab, and characters that change the direction of text, become "\u" and four digits, as in
 * JSON. Invalid UTF-8 becomes U+FFFD. Owned (g_free). */
char *acr_text_visible(const char *text) ACR_MUST_USE;
/* Shortens a `text` of more than `max` bytes: replaces its middle by a note that says how many
 * bytes are missing. Cuts between characters; owned (g_free). */
char *acr_text_shorten(const char *text, gsize max) ACR_MUST_USE;
/* Removes the thoughts that a model wrote before its answer or between parts of the answer:
 * <think>…</think> and similar tags (even without the opening tag), special tokens, channels.
 * Returns the answer, owned (g_free): the whole text if it has no thoughts, "" if it has nothing
 * else.
 *   out_thoughts  owned (g_free); the thoughts without their marks, separated by empty lines; NULL
 *                 if there are none
 * In code fences and between the marks of an edit, such tags are code and stay. Takes linear
 * time. */
char *acr_thoughts_split(const char *text, char **out_thoughts) ACR_MUST_USE;
/* Returns `text` as a JSON string for messages, shortened to `max` bytes by acr_text_shorten; owned
 * (g_free). */
char *acr_text_quote(const char *text, gsize max) ACR_MUST_USE;

/* ---- Names (names.c) ---- */

#define ACR_NAME_MAX 200u  /* maximum number of bytes of a name that are compared */
#define ACR_NAME_FAR 1000u /* the distance of unrelated names */
/* Returns the number of edits between two lower-case names of at most ACR_NAME_MAX bytes;
 * ACR_NAME_FAR if it exceeds `max`. A swap of neighbouring letters counts as `swap` edits; 2 gives
 * the Levenshtein distance. */
guint acr_edit_distance(const char *a, gsize n, const char *b, gsize m, guint swap, guint max);
/* Returns that one of the NULL-terminated `names` which a user may have meant by `word`: a name
 * that begins with `word`, or that differs from `word` in a few letters; names with the same
 * letters are preferred. Borrowed from `names`; NULL if there is none. */
const char *acr_nearest_name(const char *word, const char *const *names);
int acr_compare_names(const void *a, const void *b); /* sorts an array of strings by their bytes */

/* ---- Files ---- */

/* Opens a regular file for reading. `name` is relative to the open `folder`, or any path if
 * `folder` is AT_FDCWD. With `follow`, `name` may be a symbolic link. Never blocks, neither on a
 * FIFO without a writer nor on a device. Returns -1 and sets errno on failure; EISDIR and EINVAL
 * mean that the file is not regular. Every file that a repository or a run folder names is opened
 * by this function. */
int acr_file_open(int folder, const char *name, bool follow) ACR_MUST_USE;
/* Reads a regular file of at most `max` bytes, or the pipe "/dev/fd/N" that a shell passes for
 * "<(…)"; owned. Errors: NOT_FOUND, TOO_BIG, FAILED (a folder, no permission). */
GBytes *acr_file_read(const char *path, gsize max, GError **error) ACR_MUST_USE;
/* Reads an open file from its current position to its end; has the limits and errors of
 * acr_file_read. */
GBytes *acr_fd_read_file(int fd, const char *path, gsize max, GError **error) ACR_MUST_USE;
/* Writes a file: writes a temporary file in the same folder, fsyncs it, renames it, and fsyncs the
 * folder. After a crash, either the complete old file or the complete new file exists. `mode` is as
 * for chmod; 0 means 0644. Errors: NOT_FOUND (no such folder), NO_SPACE, FAILED. */
bool acr_file_write_atomic(const char *path, const void *data, gsize len, mode_t mode,
                           GError **error) ACR_MUST_USE;
/* Writes the file `name` in an open folder like acr_file_write_atomic. Error messages call the file
 * `path`. A symbolic link called `name` is replaced. */
bool acr_file_write_atomic_at(int folder, const char *name, const char *path, const void *data,
                              gsize len, mode_t mode, GError **error) ACR_MUST_USE;
/* Writes a file like acr_file_write_atomic_at, but without fsync: after a crash the file may be
 * empty, so nothing may depend on it. */
bool acr_file_replace_at(int folder, const char *name, const char *path, const void *data,
                         gsize len, mode_t mode, GError **error) ACR_MUST_USE;
/* Opens the folder that holds `name` (a relative path of any depth) below an open folder, never
 * through a symbolic link. Returns -1 and sets errno on failure; ELOOP means that a part of the
 * path is not a folder. With `make`, creates missing folders, accessible only to their owner. */
int acr_dir_open_beneath(int folder, const char *name, bool make) ACR_MUST_USE;
/* Reads a descriptor to its end, at most `max` bytes; owned. A `timeout_ms` of 0 means no timeout.
 * An interrupt (may be NULL) is noticed within a tenth of a second. Errors (messages name the
 * descriptor `name`): TOO_BIG, FAILED (also on a timeout or an interrupt). */
GBytes *acr_fd_read_all(int fd, const char *name, gsize max, gint64 timeout_ms,
                        const AcrInterrupt *interrupt, GError **error) ACR_MUST_USE;
/* Closes `*fd` unless it is -1, and sets it to -1. Keeps errno. */
void acr_fd_close(int *fd);

#define ACR_AUTO_FD __attribute__((cleanup(acr_fd_close))) int

/* Writes all of `data`, by repeated writes if the kernel accepts only a part. Returns 0 or an
 * errno. */
int acr_fd_write_all(int fd, const void *data, gsize len) ACR_MUST_USE;
/* Returns a path with symbolic links resolved if the path exists, otherwise made absolute, so that
 * every spelling of the path gives the same result; owned (g_free). */
char *acr_path_real(const char *path) ACR_MUST_USE;
/* Whether a path is `folder` or lies inside `folder`; compares only the strings. False if `folder`
 * is NULL. */
bool acr_path_is_below(const char *path, const char *folder);
/* Whether a file name is the name of a temporary file of acr_file_write_atomic. Such a file remains
 * if the process is killed. */
bool acr_file_is_temporary(const char *name);
/* Creates a folder and its missing parents. Errors: NO_SPACE, FAILED (messages name the path). */
bool acr_dir_make(const char *path, GError **error) ACR_MUST_USE;
/* Whether the open folder or file is a mount point; false if the system does not say. */
bool acr_fd_is_mount(int fd);
/* Removes a folder with everything in it; use it only for folders that this program created. Never
 * follows symbolic links; fails if something is mounted in the tree. Succeeds if the folder does
 * not exist. */
bool acr_dir_remove(const char *path, GError **error) ACR_MUST_USE;
/* Fsyncs a folder, so that files created in it survive a crash. */
bool acr_dir_sync(const char *path, GError **error) ACR_MUST_USE;

/* An exclusive lock on a file (created if missing), held until the lock is freed or the process
 * ends. */
typedef struct AcrLock AcrLock;
AcrLock *acr_lock_take(const char *path, GError **error)
    ACR_MUST_USE; /* owned; errors: BUSY (names the pid of the process that has the lock), FAILED */
void acr_lock_free(AcrLock *lock);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrLock, acr_lock_free)

/* Returns the SHA-256 as lower-case hexadecimal text; owned (g_free). */
char *acr_sha256_hex(const void *data, gsize len) ACR_MUST_USE;
char *acr_sha256_bytes(GBytes *bytes) ACR_MUST_USE; /* like acr_sha256_hex */

/* Makes a secret that nobody can guess: 40 hexadecimal digits made of 160 random bits; owned
 * (g_free). */
char *acr_token_new(void) ACR_MUST_USE;
/* Compares `given` (may be NULL) with the token, in constant time, so that the time does not
 * reveal how many characters match. */
bool acr_token_equal(const char *token, const char *given);

/* Forbids core dumps of this process and of all processes that it starts. Errors: FAILED. */
bool acr_forbid_cores(GError **error) ACR_MUST_USE;

/* ---- Owners of files and folders ---- */

/* Identifies a process by the machine's boot, its process id and its start time. Another process
 * that later gets the same id, even after a reboot, is therefore not mistaken for the owner. */
typedef struct {
    gint64 pid, start; /* process id; start time in clock ticks since boot, 0 if unknown */
    char boot[40];     /* the boot's id; "" if unknown */
} AcrOwner;
void acr_owner_self(AcrOwner *out);
/* Whether the process still runs; true if the system does not say. `self` comes from
 * acr_owner_self. */
bool acr_owner_is_alive(const AcrOwner *owner, const AcrOwner *self);

/* ---- Child processes ---- */

/* Looks up a program name without a slash in the absolute folders of PATH, and returns the first
 * match. Relative folders are skipped, because the current folder may be a stranger's
 * repository. Owned (g_free); NULL: not found. */
char *acr_program_find(const char *name) ACR_MUST_USE;

/* The first and the last bytes of a stream that may be long. */
typedef struct {
    /* while the stream is read, `tail` holds up to twice as many bytes as are kept */
    GByteArray *head, *tail;
    gsize head_limit, tail_limit;
    guint64 total; /* number of bytes added so far */
} AcrEnds;
/* Prepares `ends`. `limit` is the number of bytes to keep. With `keep_tail`, half of the kept bytes
 * come from the end of the stream; otherwise all come from its beginning. */
void acr_ends_init(AcrEnds *ends, gsize limit, bool keep_tail);
void acr_ends_add(AcrEnds *ends, const void *data, gsize len);
/* Returns the kept bytes, owned (g_bytes_unref). Clears `ends`, except for `total`. */
GBytes *acr_ends_finish(AcrEnds *ends) ACR_MUST_USE;

#define ACR_SPAWN_MAX_FDS 8u

/* A command to run. Zero-initialise; only argv is required. All members are borrowed for the
 * call. */
typedef struct {
    const char *const
        *argv; /* NULL-terminated; argv[0] without a slash is looked up by acr_program_find */
    /* environment of the child, "NAME=VALUE", NULL-terminated; NULL: that of this process */
    const char *const *envp;
    const char *cwd;   /* working folder of the child; NULL: that of this process */
    const void *input; /* bytes for standard input; NULL: /dev/null */
    gsize input_len;
    /* the child inherits this process's standard input instead of reading `input` */
    bool inherit_input;
    gint64 timeout_ms; /* timeout after which the whole process group is killed; 0: none */
    /* maximum number of bytes kept of each stream; the rest is read and dropped; 0: 16 MiB */
    gsize output_limit;
    /* time between SIGTERM and SIGKILL if the command is stopped early; 0: only SIGKILL is sent */
    gint64 soft_ms;
    /* if a stream exceeds `output_limit`, keep half of the bytes from its end */
    bool keep_ends;
    /* the command is killed if one stream has more bytes than flood_limit; 0: no limit */
    guint64 flood_limit;
    /* additional descriptors for the child, which gets them as 3, 4, …; at most
     * ACR_SPAWN_MAX_FDS */
    const int *fds;
    gsize n_fds;
    /* Receives each piece of output as it arrives, including pieces that are not kept. May be
     * NULL. */
    void (*on_output)(void *ctx, bool is_stderr, const char *data, gsize len);
    /* Receives the command's process id about twenty times a second; returns false to kill the
     * command. May be NULL. */
    bool (*watch)(void *ctx, pid_t pid);
    void *ctx; /* argument of both callbacks */
    const AcrInterrupt *interrupt;
} AcrSpawn;

typedef struct {
    int exit_code; /* exit code 0-255, or -1 if a signal ended the command */
    int signal;    /* the signal that ended the command, or 0 */
    bool timed_out;
    bool interrupted;
    bool flooded;                 /* flood_limit was exceeded */
    bool unwatched;               /* `watch` returned false */
    GBytes *out, *err;            /* owned; at most output_limit bytes */
    guint64 out_total, err_total; /* numbers of bytes written, including dropped bytes */
    gint64 wall_ms;
} AcrSpawnResult;

/* Runs a command by posix_spawn in a process group of its own and waits until the command ends.
 * Returns true if the command was started, whatever its exit code. Errors: NOT_FOUND (no such
 * program), FAILED. Thread-safe. */
bool acr_spawn_run(const AcrSpawn *spawn, AcrSpawnResult *out, GError **error) ACR_MUST_USE;
void acr_spawn_result_clear(AcrSpawnResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrSpawnResult, acr_spawn_result_clear)

/* ---- Shared libraries (library.c) ---- */

typedef struct {
    const char *name;
    gsize at; /* offset of the function's pointer in the table */
} AcrLibraryFunction;

/* A shared library that is loaded at run time. `package` is the Debian package to install,
 * `scope` RTLD_LOCAL or RTLD_GLOBAL. `domain` and `code` are used for errors. */
typedef struct {
    const char *file, *package;
    const AcrLibraryFunction *functions;
    gsize n;
    int scope;
    GQuark domain;
    int code;
} AcrLibrary;

/* Loads the library unless it is already loaded, and fills a table with its functions. The
 * library stays loaded until the process ends. */
bool acr_library_load(const AcrLibrary *library, void *table, GError **error) ACR_MUST_USE;
