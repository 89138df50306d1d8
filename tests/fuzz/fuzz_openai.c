/* Fuzzes the parser of OpenAI's chat completions; reading.h checks the properties. */
#include "reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_reading(&acr_provider_openai, data, size);
    /* DeepSeek's dialect has its own corrections */
    fuzz_reading(&acr_provider_deepseek, data, size);
    return 0;
}
