/* Implements JSON values. An AcrJson is a cJSON node, which only this file knows. json_check.c
 * first checks every text from outside. json_print.c prints, because cJSON's printer rounds
 * integers above 2^50. This file adds to cJSON: strings that are always valid UTF-8, unique names
 * within an object, and a comparison that is not quadratic. */
#include "base/base_private.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#define BASE64_KEY "base64"

static cJSON *node_of(AcrJson *json)
{
    return (cJSON *)json;
}

static const cJSON *const_node_of(const AcrJson *json)
{
    return (const cJSON *)json;
}

static AcrJson *made(cJSON *node)
{
    if (!node)
        g_error("out of memory for a JSON value");
    return (AcrJson *)node;
}

static bool is_object(const AcrJson *json)
{
    return cJSON_IsObject(const_node_of(json));
}

/* ---- Members in the order of their names ---- */

static int by_name(gconstpointer a, gconstpointer b)
{
    const cJSON *const *left = a, *const *right = b;
    return strcmp((*left)->string, (*right)->string);
}

/* Returns the members whose name is not `ignore`, sorted by name; owned (g_ptr_array_unref). The
 * sort is stable. */
static GPtrArray *members_by_name(const cJSON *object, const char *ignore)
{
    GPtrArray *members = g_ptr_array_new();
    for (const cJSON *c = object->child; c; c = c->next)
        if (!ignore || strcmp(c->string, ignore) != 0)
            g_ptr_array_add(members, (gpointer)c);
    g_ptr_array_sort(members, by_name);
    return members;
}

/* Keeps only the last of several members with the same name, as most JSON readers do, at all depths
 * below `node`. */
static void drop_repeated(cJSON *node)
{
    g_autoptr(GPtrArray) members =
        cJSON_IsObject(node) ? members_by_name(node, NULL) : g_ptr_array_new();
    for (guint i = 0; i + 1 < members->len; i++) {
        cJSON *c = members->pdata[i], *later = members->pdata[i + 1];
        if (strcmp(c->string, later->string) == 0)
            cJSON_Delete(cJSON_DetachItemViaPointer(node, c));
    }
    for (cJSON *c = node->child; c; c = c->next)
        if (c->child)
            drop_repeated(c);
}

/* ---- Reading and freeing ---- */

/* Parses one value, after which only white space may follow; returns NULL with an error on
 * failure. */
static cJSON *read_value(const char *text, gsize len, GError **error)
{
    const char *end = text;
    cJSON *node = len ? cJSON_ParseWithLengthOpts(text, len, &end, false) : NULL;
    while (end && end < text + len && strchr(" \t\r\n", *end))
        end++;
    if (node && end == text + len)
        return node;
    g_set_error(error, ACR_BASE_ERROR, ACR_BASE_ERROR_MALFORMED,
                "malformed JSON at byte %" G_GSIZE_FORMAT ": %s", (gsize)(end - text),
                node               ? "unexpected text after the value"
                : end < text + len ? "unexpected character"
                                   : "the text ends in the middle of a value");
    cJSON_Delete(node);
    return NULL;
}

AcrJson *acr_json_parse(const char *text, gsize len, GError **error)
{
    if (len > ACR_JSON_MAX_BYTES)
        return ACR_NULL(acr_set_error(error, ACR_BASE_ERROR, ACR_BASE_ERROR_TOO_BIG,
                                      "the JSON text has %" G_GSIZE_FORMAT " bytes, more than %u",
                                      len, ACR_JSON_MAX_BYTES));
    GString *repaired = NULL;
    text = len ? text : ""; /* an empty GBytes has NULL as its data */
    if (!acr_json_check(text, len, &repaired, error))
        return NULL;
    cJSON *node =
        repaired ? read_value(repaired->str, repaired->len, error) : read_value(text, len, error);
    if (repaired)
        g_string_free(repaired, TRUE);
    if (node)
        drop_repeated(node);
    return (AcrJson *)node;
}

AcrJson *acr_json_parse_bytes(GBytes *bytes, GError **error)
{
    gsize len = 0;
    const char *text = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    return bytes ? acr_json_parse(text, len, error) : NULL;
}

bool acr_json_lines(const char *text, gsize len, const char *name,
                    bool (*take)(void *ctx, const AcrJson *line, guint number, GError **error),
                    void *ctx, GError **error)
{
    guint number = 1;
    for (const char *at = text, *end = len ? text + len : text; at < end; number++) {
        const char *stop = memchr(at, '\n', (gsize)(end - at));
        gsize size = (gsize)((stop ? stop : end) - at);
        bool is_blank = strspn(at, " \t\r") >= size;
        g_autoptr(AcrJson) line = is_blank ? NULL : acr_json_parse(at, size, error);
        if (!is_blank && !line)
            g_prefix_error(error, "line %u of '%s': ", number, name);
        if (!is_blank && (!line || !take(ctx, line, number, error)))
            return false;
        at += size + 1;
    }
    return true;
}

void acr_json_free(AcrJson *json)
{
    cJSON_Delete(node_of(json));
}

AcrJson *acr_json_copy(const AcrJson *json)
{
    return json ? made(cJSON_Duplicate(const_node_of(json), true)) : acr_json_new_null();
}

