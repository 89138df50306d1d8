/* Prints `acr-host VERB --help` from the table of options, in groups: the common options, which fit
 * on a screen, or with --help-all all options. */
#include <string.h>
#include <unistd.h>

#include "verbs/screen.h"
#include "verbs/verbs_private.h"

#define COLUMN 32       /* column where the help of an option begins */
#define NARROW_COLUMN 8 /* the same, on a line of its own, because the terminal is narrow */
#define SHOWN_EXAMPLES 2

static void add_option_row(GString *text, const char *left, const char *help)
{
    guint width = acr_screen_width(STDOUT_FILENO);
    if (width > 0 && width < 2 * COLUMN)
        g_string_append_printf(text, "  %s\n%*s%s\n", left, NARROW_COLUMN, "", help);
    else
        g_string_append_printf(text, "  %-*s%s%s\n", COLUMN - 3, left, " ", help);
}

char *acr_option_values(const AcrOption *option)
{
    GString *values = g_string_new(option->words);
    g_string_replace(values, "|", ", ", 0);
    const char *value = option->default_value ? option->default_value : option->implied_value;
    if (value)
        g_string_append_printf(values, "%sdefault: %s", values->len ? "; " : "", value);
    return g_string_free(values, FALSE);
}

static void add_option(GString *text, const AcrOption *option)
{
    g_autofree char *letter =
        option->letter ? g_strdup_printf("-%c, ", option->letter) : g_strdup("    ");
    const char *argument = option->argument ? option->argument : "";
    bool is_optional = option->implicit_value;
    g_autofree char *left = g_strdup_printf("%s--%s%s%s%s", letter, option->name,
                                            is_optional ? "[="
                                            : *argument ? " "
                                                        : "",
                                            argument, is_optional ? "]" : "");
    g_autofree char *values = acr_option_values(option),
                    *help = g_strdup_printf("%s%s%s%s", option->help, *values ? " (" : "", values,
                                            *values ? ")" : "");
    add_option_row(text, left, help);
}

/* Adds the options of a group, common ones or all; only counts if `text` is NULL. Returns the
 * number. */
static guint add_group(GString *text, const AcrVerb *verb, const AcrOptionGroup *group, bool is_all)
{
    g_auto(GStrv) names = g_strsplit(group->names, " ", -1);
    guint n = 0;
    for (guint i = 0; names[i] && (group->verbs & verb->takes); i++) {
        const AcrOption *option = acr_option_find(names[i], strlen(names[i]), verb->takes);
        if (!option || ((option->flags & ACR_OPTION_RARE) && !is_all))
            continue;
        if (text && n == 0)
            g_string_append_printf(text, "%s:\n", group->heading);
        if (text)
            add_option(text, option);
        n++;
    }
    return n;
}

char *acr_help_text(const AcrVerb *verb, bool is_all)
{
    GString *text = g_string_new(NULL);
    guint shown = 0, all = 0;
    const char *arguments = verb->arguments, *note = verb->arguments_note;
    g_string_append_printf(text, "Usage:\n  acr-host %s [OPTION…]%s%s%s%s\n\n%s.\n\n", verb->name,
                           arguments ? " " : "", arguments ? arguments : "", note ? "\n    " : "",
                           note ? note : "", verb->summary);
    for (const AcrOptionGroup *group = acr_option_groups; group->heading; group++) {
        shown += add_group(text, verb, group, is_all);
        all += add_group(NULL, verb, group, true);
    }
    add_option_row(text, "-h, --help", "Print this text");
    if (all > shown || is_all)
        add_option_row(text, "    --help-all", "Print all options");
    g_string_append(text, "\nExamples:\n");
    for (guint i = 0; verb->examples[i].task && (is_all || i < SHOWN_EXAMPLES); i++)
        g_string_append_printf(text, "  # %s\n  acr-host %s\n", verb->examples[i].task,
                               verb->examples[i].words);
    if (verb->exits)
        g_string_append_printf(text, "\nExit codes: %s.\n", verb->exits);
    return g_string_free(text, FALSE);
}
