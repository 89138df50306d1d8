/* Implements the stream of progress events. For each kind of event, a table has its name, its
 * members in JSON and its text. Consumers need not know the kinds. */
#include "loops/progress.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

/* a state that ends sooner is not shown, because it would flicker */
#define BRIEF_MS 1000
#define LEAST_LEFT_MS 1000 /* a forecast below it ignores the tasks that are running */
#define MAX_TEXT 60u       /* maximum length of a string that is read from live.json */
/* limit of a number that is read from live.json, so that sums of all tasks stay below 2^63 */
#define MAX_NUMBER (1ll << 45)

typedef char *(*Words)(const AcrProgressEvent *event);
typedef struct {
    const char *name;
    AcrShown shown;
    Words words; /* makes the event's text; NULL: the member `text` is the event's text */
    Words held;  /* makes the state's text; NULL: the event is not shown as a state */
    /* The keys in live.json, for a kind that describes a state: of the object with the event's
     * members (`group`), or of the event's time (`time_key`). */
    const char *group, *time_key;
    bool is_brief; /* any other event ends the state; the state is shown only after BRIEF_MS */
} Kind;

typedef enum { TEXT, COUNT, AMOUNT, JSON } FieldType; /* for an AMOUNT, -1 means unknown */
typedef struct {
    AcrProgressKind kind;
    const char *key;
    FieldType type;
    gsize offset; /* position in AcrProgressEvent */
} Field;
#define AT(member) offsetof(AcrProgressEvent, member)

static const Field fields[] = {
    {ACR_PROGRESS_STAGE, "stage", TEXT, AT(stage)},
    {ACR_PROGRESS_STAGE, "attempt", COUNT, AT(attempt)},
    {ACR_PROGRESS_STAGE, "number", COUNT, AT(number)},
    {ACR_PROGRESS_WAITING, "since_ms", AMOUNT, AT(since_ms)},
    {ACR_PROGRESS_WAITING, "tokens", AMOUNT, AT(tokens)},
    {ACR_PROGRESS_NOTE, "text", TEXT, AT(text)},
    {ACR_PROGRESS_ACTION, "action", TEXT, AT(action)},
    {ACR_PROGRESS_ACTION, "text", TEXT, AT(text)},
    {ACR_PROGRESS_ACTION, "places", JSON, AT(places)},
    {ACR_PROGRESS_WARNING, "text", TEXT, AT(text)},
    {ACR_PROGRESS_SPENT, "calls", AMOUNT, AT(spent.calls)},
    {ACR_PROGRESS_SPENT, "tokens", AMOUNT, AT(spent.tokens)},
    {ACR_PROGRESS_SPENT, "cost_microusd", AMOUNT, AT(spent.cost_microusd)},
    {ACR_PROGRESS_SPENT, "charged_microusd", AMOUNT, AT(spent.charged_microusd)},
    {ACR_PROGRESS_GRADED, "ended", COUNT, AT(ended)},
    {ACR_PROGRESS_GRADED, "total", COUNT, AT(total)},
    {ACR_PROGRESS_GRADED, "resolved", COUNT, AT(good)},
    {ACR_PROGRESS_GRADED, "made", TEXT, AT(made)},
    {ACR_PROGRESS_RESULT, "error", TEXT, AT(text)},
    {ACR_PROGRESS_RESULT, "result", JSON, AT(result)},
};
/* Returns the next field of a kind after `field` (NULL: the first field); NULL if there are no more
 * fields. */
static const Field *next_field(const Field *field, AcrProgressKind kind)
{
    for (field = field ? field + 1 : fields; field < fields + G_N_ELEMENTS(fields); field++)
        if (field->kind == kind)
            return field;
    return NULL;
}

static char *stage_words(const AcrProgressEvent *event)
{
    if (strcmp(event->stage, "resume") == 0)
        return g_strdup_printf("resume: the saved steps (%u) cost nothing again", event->number);
    g_autofree char *which =
        event->attempt ? g_strdup_printf("attempt %u, ", event->attempt + 1) : g_strdup("");
    const char *word = strcmp(event->stage, "patch") == 0 ? "try" : "round";
    g_autofree char *count =
        event->number ? g_strdup_printf("%s %u: ", word, event->number) : g_strdup("");
    return g_strconcat(which, count, event->stage, NULL);
}

static char *waiting_words(const AcrProgressEvent *event)
{
    g_autofree char *tokens =
        g_strdup_printf(ACR_WORDS_BETWEEN "%" G_GINT64_FORMAT " tokens", event->tokens);
    return g_strconcat("waiting for an answer", event->tokens > 0 ? tokens : "", NULL);
}

