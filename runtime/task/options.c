/*
 * The table of all options: one row each. Two verbs that mean different things by one name have a
 * row each for it.
 */
#include "task/run_spec.h"

#include <stddef.h>

#include "index/index.h"
#include "sandbox/sandbox.h"

#define MAX_TOKENS (1ll << 53) /* what a number of JSON holds */
#define MIN_CONTEXT 2048       /* less does not hold the prompts */
#define MAX_MEMORY_MB (16ll * 1024 * 1024)
#define MAX_OUTPUT_BYTES (1024ll * 1024 * 1024)
#define MAX_TASKS_AT_ONCE 256

#define ISSUE (ACR_FOR_RUN | ACR_FOR_REPRODUCE)
#define MODEL (ISSUE | ACR_FOR_SWE_BENCH)
#define TASKS (ACR_FOR_SWE_BENCH | ACR_FOR_EVAL)
#define CALL (MODEL | ACR_FOR_ASK)
#define LOOK (ACR_FOR_SEARCH | ACR_FOR_PATCH | ACR_FOR_INDEX)
#define CODE (MODEL | ACR_FOR_EXEC)
#define INDEXING (ISSUE | ACR_FOR_REPLAY | LOOK)

#define BOUND ACR_OPTION_BOUND
#define RARE ACR_OPTION_RARE
#define CONFIG ACR_OPTION_CONFIG
#define SECRET ACR_OPTION_SECRET
#define INNER ACR_OPTION_INNER
#define AT(member) offsetof(AcrRunSpec, member)

