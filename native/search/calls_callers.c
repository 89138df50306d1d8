/* search_callers: finds who calls a function, method or class. The index knows which files contain
 * the word. Each of these files is read once, without strings and comments, and each use of the
 * word is judged by the text around it. A call on self in a class that has the method, a call on
 * the class itself, and a call of an imported name are sure; a call on any other object is likely;
 * a use that is not a call is a reference. */
#include <string.h>

#include "search/calls_private.h"

#define DECLARED_WITHIN 65536u /* bytes before a use in which its object's type is looked for */
/* Ranks for people of the uses of a method */
#define RANK_NAME_ONLY 2u  /* a call in a file that does not mention the class */
#define RANK_READ 3u       /* another object's attribute of that name, without a call */
#define MAX_OTHER_NAMES 8u /* maximum number of names under which one file imports the callee */

static const AcrSought a_callee = {"function, method or class", ACR_DEFINITIONS,
                                   ACR_COLLAPSE_METHODS};

/* Kinds of uses. Hits with sure calls are shown first. */
typedef enum { USE_SURE, USE_LIKELY, USE_REFERENCE, USE_NONE } UseKind;

/* The function, method or class that is called; determined before any file is read. */
typedef struct {
    AcrNameArg arg;
    GArray *targets;        /* ids of the definitions that the argument names */
    GArray *same;           /* ids of all definitions with the same bare name */
    GHashTable *above;      /* ids of the classes that the targets' classes inherit from */
    const char *class_name; /* CLASS of CLASS.NAME, for people; borrowed from `arg`, or NULL */
    /* kinds of definitions among `targets`; both are true if there are no targets */
    bool has_methods, has_functions;
} Callee;

