/* The groups of the tests of loops. */
#ifndef TEST_LOOPS_H
#define TEST_LOOPS_H

void register_machines_tests(void);
void register_review_tests(void);
void register_candidates_tests(void);
void register_dead_end_tests(void);
void register_execution_verdict_tests(void);
void register_context_overflow_tests(void);
void register_validation_tests(void);
void register_steps_tests(void);
void register_regressions_tests(void);
void register_shown_tests(void);
void register_selection_tests(void);
void register_progress_tests(void);

#endif
