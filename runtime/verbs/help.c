/*
 * What `acr-host VERB --help` prints, from the table of options: the common ones on a screen, all of
 * them with --help-all.
 */
#include "verbs/verbs_private.h"

#define COLUMN 32 /* where the help of an option begins */

static void add_option_row(GString *text, const char *left, const char *help)
{
    g_string_append_printf(text, "  %-*s%s%s\n", COLUMN - 3, left, " ", help);
}

static void add_option(GString *text, const AcrOption *option)
{
    g_autofree char *letter =
        option->letter ? g_strdup_printf("-%c, ", option->letter) : g_strdup("    ");
    g_autofree char *left =
        g_strdup_printf("%s--%s%s%s", letter, option->name, option->argument ? " " : "",
                        option->argument ? option->argument : "");
    g_autofree char *help = option->default_value ? g_strdup_printf("%s (default %s)", option->help,
                                                                    option->default_value)
                                                  : g_strdup(option->help);
    add_option_row(text, left, help);
}

static guint add_options(GString *text, const AcrVerb *verb, bool is_rare)
{
    guint n = 0;
    for (guint i = 0; i < acr_n_options; i++) {
        const AcrOption *option = &acr_options[i];
        if (!(option->verbs & verb->takes) || (option->flags & ACR_OPTION_INNER) ||
            !(option->flags & ACR_OPTION_RARE) == is_rare)
            continue;
        if (text)
            add_option(text, option);
        n++;
    }
    return n;
}

char *acr_help_text(const AcrVerb *verb, bool is_all)
{
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "Usage:\n  acr-host %s [OPTION…]%s%s\n\n%s.\n\nOptions:\n",
                           verb->name, verb->arguments ? " " : "",
                           verb->arguments ? verb->arguments : "", verb->summary);
    add_options(text, verb, false);
    add_option_row(text, "-h, --help", "Print this text");
    if (add_options(NULL, verb, true) == 0)
        return g_string_free(text, FALSE);
    add_option_row(text, "    --help-all", "Print all options");
    if (is_all) {
        g_string_append(text, "\nMore options:\n");
        add_options(text, verb, true);
    }
    return g_string_free(text, FALSE);
}
