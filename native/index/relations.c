/* Implements class_relation_index: finds the bases and all ancestors of a class, and the classes
 * that a name denotes. Bases are stored as written and resolved on demand, because a search needs
 * only a few. */
#include "index/index_private.h"

#include <string.h>

#define MAX_BASE_ARGUMENTS 50u

/* Names of Python's built-in classes, separated by spaces. A base with such a name does not
 * denote a class of another file. */
static const char BUILTINS[] =
    " ArithmeticError AssertionError AttributeError BaseException DeprecationWarning"
    " EnvironmentError Exception FutureWarning IOError ImportError IndexError KeyError"
    " KeyboardInterrupt LookupError NameError NotImplementedError OSError OverflowError"
    " RuntimeError RuntimeWarning StopIteration SyntaxError SyntaxWarning SystemExit TypeError"
    " UnicodeError UserWarning ValueError Warning ZeroDivisionError bool bytearray bytes"
    " classmethod complex dict float frozenset int list object property set slice staticmethod"
    " str super tuple type ";

static bool is_builtin(const char *name)
{
    g_autofree char *word = g_strconcat(" ", name, " ", NULL);
    return strstr(BUILTINS, word) != NULL;
}

static GArray *new_ids(void)
{
    return g_array_new(FALSE, FALSE, sizeof(guint32));
}

static void add_all_of_name(const AcrIndex *index, const char *name, guint32 self, GArray *out)
{
    gsize n;
    const guint32 *ids = acr_index_lookup(index, ACR_SYMBOL_CLASS, name, &n);
    for (gsize i = 0; i < n; i++)
        if (ids[i] != self)
            acr_index_add_unique(out, ids[i]);
}

static void add_base(const AcrIndex *index, guint32 class_id, const char *dotted, GArray *out)
{
    if (!*dotted || strspn(dotted, ".") > 0)
        return;
    if (acr_index_resolve_base(index, class_id, dotted, out) != ACR_RESOLVE_UNKNOWN)
        return;
    const char *dot = strrchr(dotted, '.');
    if (!dot && is_builtin(dotted))
        return;
    add_all_of_name(index, dot ? dot + 1 : dotted, class_id, out);
}

/* Returns the position of the bracket that closes the bracket at `open`, or the end of the text. */
static const char *skip_brackets(const char *open)
{
    int depth = 0;
    for (const char *at = open; *at; at++) {
        if (strchr("([{", *at))
            depth++;
        else if (strchr(")]}", *at) && --depth == 0)
            return at;
    }
    return open + strlen(open);
}

/* Adds the bases in `with_metaclass(Meta, Base, …)`: its arguments from the second on. */
static void add_with_metaclass(const AcrIndex *index, guint32 class_id, const char *open,
                               GArray *out)
{
    const char *end = skip_brackets(open), *start = open + 1;
    guint n = 0;
    for (const char *at = start; at <= end && n < MAX_BASE_ARGUMENTS; at++) {
        if (at < end && strchr("([{", *at)) {
            at = skip_brackets(at);
            at -= at >= end;
            continue;
        }
        if (at < end && *at != ',')
            continue;
        g_autofree char *argument = g_strstrip(g_strndup(start, (gsize)(at - start)));
        argument[strcspn(argument, "[( =*")] = 0;
        if (n++ > 0)
            add_base(index, class_id, argument, out);
        start = at + 1;
    }
}

/* Resolves a base as written, without subscripts. Ignores bases that are other expressions. */
static void add_written(const AcrIndex *index, guint32 class_id, const char *base, GArray *out)
{
    gsize len = strcspn(base, "[( *+{'\"");
    g_autofree char *dotted = g_strndup(base, len);
    if (base[len] == '(' && g_str_has_suffix(dotted, "with_metaclass"))
        add_with_metaclass(index, class_id, base + len, out);
    else if (base[len] == 0 || base[len] == '[')
        add_base(index, class_id, dotted, out);
}

GArray *acr_index_bases(const AcrIndex *index, guint32 class_id)
{
    GArray *found = new_ids();
    const AcrSymbol *klass = acr_index_symbol(index, class_id);
    for (gsize i = 0; klass->kind == ACR_SYMBOL_CLASS && klass->bases[i]; i++)
        add_written(index, class_id, klass->bases[i], found);
    return found;
}

