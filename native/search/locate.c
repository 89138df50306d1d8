/* Resolves bug locations, as models name them, to code. For each location, acr_search_locate tries
 * six levels, from exact to loose, and uses the first level with a hit:
 *   method+class  members of the class, inherited ones too; a given file selects among
 *                 classes with the same name
 *   method+file   functions and methods with the name in the files
 *   class+file, class, method, file
 *
 * If the class field does not name a class, it is read as a class and its method ("C.run"), as a
 * module (if the file field is empty) or as a method (if the method field is empty). At the first
 * two levels and at `method`, a hit inside a class adds the class's signatures, the names assigned
 * in its body and its __init__ as context; at the first two levels, also the nearest ancestor's
 * method that the hit overrides.
 *
 * One location gives at most MAX_PER_LOCATION places. At level `method`, places in the named file's
 * folder come first, then the longest places. This level ignores a `__name__` that more than
 * MAX_PER_LOCATION classes define. If a class or file is too long, its signatures are shown; if a
 * body is too long, its middle is omitted. Test files are excluded. */
#include <string.h>

#include "search/calls_private.h"

#define MAX_PER_LOCATION 5u
#define MAX_CODE (32u * 1024) /* maximum size of the code of one place in bytes */
#define MAX_WHOLE_FILE_LINES 300u
#define MAX_INIT_LINES 100u /* an __init__ with more lines is not shown with its class */

typedef struct {
    AcrSearch *search;
    GPtrArray *found; /* array of AcrLocated; borrowed */
    const AcrBugLocation *location;
    AcrNameArg klass, method; /* the names in the location; `text` is NULL if a field is missing */
    AcrFileMatch files;
    bool has_file;
} Locating;

static void append_range(GArray *lines, guint32 first, guint32 last)
{
    for (guint32 line = first; line <= last; line++)
        g_array_append_val(lines, line);
}

/* Returns the line numbers of the headers of all top-level definitions in a file. If there are
 * none, of its first MAX_WHOLE_FILE_LINES lines. */
static GArray *file_signatures(const AcrSearch *search, gsize entry, guint32 n_lines)
{
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(guint32));
    gint32 number = search->file_of_entry[entry];
    const AcrIndexFile *file = number < 0 ? NULL : acr_index_file(search->index, (gsize)number);
    for (guint32 i = 0; file && i < file->n_symbols; i++) {
        guint32 id = file->first_symbol + i;
        const AcrSymbol *symbol = acr_index_symbol(search->index, id);
        guint32 shown = lines->len ? g_array_index(lines, guint32, lines->len - 1) : 0;
        if (symbol->parent >= 0 || symbol->last <= shown)
            continue;
        if (symbol->kind == ACR_SYMBOL_CLASS) {
            g_autoptr(GArray) inner = acr_render_signature_lines(search->index, id);
            g_array_append_vals(lines, inner->data, inner->len);
        } else {
            append_range(lines, MAX(symbol->first, shown + 1), symbol->sig_last);
        }
    }
    if (lines->len == 0)
        append_range(lines, 1, MIN(n_lines, MAX_WHOLE_FILE_LINES));
    return lines;
}

/* Returns the lines of a class's signatures and, if it is short, of its __init__, because __init__
 * shows the attributes of objects. */
static GArray *context_lines(const AcrSearch *search, guint32 id)
{
    g_autoptr(GArray) signatures = acr_render_signature_lines(search->index, id);
    g_autoptr(GArray) inits = acr_index_methods(search->index, id, "__init__");
    const AcrSymbol *init =
        inits->len ? acr_index_symbol(search->index, g_array_index(inits, guint32, 0)) : NULL;
    if (!init || init->last - init->first >= MAX_INIT_LINES)
        return g_steal_pointer(&signatures);
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(guint32));
    guint i = 0;
    for (; i < signatures->len && g_array_index(signatures, guint32, i) < init->first; i++)
        append_range(lines, g_array_index(signatures, guint32, i),
                     g_array_index(signatures, guint32, i));
    append_range(lines, init->first, init->last);
    for (; i < signatures->len; i++)
        if (g_array_index(signatures, guint32, i) > init->last)
            append_range(lines, g_array_index(signatures, guint32, i),
                         g_array_index(signatures, guint32, i));
    return lines;
}