static char *warning_words(const AcrProgressEvent *event)
{
    return g_strdup_printf("%s: %s", g_get_prgname(), event->text);
}

/* Describes an end: "1/6 bill-1: patch, about 5 s to go", or "graded 1/6 bill-1: resolved". */
static char *end_words(const AcrProgressEvent *event)
{
    g_autofree char *left = event->left_ms >= LEAST_LEFT_MS && !event->is_bad
                                ? acr_forecast_text(event->left_ms, event->left_microusd)
                                : NULL;
    const char *what = event->kind == ACR_PROGRESS_GRADED ? "graded " : "";
    return g_strdup_printf("%s%u/%u %s: %s%s%s", what, event->ended, event->total, event->task,
                           event->text, left ? ", " : "", left ? left : "");
}

static char *held_tasks(const AcrProgressEvent *event)
{
    gint64 left_ms = acr_forecast_moved(event->left_ms, event->mean_ms, event->time_ms);
    g_autofree char *left = event->left_ms >= 0 && left_ms >= LEAST_LEFT_MS
                                ? acr_forecast_text(left_ms, event->left_microusd)
                                : NULL;
    return g_strdup_printf("%u of %u tasks" ACR_WORDS_BETWEEN "%u with a %s%s%s", event->ended,
                           event->total, event->good, event->made, left ? ACR_WORDS_BETWEEN : "",
                           left ? left : "");
}

static char *held_grades(const AcrProgressEvent *event)
{
    return g_strdup_printf("%u of %u graded" ACR_WORDS_BETWEEN "%u %s", event->ended, event->total,
                           event->good, event->made && *event->made ? event->made : "resolved");
}

static char *spent_words(const AcrProgressEvent *event)
{
    return acr_spent_text(&event->spent, NULL, ", ");
}

static const Kind kinds[ACR_PROGRESS_KINDS] = {
    [ACR_PROGRESS_STAGE] = {"stage", ACR_SHOWN_AS_STEP, stage_words, stage_words, NULL, "stage_ms"},
    [ACR_PROGRESS_WAITING] = {"waiting", ACR_SHOWN_NOWHERE, NULL, waiting_words, "waiting",
                              .is_brief = true},
    [ACR_PROGRESS_NOTE] = {"note", ACR_SHOWN_VERBOSE},
    [ACR_PROGRESS_ACTION] = {"action", ACR_SHOWN_VERBOSE},
    [ACR_PROGRESS_WARNING] = {"warning", ACR_SHOWN_ANYWHERE, warning_words},
    [ACR_PROGRESS_SPENT] = {"spent", ACR_SHOWN_NOWHERE, spent_words, NULL, "spent"},
    [ACR_PROGRESS_TASK] = {"task", ACR_SHOWN_LOGGED, end_words, held_tasks, "task"},
    [ACR_PROGRESS_GRADED] = {"graded", ACR_SHOWN_LOGGED, end_words, held_grades, "graded"},
    [ACR_PROGRESS_RESULT] = {"result", ACR_SHOWN_NOWHERE},
};

static bool is_kept(AcrProgressKind kind)
{
    return kinds[kind].group || kinds[kind].time_key;
}

/* ---- Passing events ---- */

gint64 acr_now_ms(void)
{
    return g_get_real_time() / 1000;
}

void acr_progress_tell(const AcrProgress *progress, AcrProgressEvent event)
{
    event.time_ms = acr_now_ms();
    for (; progress; progress = progress->next)
        progress->take(progress->ctx, &event);
}

void acr_progress_stage(const AcrProgress *progress, guint attempt, const char *stage, guint number)
{
    acr_progress_tell(progress, (AcrProgressEvent){.kind = ACR_PROGRESS_STAGE,
                                                   .stage = stage,
                                                   .attempt = attempt,
                                                   .number = number});
}

void acr_progress_note(const AcrProgress *progress, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *line = g_strdup_vprintf(format, args);
    va_end(args);
    acr_progress_tell(progress, (AcrProgressEvent){.kind = ACR_PROGRESS_NOTE, .text = line});
}

void acr_progress_action(const AcrProgress *progress, const char *action, AcrJson *places,
                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *line = g_strdup_vprintf(format, args);
    va_end(args);
    g_autoptr(AcrJson) list = places ? places : acr_json_new_array();
    acr_progress_tell(
        progress, (AcrProgressEvent){
                      .kind = ACR_PROGRESS_ACTION, .action = action, .text = line, .places = list});
}

void acr_progress_warn(const AcrProgress *progress, const char *line)
{
    if (line)
        acr_progress_tell(progress, (AcrProgressEvent){.kind = ACR_PROGRESS_WARNING, .text = line});
}

