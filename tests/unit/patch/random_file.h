/* Random source files for the property tests, with blocks, an encoding, and line endings. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* An encoding with its cookie; `words` are words outside ASCII. */
typedef struct {
    const char *cookie, *iconv; /* cookie NULL: UTF-8 without a cookie */
    bool bom;
    const char *words[4];
} Encoding;

#define N_ENCODINGS 11u
#define N_LINE_ENDS 4u /* LF, CRLF, CR, mixed */

typedef struct {
    GPtrArray *lines; /* owned strings without line ends, UTF-8 */
    GPtrArray *ends;  /* borrowed */
    const Encoding *encoding;
    guint line_end; /* an index below N_LINE_ENDS */
    bool tabs;
} RandomFile;

/* Makes a file of 8 to 60 lines, few of which are equal. */
void random_file_init(RandomFile *file, GRand *rand);
void random_file_clear(RandomFile *file);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RandomFile, random_file_clear)
/* The bytes of lines [from, to); owned. */
GBytes *random_file_bytes(const RandomFile *file, guint from, guint to);
/* Decodes bytes to UTF-8 text without outer line ends; owned, NULL if they are not in the file's
 * encoding. */
char *random_file_text(const RandomFile *file, const void *data, gsize len);

static inline const char *line_at(const RandomFile *file, guint i)
{
    return file->lines->pdata[i];
}

static inline bool is_blank_line(const char *line)
{
    while (*line == ' ' || *line == '\t')
        line++;
    return *line == '\0';
}
