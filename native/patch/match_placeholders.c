/* Finds comments in a replacement that stand for code of the quote ("# existing logic", "pass #
 * rest unchanged"). Applying the edit would delete that code, so the edit is refused.
 *
 * The quote and the replacement are aligned line by line. Only a new comment that replaces code of
 * the quote is examined. A comment is a placeholder in three cases: it says (in one of many
 * languages) that the code stays; it names only the removed code; or it alone replaces two lines or
 * more and explains nothing, that is, gives no reason and is not a sentence with a full stop. If
 * the comment contains the removed code, the code was commented out on purpose. */
#include <string.h>

#include "patch/match_private.h"

#define MAX_SHOWN 4u        /* maximum number of deleted lines that the message shows */
#define MAX_SHOWN_BYTES 80u /* maximum number of bytes shown of each deleted line */
#define MAX_REMARK 2000u    /* maximum number of bytes of comments that are examined at one place */
#define MIN_NAME 3u         /* minimum length of a word that can name code */

/* The syntax of the following lists: phrases are separated by "|" and begin at a word border; a
 * phrase with "*" at its end may end inside a word. Borders are ignored in languages written
 * without spaces. */

/* Phrases that say that the code stays, or is omitted. */
static const char stays[] =
    "unchanged|unmodified|unaltered|untouched|as before|as above|as is|as-is|as it was|as it is|as "
    "previously|same as|same here|same code|from before|here before|was here|goes here|"
    "remain* as|remaining code|remaining logic|remaining line*|remaining part*|"
    "remaining method*|remaining function*|remaining implementation|remaining statement*|existing "
    "code|existing logic|existing implementation|existing body|existing method*|existing function*|"
    "existing content*|existing statement*|previous code|previous logic|previous implementation|"
    "previous content*|original code|original logic|original implementation|original body|original "
    "method*|original content*|other code|rest of|omitted|omitting|elided|snip|snipped|truncated|"
    "abbreviated|shortened|for brevity|no change*|not changed|nothing change*|without change*|keep "
    "the rest|keep as|keep everything|keep all|keep existing|keep the existing|keep the code|keep "
    "the "
    "same|keep your|leave as|leave the rest|leave the code|like before|code continues|continues as|"
    "and so on|ditto|etc|your code|implementation here|code here|logic here|identical to|is "
    "identical|as they are|as they were|as in the|unaffected|not affected|left alone|intact|the "
    "way it was|the way they were|"
    /* phrases in German */
    "unverändert*|unveraendert*|wie bisher|wie zuvor|wie vorher|wie gehabt|wie oben|"
    "ausgelassen|weggelassen|gekürzt|usw|bestehend*|bisherig*|restlich*|übrig*|rest der|rest "
    "des|rest "
    "vom|rest wie|keine änderung*|ohne änderung*|unangetastet|unberührt|gleich geblieben|"
    "originalcode|wie in der|wie im|alte code|alten code|alter code|"
    /* phrases in French */
    "inchangé*|inchange*|comme avant|comme précédemment|sans changement*|sans modification*|reste "
    "du|"
    "reste de|le reste|suite du|suite de|code existant|logique existant*|code "
    "restant|identique*|omis|"
    "même code|code précédent|pas de changement*|ne change pas|ne bouge pas|code d'origine|code "
    "actuel|même logique|tel quel|telle quelle|idem|"
    /* phrases in Spanish, Italian and Portuguese */
    "resto de*|el resto|sin cambio*|sin modific*|como antes|como estaba|igual que|se mantiene*|"
    "permanece*|código existente|codigo existente|lógica existente|código restante|código anterior|"
    "mismo código|omitid*|sin tocar|queda igual|lo demás|no cambia|código original|tal cual|il "
    "resto|invariat*|come prima|codice esistente|omess*|o "
    "resto|inalterad*|sem "
    "mudança*|sem alteraç*|código original|codice originale|immutat*|"
    /* phrases in Dutch, Polish and Russian */
    "ongewijzigd*|zoals voorheen|bestaande code|bez zmian|reszta*|остальн*|без изменени*|как "
    "раньше|"
    "как было|как прежде|как и раньше|прежн*|существующ*|не изменя*|не измени*|пропущен*|"
    "не меня*|исходный код|тот же код|"
    /* phrases in Chinese, Japanese and Korean */
    "其余|其他代码|剩余|保持|不变|原有|现有|省略|同上|同前|原来|原样|照旧|未更改|未修改|未改|"
    "与之前|和之前|已有代码|不动|修改|略|原代码|原逻辑|其它|其他|一样|维持|"
    "保留|其餘|不變|現有|残り|変更なし|既存|そのまま|従来|以前と同|元のコード|同じ|나머지|기존|"
    "변경 없*|그대로|생략|동일|変わら|変更し|元のまま|同様|略|원래|유지";

