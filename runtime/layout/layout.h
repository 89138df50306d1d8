/*
 * layout: the name of every file and folder that a run, a batch, a shard or an evaluation leaves on disk. They are
 * spelled here and nowhere else; python/acr/layout.py repeats those that Python reads. A name with "%u" is a format.
 * tools/checks/layout.py checks both.
 */
#ifndef ACR_LAYOUT_H
#define ACR_LAYOUT_H

/* ---- A run folder ---- */
#define ACR_FILE_META "meta.json" /* makes a folder a run folder; written first */
#define ACR_FILE_LOCK "lock"      /* also of a shard's folder */
#define ACR_FILE_ISSUE "issue.md"
#define ACR_FILE_JOURNAL "journal.jsonl"
#define ACR_FILE_LEDGER "ledger.jsonl"  /* also in a batch's ACR_DIR_SHARED, of all its tasks */
#define ACR_FILE_LIVE "live.json"       /* what is going on; also in a batch's ACR_DIR_SHARED */
#define ACR_FILE_GRADING "grading.json" /* in ACR_DIR_SHARED: how far gradings are */
#define ACR_FILE_COST "cost.json"
#define ACR_FILE_PATCH "patch.diff" /* also of a graded prediction */
#define ACR_FILE_SCRIPT "reproducer.py"
#define ACR_FILE_SELECTED "selected_patch.json"
#define ACR_FILE_RESULT "result.json"
#define ACR_FILE_SPECTRUM "sbfl.json"
#define ACR_FILE_REPORT "report.html" /* also of a folder of many runs */
#define ACR_DIR_PROMPTS "prompts"
#define ACR_DIR_SNAPSHOT "snapshot"
#define ACR_DIR_GIVEN "candidates" /* patches from elsewhere, and what is decided about all */
#define ACR_FILE_GIVEN "%u.diff"   /* in ACR_DIR_GIVEN */
#define ACR_DIR_ATTEMPT "attempt_%u"

/* In the folder of an attempt; numbers of rounds, tries, scripts. */
#define ACR_DIR_SEARCH "search/"
#define ACR_FILE_SEARCH_ROUND                                                                      \
    "search_round_%u.json" /* this one and the next four in ACR_DIR_SEARCH */
#define ACR_FILE_AGENT_PROXY "agent_proxy_%u.json"
#define ACR_FILE_TOOL_CALLS "tool_call_layers.json"
#define ACR_FILE_NAMED_LOCATIONS "bug_locations_before_process.json"
#define ACR_FILE_LOCATIONS "bug_locations_after_process.json"
#define ACR_FILE_PATCH_ANSWER "patch_raw_%u.md"
#define ACR_FILE_PATCH_CONVERSATION "conv_patch_%u.json"
#define ACR_FILE_EXTRACTED "extracted_patch_%u.diff"
#define ACR_FILE_EXTRACT_STATUS "extract_status.json"
#define ACR_FILE_REPRODUCER "reproducer_%u.py"
#define ACR_FILE_TEST_CONVERSATION "conv_test_%u.json"
#define ACR_FILE_EXECUTION "execution_%u_%u.json" /* patch (0: none), script */
#define ACR_FILE_REVIEW "review_p%u_t%u.json"
#define ACR_FILE_VALIDATION "validation_%u.json"
#define ACR_FILE_REGRESSION "regression_%u.json"

/* ---- A batch: a run folder for each task, and ---- */
#define ACR_FILE_PREDICTIONS "preds.jsonl"
#define ACR_FILE_SUMMARY "summary.json" /* also of an evaluation, in the folder of its RUN_ID */
#define ACR_DIR_SHARED "shared"         /* what its tasks have in common */
#define ACR_DIR_ENVIRONMENTS "environments"
#define ACR_DIR_SHARD "shard-%u-of-%u" /* one of its parts, from 1: a batch of its own */
#define ACR_FILE_SHARD "shard.json"    /* in that: which tasks it has */

/* ---- An evaluation: as SWE-bench's package names them, with some of our own ---- */
#define ACR_DIR_LOGS "logs"
#define ACR_DIR_EVALUATIONS ACR_DIR_LOGS "/run_evaluation" /* …/RUN_ID/MODEL/ID */
#define ACR_FILE_FINAL_REPORT "%s.%s.json"                 /* model, RUN_ID */
#define ACR_FILE_EVAL_RUN "run.json"                       /* of a RUN_ID */
#define ACR_FILE_GRADES "grades.json"                      /* of a shard */
/* Of a prediction, beside ACR_FILE_PATCH. */
#define ACR_FILE_EVAL_SCRIPT "eval.sh"
#define ACR_FILE_EVAL_LOG "run_instance.log"
#define ACR_FILE_EVAL_OUTPUT "test_output.txt"
#define ACR_FILE_EVAL_REPORT "report.json"
#define ACR_FILE_VERDICT "verdict.json"
#define ACR_FILE_WATCHED_OUTPUT "watched_output.txt" /* of the second run */

#endif
