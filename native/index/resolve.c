/* Finds the class or function that a dotted name denotes in a file. Looks at those of the file, then at
 * its aliases (`Matrix = MutableDenseMatrix`), then at its imports, which are followed from module
 * to module. If a name is defined several times (in the branches of an `if`), it is unknown which
 * definition is executed last, so all definitions count.
 *
 * A walk is limited in depth and steps, so circular imports and aliases end. */
#include "index/index_private.h"

#include <string.h>

#define MAX_DEPTH 12
#define MAX_STEPS 4000 /* maximum number of steps of one walk */
#define MAX_NAME 1000u /* maximum length of a dotted name that is resolved, in bytes */

typedef struct {
    const AcrIndex *index;
    GArray *out;
    AcrSymbolKind kind; /* CLASS or FUNCTION */
    gint64 self;        /* id of a class that must not be found; -1: none */
    int steps;
} Walk;

static AcrResolution in_file(Walk *walk, gsize file, const char *dotted, int depth);

static const char *last_part(const char *dotted)
{
    const char *dot = strrchr(dotted, '.');
    return dot ? dot + 1 : dotted;
}

/* Finds the symbols of the file with the qualified name `qualname`. Of several classes, only
 * classes before the class with the resolved base count. */
static bool symbols_in_file(Walk *walk, gsize file, const char *qualname)
{
    gsize n;
    guint before = walk->out->len;
    const guint32 *ids =
        acr_index_lookup_in_file(walk->index, walk->kind, last_part(qualname), file, &n);
    bool earlier = false;
    for (gsize i = 0; i < n; i++) {
        if (strcmp(acr_index_symbol(walk->index, ids[i])->qualname, qualname) != 0 ||
            ids[i] == walk->self)
            continue;
        bool is_earlier = (gint64)ids[i] < walk->self;
        if (earlier && !is_earlier)
            break;
        earlier = is_earlier;
        acr_index_add_unique(walk->out, ids[i]);
    }
    return walk->out->len > before;
}

static AcrResolution through_aliases(Walk *walk, gsize file, const char *dotted, int depth)
{
    gsize n, head = strcspn(dotted, ".");
    g_autofree char *name = g_strndup(dotted, head);
    const guint32 *ids = acr_index_lookup_in_file(walk->index, ACR_SYMBOL_ASSIGN, name, file, &n);
    for (gsize i = 0; i < n; i++) {
        const AcrSymbol *alias = acr_index_symbol(walk->index, ids[i]);
        if (alias->parent >= 0 || !alias->value || strcmp(alias->value, name) == 0)
            continue;
        g_autofree char *target = g_strconcat(alias->value, dotted + head, NULL);
        AcrResolution result = in_file(walk, file, target, depth + 1);
        if (result != ACR_RESOLVE_UNKNOWN)
            return result;
    }
    return ACR_RESOLVE_UNKNOWN;
}

/* Resolves `dotted` in a module that the file `from` imports; the first part of `dotted` may be
 * a submodule. */
static AcrResolution in_module(Walk *walk, gsize from, const char *module, const char *dotted,
                               int depth)
{
    g_autoptr(GArray) files = g_array_new(FALSE, FALSE, sizeof(guint32));
    AcrResolution result = ACR_RESOLVE_OUTSIDE;
    acr_index_module_files(walk->index, (gssize)from, module, files);
    for (guint i = 0; i < files->len; i++) {
        result = in_file(walk, g_array_index(files, guint32, i), dotted, depth + 1);
        if (result == ACR_RESOLVED)
            return result;
    }
    const char *dot = strchr(dotted, '.');
    if (!dot || walk->steps <= 0 || depth >= MAX_DEPTH)
        return result;
    g_autofree char *head = g_strndup(dotted, (gsize)(dot - dotted));
    g_autofree char *submodule =
        g_strconcat(module, g_str_has_suffix(module, ".") ? "" : ".", head, NULL);
    AcrResolution below = in_module(walk, from, submodule, dot + 1, depth + 1);
    return below == ACR_RESOLVE_OUTSIDE ? result : below;
}