/* Returns the lines to show of a place; only signatures if the place is context or too long. */
static GArray *lines_of(const AcrSearch *search, AcrContent *content, const AcrHit *hit)
{
    guint32 n = acr_content_n_lines(content);
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(guint32));
    if (hit->view == ACR_VIEW_WHOLE)
        append_range(lines, hit->start, MIN(hit->end, n));
    bool is_class = hit->symbol >= 0 &&
                    acr_index_symbol(search->index, (guint32)hit->symbol)->kind == ACR_SYMBOL_CLASS;
    bool too_long = !acr_render_fits(content, lines, MAX_CODE) ||
                    (hit->symbol < 0 && lines->len > MAX_WHOLE_FILE_LINES);
    if (hit->view == ACR_VIEW_WHOLE && (!too_long || (!is_class && hit->symbol >= 0)))
        return lines;
    g_array_unref(lines);
    lines = hit->view == ACR_VIEW_SIGNATURES && is_class
                ? context_lines(search, (guint32)hit->symbol)
            : is_class ? acr_render_signature_lines(search->index, (guint32)hit->symbol)
                       : file_signatures(search, hit->entry, n);
    while (lines->len && g_array_index(lines, guint32, lines->len - 1) > n)
        g_array_set_size(lines, lines->len - 1);
    return lines;
}

static AcrLocated *find_located(const GPtrArray *found, const char *file, const AcrHit *hit)
{
    for (guint i = 0; i < found->len; i++) {
        AcrLocated *located = g_ptr_array_index(found, i);
        const AcrPlace *place = located->place;
        if (place->start == hit->start && place->end == hit->end && strcmp(place->file, file) == 0)
            return located;
    }
    return NULL;
}

static void join_intended(AcrLocated *located, const char *intended)
{
    if (!intended || !*intended)
        return;
    if (!located->intended_behavior) {
        located->intended_behavior = g_strdup(intended);
    } else if (!strstr(located->intended_behavior, intended)) {
        char *joined = g_strconcat(located->intended_behavior, "\n", intended, NULL);
        g_free(located->intended_behavior);
        located->intended_behavior = joined;
    }
}

/* Adds a place, unless it was already added. If the place was added as context and a location now
 * names it, it becomes a bug place. */
static void add_located(Locating *at, const AcrHit *hit, AcrLocatedRole role, AcrLocateLevel level)
{
    const char *file = acr_search_path(at->search, hit->entry);
    AcrLocated *located = find_located(at->found, file, hit);
    bool known = located != NULL;
    if (known && (role != ACR_LOCATED_BUG || located->role == ACR_LOCATED_BUG)) {
        join_intended(located, role == ACR_LOCATED_BUG ? at->location->intended_behavior : NULL);
        return;
    }
    AcrContent *content;
    if (!acr_search_content(at->search, hit->entry, &content, NULL) || !content ||
        (!known && at->found->len >= ACR_LOCATE_MAX_PLACES))
        return;
    if (!known) {
        located = g_new0(AcrLocated, 1);
        located->place = acr_place_new(file, hit->start, hit->end, hit->klass, hit->func);
        g_ptr_array_add(at->found, located);
    }
    g_autoptr(GArray) lines = lines_of(at->search, content, hit);
    g_autoptr(GString) code = g_string_new(NULL);
    acr_render_lines(code, content, lines, MAX_CODE, NULL);
    g_free(located->code);
    located->code = g_strdup(code->str);
    located->role = role;
    located->level = level;
    join_intended(located, role == ACR_LOCATED_BUG ? at->location->intended_behavior : NULL);
}

static void add_symbol(Locating *at, guint32 id, AcrLocatedRole role, AcrLocateLevel level)
{
    const AcrIndex *index = at->search->index;
    const AcrSymbol *symbol = acr_index_symbol(index, id);
    AcrHit hit = {
        .entry = acr_search_entry_of(at->search, id),
        .start = symbol->first,
        .end = symbol->last,
        .symbol = (gint32)id,
        .view = role == ACR_LOCATED_CLASS ? ACR_VIEW_SIGNATURES : ACR_VIEW_WHOLE,
        .klass = acr_index_class_of(index, id),
        .func = acr_index_func_of(index, id),
    };
    add_located(at, &hit, role, level);
}

