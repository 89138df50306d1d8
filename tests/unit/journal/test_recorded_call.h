/* The tests of recorded calls, for the main of test_journal.c. */
#ifndef ACR_TEST_RECORDED_CALL_H
#define ACR_TEST_RECORDED_CALL_H

void add_recorded_call_tests(void);

#endif