AcrShown acr_progress_shown(const AcrProgressEvent *event)
{
    AcrShown shown = kinds[event->kind].shown;
    bool is_begin = shown == ACR_SHOWN_LOGGED && !event->task;
    return is_begin                             ? ACR_SHOWN_NOWHERE
           : event->is_bad                      ? ACR_SHOWN_ANYWHERE
           : event->is_long || event->is_logged ? ACR_SHOWN_LOGGED
                                                : shown;
}

char *acr_progress_words(const AcrProgressEvent *event)
{
    const Kind *kind = &kinds[event->kind];
    return kind->words ? kind->words(event) : g_strdup(event->text);
}

/* ---- JSON ---- */

static void write_fields(const AcrProgressEvent *event, AcrJson *json)
{
    for (const Field *field = NULL; (field = next_field(field, event->kind));) {
        const void *at = (const char *)event + field->offset;
        if (field->type == TEXT)
            acr_json_set_string(json, field->key, *(const char *const *)at);
        else if (field->type == JSON)
            acr_json_set(json, field->key, acr_json_copy(*(const AcrJson *const *)at));
        else
            acr_json_set_int(json, field->key,
                             field->type == COUNT ? *(const guint *)at : *(const gint64 *)at);
    }
}

static void read_field(const Field *field, const AcrJson *json, AcrProgressEvent *event)
{
    void *at = (char *)event + field->offset;
    const char *text = acr_json_get_string(json, field->key);
    gint64 number = acr_json_get_int(json, field->key, -1);
    if (field->type == TEXT)
        *(char **)at = acr_text_shorten(text ? text : "", MAX_TEXT);
    else if (field->type == COUNT)
        *(guint *)at = (guint)CLAMP(number, 0, G_MAXINT32);
    else
        *(gint64 *)at = CLAMP(number, -1, MAX_NUMBER);
}

AcrJson *acr_progress_to_json(const AcrProgressEvent *event)
{
    AcrJson *json = acr_json_of(ACR_STRING("event", kinds[event->kind].name),
                                ACR_INT("time_ms", event->time_ms), NULL);
    write_fields(event, json);
    return json;
}

AcrJson *acr_spent_to_json(const AcrSpent *spent)
{
    AcrJson *json = acr_json_new_object();
    write_fields(&(AcrProgressEvent){.kind = ACR_PROGRESS_SPENT, .spent = *spent}, json);
    return json;
}

void acr_doing_to_json(const AcrDoing *doing, AcrJson *json)
{
    for (guint i = 0; i < ACR_PROGRESS_KINDS; i++) {
        const AcrProgressEvent *event = &doing->last[i];
        if (!event->time_ms)
            continue;
        AcrJson *group = kinds[i].group ? acr_json_new_object() : NULL;
        write_fields(event, group ? group : json);
        if (group)
            acr_json_set(json, kinds[i].group, group);
        if (kinds[i].time_key)
            acr_json_set_int(json, kinds[i].time_key, event->time_ms);
    }
}

void acr_doing_from_json(const AcrJson *json, AcrDoing *out)
{
    *out = (AcrDoing){0};
    for (guint i = 0; i < ACR_PROGRESS_KINDS; i++) {
        const AcrJson *group = kinds[i].group ? acr_json_get(json, kinds[i].group) : json;
        if (!is_kept(i) || !group)
            continue;
        gint64 ms = kinds[i].time_key ? acr_json_get_int(json, kinds[i].time_key, 1) : 1;
        out->last[i] = (AcrProgressEvent){.kind = i, .time_ms = CLAMP(ms, 1, ACR_MOST_MS)};
        for (const Field *field = NULL; (field = next_field(field, i));)
            read_field(field, group, &out->last[i]);
    }
}

/* ---- The current state ---------- */

static void forget_event(AcrProgressEvent *event)
{
    for (const Field *field = NULL; (field = next_field(field, event->kind));)
        if (field->type == TEXT)
            g_free(*(char **)((char *)event + field->offset));
    *event = (AcrProgressEvent){0};
}

bool acr_doing_take(AcrDoing *doing, const AcrProgressEvent *event)
{
    if (!is_kept(event->kind))
        return false;
    for (guint i = 0; i < ACR_PROGRESS_KINDS; i++)
        if (doing->last[i].time_ms && (i == event->kind || kinds[i].is_brief))
            forget_event(&doing->last[i]);
    AcrProgressEvent *kept = &doing->last[event->kind];
    *kept = *event;
    kept->task = kept->text = NULL; /* these members describe the event, not the state */
    for (const Field *field = NULL; (field = next_field(field, event->kind));) {
        char **text = (char **)((char *)kept + field->offset);
        if (field->type == TEXT)
            *text = g_strdup(*text);
    }
    return true;
}