/* Returns the class whose body contains the symbol, directly or inside functions; -1 if none. */
static gint32 class_around(const AcrIndex *index, guint32 id)
{
    gint32 parent = acr_index_symbol(index, id)->parent;
    while (parent >= 0 && acr_index_symbol(index, (guint32)parent)->kind != ACR_SYMBOL_CLASS)
        parent = acr_index_symbol(index, (guint32)parent)->parent;
    return parent;
}

static void add_overridden(Locating *at, guint32 class_id, const char *name, AcrLocateLevel level)
{
    const AcrIndex *index = at->search->index;
    g_autoptr(GArray) ancestors = acr_index_ancestors(index, class_id);
    for (guint i = 0; i < ancestors->len; i++) {
        g_autoptr(GArray) methods =
            acr_index_methods(index, g_array_index(ancestors, guint32, i), name);
        if (methods->len) {
            add_symbol(at, g_array_index(methods, guint32, 0), ACR_LOCATED_OVERRIDDEN, level);
            return;
        }
    }
}

static void add_defs(Locating *at, const GArray *ids, AcrLocateLevel level)
{
    const AcrIndex *index = at->search->index;
    guint n = MIN(ids->len, MAX_PER_LOCATION);
    for (guint i = 0; i < n; i++)
        add_symbol(at, g_array_index(ids, guint32, i), ACR_LOCATED_BUG, level);
    for (guint i = 0; i < n; i++) {
        guint32 id = g_array_index(ids, guint32, i);
        gint32 klass = class_around(index, id);
        if (klass < 0 || acr_index_symbol(index, id)->kind == ACR_SYMBOL_CLASS)
            continue;
        add_symbol(at, (guint32)klass, ACR_LOCATED_CLASS, level);
        if (level != ACR_LOCATE_METHOD)
            add_overridden(at, (guint32)klass, acr_index_symbol(index, id)->name, level);
    }
}

static void add_classes(Locating *at, const GArray *ids, AcrLocateLevel level)
{
    for (guint i = 0; i < MIN(ids->len, MAX_PER_LOCATION); i++)
        add_symbol(at, g_array_index(ids, guint32, i), ACR_LOCATED_BUG, level);
}

static GArray *classes_named(const Locating *at)
{
    const AcrIndex *index = at->search->index;
    GArray *ids = acr_find_classes(index, &at->klass, NULL);
    g_autoptr(GArray) assigned = acr_find_named(index, ACR_KIND(ACR_SYMBOL_ASSIGN), at->klass.last);
    if (ids->len || assigned->len)
        return ids;
    g_array_unref(ids);
    return acr_find_named_folded(index, ACR_KIND(ACR_SYMBOL_CLASS), at->klass.last);
}

static GArray *defs_named(const Locating *at)
{
    GArray *ids = acr_find_defs(at->search->index, &at->method, NULL);
    if (ids->len)
        return ids;
    g_array_unref(ids);
    return acr_find_named_folded(at->search->index, ACR_FUNCTIONS, at->method.last);
}

/* Returns those of `ids` that are in the named files; if there are none, all of `ids`. */
static GArray *prefer_files(const Locating *at, const GArray *ids)
{
    GArray *here = acr_find_in_files(at->search, ids, &at->files);
    if (here->len == 0 && ids->len)
        g_array_append_vals(here, ids->data, ids->len);
    return here;
}

static bool try_method_class(Locating *at)
{
    if (!at->method.text || !at->klass.text)
        return false;
    g_autoptr(GArray) all = classes_named(at);
    g_autoptr(GArray) classes = prefer_files(at, all);
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(guint32));
    for (guint i = 0; i < classes->len && ids->len < MAX_PER_LOCATION; i++) {
        guint32 owner;
        g_autoptr(GArray) members = acr_find_members(
            at->search->index, g_array_index(classes, guint32, i), at->method.last, &owner);
        if (members->len)
            g_array_append_vals(ids, members->data, members->len);
    }
    acr_find_unique(ids);
    add_defs(at, ids, ACR_LOCATE_METHOD_CLASS);
    return ids->len > 0;
}

