/* layout: the name of every file and folder that a run, a batch, a shard or an evaluation leaves on
 * disk. No other C file contains these names; python/acr/layout.py repeats those that Python reads.
 * A name with "%u" is a format. tools/checks/layout.py checks both. */
#pragma once

/* ---- A run folder ---- */
#define ACR_FILE_META "meta.json" /* the run's options; written first, so it marks a run folder */
#define ACR_FILE_LOCK "lock"      /* locked by the process that works in the run folder or shard */
#define ACR_FILE_ISSUE "issue.md" /* the issue */
#define ACR_FILE_JOURNAL                                                                           \
    "journal.jsonl" /* all answers from outside the run, such as model answers */
#define ACR_FILE_LEDGER                                                                            \
    "ledger.jsonl" /* reserved and spent money and tokens; a batch keeps this file in `shared` */
#define ACR_FILE_BATCHES "batches.jsonl" /* in `shared` of a batch: calls to a batch API */
#define ACR_FILE_LIVE "live.json" /* the run's current state; a batch keeps this file in `shared` */
#define ACR_FILE_GRADING "grading.json" /* in `shared` of a batch: progress of the grading */
#define ACR_FILE_COST "cost.json"       /* token usage and cost, by role and by stage */
#define ACR_FILE_PATCH "patch.diff"     /* the patch; in an evaluation: the graded patch */
#define ACR_FILE_SCRIPT "reproducer.py" /* the script of `reproduce` or `verify` */
#define ACR_FILE_SELECTED "selected_patch.json" /* which candidate was chosen, and why */
#define ACR_FILE_RESULT "result.json"           /* the result, as `run --json` prints it */
#define ACR_FILE_ERROR "error.txt"              /* why the last command could not finish the run */
#define ACR_FILE_SPECTRUM "sbfl.json"           /* suspicious code, ranked by failing tests */
#define ACR_FILE_REPORT                                                                            \
    "report.html" /* the page that `report` writes about a run or a folder of many runs */
#define ACR_FILE_COMPARISON "comparison.html" /* the page that `report --compare` writes */
#define ACR_DIR_PROMPTS "prompts"             /* the prompts that the run used */
#define ACR_DIR_SNAPSHOT "snapshot"           /* the source files at the start of the run */
#define ACR_DIR_GIVEN                                                                              \
    "candidates" /* the patches given with --candidate, and the decisions on all patches */
#define ACR_FILE_GIVEN "%u.diff"     /* in `candidates`: one patch */
#define ACR_DIR_ATTEMPT "attempt_%u" /* one attempt; the first is attempt_0 */

/* ---- The folder of an attempt (rounds, tries and scripts are numbered from 1) ---- */
#define ACR_DIR_SEARCH "search/" /* the retrieval conversation: a folder for the next five files */
#define ACR_FILE_SEARCH_ROUND                                                                      \
    "search_round_%u.json" /* in `search`: the conversation up to the end of a round */
#define ACR_FILE_AGENT_PROXY                                                                       \
    "agent_proxy_%u.json" /* in `search`: an answer that the extract agent turned into JSON */
#define ACR_FILE_TOOL_CALLS "tool_call_layers.json" /* in `search`: the calls of each round */
#define ACR_FILE_NAMED_LOCATIONS                                                                   \
    "bug_locations_before_process.json" /* in `search`: bug locations as the model named them */
#define ACR_FILE_LOCATIONS                                                                         \
    "bug_locations_after_process.json" /* in `search`: the code found for the named locations */
#define ACR_FILE_PATCH_ANSWER "patch_raw_%u.md"          /* the patch writer's answer */
#define ACR_FILE_PATCH_CONVERSATION "conv_patch_%u.json" /* the patch writer's conversation */
#define ACR_FILE_EXTRACTED "extracted_patch_%u.diff"     /* the diff made from the answer */
#define ACR_FILE_EXTRACT_STATUS                                                                    \
    "extract_status.json" /* for each answer of the patch writer, whether its edits apply */
#define ACR_FILE_REPRODUCER "reproducer_%u.py"         /* a script that reproduces the issue */
#define ACR_FILE_TEST_CONVERSATION "conv_test_%u.json" /* the conversation about the script */
#define ACR_FILE_EXECUTION                                                                         \
    "execution_%u_%u.json" /* an execution; the first N is the patch (0: none), the second N the script */
#define ACR_FILE_REVIEW "review_p%u_t%u.json"    /* the review of a patch (p) and a script (t) */
#define ACR_FILE_REGRESSION "regression_%u.json" /* results of the project's tests with a patch */

/* ---- A batch, which has a run folder for each task ---- */
#define ACR_FILE_PREDICTIONS "preds.jsonl" /* predictions in SWE-bench's format */
#define ACR_FILE_SUMMARY                                                                           \
    "summary.json" /* each task's result and grade, and totals; `eval` writes it to RUN_ID/ */
#define ACR_FILE_SOUND "sound.jsonl"        /* rows of the tasks that an audit found sound */
#define ACR_DIR_SHARED "shared"             /* files that the batch's tasks share */
#define ACR_DIR_ENVIRONMENTS "environments" /* environments created for grading */
#define ACR_DIR_SHARD "shard-%u-of-%u"      /* a shard, numbered from 1; has the files of a batch */
#define ACR_FILE_SHARD "shard.json"         /* the tasks of a shard */

/* ---- An evaluation (most file names are those of SWE-bench's package) ---- */
#define ACR_DIR_LOGS "logs" /* the logs of all evaluations */
#define ACR_DIR_EVALUATIONS                                                                        \
    ACR_DIR_LOGS "/run_evaluation"         /* a folder RUN_ID/MODEL/ID for each prediction */
#define ACR_FILE_FINAL_REPORT "%s.%s.json" /* the final report, named after the model and RUN_ID */
#define ACR_FILE_EVAL_RUN "run.json"       /* the options of the evaluation */
#define ACR_FILE_UNFINISHED "unfinished.json"  /* in RUN_ID: the tasks, until all are graded */
#define ACR_FILE_GRADES "grades.json"          /* the grades of a shard */
#define ACR_FILE_EVAL_SCRIPT "eval.sh"         /* for a prediction: the test script */
#define ACR_FILE_EVAL_LOG "run_instance.log"   /* for a prediction: the log of the grading */
#define ACR_FILE_EVAL_OUTPUT "test_output.txt" /* for a prediction: the tests' output */
#define ACR_FILE_EVAL_REPORT "report.json"     /* for a prediction: the official report */
#define ACR_FILE_VERDICT "verdict.json"        /* for a prediction: acr-host's verdict */
#define ACR_FILE_WATCHED_OUTPUT                                                                    \
    "watched_output.txt" /* for a prediction: the output of the experiment with canaries */