/* Follows imports whose local name is the first `len` bytes of `dotted`. */
static AcrResolution through_imports_of(Walk *walk, gsize file, const char *dotted, gsize len,
                                        int depth)
{
    gsize n;
    g_autofree char *local = g_strndup(dotted, len);
    const guint32 *ids = acr_index_lookup_in_file(walk->index, ACR_SYMBOL_IMPORT, local, file, &n);
    AcrResolution result = ACR_RESOLVE_UNKNOWN;
    for (gsize i = 0; i < n && result != ACR_RESOLVED; i++) {
        const AcrSymbol *import = acr_index_symbol(walk->index, ids[i]);
        if (import->parent >= 0)
            continue;
        const char *rest = dotted + len;
        g_autofree char *target = import->value ? g_strconcat(import->value, rest, NULL)
                                                : g_strdup(*rest ? rest + 1 : "");
        if (!*target)
            continue; /* the import binds the module itself */
        AcrResolution its = in_module(walk, file, import->module, target, depth);
        result = its == ACR_RESOLVE_UNKNOWN && i > 0 ? result : its;
    }
    return result;
}

/* Follows imports; tries the longest local name first, because `import a.b` binds `a.b`. */
static AcrResolution through_imports(Walk *walk, gsize file, const char *dotted, int depth)
{
    for (gsize len = strlen(dotted); len > 0;) {
        AcrResolution result = through_imports_of(walk, file, dotted, len, depth);
        if (result != ACR_RESOLVE_UNKNOWN)
            return result;
        const char *dot = g_strrstr_len(dotted, (gssize)len, ".");
        len = dot ? (gsize)(dot - dotted) : 0;
    }
    return ACR_RESOLVE_UNKNOWN;
}

static AcrResolution through_stars(Walk *walk, gsize file, const char *dotted, int depth)
{
    gsize n;
    const guint32 *ids = acr_index_lookup_in_file(walk->index, ACR_SYMBOL_IMPORT, "*", file, &n);
    for (gsize i = 0; i < n; i++)
        if (in_module(walk, file, acr_index_symbol(walk->index, ids[i])->module, dotted, depth) ==
            ACR_RESOLVED)
            return ACR_RESOLVED;
    return ACR_RESOLVE_UNKNOWN;
}

static AcrResolution in_file(Walk *walk, gsize file, const char *dotted, int depth)
{
    if (depth > MAX_DEPTH || walk->steps-- <= 0 || !*dotted || strlen(dotted) > MAX_NAME)
        return ACR_RESOLVE_UNKNOWN;
    if (symbols_in_file(walk, file, dotted))
        return ACR_RESOLVED;
    AcrResolution result = through_aliases(walk, file, dotted, depth);
    if (result == ACR_RESOLVE_UNKNOWN)
        result = through_imports(walk, file, dotted, depth);
    return result == ACR_RESOLVE_UNKNOWN ? through_stars(walk, file, dotted, depth) : result;
}

AcrResolution acr_index_resolve_in_file(const AcrIndex *index, AcrSymbolKind kind, gsize file,
                                        const char *dotted, int *steps, GArray *out)
{
    int most = CLAMP(*steps, 0, MAX_STEPS);
    Walk walk = {.index = index, .out = out, .kind = kind, .self = -1, .steps = most};
    AcrResolution result = in_file(&walk, file, dotted, 0);
    *steps -= most - MAX(walk.steps, 0);
    return result;
}

AcrResolution acr_index_resolve_base(const AcrIndex *index, guint32 class_id, const char *dotted,
                                     GArray *out)
{
    Walk walk = {
        .index = index, .out = out, .kind = ACR_SYMBOL_CLASS, .self = class_id, .steps = MAX_STEPS};
    const AcrSymbol *klass = acr_index_symbol(index, class_id);
    if (strlen(dotted) > MAX_NAME)
        return ACR_RESOLVE_UNKNOWN;
    g_autofree char *scope = g_strdup(klass->qualname);
    for (char *dot = strrchr(scope, '.'); dot; dot = strrchr(scope, '.')) {
        *dot = 0;
        g_autofree char *qualname = g_strconcat(scope, ".", dotted, NULL);
        if (symbols_in_file(&walk, klass->file, qualname))
            return ACR_RESOLVED;
    }
    return in_file(&walk, klass->file, dotted, 0);
}
