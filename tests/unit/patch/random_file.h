/* Random source files for the property tests: block structure, an encoding, kinds of line ending.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* An encoding by its cookie; `words`: what it has beside ASCII. */
typedef struct {
    const char *cookie, *iconv; /* cookie NULL: UTF-8 that needs none */
    bool bom;
    const char *words[4];
} Encoding;

#define N_ENCODINGS 11u
#define N_LINE_ENDS 4u /* LF, CRLF, CR, mixed */

typedef struct {
    GPtrArray *lines; /* owned strings without line ends, UTF-8 */
    GPtrArray *ends;  /* borrowed */
    const Encoding *encoding;
    guint line_end; /* which of N_LINE_ENDS */
    bool tabs;
} RandomFile;

/* A file of 8 to 60 lines; few of its lines are equal. */
void random_file_init(RandomFile *file, GRand *rand);
void random_file_clear(RandomFile *file);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RandomFile, random_file_clear)
/* The bytes of lines [from, to); owned. */
GBytes *random_file_bytes(const RandomFile *file, guint from, guint to);
/* Bytes as UTF-8 text without outer line ends; owned, NULL: they are not of that encoding. */
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
