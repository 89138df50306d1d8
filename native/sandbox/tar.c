/* Writes and reads tar archives: POSIX ustar blocks, with a pax header before a file whose path is
 * not ASCII or too long for the fixed field. All files get the current time. With a fixed time,
 * Python could use compiled code in the image that belongs to another version of the file with the
 * same size. */
#include "sandbox/sandbox_private.h"

#include <string.h>

#define BLOCK 512u
#define NAME_BYTES 100u

/* A ustar header. */
typedef struct {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
    char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
} Header;
G_STATIC_ASSERT(sizeof(Header) == BLOCK);

static void pad(GByteArray *out)
{
    static const guint8 zeros[BLOCK];
    guint over = out->len % BLOCK;
    if (over)
        g_byte_array_append(out, zeros, BLOCK - over);
}

static void append_tar_header(GByteArray *out, const char *name, char type, guint mode, gsize size)
{
    Header header = {0};
    guint sum = 0;
    /* A path that fills the field needs no NUL. A longer path is in a pax header. */
    memcpy(header.name, name, MIN(strlen(name), sizeof header.name));
    (void)g_snprintf(header.mode, sizeof header.mode, "%07o", mode);
    (void)g_snprintf(header.uid, sizeof header.uid, "%07o", 0u);
    (void)g_snprintf(header.gid, sizeof header.gid, "%07o", 0u);
    (void)g_snprintf(header.size, sizeof header.size, "%011" G_GINT64_MODIFIER "o", (guint64)size);
    (void)g_snprintf(header.mtime, sizeof header.mtime, "%011" G_GINT64_MODIFIER "o",
                     (guint64)(g_get_real_time() / G_USEC_PER_SEC));
    memcpy(header.magic, "ustar", 6);
    memcpy(header.version, "00", 2);
    header.type = type;
    memset(header.checksum, ' ', sizeof header.checksum);
    for (gsize i = 0; i < sizeof header; i++)
        sum += ((const guint8 *)&header)[i];
    (void)g_snprintf(header.checksum, sizeof header.checksum, "%06o", sum);
    g_byte_array_append(out, (const guint8 *)&header, sizeof header);
}

/* Appends "LEN path=PATH\n", where LEN includes its own digits. */
static void append_path(GString *out, const char *path)
{
    gsize rest = strlen(path) + strlen(" path=\n"), total = rest;
    for (;;) {
        g_autofree char *digits = g_strdup_printf("%" G_GSIZE_FORMAT, total);
        if (rest + strlen(digits) == total)
            break;
        total = rest + strlen(digits);
    }
    g_string_append_printf(out, "%" G_GSIZE_FORMAT " path=%s\n", total, path);
}

static void append_file(GByteArray *out, const AcrHelperFile *file)
{
    gsize len = 0;
    const char *data = g_bytes_get_data(file->content, &len);
    g_autoptr(GString) extra = g_string_new(NULL);
    if (strlen(file->path) >= NAME_BYTES || !g_str_is_ascii(file->path))
        append_path(extra, file->path);
    if (extra->len) {
        append_tar_header(out, "pax", 'x', 0644, extra->len);
        g_byte_array_append(out, (const guint8 *)extra->str, (guint)extra->len);
        pad(out);
    }
    append_tar_header(out, file->path, '0', file->mode == ACR_MODE_EXEC ? 0755 : 0644, len);
    if (len)
        g_byte_array_append(out, (const guint8 *)data, (guint)len);
    pad(out);
}

GBytes *acr_tar_write(const GPtrArray *files)
{
    static const guint8 end[2 * BLOCK];
    GByteArray *out = g_byte_array_new();
    for (guint i = 0; i < files->len; i++) {
        const AcrHelperFile *file = files->pdata[i];
        if (file->content)
            append_file(out, file);
    }
    g_byte_array_append(out, end, sizeof end);
    return g_byte_array_free_to_bytes(out);
}

bool acr_tar_holds(GBytes *archive, GBytes *content)
{
    gsize len, n;
    const guint8 *data = g_bytes_get_data(archive, &len), *wanted = g_bytes_get_data(content, &n);
    for (gsize at = 0; len - at >= BLOCK;) {
        const Header *header = (const Header *)(data + at);
        g_autofree char *digits = g_strndup(header->size, sizeof header->size);
        guint64 size = g_ascii_strtoull(digits, NULL, 8);
        gsize left = len - at - BLOCK;
        if (!header->name[0] || size > left)
            return false;
        if (header->type == '0' || header->type == '\0')
            return size == n && (n == 0 || memcmp(data + at + BLOCK, wanted, n) == 0);
        if (header->type != 'x' && header->type != 'g')
            return false;
        at += BLOCK + MIN((size + BLOCK - 1) / BLOCK * BLOCK, left);
    }
    return false;
}
