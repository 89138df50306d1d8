/* Fuzzes the parser of OpenAI's Responses; reading.h checks the properties. */
#include "reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_reading(&acr_provider_openai_responses, data, size);
    return 0;
}