/* ---- Making ---- */

AcrJson *acr_json_new_object(void)
{
    return made(cJSON_CreateObject());
}

AcrJson *acr_json_new_array(void)
{
    return made(cJSON_CreateArray());
}

AcrJson *acr_json_new_null(void)
{
    return made(cJSON_CreateNull());
}

AcrJson *acr_json_new_bool(bool value)
{
    return made(cJSON_CreateBool(value));
}

AcrJson *acr_json_new_int(gint64 value)
{
    return made(cJSON_CreateNumber((double)value));
}

AcrJson *acr_json_new_double(double value)
{
    return isfinite(value) ? made(cJSON_CreateNumber(value)) : acr_json_new_null();
}

AcrJson *acr_json_new_string(const char *text)
{
    if (!text)
        return acr_json_new_null();
    if (!g_utf8_validate(text, -1, NULL))
        return acr_json_new_bytes(text, strlen(text));
    return made(cJSON_CreateString(text));
}

AcrJson *acr_json_new_bytes(const void *data, gsize len)
{
    if (acr_utf8_is_text(data, len)) {
        g_autofree char *text = g_strndup(len ? data : "", len);
        return made(cJSON_CreateString(text));
    }
    g_autofree char *base64 = g_base64_encode(data, len);
    AcrJson *object = acr_json_new_object();
    acr_json_set(object, BASE64_KEY, made(cJSON_CreateString(base64)));
    return object;
}

AcrJson *acr_json_new_gbytes(GBytes *bytes)
{
    gsize len;
    const void *data = g_bytes_get_data(bytes, &len);
    return acr_json_new_bytes(data ? data : "", len);
}

AcrJson *acr_json_new_strings(const char *const *texts)
{
    AcrJson *array = acr_json_new_array();
    for (; texts && *texts; texts++)
        acr_json_append(array, acr_json_new_string(*texts));
    return array;
}

AcrJson *acr_json_new_texts(const GPtrArray *texts)
{
    AcrJson *array = acr_json_new_array();
    for (guint i = 0; texts && i < texts->len; i++)
        acr_json_append(array, acr_json_new_string(texts->pdata[i]));
    return array;
}

AcrJson *acr_json_or_null(AcrJson *value)
{
    return value ? value : acr_json_new_null();
}

void acr_json_set(AcrJson *object, const char *key, AcrJson *value)
{
    g_assert(is_object(object) && key);
    g_autofree char *repaired = NULL;
    if (!g_utf8_validate(key, -1, NULL))
        key = repaired = acr_utf8_repair(key, strlen(key));
    value = acr_json_or_null(value);
    cJSON *old = cJSON_GetObjectItemCaseSensitive(node_of(object), key);
    bool done = old ? cJSON_ReplaceItemInObjectCaseSensitive(node_of(object), key, node_of(value))
                    : cJSON_AddItemToObject(node_of(object), key, node_of(value));
    if (!done)
        g_error("out of memory for a JSON member");
}

void acr_json_set_string(AcrJson *object, const char *key, const char *text)
{
    acr_json_set(object, key, acr_json_new_string(text));
}

void acr_json_set_int(AcrJson *object, const char *key, gint64 value)
{
    acr_json_set(object, key, acr_json_new_int(value));
}

void acr_json_set_bool(AcrJson *object, const char *key, bool value)
{
    acr_json_set(object, key, acr_json_new_bool(value));
}

void acr_json_append(AcrJson *array, AcrJson *value)
{
    g_assert(cJSON_IsArray(node_of(array)));
    cJSON_AddItemToArray(node_of(array), node_of(acr_json_or_null(value)));
}

/* ---- Reading members and values ---- */

AcrJsonType acr_json_type(const AcrJson *json)
{
    const cJSON *node = const_node_of(json);
    if (cJSON_IsBool(node))
        return ACR_JSON_BOOL;
    if (cJSON_IsNumber(node))
        return ACR_JSON_NUMBER;
    if (cJSON_IsString(node))
        return ACR_JSON_STRING;
    if (cJSON_IsArray(node))
        return ACR_JSON_ARRAY;
    return cJSON_IsObject(node) ? ACR_JSON_OBJECT : ACR_JSON_NULL;
}

const AcrJson *acr_json_get(const AcrJson *object, const char *key)
{
    if (!is_object(object))
        return NULL;
    return (const AcrJson *)cJSON_GetObjectItemCaseSensitive(const_node_of(object), key);
}

const char *acr_json_get_string(const AcrJson *object, const char *key)
{
    return acr_json_string(acr_json_get(object, key));
}

GBytes *acr_json_bytes(const AcrJson *json)
{
    const char *text = acr_json_string(json);
    if (text)
        return g_bytes_new(text, strlen(text));
    const char *base64 = acr_json_get_string(json, BASE64_KEY);
    if (!base64)
        return NULL;
    gsize len = 0;
    g_autofree guchar *data = g_base64_decode(base64, &len);
    g_autofree char *again = g_base64_encode(data, len);
    if (strcmp(base64, again) !=
        0) /* GLib's decoder skips invalid characters, so encode the result again and compare */
        return NULL;
    return g_bytes_new_take(g_steal_pointer(&data), len);
}

