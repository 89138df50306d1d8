/* Finds lines that use a word, for calls that find nothing else. The search covers every non-test
 * .py file and, if none contains the word, non-test files of other types. Neighbouring lines become
 * one place. Places are ordered by how near they are to the named scope, then by how many of the
 * call's other words they contain, then by the role of the word in the line: bound, imported or
 * used.
 *
 * One scan collects flat (entry, lines, rank) records; only those that the answer can list become
 * hits. */
#include <string.h>

#include "search/calls_private.h"

#define NEARBY_LINES 4u /* uses that are less than this number of lines apart become one place */
/* maximum number of lines with the word that are ranked in one file, because an answer lists only a
 * few lines */
#define LINES_PER_FILE 20000u

static bool is_word_char(gunichar c)
{
    return c == '_' || (c < 0x80 ? g_ascii_isalnum((char)c) : g_unichar_isalnum(c));
}

/* Returns the length in bytes of the letter, digit or underscore at `at`; 0 if there is none. The
 * text is UTF-8. */
static gsize word_char_at(const char *at)
{
    if ((guchar)*at < 0x80)
        return is_word_char((guchar)*at);
    gunichar c = g_utf8_get_char_validated(at, 4);
    return c < 0x110000 && is_word_char(c) ? (gsize)(g_utf8_next_char(at) - at) : 0;
}

static bool ends_in_word_char(const char *start, const char *end)
{
    if (end == start)
        return false;
    if ((guchar)end[-1] < 0x80)
        return is_word_char((guchar)end[-1]);
    const char *last = g_utf8_find_prev_char(start, end);
    return last && word_char_at(last) > 0;
}

static bool is_same_word(const char *a, gsize len, const char *b)
{
    return strlen(b) == len && memcmp(a, b, len) == 0;
}

/* Inserts the word at the front of the list. If the list already has the word, moves it to the
 * front. */
static void add_word(GPtrArray *words, const char *word, gsize len)
{
    for (guint i = 0; i < words->len; i++) {
        if (is_same_word(word, len, g_ptr_array_index(words, i))) {
            g_ptr_array_remove_index(words, i);
            break;
        }
    }
    g_ptr_array_insert(words, 0, g_strndup(word, len));
    if (words->len > ACR_SEARCH_MAX_WORDS)
        g_ptr_array_set_size(words, ACR_SEARCH_MAX_WORDS);
}

GPtrArray *acr_words_of(const char *text)
{
    GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
    for (const char *at = text; *at;) {
        gsize n = 0;
        for (gsize more; (more = word_char_at(at + n)); n += more)
            continue;
        if (n && !g_ascii_isdigit(*at))
            add_word(words, at, n);
        at += n ? n : 1;
    }
    return words;
}

/* Returns the next occurrence of `word` as a whole word in at..end; NULL if there is none, or if
 * the word is empty. */
static const char *next_word(const char *start, const char *at, const char *end, const char *word,
                             gsize len)
{
    bool left = word_char_at(word) > 0, right = ends_in_word_char(word, word + len);
    while (len && (at = memmem(at, (gsize)(end - at), word, len))) {
        bool begins = !left || !ends_in_word_char(start, at);
        bool stops = !right || at + len == end || !word_char_at(at + len);
        if (begins && stops)
            return at;
        at++;
    }
    return NULL;
}

bool acr_has_word(const char *text, gsize len, const char *word)
{
    return *word && next_word(text, text, text + len, word, strlen(word)) != NULL;
}

static bool same_folder(const char *a, const char *b)
{
    const char *end_a = strrchr(a, '/'), *end_b = strrchr(b, '/');
    gsize n = end_a ? (gsize)(end_a - a) : 0, m = end_b ? (gsize)(end_b - b) : 0;
    return n == m && memcmp(a, b, n) == 0;
}

static guint32 nearness_to_entry(const AcrSearch *search, gsize named, gsize entry)
{
    if (named == entry)
        return ACR_NEAR_NAMED;
    return same_folder(acr_search_path(search, named), acr_search_path(search, entry))
               ? ACR_NEAR_FOLDER
               : ACR_NEAR_ELSEWHERE;
}