/* Phrases which mean that the code stays only if the comment gives no reason. */
static const char may_stay[] =
    "rest|existing|remaining|remainder|same|other|others|previous|previously|original|originally|"
    "keep|"
    "kept|stay|stays|remain|remains|bleibt|bleiben|continue*|more code|more lines|old code|current "
    "code|current implementation|retain*|"
    "insert|paste|copy|hidden|vorhanden*|gleich*|existant*|restant*|même*|existente*|"
    "anterior*|mismo*|resto|esistent*|precedent*|précédent*|mesmo*|restante*";

/* Words for a reason, or for a change that was made to the code. */
static const char reasons[] =
    "because|since|no longer|not needed|no need|needs|needed|unneeded|unnecessary|removed|remove|"
    "deprecated|obsolete|superseded|replaced|dropped|disabled|handled|handles|moved|now|instead|"
    "avoid*|"
    "see|todo|fixme|note|nb|xxx|hack|must|should|cannot|can't|don't|do not|does not|doesn't|did "
    "not|not "
    "to|never|always|already|intentional*|deliberate*|purpose*|by design|so that|so the|so "
    "we|would|"
    "used to|only|done in|done by|done "
    "elsewhere|computed|recomput*|overrid*|subclass*|filter*|without|véase|ver|veja|vedi|validated|"
    "verified|validation|callers|caller|"
    "upstream|until|bug|issue|workaround|legacy|unused|dead|redundant|duplicate*|unsupported|"
    "supported|"
    "no-op|noop|nothing to|inherited|delegate*|super*|via|by the|in "
    "favo*|http*|pep|rfc|slow|raises|is "
    "set|are set|belongs|lives in|happens in|takes care|gone|was wrong|broke|breaks|causes|caused|"
    "weil|nicht mehr|entfernt|jetzt|damit|nun|siehe|ersetzt|erledigt*|absichtlich|übernimmt|wird "
    "in|"
    "parce que|n'est plus|ne sont "
    "plus|supprimé*|désormais|maintenant|remplacé*|voir|volontairement|géré*|"
    "porque|ya no|eliminad*|ahora|reemplaz*|innecesari*|perché|non più|rimoss*|adesso|não "
    "mais|removid*|"
    "agora|потому|больше "
    "не|удален*|теперь|因为|不再|已移|已删|现在|改为|由调用|无需|不需要|废弃|负责|削除|不要|"
    "由|已|避免|防止|不|无|仅|只|呼び出し|더 이상|삭제|필요 없";

/* Words that name code of any kind, and words without a meaning of their own. */
static const char kinds[] =
    "code|loop*|logic|body|method*|function*|implementation*|handling|line*|block*|statement*|"
    "class*|"
    "part*|section*|snippet*|calculation*|processing|here|above|below|the|and|for|all|this|that|"
    "these|"
    "then|with|from|before|after|thing*|stuff|content*|main|usual|setup|branch*|case*|over|each|"
    "every|into|iterat*|walk*|comput*|calculat*|apply|applie*|add*|sum*|process*|handle*|update*|"
    "check|checks|collect*|build*|total*";

static bool is_wide(const char *at)
{
    return (guchar)*at >= 0xe2;
}

/* Whether the text contains the phrase of `n` bytes at `phrase`. */
static bool has_phrase(const char *text, const char *phrase, gsize n)
{
    bool open = phrase[n - 1] == '*';
    n -= open;
    for (const char *at = text; *at; at++) {
        if (strncmp(at, phrase, n) != 0)
            continue;
        bool begins = at == text || !acr_is_word(at[-1]) || is_wide(at);
        if (begins && (open || is_wide(at) || !acr_is_word(at[n])))
            return true;
    }
    return false;
}

static bool has_any_phrase(const char *text, const char *phrases)
{
    for (const char *at = phrases; *at;) {
        gsize n = strcspn(at, "|");
        if (has_phrase(text, at, n))
            return true;
        at += n + (at[n] == '|');
    }
    return false;
}