void acr_doing_clear(AcrDoing *doing)
{
    for (guint i = 0; i < ACR_PROGRESS_KINDS; i++)
        if (doing->last[i].time_ms)
            forget_event(&doing->last[i]);
}

bool acr_doing_has_begun(const AcrDoing *doing)
{
    const AcrProgressEvent *stage = &doing->last[ACR_PROGRESS_STAGE];
    return stage->time_ms && *stage->stage;
}

const AcrSpent *acr_doing_spent(const AcrDoing *doing)
{
    return &doing->last[ACR_PROGRESS_SPENT].spent;
}

/* Returns whether to show a state. A state that usually ends soon is shown only after it has lasted
 * BRIEF_MS. */
static bool is_shown(const AcrProgressEvent *event)
{
    const Kind *kind = &kinds[event->kind];
    return event->time_ms && kind->held &&
           (!kind->is_brief || acr_now_ms() - event->since_ms >= BRIEF_MS);
}

char *acr_doing_text(const AcrDoing *doing, gint64 since_ms)
{
    GString *text = g_string_new(NULL);
    since_ms = since_ms ? since_ms : doing->last[ACR_PROGRESS_STAGE].time_ms;
    for (guint i = 0; i < ACR_PROGRESS_KINDS; i++) {
        const AcrProgressEvent *event = &doing->last[i];
        g_autofree char *words = is_shown(event) ? kinds[i].held(event) : g_strdup("");
        if (*words)
            g_string_append_printf(text, "%s%s", text->len ? ACR_WORDS_BETWEEN : "", words);
        if (*words && event->since_ms)
            since_ms = event->since_ms;
    }
    if (acr_doing_has_begun(doing)) {
        g_autofree char *time = acr_time_text(acr_now_ms() - since_ms);
        g_string_append_printf(text, ACR_WORDS_BETWEEN "%s", time);
    }
    return g_string_free(text, FALSE);
}

static void add_share(GString *text, gint64 used, gint64 ceiling)
{
    if (ceiling > 0)
        g_string_append_printf(text, " (%.0f%% of the ceiling)",
                               MIN((double)used / (double)ceiling, 1) * 100);
}

void acr_spent_add(AcrSpent *sum, const AcrSpent *more)
{
    sum->calls += CLAMP(more->calls, 0, MAX_NUMBER);
    sum->tokens += CLAMP(more->tokens, 0, MAX_NUMBER);
    sum->cost_microusd += CLAMP(more->cost_microusd, 0, MAX_NUMBER);
    sum->charged_microusd += CLAMP(more->charged_microusd, 0, MAX_NUMBER);
}

char *acr_spent_text(const AcrSpent *spent, const AcrSpent *ceiling, const char *between)
{
    GString *text = g_string_new(NULL);
    gint64 microusd = MAX(spent->cost_microusd, spent->charged_microusd);
    g_string_append_printf(text, "%" G_GINT64_FORMAT " call%s", MAX(spent->calls, 0),
                           spent->calls == 1 ? "" : "s");
    if (spent->tokens > 0) {
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT " tokens", between, spent->tokens);
        add_share(text, spent->tokens, ceiling ? ceiling->tokens : 0);
    }
    if (microusd > 0) {
        g_string_append_printf(text, "%s%.4f USD%s", between, (double)microusd / 1e6,
                               microusd > spent->cost_microusd ? " charged" : "");
        add_share(text, spent->charged_microusd, ceiling ? ceiling->cost_microusd : 0);
    }
    return g_string_free(text, FALSE);
}

char *acr_time_text(gint64 ms)
{
    gint64 seconds = MAX(ms, 0) / 1000, minutes = seconds / 60;
    if (minutes == 0)
        return g_strdup_printf("%" G_GINT64_FORMAT " s", seconds);
    if (minutes < 60)
        return g_strdup_printf("%" G_GINT64_FORMAT " min %" G_GINT64_FORMAT " s", minutes,
                               seconds % 60);
    return g_strdup_printf("%" G_GINT64_FORMAT " h %" G_GINT64_FORMAT " min", minutes / 60,
                           minutes % 60);
}

gint64 acr_forecast_moved(gint64 left_ms, gint64 mean_ms, gint64 made_ms)
{
    return left_ms + MAX(acr_now_ms() - made_ms - mean_ms, 0);
}

char *acr_forecast_text(gint64 ms, gint64 microusd)
{
    g_autofree char *time = acr_time_text(ms);
    return microusd > 0
               ? g_strdup_printf("about %s and %.2f USD to go", time, (double)microusd / 1e6)
               : g_strdup_printf("about %s to go", time);
}