guint32 acr_nearness(const AcrSearch *search, const AcrScope *scope, gsize entry)
{
    guint n_files = scope->files ? scope->files->entries->len : 0;
    guint n_classes = scope->classes ? scope->classes->len : 0;
    guint32 best = n_files + n_classes ? ACR_NEAR_ELSEWHERE : ACR_NEAR_NAMED;
    if (n_files && acr_file_match_has(scope->files, entry))
        return ACR_NEAR_NAMED;
    for (guint i = 0; i < MIN(n_files, ACR_SCOPE_COMPARED) && best; i++)
        best = MIN(
            best, nearness_to_entry(search, g_array_index(scope->files->entries, gsize, i), entry));
    for (guint i = 0; i < MIN(n_classes, ACR_SCOPE_COMPARED) && best; i++) {
        gsize named = acr_search_entry_of(search, g_array_index(scope->classes, guint32, i));
        best = MIN(best, nearness_to_entry(search, named, entry));
    }
    return best;
}

/* True if one of the scope's classes contains the line, or if the scope has no classes. */
static bool in_named_class(const AcrSearch *search, const AcrScope *scope, gsize entry,
                           guint32 line)
{
    guint n = scope->classes ? scope->classes->len : 0;
    for (guint i = 0; i < MIN(n, ACR_SCOPE_COMPARED); i++) {
        guint32 id = g_array_index(scope->classes, guint32, i);
        const AcrSymbol *klass = acr_index_symbol(search->index, id);
        if (acr_search_entry_of(search, id) == entry && klass->first <= line && line <= klass->last)
            return true;
    }
    return n == 0;
}

/* A place: the lines first..last. `at` is the line that determines its rank. */
typedef struct {
    gsize entry;
    guint32 first, last, at, rank, count;
} Use;

typedef struct {
    AcrSearch *search;
    const AcrScope *scope;
    const char *word;
    GPtrArray *others; /* array of the call's other words to look for in the lines, in lower case */
    AcrReply *reply;   /* receives the lines with the word, for answers to people */
    GArray *uses;      /* array of Use, in order of (entry, line) */
    bool overfull;
    bool cut; /* a file has more lines with the word than were ranked */
} Collector;

static bool ends_with_word(const char *from, const char *to, const char *word)
{
    gsize n = strlen(word);
    while (to > from && (to[-1] == ' ' || to[-1] == '('))
        to--;
    return (gsize)(to - from) >= n && memcmp(to - n, word, n) == 0 &&
           !ends_in_word_char(from, to - n);
}

/* Returns the role of the word at `at` in the line: 0 if it is bound, 1 if it is imported,
 * otherwise 2. */
static guint32 role_on_line(const char *line, const char *at, gsize len, const char *end)
{
    const char *text = line, *after = at + len;
    while (text < at && (*text == ' ' || *text == '\t'))
        text++;
    if (acr_has_word(text, (gsize)(at - text), "import") || ends_with_word(text, at, "as"))
        return 1;
    while (after < end && *after == ' ')
        after++;
    bool assigned = after < end && *after == '=' && (after + 1 == end || after[1] != '=');
    bool whole = text == at || (at - text == 5 && memcmp(text, "self.", 5) == 0);
    bool parameter = (gsize)(at - text) > 4 && memcmp(text, "def ", 4) == 0;
    return (assigned && whole) || parameter || ends_with_word(text, at, "for") ? 0 : 2;
}

/* Returns how many of the other words the line lacks, ignoring case. */
static guint32 words_missing(const Collector *all, const char *line, const char *end)
{
    guint32 missing = 0;
    if (all->others->len == 0)
        return 0;
    g_autofree char *lower = g_ascii_strdown(line, end - line);
    for (guint i = 0; i < all->others->len; i++) {
        const char *other = g_ptr_array_index(all->others, i);
        missing += memmem(lower, (gsize)(end - line), other, strlen(other)) == NULL;
    }
    return missing;
}

static void add_use(Collector *all, const Use *use)
{
    Use *last = all->uses->len ? &g_array_index(all->uses, Use, all->uses->len - 1) : NULL;
    if (last && last->entry == use->entry && use->first < last->last + NEARBY_LINES &&
        use->first - last->first < ACR_SEARCH_MAX_BLOCK) {
        last->count++;
        last->last = use->last;
        if (use->rank < last->rank) {
            last->rank = use->rank;
            last->at = use->at;
        }
        return;
    }
    if (all->uses->len >= ACR_SEARCH_MAX_HITS)
        all->overfull = true;
    else
        g_array_append_vals(all->uses, use, 1);
}