static void clear_callee(Callee *callee)
{
    acr_name_arg_clear(&callee->arg);
    g_clear_pointer(&callee->targets, g_array_unref);
    g_clear_pointer(&callee->same, g_array_unref);
    g_clear_pointer(&callee->above, g_hash_table_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Callee, clear_callee)

typedef struct {
    AcrReply *reply;
    const Callee *callee;
    gsize entry;
    guint32 nearness;
    AcrContent *content;
    AcrLineCursor cursor;
    gint32 func;   /* the function of the last answer of is_local; -1 at first */
    bool is_local; /* that answer */
    /* number of `names`: the callee's own name, then those under which the file imports it */
    gsize n_names;
    struct {
        const char *at;
        gsize len;
    } names[MAX_OTHER_NAMES];
    bool has_class; /* the file mentions the callee's class */
    bool is_hidden; /* the file has its own top-level function with the callee's name */
} Scan;

static const char *skip_blanks_back(const char *start, const char *at)
{
    while (at > start && (at[-1] == ' ' || at[-1] == '\t'))
        at--;
    return at;
}

/* Returns the start of the name that ends at `end`; `end` if no name ends there. */
static const char *name_before(const char *start, const char *end)
{
    while (end > start && acr_is_word(end[-1]))
        end--;
    return end;
}

static bool is_word(const char *at, const char *end, const char *word)
{
    gsize len = strlen(word);
    return (gsize)(end - at) == len && memcmp(at, word, len) == 0;
}

static const char *line_start(const Scan *scan, const char *at)
{
    while (at > scan->content->text.text && at[-1] != '\n' && at[-1] != '\r')
        at--;
    return at;
}

static bool is_import_line(const Scan *scan, const char *at)
{
    const char *line = line_start(scan, at);
    return acr_has_word(line, (gsize)(at - line), "import");
}

static bool is_target(const Callee *callee, guint32 id)
{
    for (guint i = 0; i < callee->targets->len; i++)
        if (g_array_index(callee->targets, guint32, i) == id)
            return true;
    return false;
}

/* True if a target is the method `last` of one of the classes, their own or an inherited one. */
static bool any_has_target(const Scan *scan, const GArray *classes)
{
    const AcrIndex *index = scan->reply->search->index;
    const Callee *callee = scan->callee;
    for (guint n = 0; n < MIN(classes->len, ACR_SCOPE_COMPARED); n++) {
        guint32 owner, class_id = g_array_index(classes, guint32, n);
        g_autoptr(GArray) members = acr_find_members(index, class_id, callee->arg.last, &owner);
        for (guint i = 0; i < members->len; i++)
            if (is_target(callee, g_array_index(members, guint32, i)))
                return true;
    }
    return false;
}

/* Judges a call on self, cls or super() by the class that encloses the call. The object may be of a
 * subclass, whose method is then called, but not by way of super(). */
static UseKind kind_on_self(const Scan *scan, bool is_super)
{
    gint32 file = scan->reply->search->file_of_entry[scan->entry], klass = -1, func = -1;
    if (file < 0) /* the file is a test, and tests are not indexed */
        return USE_LIKELY;
    acr_index_enclosing(scan->reply->search->index, (gsize)file, scan->cursor.line, &klass, &func);
    if (klass < 0)
        return USE_LIKELY;
    guint32 own = (guint32)klass;
    g_autoptr(GArray) classes =
        is_super ? acr_index_bases(scan->reply->search->index, own)
                 : g_array_append_val(g_array_new(FALSE, FALSE, sizeof own), own);
    bool is_above = g_hash_table_contains(scan->callee->above, GUINT_TO_POINTER(own));
    return any_has_target(scan, classes) || (is_above && !is_super) ? USE_SURE : USE_NONE;
}

static bool is_imported(const Scan *scan, const char *name)
{
    const AcrIndex *index = scan->reply->search->index;
    gsize n = 0;
    const guint32 *ids = acr_index_lookup(index, ACR_SYMBOL_IMPORT, name, &n);
    for (gsize i = 0; i < n; i++)
        if (acr_search_entry_of(scan->reply->search, ids[i]) == scan->entry)
            return true;
    return false;
}

/* True if `name` is the target's module, or a package of it, which may re-export the target. */
static bool is_module_of(const AcrIndex *index, const AcrSymbol *target, const char *name)
{
    const char *path = acr_index_file(index, target->file)->path;
    if (target->parent >= 0 || acr_search_is_module(path, name))
        return target->parent < 0;
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    return g_strv_contains((const char *const *)parts, name);
}

/* Judges a call on the name from..to: a class, a module, or an object of unknown class. */
static UseKind kind_on_name(const Scan *scan, const char *from, const char *to)
{
    const AcrIndex *index = scan->reply->search->index;
    g_autofree char *name = g_strndup(from, (gsize)(to - from));
    g_autoptr(GArray) classes = acr_index_resolve_class(index, name);
    /* A variable may have the same name as a class in another file, but the name of a variable does
     * not begin with a capital letter. */
    if (classes->len && g_ascii_isupper(name[strspn(name, "_")]))
        return any_has_target(scan, classes) ? USE_SURE : USE_NONE;
    for (guint i = 0; i < MIN(scan->callee->targets->len, ACR_SCOPE_COMPARED); i++) {
        guint32 id = g_array_index(scan->callee->targets, guint32, i);
        if (is_module_of(index, acr_index_symbol(index, id), name))
            return USE_SURE;
    }
    return scan->callee->has_methods || is_imported(scan, name) ? USE_LIKELY : USE_NONE;
}

/* Judges a call on the expression before the dot at `dot`. */
static UseKind kind_on_receiver(const Scan *scan, const char *dot)
{
    const char *start = scan->content->text.text, *end = skip_blanks_back(start, dot);
    const char *from = name_before(start, end);
    bool is_super = end - start >= 7 && memcmp(end - 7, "super()", 7) == 0;
    if (is_super || is_word(from, end, "self") || is_word(from, end, "cls"))
        return kind_on_self(scan, is_super);
    bool is_plain_name = from < end && !(from > start && from[-1] == '.');
    /* an object has methods; the last name before the dot may be a module: `package.module.NAME` */
    if (is_plain_name || (from < end && !scan->callee->has_methods))
        return kind_on_name(scan, from, end);
    return scan->callee->has_methods ? USE_LIKELY : USE_NONE;
}

/* True if the line binds the name at..end: as a parameter, as a target of an assignment (with a
 * blank before "=", unlike a keyword argument), or as the variable of a loop. */
static bool is_binding(const char *line, gsize len, const char *at, const char *end, bool is_def)
{
    const char *before = skip_blanks_back(line, at), *stop = line + len, *equals = line;
    if (is_def)
        return before == line || strchr("(,*", before[-1]);
    while (equals < stop && (acr_is_word(*equals) || strchr(", \t*()", *equals)))
        equals++;
    return is_word(name_before(line, before), before, "for") ||
           (equals > end && equals + 1 < stop && equals[-1] == ' ' && equals[0] == '=' &&
            equals[1] != '=');
}

/* True if a function around the current line has a parameter or a variable of the callee's name. */
static bool is_local(Scan *scan)
{
    const AcrIndex *index = scan->reply->search->index;
    const char *name = scan->callee->arg.last;
    gint32 file = scan->reply->search->file_of_entry[scan->entry], klass = -1, func = -1;
    if (file >= 0) /* tests are not indexed */
        acr_index_enclosing(index, (gsize)file, scan->cursor.line, &klass, &func);
    if (func == scan->func)
        return scan->is_local;
    scan->func = func;
    scan->is_local = false;
    const AcrSymbol *symbol = func < 0 ? NULL : acr_index_symbol(index, (guint32)func);
    guint32 last = symbol ? MIN(symbol->last, acr_content_n_lines(scan->content)) : 0;
    for (guint32 i = symbol ? symbol->def : 1; i <= last && !scan->is_local; i++) {
        gsize len, n = strlen(name);
        const char *line = acr_content_line(scan->content, i, &len), *at = line, *stop = line + len;
        for (; (at = memmem(at, (gsize)(stop - at), name, n)) && !scan->is_local; at += n)
            scan->is_local = (at == line || !(acr_is_word(at[-1]) || at[-1] == '.')) &&
                             !(at + n < stop && acr_is_word(at[n])) &&
                             is_binding(line, len, at, at + n, i <= symbol->sig_last);
    }
    return scan->is_local;
}

static UseKind kind_of_use(Scan *scan, const char *at, const char *end)
{
    const char *start = scan->content->text.text, *stop = start + scan->content->text.len;
    const char *before = skip_blanks_back(start, at), *word = name_before(start, before);
    if (is_word(word, before, "def") || is_word(word, before, "class") || is_import_line(scan, at))
        return USE_NONE;
    bool has_dot = before > start && before[-1] == '.';
    UseKind kind = has_dot ? kind_on_receiver(scan, before - 1)
                   : scan->callee->has_functions && !scan->is_hidden && !is_local(scan) ? USE_SURE
                                                                                        : USE_NONE;
    while (end < stop && (*end == ' ' || *end == '\t'))
        end++;
    bool is_given = end < stop && *end == '=' && !(end + 1 < stop && end[1] == '=');
    bool is_call = (end < stop && *end == '(') || (before > start && before[-1] == '@');
    if (kind == USE_NONE || is_call)
        return kind;
    if (scan->reply->search->mode.calls)
        return USE_NONE;
    return is_given || scan->callee->targets->len == 0 ? USE_NONE : USE_REFERENCE;
}

/* True if the used object is declared (shortly before) or named as one of the callee's class. */
static bool is_on_instance(const Scan *scan)
{
    const char *start = scan->content->text.text, *at = start + scan->cursor.off,
               *dot = skip_blanks_back(start, at), *wanted = scan->callee->class_name;
    const char *end = dot > start ? dot - 1 : dot, *begin = name_before(start, end);
    gsize near = MIN(scan->cursor.off, DECLARED_WITHIN);
    g_autofree char *name = g_strndup(begin, (gsize)(end - begin)),
                    *typed = g_strdup_printf("%s: %s", name, wanted),
                    *made = g_strdup_printf("%s = %s(", name, wanted);
    const char *bare = name + strspn(name, "_");
    gsize n = strlen(bare), m = strlen(wanted);
    return *name && ((n >= 3 && n <= m && g_ascii_strcasecmp(wanted + m - n, bare) == 0) ||
                     memmem(at - near, near, typed, strlen(typed)) ||
                     memmem(at - near, near, made, strlen(made)));
}

/* People read the lines in the order of the files. For a method of a class, the likely callers come
 * first, then calls in files that mention the class, then calls by the name alone, then reads. */
static guint32 rank_of_use(const Scan *scan, UseKind kind)
{
    if (!scan->reply->search->mode.lines)
        return kind * 3u + scan->nearness;
    if (!scan->callee->class_name || kind == USE_SURE)
        return 0;
    if (scan->has_class && is_on_instance(scan))
        return kind == USE_REFERENCE;
    return kind == USE_REFERENCE ? RANK_READ : scan->has_class ? 1 : RANK_NAME_ONLY;
}

/* Returns the last hit if it is near `hit` and in the same function, to add `hit`; or NULL. */
static AcrHit *hit_to_extend(const Scan *scan, const AcrHit *hit)
{
    GArray *hits = scan->reply->hits;
    AcrHit *last = hits->len ? &g_array_index(hits, AcrHit, hits->len - 1) : NULL;
    bool is_split = scan->callee->class_name && last && last->rank != hit->rank;
    return last && !is_split && last->entry == hit->entry && last->start != ACR_HIT_COUNT_ONLY &&
                   hit->start - last->start < ACR_SEARCH_MAX_BLOCK &&
                   g_strcmp0(last->klass, hit->klass) == 0 && g_strcmp0(last->func, hit->func) == 0
               ? last
               : NULL;
}

static void add_use(Scan *scan, UseKind kind)
{
    guint32 line = scan->cursor.line, rank = rank_of_use(scan, kind);
    AcrHit hit = {.entry = scan->entry, .rank = rank, .symbol = -1, .count = 1};
    hit.view = ACR_VIEW_AROUND;
    hit.start = hit.end = line;
    acr_hit_set_names(scan->reply, &hit, line);
    acr_reply_add_line(scan->reply, scan->entry, line,
                       acr_text_column(scan->content, scan->cursor.off));
    AcrHit *last = hit_to_extend(scan, &hit);
    if (!last) {
        acr_reply_add(scan->reply, &hit);
        return;
    }
    last->end = line;
    last->count++;
    last->rank = MIN(last->rank, rank);
}

/* If the text at `at` is `import NAME as OTHER`, adds OTHER to the names to search for. */
static void learn_name(Scan *scan, const char *at, const char *end)
{
    const char *stop = scan->content->text.text + scan->content->text.len;
    if (!is_import_line(scan, at) || scan->n_names == MAX_OTHER_NAMES || (gsize)(stop - end) < 5 ||
        memcmp(end, " as ", 4) != 0)
        return;
    const char *name = end + 4, *last = name;
    while (last < stop && acr_is_word(*last))
        last++;
    scan->names[scan->n_names].at = name;
    scan->names[scan->n_names++].len = (gsize)(last - name);
}

static bool is_call_of_wanted(const Scan *scan, const char *at, gsize len)
{
    for (gsize i = 0; i < scan->n_names; i++)
        if (scan->names[i].len == len && memcmp(scan->names[i].at, at, len) == 0)
            return true;
    return false;
}

/* True if the name at `at` is between the parentheses of an import of several lines. */
static bool is_in_import(const Scan *scan, const char *at)
{
    const char *start = scan->content->text.text;
    while (at > start && at[-1] != '(') {
        const char *line = line_start(scan, at), *comment = memchr(line, '#', (gsize)(at - line));
        if (comment)
            at = comment;
        else if (acr_is_word(at[-1]) || strchr(", \t\r\n", at[-1]))
            at--;
        else
            return false;
    }
    return at > start && at[-1] == '(' && is_import_line(scan, at - 1);
}

/* Reads the name at `at`, records a use if it is one of `names`, and returns the name's end. */
static const char *read_name(Scan *scan, const char *at, const char *stop)
{
    const char *end = at;
    while (end < stop && acr_is_word(*end))
        end++;
    if (!is_call_of_wanted(scan, at, (gsize)(end - at)))
        return end;
    acr_line_cursor_move(&scan->cursor, scan->content, (gsize)(at - scan->content->text.text));
    UseKind kind = kind_of_use(scan, at, end);
    bool is_import = kind == USE_REFERENCE && is_in_import(scan, at);
    if (kind != USE_NONE && !is_import)
        add_use(scan, kind);
    learn_name(scan, at, end);
    return end;
}

/* Returns the end of the string whose opening quote is at `at`. A string without triple quotes ends
 * at the end of its line at the latest. */
static const char *string_end(const char *at, const char *stop)
{
    char quote = *at;
    gsize n = stop - at >= 3 && at[1] == quote && at[2] == quote ? 3 : 1;
    for (at += n; at < stop; at++) {
        if (*at == '\\')
            at++;
        else if (n == 1 && *at == '\n')
            return at;
        else if (*at == quote && (n == 1 || (stop - at >= 3 && at[1] == quote && at[2] == quote)))
            return at + n;
    }
    return stop;
}

/* True if the name from..to is the prefix of a string that contains code (f"…"). */
static bool is_format_prefix(const char *from, const char *to)
{
    return to - from <= 2 &&
           (memchr(from, 'f', (gsize)(to - from)) || memchr(from, 'F', (gsize)(to - from)));
}

/* Reads the code between the braces of an f-string. */
static void read_format(Scan *scan, const char *at, const char *end)
{
    for (guint depth = 0; at < end;) {
        if (*at == '{' && at + 1 < end && at[1] == '{' && depth == 0) {
            at += 2;
        } else if (depth && acr_is_word(*at)) {
            at = read_name(scan, at, end);
        } else {
            depth += *at == '{';
            depth -= *at == '}' && depth > 0;
            at++;
        }
    }
}

static void read_code(Scan *scan)
{
    const char *start = scan->content->text.text, *stop = start + scan->content->text.len;
    const char *name = start, *end_of_name = start;
    for (const char *at = start; at < stop;) {
        if (*at == '#') {
            at = acr_text_next_line(scan->content, at, stop);
        } else if (*at == '"' || *at == '\'') {
            const char *end = string_end(at, stop);
            if (end_of_name == at && is_format_prefix(name, end_of_name))
                read_format(scan, at, end);
            at = end;
        } else if (acr_is_word(*at)) {
            name = at;
            at = end_of_name = read_name(scan, at, stop);
        } else {
            at++;
        }
    }
}

/* True if the file has its own top-level function of that name, which the bare name then means. */
static bool hides_callee(const AcrSearch *search, const Callee *callee, gint32 file)
{
    if (file < 0) /* the file is a test, and tests are not indexed */
        return false;
    const AcrIndexFile *row = acr_index_file(search->index, (gsize)file);
    bool is_hidden = false;
    for (guint i = 0; i < callee->same->len; i++) {
        guint32 id = g_array_index(callee->same, guint32, i);
        if (id < row->first_symbol || id >= row->first_symbol + row->n_symbols ||
            acr_index_symbol(search->index, id)->parent >= 0)
            continue;
        if (is_target(callee, id))
            return false;
        is_hidden = true;
    }
    return is_hidden;
}

static bool read_callers_file(AcrReply *reply, const Callee *callee, gsize entry, GError **error)
{
    const AcrScope scope = {.classes = callee->targets};
    AcrContent *content;
    if (!acr_search_content(reply->search, entry, &content, error))
        return false;
    if (!content)
        return true;
    Scan scan = {.reply = reply, .callee = callee, .entry = entry, .content = content, .func = -1};
    scan.nearness = acr_nearness(reply->search, &scope, entry);
    scan.cursor.line = 1;
    scan.names[0].at = callee->arg.last;
    scan.names[0].len = strlen(callee->arg.last);
    scan.n_names = 1;
    scan.has_class = callee->class_name &&
                     acr_has_word(content->text.text, content->text.len, callee->class_name);
    scan.is_hidden = hides_callee(reply->search, callee, reply->search->file_of_entry[entry]);
    read_code(&scan);
    return true;
}

/* Returns the functions and methods that the argument names, or else the classes; owned. */
static GArray *targets_of(AcrReply *reply, const AcrNameArg *arg)
{
    const AcrIndex *index = reply->search->index;
    GArray *ids = acr_find_defs(index, arg, reply->notes);
    if (ids->len)
        return ids;
    g_array_unref(ids);
    return acr_find_classes(index, arg, reply->notes);
}

/* Initialises `arg`. Replaces Class.__init__ by Class, whose call calls __init__. */
static void init_callee_name(AcrReply *reply, const char *argument, AcrNameArg *arg)
{
    acr_name_arg_init(arg, argument);
    if (!arg->qualifier || strcmp(arg->last, "__init__") != 0)
        return;
    g_autofree char *class_name = g_strdup(arg->qualifier);
    acr_reply_note(reply, "%s is called by making an instance of %s.", arg->text, class_name);
    acr_name_arg_clear(arg);
    acr_name_arg_init(arg, class_name);
}

static void add_target(Callee *callee, const AcrIndex *index, guint32 id, bool is_compared)
{
    const AcrSymbol *target = acr_index_symbol(index, id);
    bool is_method = target->kind == ACR_SYMBOL_METHOD;
    callee->has_methods = callee->has_methods || is_method;
    callee->has_functions = callee->has_functions || !is_method;
    if (!is_compared || target->parent < 0 ||
        acr_index_symbol(index, (guint32)target->parent)->kind != ACR_SYMBOL_CLASS)
        return;
    g_autoptr(GArray) above = acr_index_ancestors(index, (guint32)target->parent);
    for (guint i = 0; i < above->len; i++)
        g_hash_table_add(callee->above, GUINT_TO_POINTER(g_array_index(above, guint32, i)));
}

static void init_callee(Callee *callee, AcrReply *reply, const char *argument)
{
    const AcrIndex *index = reply->search->index;
    init_callee_name(reply, argument, &callee->arg);
    callee->targets = targets_of(reply, &callee->arg);
    callee->same = acr_find_named(index, ACR_DEFINITIONS, callee->arg.last);
    callee->above = g_hash_table_new(g_direct_hash, g_direct_equal);
    callee->has_methods = callee->has_functions = callee->targets->len == 0;
    for (guint i = 0; i < callee->targets->len; i++)
        add_target(callee, index, g_array_index(callee->targets, guint32, i),
                   i < ACR_SCOPE_COMPARED);
    const char *owner = callee->arg.qualifier, *dot = owner ? strrchr(owner, '.') : NULL;
    if (callee->targets->len && callee->has_methods && reply->search->mode.lines)
        callee->class_name = dot ? dot + 1 : owner;
}

static void miss_callers(AcrReply *reply, const Callee *callee, AcrAnswer *out)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *shown = acr_search_shown(callee->arg.text);
    g_string_append_printf(text, "Found no call of %s.\n", shown);
    if (callee->targets->len == 0)
        g_string_append_printf(text, "There is no %s named %s.\n", a_callee.noun, shown);
    if (callee->targets->len == 0 && callee->arg.is_name)
        acr_suggest_append(text, reply->search->index, a_callee.kinds, callee->arg.last);
    acr_suggest_occurrences(text, reply->search, callee->arg.last);
    acr_reply_miss(reply, g_strdup(text->str), out);
}