/* Returns the definitions of any kind that have the method's name and are in the named files.
 * Called if no function or method is found. */
static GArray *others_in_files(const Locating *at)
{
    const AcrIndex *index = at->search->index;
    g_autoptr(GArray) all = acr_find_named(index, ACR_FUNCTIONS, at->method.last);
    for (AcrSymbolKind kind = ACR_SYMBOL_CLASS; kind <= ACR_SYMBOL_ASSIGN; kind++) {
        g_autoptr(GArray) named = acr_find_named(index, ACR_KIND(kind), at->method.last);
        if (named->len && kind != ACR_SYMBOL_FUNCTION && kind != ACR_SYMBOL_METHOD)
            g_array_append_vals(all, named->data, named->len);
    }
    acr_find_unique(all);
    return acr_find_in_files(at->search, all, &at->files);
}

static bool try_method_file(Locating *at)
{
    if (!at->method.text || !at->has_file)
        return false;
    g_autoptr(GArray) all = defs_named(at);
    g_autoptr(GArray) ids = acr_find_in_files(at->search, all, &at->files);
    if (ids->len == 0) {
        g_array_unref(ids);
        ids = others_in_files(at);
    }
    add_defs(at, ids, ACR_LOCATE_METHOD_FILE);
    return ids->len > 0;
}

static bool try_class_file(Locating *at)
{
    if (!at->klass.text || !at->has_file)
        return false;
    g_autoptr(GArray) all = classes_named(at);
    g_autoptr(GArray) ids = acr_find_in_files(at->search, all, &at->files);
    add_classes(at, ids, ACR_LOCATE_CLASS_FILE);
    return ids->len > 0;
}

static bool try_class(Locating *at)
{
    if (!at->klass.text)
        return false;
    g_autoptr(GArray) ids = classes_named(at);
    add_classes(at, ids, ACR_LOCATE_CLASS);
    return ids->len > 0;
}

/* Returns the MAX_PER_LOCATION likeliest of `ids`: those in the named file's folder come first,
 * then longer ones, then earlier ones. */
static GArray *likeliest(const Locating *at, const GArray *ids)
{
    GArray *best = g_array_new(FALSE, FALSE, sizeof(guint32));
    const AcrScope scope = {.files = &at->files};
    guint64 scores[MAX_PER_LOCATION + 1];
    for (guint i = 0; i < ids->len; i++) {
        guint32 id = g_array_index(ids, guint32, i);
        const AcrSymbol *symbol = acr_index_symbol(at->search->index, id);
        gsize entry = acr_search_entry_of(at->search, id);
        bool is_near = acr_nearness(at->search, &scope, entry) < ACR_NEAR_ELSEWHERE;
        guint64 score = ((guint64)is_near << 33) + (symbol->last - symbol->first);
        guint pos = best->len;
        while (pos > 0 && scores[pos - 1] < score)
            pos--;
        if (pos >= MAX_PER_LOCATION)
            continue;
        for (guint move = best->len; move > pos; move--)
            scores[move] = scores[move - 1];
        scores[pos] = score;
        g_array_insert_val(best, pos, id);
        g_array_set_size(best, MIN(best->len, MAX_PER_LOCATION));
    }
    acr_find_unique(best);
    return best;
}

static bool try_method(Locating *at)
{
    if (!at->method.text)
        return false;
    g_autoptr(GArray) all = defs_named(at);
    if (all->len == 0) {
        g_array_unref(all);
        all = acr_find_classes(at->search->index, &at->method, NULL);
    }
    if (all->len > MAX_PER_LOCATION && g_str_has_prefix(at->method.last, "__"))
        return false;
    g_autoptr(GArray) ids = likeliest(at, all);
    add_defs(at, ids, ACR_LOCATE_METHOD);
    return ids->len > 0;
}