static const char *line_end(const char *at, const char *end)
{
    while (at < end && *at != '\n' && *at != '\r')
        at++;
    return at;
}

/* Collects one use for each of the first LINES_PER_FILE lines of the content that contain the
 * word. */
static void collect(Collector *all, gsize entry, AcrContent *content, guint32 nearness)
{
    gsize len = strlen(all->word);
    const char *text = content->text.text, *end = text + content->text.len;
    AcrLineCursor cursor = {.line = 1};
    guint32 n_lines = 0;
    for (const char *at = text; at < end && !all->overfull;) {
        at = next_word(text, at, end, all->word, len);
        if (!at)
            return;
        if (n_lines++ == LINES_PER_FILE) {
            all->cut = true;
            return;
        }
        const char *line = at, *stop = line_end(at + len, end);
        while (line > text && line[-1] != '\n' && line[-1] != '\r')
            line--;
        acr_line_cursor_move(&cursor, content, (gsize)(at - text));
        guint32 number = cursor.line;
        guint32 near = nearness * 2 + !in_named_class(all->search, all->scope, entry, number);
        guint32 missing = words_missing(all, line, stop);
        guint32 rank =
            (near * (ACR_SEARCH_MAX_WORDS + 1) + missing) * 4 + role_on_line(line, at, len, stop);
        Use use = {entry, number, number, number, rank, 1};
        add_use(all, &use);
        acr_reply_add_line(all->reply, entry, number, (gsize)(at - line) + 1);
        at = stop;
    }
}

static bool holds(const AcrContent *content, const char *word)
{
    const AcrText *text = &content->text;
    return memmem(text->text, text->len, word, strlen(word)) != NULL;
}

static bool collect_entry(Collector *all, gsize entry, guint32 nearness, GError **error)
{
    AcrContent *content;
    if (!acr_search_content(all->search, entry, &content, error))
        return false;
    if (content && holds(content, all->word))
        collect(all, entry, content, nearness);
    return true;
}

/* Collects uses from the indexed files, and from files without symbols that the call named. */
static bool collect_python(Collector *all, GError **error)
{
    AcrSearch *search = all->search;
    const AcrFileMatch *files = all->scope->files;
    for (guint i = 0; files && i < files->entries->len; i++) {
        gsize entry = g_array_index(files->entries, gsize, i);
        if (search->file_of_entry[entry] < 0 && !collect_entry(all, entry, ACR_NEAR_NAMED, error))
            return false;
    }
    if (all->scope->absent)
        return true;
    g_autoptr(GArray) entries = acr_search_load(search, all->word, true);
    for (guint i = 0; i < entries->len; i++) {
        gsize entry = g_array_index(entries, gsize, i);
        if (!collect_entry(all, entry, acr_nearness(search, all->scope, entry), error))
            return false;
    }
    return true;
}

/* Returns the rank of a file type: 0 for code and settings, 1 for prose, 2 for unknown types. */
static guint32 rank_of_type(const char *path)
{
    static const char *const code[] = {".pyx", ".pxd", ".pxi", ".pyi", ".c",    ".h",   ".cpp",
                                       ".hpp", ".cc",  ".js",  ".ts",  ".toml", ".cfg", ".ini",
                                       ".in",  ".sh",  ".y",   ".g4",  ".tmpl", ".html"};
    static const char *const prose[] = {".rst", ".md", ".txt"};
    for (gsize i = 0; i < G_N_ELEMENTS(code); i++)
        if (g_str_has_suffix(path, code[i]))
            return 0;
    for (gsize i = 0; i < G_N_ELEMENTS(prose); i++)
        if (g_str_has_suffix(path, prose[i]))
            return 1;
    return 2;
}

/* Collects uses from non-test files that are not indexed. Returns false and sets an error if a file
 * cannot be read. */