/* Notes where the lines of a rank begin, and what they have in common. */
static void note_rank(AcrReply *reply, guint rank, const char *what)
{
    for (guint i = 0; i < reply->hits->len; i++) {
        const AcrHit *hit = &g_array_index(reply->hits, AcrHit, i);
        if (hit->rank != rank)
            continue;
        g_autofree char *path = acr_search_shown(acr_search_path(reply->search, hit->entry));
        acr_reply_note(reply, "The lines from %s:%u on %s.", path, hit->start, what);
        return;
    }
}

bool acr_answer_callers(AcrSearch *search, const AcrCall *call, AcrAnswer *out, GError **error)
{
    g_auto(Callee) callee = {0};
    g_auto(AcrReply) reply = {0};
    g_auto(AcrFileMatch) only = {0};
    g_autoptr(GArray) entries = NULL;
    acr_reply_init(&reply, search);
    init_callee(&callee, &reply, call->values[0]);
    if (callee.arg.is_name)
        entries = acr_search_load(search, callee.arg.last, true);
    if (search->mode.only)
        acr_file_match_init(&only, search, search->mode.only);
    for (guint i = 0; entries && i < entries->len && !reply.overfull; i++) {
        gsize entry = g_array_index(entries, gsize, i);
        if ((!only.set || acr_file_match_has(&only, entry)) &&
            !read_callers_file(&reply, &callee, entry, error))
            return false;
    }
    if (reply.hits->len == 0) {
        miss_callers(&reply, &callee, out);
        return true;
    }
    if (callee.class_name) {
        note_rank(&reply, RANK_NAME_ONLY, "call the name in files that do not mention its class");
        note_rank(&reply, RANK_READ, "read an attribute of that name, and do not call it");
    }
    g_autofree char *shown = acr_search_shown(callee.arg.text);
    g_autofree char *one = g_strdup_printf("line that calls or passes %s", shown);
    g_autofree char *many = g_strdup_printf("lines that call or pass %s", shown);
    return acr_reply_finish(&reply, one, many, a_callee.collapse, out, error);
}