GBytes *acr_json_get_bytes(const AcrJson *object, const char *key)
{
    return acr_json_bytes(acr_json_get(object, key));
}

gint64 acr_json_get_int(const AcrJson *object, const char *key, gint64 otherwise)
{
    return acr_json_int(acr_json_get(object, key), otherwise);
}

double acr_json_get_double(const AcrJson *object, const char *key, double otherwise)
{
    const cJSON *member = const_node_of(acr_json_get(object, key));
    return cJSON_IsNumber(member) ? member->valuedouble : otherwise;
}

bool acr_json_get_bool(const AcrJson *object, const char *key, bool otherwise)
{
    const cJSON *member = const_node_of(acr_json_get(object, key));
    return cJSON_IsBool(member) ? cJSON_IsTrue(member) : otherwise;
}

const char *acr_json_string(const AcrJson *json)
{
    return cJSON_IsString(const_node_of(json)) ? const_node_of(json)->valuestring : NULL;
}

char **acr_json_strings(const AcrJson *array)
{
    GPtrArray *strings = g_ptr_array_new();
    for (const AcrJson *at = acr_json_first(array); at; at = acr_json_next(at))
        if (acr_json_string(at))
            g_ptr_array_add(strings, g_strdup(acr_json_string(at)));
    g_ptr_array_add(strings, NULL);
    return (char **)g_ptr_array_free(strings, FALSE);
}

double acr_json_double(const AcrJson *json)
{
    return cJSON_IsNumber(const_node_of(json)) ? const_node_of(json)->valuedouble : 0;
}

bool acr_json_bool(const AcrJson *json)
{
    return cJSON_IsTrue(const_node_of(json));
}

gint64 acr_json_int(const AcrJson *json, gint64 otherwise)
{
    if (acr_json_type(json) != ACR_JSON_NUMBER)
        return otherwise;
    double value = const_node_of(json)->valuedouble;
    bool fits = value >= -9223372036854775808.0 && value < 9223372036854775808.0;
    return fits && value == (double)(gint64)value ? (gint64)value : otherwise;
}

gsize acr_json_size(const AcrJson *json)
{
    gsize n = 0;
    for (const AcrJson *c = acr_json_first(json); c; c = acr_json_next(c))
        n++;
    return n;
}

const AcrJson *acr_json_first(const AcrJson *json)
{
    return json ? (const AcrJson *)const_node_of(json)->child : NULL;
}

const AcrJson *acr_json_next(const AcrJson *child)
{
    return child ? (const AcrJson *)const_node_of(child)->next : NULL;
}

const char *acr_json_key(const AcrJson *member)
{
    return member ? const_node_of(member)->string : NULL;
}

/* ---- Comparing ---- */

static bool equal(const cJSON *a, const cJSON *b, const char *ignore);

static bool equal_objects(const cJSON *a, const cJSON *b, const char *ignore)
{
    g_autoptr(GPtrArray) left = members_by_name(a, ignore);
    g_autoptr(GPtrArray) right = members_by_name(b, ignore);
    if (left->len != right->len)
        return false;
    for (guint i = 0; i < left->len; i++) {
        const cJSON *l = left->pdata[i], *r = right->pdata[i];
        if (strcmp(l->string, r->string) != 0 || !equal(l, r, ignore))
            return false;
    }
    return true;
}

static bool equal_arrays(const cJSON *a, const cJSON *b, const char *ignore)
{
    const cJSON *l = a->child, *r = b->child;
    for (; l && r; l = l->next, r = r->next)
        if (!equal(l, r, ignore))
            return false;
    return l == r;
}

static bool equal(const cJSON *a, const cJSON *b, const char *ignore)
{
    AcrJsonType type = acr_json_type((const AcrJson *)a);
    if (type != acr_json_type((const AcrJson *)b))
        return false;
    if (type == ACR_JSON_OBJECT)
        return equal_objects(a, b, ignore);
    if (type == ACR_JSON_ARRAY)
        return equal_arrays(a, b, ignore);
    if (type == ACR_JSON_STRING)
        return strcmp(a->valuestring, b->valuestring) == 0;
    return type == ACR_JSON_NUMBER ? a->valuedouble == b->valuedouble
                                   : cJSON_IsTrue(a) == cJSON_IsTrue(b);
}

bool acr_json_equal(const AcrJson *a, const AcrJson *b, const char *ignore)
{
    return equal(const_node_of(a), const_node_of(b), ignore);
}

const char *acr_json_library(void)
{
    return cJSON_Version();
}

AcrJson *acr_json_of(const char *key, ...)
{
    AcrJson *object = acr_json_new_object();
    va_list args;
    va_start(args, key);
    for (; key; key = va_arg(args, const char *)) {
        AcrJson *value = va_arg(args, AcrJson *);
        if (value)
            acr_json_set(object, key, value);
    }
    va_end(args);
    return object;
}

AcrJson *acr_json_added(AcrJson *list, AcrJson *object)
{
    acr_json_append(list, object);
    return object;
}
