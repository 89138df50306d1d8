/* Prints JSON values: on one line for journals, indented for people. Uses only the public
 * interface. Integers up to 2^53 are printed digit by digit, other numbers as the shortest text
 * that parses to the same double. */
#include "base/base_private.h"

#include <math.h>
#include <string.h>

#define EXACT_INT_MAX 9007199254740992.0 /* 2^53; larger integers are not exact */
#define INDENT 2

static void print_value(GString *out, const AcrJson *json, int indent);

/* Prints an integer. Faster than printf, which matters for answers with thousands of line
 * numbers. */
static void print_integer(GString *out, gint64 value)
{
    char digits[20], *at = digits + sizeof digits;
    for (gint64 left = ABS(value); at == digits + sizeof digits || left; left /= 10)
        *--at = (char)('0' + left % 10);
    if (value < 0)
        *--at = '-';
    g_string_append_len(out, at, digits + sizeof digits - at);
}

static void print_number(GString *out, double value)
{
    if (!isfinite(value)) {
        g_string_append(out, "null");
        return;
    }
    if (fabs(value) <= EXACT_INT_MAX && value == (double)(gint64)value) {
        print_integer(out, (gint64)value);
        return;
    }
    static const char *const formats[] = {"%.15g", "%.16g", "%.17g"};
    char buffer[G_ASCII_DTOSTR_BUF_SIZE];
    for (gsize i = 0; i < G_N_ELEMENTS(formats); i++) {
        g_ascii_formatd(buffer, sizeof buffer, formats[i], value);
        if (g_ascii_strtod(buffer, NULL) == value)
            break;
    }
    g_string_append(out, buffer);
}

static void print_escape(GString *out, char c)
{
    static const char marks[] = "\"\\\n\r\t", letters[] = "\"\\nrt";
    const char *known = strchr(marks, c);
    if (known)
        g_string_append_printf(out, "\\%c", letters[known - marks]);
    else
        g_string_append_printf(out, "\\u%04x", (guint)c);
}

static void print_string(GString *out, const char *text)
{
    g_string_append_c(out, '"');
    const char *from = text;
    for (const char *p = text; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
            continue;
        g_string_append_len(out, from, p - from);
        print_escape(out, *p);
        from = p + 1;
    }
    g_string_append(out, from);
    g_string_append_c(out, '"');
}

/* Starts a new line at `indent` columns. Does nothing if `indent` is negative, because the value is
 * then printed on one line. */
static void print_break(GString *out, int indent)
{
    if (indent >= 0)
        g_string_append_printf(out, "\n%*s", indent, "");
}

static void print_container(GString *out, const AcrJson *json, int indent)
{
    bool object = acr_json_type(json) == ACR_JSON_OBJECT;
    const AcrJson *child = acr_json_first(json);
    int inner = indent < 0 ? indent : indent + INDENT;
    g_string_append_c(out, object ? '{' : '[');
    for (const AcrJson *c = child; c; c = acr_json_next(c)) {
        if (c != child)
            g_string_append_c(out, ',');
        print_break(out, inner);
        if (object) {
            print_string(out, acr_json_key(c));
            g_string_append(out, indent < 0 ? ":" : ": ");
        }
        print_value(out, c, inner);
    }
    if (child)
        print_break(out, indent);
    g_string_append_c(out, object ? '}' : ']');
}

static void print_value(GString *out, const AcrJson *json, int indent)
{
    switch (acr_json_type(json)) {
    case ACR_JSON_NULL:
        g_string_append(out, "null");
        break;
    case ACR_JSON_BOOL:
        g_string_append(out, acr_json_bool(json) ? "true" : "false");
        break;
    case ACR_JSON_NUMBER:
        print_number(out, acr_json_double(json));
        break;
    case ACR_JSON_STRING:
        print_string(out, acr_json_string(json));
        break;
    case ACR_JSON_ARRAY:
    case ACR_JSON_OBJECT:
        print_container(out, json, indent);
        break;
    }
}

char *acr_json_print(const AcrJson *json)
{
    GString *out = g_string_new(NULL);
    print_value(out, json, -1);
    return g_string_free(out, FALSE);
}

char *acr_json_print_pretty(const AcrJson *json)
{
    GString *out = g_string_new(NULL);
    print_value(out, json, 0);
    g_string_append_c(out, '\n');
    return g_string_free(out, FALSE);
}

char *acr_text_quote(const char *text, gsize max)
{
    g_autofree char *shown = acr_text_shorten(text, max);
    g_autoptr(AcrJson) string = acr_json_new_string(shown);
    return acr_json_print(string);
}