/* Returns the length of the comment mark of a line; 0 if the line is not a comment. A word in
 * brackets ("[snip]") is a comment. */
static gsize remark_mark(const AcrLine *line)
{
    static const char *const marks[] = {"#", "//", "/*", "<!--", "--", "{#", "\"\"\"", "'''", ";"};
    const char *s = line->s + line->lead;
    for (gsize i = 0; i < G_N_ELEMENTS(marks); i++)
        if (line->core >= strlen(marks[i]) && memcmp(s, marks[i], strlen(marks[i])) == 0)
            return strlen(marks[i]);
    bool bracketed = line->core > 2 && *s == '[' && s[line->core - 1] == ']';
    for (gsize i = 1; bracketed && i + 1 < line->core; i++)
        bracketed = g_ascii_isalpha(s[i]) || strchr(" .", s[i]);
    return bracketed;
}

/* Returns the comment of a line (even if it follows code), without its mark. *is_code is set if the
 * line contains code other than `pass` and `...`. */
static AcrLine read_remark(const AcrLine *line, bool *is_code)
{
    const char *s = line->s + line->lead;
    gsize mark = remark_mark(line), n = line->core;
    const char *hash = mark ? NULL : memchr(s, '#', n);
    gsize behind = hash ? (gsize)(hash - s) + 1 : n;
    bool idle = (n >= 4 && memcmp(s, "pass", 4) == 0 && (n == 4 || acr_is_blank(s[4]))) ||
                (n >= 3 && memcmp(s, "...", 3) == 0);
    *is_code = mark == 0 && n > 0 && !idle;
    behind = mark ? mark : behind;
    return acr_line_make(s + behind, n - behind, n - behind);
}

/* A place where a comment replaces code of the quote. */
typedef struct {
    /* borrowed; both parts, without blanks at the beginning and end of lines */
    const AcrLines *quote, *patched;
    gsize a, b, c, d; /* quote lines [a, b) become replacement lines [c, d) */
    /* number of lines of code that are removed, and number of lines that are added */
    gsize lost, made;
    bool is_alone;   /* the place ends with a comment, without code after it */
    GString *remark; /* owned; the comments, in lower case */
    GString *code;   /* owned; the deleted lines of code, in lower case */
} Gap;

