/*
 * What a run folder is bound to. Options that make the result are recorded when the run begins and
 * compared when it is gone on with; texts (issue, prompts) by their digests, since the texts
 * themselves lie in the folder.
 */
#include "task/task_private.h"

#include <string.h>

static void set_digest(AcrJson *json, const char *key, const char *text)
{
    g_autofree char *digest = acr_sha256_hex(text, strlen(text));
    acr_json_set_string(json, key, digest);
}

static void set_code(AcrJson *json, const AcrTaskCode *code)
{
    acr_json_set_string(json, "sandbox", code->sandbox);
    acr_json_set_string(json, "image", code->image);
    acr_json_set_string(json, "python", code->python);
    acr_json_set_string(json, "setup", code->setup);
    acr_json_set(json, "setup_network",
                 code->setup_network ? acr_json_new_bool(true) : acr_json_new_null());
    acr_json_set_string(json, "validate", code->validate);
}

AcrJson *acr_meta_options(const AcrTaskOptions *options, const AcrPrompts *prompts)
{
    AcrJson *json = acr_json_new_object(), *models = acr_json_new_array(),
            *texts = acr_json_new_object();
    g_autofree char *repo = acr_path_real(options->repo);
    acr_json_set_string(json, "repo", repo);
    acr_json_set_string(json, "rev", options->rev);
    set_digest(json, "issue", options->issue);
    acr_json_set_string(json, "instance_id", options->instance_id);
    for (guint i = 0; options->models[i]; i++)
        acr_json_append(models, acr_json_new_string(options->models[i]));
    acr_json_set(json, "model", models);
    acr_json_set_int(json, "rounds", options->rounds);
    acr_json_set_int(json, "tries", options->tries);
    acr_json_set_int(json, "attempts", options->attempts);
    acr_json_set_string(json, "verify", acr_verify_name(options->verify));
    acr_json_set_string(json, "goal",
                        options->goal == ACR_GOAL_REPRODUCER ? ACR_META_REPRODUCER : NULL);
    acr_json_set(json, "temperature",
                 options->temperature < 0 ? acr_json_new_null()
                                          : acr_json_new_double(options->temperature));
    acr_json_set(json, "context",
                 options->context > 0 ? acr_json_new_int(options->context) : acr_json_new_null());
    acr_json_set_string(json, "fallback_model", options->fallback_model);
    acr_json_set_string(json, "effort", options->effort);
    set_code(json, options->code);
    for (guint i = 0; i < ACR_PROMPTS; i++)
        set_digest(texts, acr_prompt_file(i), acr_prompts_text(prompts, i));
    acr_json_set(json, "prompts", texts);
    return json;
}

static bool differ(const char *folder, const char *field, const AcrJson *recorded,
                   const AcrJson *given, GError **error)
{
    g_autofree char *then = recorded ? acr_json_print(recorded) : g_strdup("nothing");
    g_autofree char *now = given ? acr_json_print(given) : g_strdup("nothing");
    g_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE,
                "cannot go on in '%s': it was begun with another %s (then %s, now %s)", folder,
                field, then, now);
    return false;
}

bool acr_meta_check(const AcrJson *recorded, const AcrJson *given, const char *folder,
                    GError **error)
{
    for (const AcrJson *now = acr_json_first(given); now; now = acr_json_next(now)) {
        const AcrJson *then = acr_json_get(recorded, acr_json_key(now));
        if (acr_json_equal(then, now, NULL))
            continue;
        if (strcmp(acr_json_key(now), "prompts") != 0)
            return differ(folder, acr_json_key(now), then, now, error);
        for (const AcrJson *text = acr_json_first(now); text; text = acr_json_next(text)) {
            const AcrJson *old = acr_json_get(then, acr_json_key(text));
            g_autofree char *field = g_strdup_printf("prompt %s", acr_json_key(text));
            if (!acr_json_equal(old, text, NULL))
                return differ(folder, field, old, text, error);
        }
        return differ(folder, "set of prompts", then, now, error);
    }
    return true;
}
