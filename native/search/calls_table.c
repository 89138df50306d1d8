/*
 * The table of search calls: names, parameters and the sentence that the model reads about each. It
 * is the only place that knows them; run.c pairs each name with the function that answers it. The
 * names are a contract.
 */
#include <string.h>

#include "search/search.h"

#define STR(param)                                                                                 \
    {                                                                                              \
        param, ACR_PARAM_STRING                                                                    \
    }
#define INT(param)                                                                                 \
    {                                                                                              \
        param, ACR_PARAM_INTEGER                                                                   \
    }

static const AcrCallSpec calls[] = {
    {"search_class",
     {STR("class_name")},
     "Shows the signatures of every class of that name: bases, methods with decorators, "
     "class-level assignments."},
    {"search_class_in_file",
     {STR("class_name"), STR("file_name")},
     "Shows the whole source of a class in the files of that name."},
    {"search_method",
     {STR("method_name")},
     "Shows every function and method of that name in the repository."},
    {"search_method_in_file",
     {STR("method_name"), STR("file_name")},
     "Shows the functions and methods of that name in the files of that name."},
    {"search_method_in_class",
     {STR("method_name"), STR("class_name")},
     "Shows a method of a class, also one that the class inherits."},
    {"search_code",
     {STR("code_str")},
     "Finds literal text in the Python files and shows the lines around each place; text that "
     "begins with re: is a regular expression."},
    {"search_code_in_file",
     {STR("code_str"), STR("file_name")},
     "Finds literal text in the files of that name and shows the lines around each place; text "
     "that begins with re: is a regular expression."},
    {"get_code_around_line",
     {STR("file_name"), INT("line_number"), INT("window_size")},
     "Shows a line of a file with window_size lines before and after it."},
};

const AcrCallSpec *acr_search_call_specs(gsize *out_n)
{
    *out_n = G_N_ELEMENTS(calls);
    return calls;
}

const AcrCallSpec *acr_search_call_spec(const char *name)
{
    for (gsize i = 0; i < G_N_ELEMENTS(calls); i++) {
        if (strcmp(calls[i].name, name) == 0)
            return &calls[i];
    }
    return NULL;
}