static void gap_clear(Gap *gap)
{
    g_string_free(gap->remark, TRUE);
    g_string_free(gap->code, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Gap, gap_clear)

static bool stands_in(const AcrLines *lines, const AcrLine *line)
{
    for (gsize k = 0; k < lines->n; k++)
        if (acr_line_same_exact(&lines->line[k], line))
            return true;
    return false;
}

static void append_lower(GString *out, const AcrLine *line)
{
    g_autofree char *text = g_strndup(line->s + line->lead, line->core);
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    g_autofree char *lower = g_utf8_strdown(valid, -1);
    g_string_append(out, lower);
    g_string_append_c(out, '\n');
}

static bool is_lost_line(const Gap *gap, gsize j)
{
    const AcrLine *line = &gap->quote->line[j];
    return line->core > 0 && remark_mark(line) == 0 && !stands_in(gap->patched, line);
}

/* Reads the deleted code and the comments that replace it. Returns true if a comment contains a
 * deleted line of code. */
static bool fill_gap(Gap *gap)
{
    bool commented = false;
    for (gsize j = gap->a; j < gap->b; j++) {
        if (!is_lost_line(gap, j))
            continue;
        gap->lost++;
        append_lower(gap->code, &gap->quote->line[j]);
    }
    for (gsize k = gap->c; k < gap->d && gap->remark->len < MAX_REMARK; k++) {
        bool is_code = false;
        AcrLine remark = read_remark(&gap->patched->line[k], &is_code);
        gap->made += is_code;
        gap->is_alone = !is_code && (gap->is_alone || remark.core > 0);
        if (remark.core == 0)
            continue;
        append_lower(gap->remark, &remark);
        for (gsize j = gap->a; j < gap->b && !commented; j++)
            commented = !is_code && acr_line_same_core(&remark, &gap->quote->line[j]);
    }
    return commented;
}

/* Whether every word of the comment occurs in the deleted code or names code in general. */
static bool names_only_code(const Gap *gap)
{
    g_auto(GStrv) words = g_strsplit_set(gap->remark->str, " \t\n.,:;()[]{}/*-_'\"!?", -1);
    guint named = 0;
    for (guint i = 0; words[i]; i++) {
        gsize n = strlen(words[i]);
        if (n < MIN_NAME)
            continue;
        gsize stem = n > 4 && words[i][n - 1] == 's' ? n - 1 : n;
        words[i][stem] = '\0';
        if (!has_any_phrase(words[i], kinds) && !strstr(gap->code->str, words[i]))
            return false;
        named++;
    }
    return named > 0;
}

/* Whether the comment is a sentence: three words or more, and a full stop. */
static bool is_sentence(const char *remark)
{
    gsize n = strlen(remark), words = 0;
    while (n > 0 && g_ascii_isspace(remark[n - 1]))
        n--;
    for (gsize i = 1; i < n; i++)
        words += acr_is_blank(remark[i]) && !acr_is_blank(remark[i - 1]);
    return words >= 2 && remark[n - 1] == '.' && remark[n - 2] != '.';
}

/* Whether the comment stands for the deleted code. */
static bool is_placeholder(const Gap *gap)
{
    const char *remark = gap->remark->str;
    bool dots = strstr(remark, "...") || strstr(remark, "…");
    gsize net = gap->lost > gap->made ? gap->lost - gap->made : 0;
    if (has_any_phrase(remark, stays))
        return net > 0 || gap->made == 0;
    if (has_any_phrase(remark, reasons) || net == 0)
        return false;
    return has_any_phrase(remark, may_stay) || (dots && gap->is_alone) ||
           (net > 1 && (names_only_code(gap) || (gap->is_alone && !is_sentence(remark))));
}

static char *refuse_gap(const Gap *gap)
{
    g_autoptr(GString) text = g_string_new("<patched> has a comment instead of quoted code");
    guint shown = 0;
    for (gsize k = gap->c; k < gap->d; k++) {
        bool is_code = false;
        const AcrLine *line = &gap->patched->line[k];
        if (read_remark(line, &is_code).core == 0 || is_code)
            continue;
        g_string_append_printf(text, " (\"%.*s\")", (int)MIN(line->core, MAX_SHOWN_BYTES), line->s);
        break;
    }
    g_string_append(text, ": write the replacement in full. These lines would be deleted: ");
    for (gsize j = gap->a; j < gap->b; j++) {
        if (!is_lost_line(gap, j) || ++shown > MAX_SHOWN)
            continue;
        const AcrLine *line = &gap->quote->line[j];
        g_string_append_printf(text, "%s\"%.*s\"", shown > 1 ? ", " : "",
                               (int)MIN(line->core, MAX_SHOWN_BYTES), line->s);
    }
    if (shown > MAX_SHOWN)
        g_string_append_printf(text, " and %u more", shown - MAX_SHOWN);
    return g_utf8_make_valid(text->str, -1);
}

/* Makes a copy of the lines without the blanks at the beginning and end of each line. */
static void trim_lines(const AcrLines *lines, AcrLines *out)
{
    out->line = g_new(AcrLine, lines->n + 1);
    out->n = lines->n;
    for (gsize i = 0; i < lines->n; i++) {
        const AcrLine *line = &lines->line[i];
        out->line[i] =
            (AcrLine){line->s + line->lead, line->core, line->core, 0, line->core, false};
    }
}

void acr_placeholder_check(AcrMatch *match)
{
    g_auto(AcrLines) quote = {0};
    g_auto(AcrLines) patched = {0};
    if (match->original.n > 0 && match->patched.n > ACR_PATCH_MAX_SCAN / match->original.n)
        return;
    trim_lines(&match->original, &quote);
    trim_lines(&match->patched, &patched);
    g_autofree gssize *pair = g_new(gssize, patched.n + 1);
    acr_lines_align(quote.line, quote.n, patched.line, patched.n, pair);
    for (gsize j = 0, k = 0; (j < quote.n || k < patched.n) && !match->why; j++, k++) {
        g_auto(Gap) gap = {
            &quote, &patched, j, j, k, k, 0, 0, false, g_string_new(NULL), g_string_new(NULL)};
        while (k < patched.n && pair[k] < 0)
            k++;
        j = k < patched.n ? (gsize)pair[k] : quote.n;
        gap.b = j;
        gap.d = k;
        bool commented = fill_gap(&gap);
        if (gap.remark->len > 0 && gap.lost > 0 && !commented && is_placeholder(&gap))
            match->why = refuse_gap(&gap);
    }
}
