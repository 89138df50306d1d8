/* Loads and checks the prompts, which are one text file each, at the start of a run, so that a
 * wrong placeholder is found before any model is called. ACR_PROMPT_TABLE lists them. */
#include "agents/agents_private.h"

#include <string.h>

#define MAX_PLACEHOLDERS 4

typedef struct {
    const char *file;
    const char *placeholders[MAX_PLACEHOLDERS];
} PromptSpec;

#define PROMPT_ROW(id, file, ...) [ACR_PROMPT_##id] = {file, {__VA_ARGS__}},
static const PromptSpec specs[ACR_PROMPTS] = {ACR_PROMPT_TABLE(PROMPT_ROW)};

struct AcrPrompts {
    char *texts[ACR_PROMPTS];
};

#define refuse(error, ...)                                                                         \
    acr_set_error(error, ACR_AGENTS_ERROR, ACR_AGENTS_ERROR_PROMPT, __VA_ARGS__)

G_DEFINE_QUARK(acr_agents_error_quark, acr_agents_error)

void acr_prompts_free(AcrPrompts *prompts)
{
    if (!prompts)
        return;
    for (guint i = 0; i < ACR_PROMPTS; i++)
        g_free(prompts->texts[i]);
    g_free(prompts);
}

const char *acr_prompt_file(AcrPromptId id)
{
    g_assert(id < ACR_PROMPTS);
    return specs[id].file;
}

const char *acr_prompts_text(const AcrPrompts *prompts, AcrPromptId id)
{
    g_assert(id < ACR_PROMPTS);
    return prompts->texts[id];
}

/* Returns the index of the placeholder in its prompt's row; -1 if the row lacks it. */
static int placeholder_number(const PromptSpec *spec, const char *name, gsize len)
{
    for (int i = 0; i < MAX_PLACEHOLDERS && spec->placeholders[i]; i++)
        if (strlen(spec->placeholders[i]) == len && memcmp(spec->placeholders[i], name, len) == 0)
            return i;
    return -1;
}

/* Returns the start of the next {{name}} at or after `text`, with the bounds of the name; NULL if
 * there is none. */
static const char *next_placeholder(const char *text, const char **out_name, gsize *out_len)
{
    for (const char *at = text; (at = strstr(at, "{{")); at += 2) {
        gsize len = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz_");
        if (len > 0 && strncmp(at + 2 + len, "}}", 2) == 0) {
            *out_name = at + 2;
            *out_len = len;
            return at;
        }
    }
    return NULL;
}

static bool check_placeholders(const PromptSpec *spec, const char *path, const char *text,
                               GError **error)
{
    bool seen[MAX_PLACEHOLDERS] = {false};
    const char *name;
    gsize len;
    for (const char *at = text; (at = next_placeholder(at, &name, &len)); at = name + len) {
        int number = placeholder_number(spec, name, len);
        if (number < 0)
            return refuse(error, "prompt '%s' has an unknown placeholder '{{%.*s}}'", path,
                          (int)len, name);
        seen[number] = true;
    }
    for (int i = 0; i < MAX_PLACEHOLDERS && spec->placeholders[i]; i++) {
        if (!seen[i])
            return refuse(error, "prompt '%s' lacks the placeholder '{{%s}}'", path,
                          spec->placeholders[i]);
    }
    return true;
}

static char *read_prompt(const PromptSpec *spec, const char *dir, const char *override_dir,
                         GError **error)
{
    g_autofree char *own = g_build_filename(dir, spec->file, NULL);
    g_autofree char *override =
        override_dir ? g_build_filename(override_dir, spec->file, NULL) : NULL;
    bool is_overridden = override && g_file_test(override, G_FILE_TEST_EXISTS);
    const char *path = is_overridden ? override : own;
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(path, ACR_PROMPT_MAX_BYTES, &reason);
    if (!bytes)
        return ACR_NULL(refuse(error, "cannot load a prompt: %s", reason->message));
    g_autofree char *text = acr_bytes_text(bytes);
    if (!acr_utf8_is_text(text, g_bytes_get_size(bytes)))
        return ACR_NULL(refuse(error, "prompt '%s' is not UTF-8 text", path));
    return check_placeholders(spec, path, text, error) ? g_steal_pointer(&text) : NULL;
}

/* Checks that every .txt file in the folder has the name of a prompt, so that misspelt names are
 * reported. */
static bool check_override(const char *dir, GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(GDir) folder = g_dir_open(dir, 0, &reason);
    if (!folder)
        return refuse(error, "cannot open the prompts folder: %s", reason->message);
    for (const char *name; (name = g_dir_read_name(folder));) {
        bool known = !g_str_has_suffix(name, ".txt");
        for (guint i = 0; i < ACR_PROMPTS && !known; i++)
            known = strcmp(specs[i].file, name) == 0;
        if (!known)
            return refuse(error, "'%s/%s' is not the name of a prompt", dir, name);
    }
    return true;
}

AcrPrompts *acr_prompts_load(const char *dir, const char *override_dir, GError **error)
{
    if (override_dir && !check_override(override_dir, error))
        return NULL;
    g_autoptr(AcrPrompts) prompts = g_new0(AcrPrompts, 1);
    for (guint i = 0; i < ACR_PROMPTS; i++) {
        prompts->texts[i] = read_prompt(&specs[i], dir, override_dir, error);
        if (!prompts->texts[i])
            return NULL;
    }
    return g_steal_pointer(&prompts);
}

char *acr_prompts_render_list(const AcrPrompts *prompts, AcrPromptId id, va_list args)
{
    g_assert(id < ACR_PROMPTS);
    const PromptSpec *spec = &specs[id];
    const char *values[MAX_PLACEHOLDERS] = {NULL};
    for (const char *name; (name = va_arg(args, const char *));) {
        const char *value = va_arg(args, const char *);
        int number = placeholder_number(spec, name, strlen(name));
        if (number >= 0)
            values[number] = value;
    }
    GString *out = g_string_new(NULL);
    const char *text = prompts->texts[id], *name, *at;
    gsize len;
    for (; (at = next_placeholder(text, &name, &len)); text = name + len + 2) {
        g_string_append_len(out, text, at - text);
        const char *value = values[placeholder_number(spec, name, len)];
        g_assert(value);
        g_string_append(out, value);
    }
    g_string_append(out, text);
    return g_string_free(out, FALSE);
}

char *acr_prompts_render(const AcrPrompts *prompts, AcrPromptId id, ...)
{
    va_list args;
    va_start(args, id);
    char *text = acr_prompts_render_list(prompts, id, args);
    va_end(args);
    return text;
}