static bool collect_others(Collector *all, GError **error)
{
    const GPtrArray *texts = acr_search_others(all->search, all->word);
    for (guint i = 0; texts && i < texts->len; i++) {
        const AcrOther *other = g_ptr_array_index(texts, i);
        const char *path = acr_search_path(all->search, other->entry);
        if (acr_index_is_test(all->search->index, path) ||
            (all->scope->files && acr_file_match_has(all->scope->files, other->entry)))
            continue;
        if (!collect_entry(all, other->entry, rank_of_type(path), error))
            return false;
    }
    return true;
}

static int compare_uses(const void *left, const void *right)
{
    const Use *a = left, *b = right;
    int order = acr_order(a->rank, b->rank);
    order = order ? order : acr_order(a->entry, b->entry);
    return order ? order : acr_order(a->first, b->first);
}

static bool add_use_here(AcrReply *reply, const Use *use, guint32 rank, GError **error)
{
    AcrContent *content;
    if (!acr_search_content(reply->search, use->entry, &content, error))
        return false;
    guint32 n_lines = content ? acr_content_n_lines(content) : use->last;
    AcrHit hit = {.entry = use->entry, .rank = rank, .symbol = -1, .count = use->count};
    acr_hit_set_names(reply, &hit, use->at);
    hit.view = ACR_VIEW_WHOLE;
    hit.start = use->first > ACR_SEARCH_CONTEXT_LINES ? use->first - ACR_SEARCH_CONTEXT_LINES : 1;
    hit.end = MIN(use->last + ACR_SEARCH_CONTEXT_LINES, n_lines);
    acr_reply_add(reply, &hit);
    return true;
}

static int compare_entries(const void *left, const void *right)
{
    const Use *a = left, *b = right;
    return acr_order(a->entry, b->entry);
}

/* Replaces uses that the answer cannot list by one count for each file. */
static void add_counts(AcrReply *reply, Use *rest, gsize n)
{
    qsort(rest, n, sizeof *rest, compare_entries);
    for (gsize i = 0; i < n;) {
        AcrHit hit = {.entry = rest[i].entry, .rank = G_MAXUINT32, .symbol = -1};
        hit.start = ACR_HIT_COUNT_ONLY;
        for (; i < n && rest[i].entry == hit.entry; i++)
            hit.count += rest[i].count;
        acr_reply_add(reply, &hit);
    }
}

static bool emit(AcrReply *reply, Collector *all, GError **error)
{
    guint32 base = 0;
    guint taken = 0;
    for (guint i = 0; i < reply->hits->len; i++)
        base = MAX(base, g_array_index(reply->hits, AcrHit, i).rank + 1);
    g_array_sort(all->uses, compare_uses);
    reply->overfull = reply->overfull || all->overfull || all->cut;
    for (; taken < all->uses->len && reply->hits->len < ACR_SEARCH_MAX_PLACES; taken++) {
        const Use *use = &g_array_index(all->uses, Use, taken);
        if (!add_use_here(reply, use, base + use->rank, error))
            return false;
    }
    if (taken < all->uses->len)
        add_counts(reply, &g_array_index(all->uses, Use, taken), all->uses->len - taken);
    return true;
}

static GPtrArray *others_of(const GPtrArray *words)
{
    GPtrArray *others = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 1; i < words->len; i++)
        g_ptr_array_add(others, g_ascii_strdown(words->pdata[i], -1));
    return others;
}

bool acr_uses_add(AcrReply *reply, const GPtrArray *words, const AcrScope *scope,
                  AcrUsesFound *out_found, GError **error)
{
    *out_found = (AcrUsesFound){0};
    if (words->len == 0)
        return true;
    g_autoptr(GArray) uses = g_array_new(FALSE, FALSE, sizeof(Use));
    g_autoptr(GPtrArray) others = others_of(words);
    Collector all = {reply->search, scope, words->pdata[0], others, reply, uses, false, false};
    if (!collect_python(&all, error))
        return false;
    if (uses->len == 0 && (!reply->search->mode.literal || reply->search->mode.others)) {
        out_found->where = ACR_USES_OTHERS;
        if (!collect_others(&all, error))
            return false;
    }
    if (uses->len == 0)
        return true;
    out_found->word = all.word;
    return emit(reply, &all, error);
}
