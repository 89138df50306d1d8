/* The groups of tests of llm; each file adds its own. */
#ifndef ACR_TEST_LLM_H
#define ACR_TEST_LLM_H

#include "llm/llm.h"

void add_conversation_tests(void);
void add_script_tests(void);
void add_failure_tests(void);
void add_wait_tests(void);
void add_public_text_tests(void);
void add_openai_tests(void);
void add_http_model_tests(void);

#endif