static bool try_file(Locating *at)
{
    bool hit = false;
    if (!at->has_file || at->files.entries->len > MAX_PER_LOCATION)
        return false;
    for (guint i = 0; i < at->files.entries->len; i++) {
        gsize entry = g_array_index(at->files.entries, gsize, i);
        AcrContent *content;
        bool there = acr_search_content(at->search, entry, &content, NULL) && content;
        guint32 n = there ? acr_content_n_lines(content) : 0;
        if (n == 0 || acr_index_is_test(at->search->index, acr_search_path(at->search, entry)))
            continue;
        AcrHit whole = {.entry = entry, .start = 1, .end = n, .symbol = -1, .view = ACR_VIEW_WHOLE};
        add_located(at, &whole, ACR_LOCATED_BUG, ACR_LOCATE_FILE);
        hit = true;
    }
    return hit;
}

static bool is_given(const char *text)
{
    return text && text[strspn(text, " \t\r\n")] && strlen(text) <= ACR_SEARCH_MAX_ARGUMENT;
}

/* Splits "A.b" in the method field: A becomes the class, unless the location names one. */
static void split_method(Locating *at)
{
    if (at->method.text && at->method.qualifier && !at->klass.text)
        acr_name_arg_init(&at->klass, at->method.qualifier);
}

/* Splits "C.run" in the class field, if C is a class that has or inherits run; or returns false. */
static bool split_class(Locating *at)
{
    const AcrIndex *index = at->search->index;
    if (!at->klass.qualifier ||
        (at->method.text && g_strcmp0(at->method.last, at->klass.last) != 0))
        return false;
    g_auto(AcrNameArg) outer = {0};
    acr_name_arg_init(&outer, at->klass.qualifier);
    g_autoptr(GArray) classes = acr_find_classes(index, &outer, NULL);
    bool has_member = false;
    for (guint i = 0; i < classes->len && !has_member; i++) {
        guint32 owner;
        g_autoptr(GArray) members =
            acr_find_members(index, g_array_index(classes, guint32, i), at->klass.last, &owner);
        has_member = members->len > 0;
    }
    if (!has_member)
        return false;
    acr_name_arg_clear(&at->method);
    at->method = at->klass;
    at->klass = outer;
    outer = (AcrNameArg){0};
    return true;
}

/* If the class field does not name a class, interprets the field as a class and its method, as a
 * module, or (if the location names no method) as a method. */
static void reread_class(Locating *at)
{
    g_autoptr(GArray) classes = at->klass.text ? classes_named(at) : NULL;
    if (!classes || classes->len || !at->klass.is_name || split_class(at))
        return;
    if (!at->has_file && at->klass.qualifier) {
        acr_file_match_clear(&at->files);
        acr_file_match_init(&at->files, at->search, at->klass.text);
        at->has_file = at->files.entries->len > 0 && !at->files.note;
    }
    if (!at->method.text && !(at->has_file && at->klass.qualifier)) {
        at->method = at->klass;
        at->klass = (AcrNameArg){0};
    }
}

static void locate_one(Locating *at)
{
    static bool (*const levels[])(Locating *) = {try_method_class, try_method_file, try_class_file,
                                                 try_class,        try_method,      try_file};
    const AcrBugLocation *location = at->location;
    if (is_given(location->klass))
        acr_name_arg_init(&at->klass, location->klass);
    if (is_given(location->method))
        acr_name_arg_init(&at->method, location->method);
    split_method(at);
    at->has_file = is_given(location->file);
    acr_file_match_init(&at->files, at->search, at->has_file ? location->file : "");
    reread_class(at);
    for (gsize i = 0; i < G_N_ELEMENTS(levels) && !levels[i](at); i++)
        continue;
    acr_name_arg_clear(&at->klass);
    acr_name_arg_clear(&at->method);
    acr_file_match_clear(&at->files);
}

GPtrArray *acr_search_locate(AcrSearch *search, const GPtrArray *locations)
{
    GPtrArray *found = g_ptr_array_new_with_free_func((GDestroyNotify)acr_located_free);
    for (guint i = 0; i < locations->len && found->len < ACR_LOCATE_MAX_PLACES; i++) {
        Locating at = {
            .search = search, .found = found, .location = g_ptr_array_index(locations, i)};
        locate_one(&at);
    }
    return found;
}