// clang-format off
const AcrOption acr_options[] = {
    /* ---- What is worked on ---- */
    {"repo", 'r', ACR_OPTION_PATH, AT(repo), ISSUE | LOOK | ACR_FOR_EXEC, BOUND, "DIR",
     .help = "The repository: a working tree, a bare one, or a plain folder",
     .required = ISSUE | LOOK | ACR_FOR_EXEC},
    {"rev", 0, ACR_OPTION_TEXT, AT(rev), ISSUE | LOOK | ACR_FOR_EXEC, BOUND, "REV",
     .help = "Commit to work on (default: the working tree as it is)"},
    {"dataset", 'd', ACR_OPTION_TEXT, AT(dataset), TASKS, 0, "FILE",
     .help = "Tasks: a JSON list or JSON lines of SWE-bench rows", .required = TASKS},
    {"predictions", 'p', ACR_OPTION_TEXT, AT(predictions), ACR_FOR_EVAL, 0, "FILE",
     .help = "Patches to grade: a file, gold (the reference patches) or empty (no patch)",
     .required = ACR_FOR_EVAL},
    {"run-id", 0, ACR_OPTION_TEXT, AT(run_id), ACR_FOR_EVAL, 0, "ID",
     .help = "Name of this evaluation; rerun the same command to resume",
     .required = ACR_FOR_EVAL},
    {"repos", 'r', ACR_OPTION_TEXT, AT(repos), ACR_FOR_SWE_BENCH, CONFIG, "DIR",
     .help = "Repositories: DIR/owner/name, owner+name or owner__name",
     .required = ACR_FOR_SWE_BENCH},
    {"instance", 0, ACR_OPTION_LIST, AT(instances), TASKS, 0, "ID",
     .help = "Only this task; may be repeated"},
    {"out", 'o', ACR_OPTION_TEXT, AT(out), ISSUE, 0, "DIR",
     .help = "Run folder; rerun the same command to resume", .required = ISSUE},
    {"out", 'o', ACR_OPTION_TEXT, AT(out), ACR_FOR_SWE_BENCH, 0, "DIR",
     .help = "Folder of the run folders and preds.jsonl; rerun to resume",
     .required = ACR_FOR_SWE_BENCH},
    {"out", 'o', ACR_OPTION_TEXT, AT(out), ACR_FOR_EVAL, 0, "DIR",
     .help = "Folder of the logs and the final report", .required = ACR_FOR_EVAL},
    {"rules", 0, ACR_OPTION_COUNT, AT(rules), ACR_FOR_EVAL, 0, "N",
     .help = "Grade as version N of SWE-bench's package, 4 or 5", 4, 5, .otherwise = "5"},
    {"sandbox", 0, ACR_OPTION_TEXT, AT(sandbox), ACR_FOR_EVAL, 0, "NAME",
     .help = "container (the task's image), or environment (packages; needs --repos)",
     .otherwise = "container"},
    {"repos", 'r', ACR_OPTION_TEXT, AT(repos), ACR_FOR_EVAL, CONFIG, "DIR",
     .help = "Repositories: DIR/owner/name, owner+name or owner__name"},
    {"environments", 0, ACR_OPTION_TEXT, AT(environments), ACR_FOR_EVAL, RARE, "FILE",
     .help = "More recipes of environments, a JSON list"},
    {"regrade", 0, ACR_OPTION_FLAG, AT(regrade), ACR_FOR_EVAL, 0, NULL,
     .help = "Grade saved outputs; run nothing"},
    {"ignore-unknown", 0, ACR_OPTION_FLAG, AT(ignore_unknown), ACR_FOR_EVAL, 0, NULL,
     .help = "Leave out predictions for no task of the data set"},
    {"model", 'm', ACR_OPTION_MODELS, AT(models), MODEL, BOUND | CONFIG, "MODEL",
     .help = "PROVIDER/NAME or script:FILE; repeated: attempt N uses the Nth", .required = MODEL},
    {"model", 'm', ACR_OPTION_MODELS, AT(models), ACR_FOR_ASK, CONFIG, "MODEL",
     .help = "PROVIDER/NAME", .required = ACR_FOR_ASK},
    {"issue", 'i', ACR_OPTION_TEXT, AT(issue_file), ISSUE, 0, "FILE",
     .help = "File with the issue's text; - for standard input", .rival = "issue-text"},
    {"issue-text", 0, ACR_OPTION_TEXT, AT(issue_text), ISSUE, 0, "TEXT",
     .help = "The issue's text itself", .rival = "issue"},
    {"instance-id", 0, ACR_OPTION_TEXT, AT(instance_id), ISSUE, BOUND | RARE, "ID",
     .help = "Name of a benchmark task"},
    {"tag", 0, ACR_OPTION_TEXT, AT(tag), MODEL, BOUND | RARE, "TEXT", .help = "Label to record"},
    {"apply", 0, ACR_OPTION_FLAG, AT(apply), ACR_FOR_RUN, 0, NULL,
     .help = "Write the change into the working tree, if it is still as it was"},
    {"patch", 0, ACR_OPTION_TEXT, AT(patch), ACR_FOR_EXEC, 0, "FILE",
     .help = "Diff to apply to the copy first; - for standard input"},
    /* ---- Proof ---- */
    {"verify", 0, ACR_OPTION_WORD, AT(verify), ACR_FOR_RUN | ACR_FOR_SWE_BENCH, BOUND | CONFIG,
     "WHEN", .help = "When to verify the patch by running code; alone: always",
     .words = "auto|always|never", .otherwise = "auto", .alone = "always"},
    {"validate", 0, ACR_OPTION_TEXT, AT(validate), ACR_FOR_RUN | ACR_FOR_SWE_BENCH,
     BOUND | CONFIG, "CMD",
     .help = "Command to run on each patched copy; non-zero rejects the patch"},
    {"setup", 0, ACR_OPTION_TEXT, AT(setup), CODE, BOUND | CONFIG, "CMD",
     .help = "Command that makes the project importable; cached for each tree"},
    {"setup-network", 0, ACR_OPTION_FLAG, AT(setup_network), CODE, BOUND | CONFIG | RARE, NULL,
     .help = "Let the set-up use the network"},
    {"setup-timeout", 0, ACR_OPTION_SECONDS, AT(setup_ms), CODE, CONFIG | RARE, "SECONDS",
     .help = "Stop the set-up after SECONDS (default 3600)"},
    {"python", 0, ACR_OPTION_PROGRAM, AT(python), CODE, BOUND | CONFIG, "PATH",
     .help = "The project's Python (default: .venv, else the system's)"},
    {"sandbox", 0, ACR_OPTION_TEXT, AT(sandbox), CODE, BOUND | CONFIG, "NAME",
     .help = "bubblewrap, container (with --image), or plain, which isolates nothing"},
    {"image", 0, ACR_OPTION_TEXT, AT(image), CODE, BOUND | CONFIG, "NAME",
     .help = "Container image that holds the project in /testbed"},
    /* ---- Ceilings ---- */
    {"max-cost", 0, ACR_OPTION_USD, AT(max_cost), ISSUE | ACR_FOR_ASK, CONFIG, "USD",
     .help = "Spend at most USD; each call is reserved before it is sent"},
    {"max-cost", 0, ACR_OPTION_USD, AT(max_cost), ACR_FOR_SWE_BENCH, CONFIG, "USD",
     .help = "Spend at most USD on all tasks together"},
    {"max-tokens-total", 0, ACR_OPTION_COUNT, AT(max_tokens_total), CALL, CONFIG | RARE, "N",
     .help = "Use at most N tokens, sent and received", 1, MAX_TOKENS},
    {"max-time", 0, ACR_OPTION_SECONDS, AT(max_ms), CALL, CONFIG, "SECONDS",
     .help = "Stop after SECONDS and keep the best result so far"},
    {"task-max-cost", 0, ACR_OPTION_USD, AT(task_max_cost), ACR_FOR_SWE_BENCH, CONFIG, "USD",
     .help = "Spend at most USD on each task"},
    {"task-max-tokens", 0, ACR_OPTION_COUNT, AT(task_max_tokens), ACR_FOR_SWE_BENCH,
     CONFIG | RARE, "N", .help = "Use at most N tokens for each task", 1, MAX_TOKENS},
    {"task-max-time", 0, ACR_OPTION_SECONDS, AT(task_max_ms), ACR_FOR_SWE_BENCH, CONFIG,
     "SECONDS", .help = "Stop each task after SECONDS"},
    /* ---- Loops and models ---- */
    {"rounds", 0, ACR_OPTION_COUNT, AT(rounds), MODEL & ~ACR_FOR_REPRODUCE, BOUND | CONFIG | RARE,
     "N", .help = "At most N retrieval rounds", 1, 1000, .otherwise = "15"},
    {"tries", 0, ACR_OPTION_COUNT, AT(tries), MODEL, BOUND | CONFIG | RARE, "N",
     .help = "At most N answers of the patch writer, or scripts", 1, 100, .otherwise = "3"},
    {"attempts", 0, ACR_OPTION_COUNT, AT(attempts), MODEL, BOUND | CONFIG | RARE, "N",
     .help = "At most N fresh attempts", 1, 100, .otherwise = "1"},
    {"fallback-model", 0, ACR_OPTION_MODEL, AT(fallback_model), MODEL, BOUND | CONFIG | RARE,
     "MODEL", .help = "Model to use after a permanent failure"},
    {"temperature", 0, ACR_OPTION_NUMBER, AT(temperature), CALL, BOUND | CONFIG | RARE, "T",
     .help = "Sampling temperature (default: the model's)", 0, 2},
    {"context", 0, ACR_OPTION_COUNT, AT(context), MODEL, BOUND | CONFIG | RARE, "TOKENS",
     .help = "Size of the context window (default: learnt)", MIN_CONTEXT, 1000000000},
    {"effort", 0, ACR_OPTION_TEXT, AT(effort), CALL, BOUND | CONFIG | RARE, "WORD",
     .help = "Reasoning effort, in the provider's words (low, medium, high)"},
    {"prompts", 0, ACR_OPTION_TEXT, AT(prompts), MODEL, CONFIG | RARE, "DIR",
     .help = "Directory of prompts that override the built-in ones"},
    {"base-url", 0, ACR_OPTION_TEXT, AT(base_url), CALL, RARE, "URL",
     .help = "Override the base URL of the (first) model's provider"},
    {"key-command", 0, ACR_OPTION_TEXT, AT(key_command), CALL, RARE, "CMD",
     .help = "Command that prints that provider's key", .variable = "ACR_KEY_COMMAND",
     .rival = "key-file"},
    {"key-file", 0, ACR_OPTION_TEXT, AT(key_file), CALL, RARE, "FILE",
     .help = "File that holds that provider's key (mode 0600)", .variable = "ACR_KEY_FILE",
     .rival = "key-command"},
    {"header", 0, ACR_OPTION_HEADERS, AT(headers), CALL, RARE | SECRET, "'NAME: VALUE'",
     .help = "Request header for that provider; may be repeated", .variable = "ACR_HEADERS"},
    {"retries", 0, ACR_OPTION_COUNT, AT(retries), CALL, CONFIG | RARE, "N",
     .help = "Retries after a transient failure", 0, 20, .otherwise = "8"},
    {"retry-base-ms", 0, ACR_OPTION_COUNT, AT(retry_base_ms), CALL, INNER, "MS",
     .help = "Scale of the waits between retries", 0, 3600000, .variable = "ACR_RETRY_BASE_MS"},
    {"prices", 0, ACR_OPTION_TEXT, AT(prices), CALL, CONFIG | RARE, "FILE",
     .help = "Prices that override the built-in ones (LiteLLM's shape)"},
    /* ---- Of `ask` ---- */
    {"system", 's', ACR_OPTION_TEXT, AT(system), ACR_FOR_ASK, 0, "TEXT",
     .help = "The system prompt"},
    {"json-mode", 0, ACR_OPTION_FLAG, AT(json_mode), ACR_FOR_ASK, 0, NULL,
     .help = "Make the model answer with a JSON object"},
    {"schema", 0, ACR_OPTION_TEXT, AT(schema), ACR_FOR_ASK, 0, "FILE",
     .help = "JSON schema that the answer must follow"},
    {"max-tokens", 0, ACR_OPTION_COUNT, AT(max_tokens), ACR_FOR_ASK, 0, "N",
     .help = "At most N tokens in the answer", 1, G_MAXINT32},
    {"timeout", 0, ACR_OPTION_SECONDS, AT(timeout_ms), ACR_FOR_ASK, 0, "SECONDS",
     .help = "Timeout of each attempt (default 1800)"},
    {"ledger", 0, ACR_OPTION_TEXT, AT(ledger), ACR_FOR_ASK, RARE, "FILE",
     .help = "Ledger of what was spent: the ceilings hold for all calls that name it"},
    /* ---- Of `exec` ---- */
    {"timeout", 0, ACR_OPTION_SECONDS, AT(timeout_ms), ACR_FOR_EXEC, 0, "SECONDS",
     .help = "Stop the command after SECONDS (default 120)"},
    {"timeout", 0, ACR_OPTION_SECONDS, AT(timeout_ms), ACR_FOR_EVAL, 0, "SECONDS",
     .help = "Stop the tests of a task after SECONDS (default 1800)"},
    {"memory", 0, ACR_OPTION_COUNT, AT(memory_mb), ACR_FOR_EVAL, 0, "MB",
     .help = "Memory of a task's processes together (default 8192)", 1, MAX_MEMORY_MB},
    {"processes", 0, ACR_OPTION_COUNT, AT(processes), ACR_FOR_EVAL, 0, "N",
     .help = "At most N processes and threads of a task at once (default 1024)", 1,
     ACR_SANDBOX_MAX_PROCESSES},
    {"memory", 0, ACR_OPTION_COUNT, AT(memory_mb), ACR_FOR_EXEC, 0, "MB",
     .help = "Memory of all its processes together (default 2048)", 1, MAX_MEMORY_MB},
    {"processes", 0, ACR_OPTION_COUNT, AT(processes), ACR_FOR_EXEC, 0, "N",
     .help = "At most N processes and threads at once (default 256)", 1,
     ACR_SANDBOX_MAX_PROCESSES},
    {"output-limit", 0, ACR_OPTION_COUNT, AT(output_limit), ACR_FOR_EXEC, 0, "BYTES",
     .help = "Keep at most BYTES of each stream (default 1048576)", 1, MAX_OUTPUT_BYTES},
    {"network", 0, ACR_OPTION_FLAG, AT(network), ACR_FOR_EXEC | ACR_FOR_EVAL, 0, NULL,
     .help = "Allow network access"},
    {"clear", 0, ACR_OPTION_FLAG, AT(clear), ACR_FOR_EXEC, 0, NULL,
     .help = "First drop cached trees and set-ups, not images; without --repo, only this"},
    {"clear", 0, ACR_OPTION_FLAG, AT(clear), ACR_FOR_INDEX, 0, NULL,
     .help = "First drop all cached outlines; without --repo, do only this"},
    /* ---- How it is done and shown ---- */
    {"jobs", 'j', ACR_OPTION_COUNT, AT(tasks_at_once), TASKS, CONFIG, "N",
     .help = "Tasks to run at once", 1, MAX_TASKS_AT_ONCE, .otherwise = "1"},
    {"jobs", 'j', ACR_OPTION_COUNT, AT(jobs), INDEXING, RARE, "N",
     .help = "Worker processes that parse files (default: one a processor)", 1,
     ACR_OUTLINE_MAX_JOBS},
    {"no-cache", 0, ACR_OPTION_FLAG, AT(no_cache), INDEXING | MODEL, CONFIG | RARE, NULL,
     .help = "Neither read nor write the cache of outlines"},
    {"json", 0, ACR_OPTION_FLAG, AT(json), ISSUE | ACR_FOR_REPLAY, 0, NULL,
     .help = "Print the result as one JSON object"},
    {"json", 0, ACR_OPTION_FLAG, AT(json), LOOK, 0, NULL,
     .help = "Print one JSON object for each result"},
    {"json", 0, ACR_OPTION_FLAG, AT(json), ACR_FOR_ASK, 0, NULL,
     .help = "Print one JSON object: the answer, or the class of the failure"},
    {"json", 0, ACR_OPTION_FLAG, AT(json), ACR_FOR_EXEC, 0, NULL,
     .help = "Print one JSON object in place of the command's output"},
    {"json", 0, ACR_OPTION_FLAG, AT(json), ACR_FOR_EVAL, 0, NULL,
     .help = "Print the final report as one JSON object"},
    {"verbose", 'v', ACR_OPTION_FLAG, AT(verbose), ACR_FOR_EVAL, CONFIG, NULL,
     .help = "Print each grade on stderr, also when piped"},
    {"verbose", 'v', ACR_OPTION_FLAG, AT(verbose), MODEL | ACR_FOR_REPLAY, CONFIG, NULL,
     .help = "Print each step on stderr, also when piped"},
    {"verbose", 'v', ACR_OPTION_FLAG, AT(verbose), LOOK, CONFIG, NULL,
     .help = "Name each file that cannot be parsed, and why"},
    {"verbose", 'v', ACR_OPTION_FLAG, AT(verbose), ACR_FOR_ASK, CONFIG, NULL,
     .help = "Print each wait on stderr"},
    {"verbose", 'v', ACR_OPTION_FLAG, AT(verbose), ACR_FOR_EXEC, CONFIG, NULL,
     .help = "Print which Python is used, and what is left out"},
    /* ---- What a batch sets for its tasks ---- */
    {"shared-dir", 0, ACR_OPTION_TEXT, AT(shared_dir), ACR_FOR_RUN, .flags = INNER},
    {"batch-max-cost", 0, ACR_OPTION_USD, AT(batch_max_cost), ACR_FOR_RUN, .flags = INNER},
    {"batch-max-tokens", 0, ACR_OPTION_COUNT, AT(batch_max_tokens), ACR_FOR_RUN, .flags = INNER,
     .min = 1, .max = MAX_TOKENS},
    {"batch-deadline-us", 0, ACR_OPTION_COUNT, AT(batch_deadline_us), ACR_FOR_RUN, .flags = INNER,
     .min = 1, .max = G_MAXINT64},
};
// clang-format on
const guint acr_n_options = G_N_ELEMENTS(acr_options);