GArray *acr_index_ancestors(const AcrIndex *index, guint32 class_id)
{
    GArray *found = new_ids();
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    g_hash_table_add(seen, GUINT_TO_POINTER(class_id + 1));
    for (guint next = 0; found->len < ACR_INDEX_MAX_ANCESTORS; next++) {
        g_autoptr(GArray) bases = acr_index_bases(index, class_id);
        for (guint i = 0; i < bases->len && found->len < ACR_INDEX_MAX_ANCESTORS; i++) {
            guint32 id = g_array_index(bases, guint32, i);
            if (g_hash_table_add(seen, GUINT_TO_POINTER(id + 1)))
                g_array_append_val(found, id);
        }
        if (next >= found->len)
            break;
        class_id = g_array_index(found, guint32, next);
    }
    return found;
}

/* ---- Names --------------------------------------------------------------------------------------
 */

/* Whether "pkg.mod.Outer.Inner" (made of a symbol's path and qualname) ends in `dotted`, in
 * whole parts. */
static bool full_name_ends_in(const AcrIndex *index, guint32 id, const char *dotted)
{
    const AcrSymbol *symbol = acr_index_symbol(index, id);
    const char *path = acr_index_file(index, symbol->file)->path;
    gsize len =
        strlen(path) - strlen(g_str_has_suffix(path, "/__init__.py") ? "/__init__.py" : ".py");
    g_autofree char *module = g_strdelimit(g_strndup(path, len), "/", '.');
    g_autofree char *full = g_strconcat(".", module, ".", symbol->qualname, NULL);
    g_autofree char *tail = g_strconcat(".", dotted, NULL);
    return g_str_has_suffix(full, tail);
}

/* Adds the classes to which aliases or renaming imports give the name `name`. */
static void add_renamed(const AcrIndex *index, AcrSymbolKind kind, const char *name, GArray *out)
{
    gsize n;
    int steps = ACR_RESOLVE_MAX_STEPS;
    const guint32 *ids = acr_index_lookup(index, kind, name, &n);
    for (gsize i = 0; i < n && steps > 0; i++) {
        const AcrSymbol *symbol = acr_index_symbol(index, ids[i]);
        if (symbol->parent < 0 && symbol->value)
            (void)acr_index_resolve_in_file(index, ACR_SYMBOL_CLASS, symbol->file, name, &steps,
                                            out);
    }
}

/* Follows re-exports: from `pkg.name` to the import in pkg/__init__.py. `dot` is the last one. */
static void add_reexported(const AcrIndex *index, AcrSymbolKind kind, const char *name,
                           const char *dot, GArray *out)
{
    g_autoptr(GArray) files = new_ids();
    g_autofree char *module = g_strndup(name, (gsize)(dot - name));
    acr_index_module_files(index, -1, module, files);
    int steps = ACR_RESOLVE_MAX_STEPS;
    for (guint i = 0; i < files->len; i++)
        (void)acr_index_resolve_in_file(index, kind, g_array_index(files, guint32, i), dot + 1,
                                        &steps, out);
}

static void add_dotted(const AcrIndex *index, const char *name, const char *dot, GArray *out)
{
    gsize n;
    const guint32 *ids = acr_index_lookup(index, ACR_SYMBOL_CLASS, dot + 1, &n);
    for (gsize i = 0; i < n; i++)
        if (full_name_ends_in(index, ids[i], name))
            g_array_append_val(out, ids[i]);
    if (out->len > 0)
        return;
    add_reexported(index, ACR_SYMBOL_CLASS, name, dot, out);
}

GArray *acr_index_resolve_function(const AcrIndex *index, const char *name)
{
    GArray *found = new_ids();
    const char *dot = strrchr(name, '.');
    if (dot)
        add_reexported(index, ACR_SYMBOL_FUNCTION, name, dot, found);
    return found;
}

GArray *acr_index_resolve_class(const AcrIndex *index, const char *name)
{
    GArray *found = new_ids();
    const char *dot = strrchr(name, '.');
    if (dot) {
        add_dotted(index, name, dot, found);
        return found;
    }
    gsize n;
    const guint32 *ids = acr_index_lookup(index, ACR_SYMBOL_CLASS, name, &n);
    if (n)
        g_array_append_vals(found, ids, (guint)n);
    if (found->len == 0)
        add_renamed(index, ACR_SYMBOL_ASSIGN, name, found);
    if (found->len == 0)
        add_renamed(index, ACR_SYMBOL_IMPORT, name, found);
    return found;
}
