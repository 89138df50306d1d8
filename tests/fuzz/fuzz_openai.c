/* Fuzzes the reader of OpenAI's chat dialect: reading.h says what must hold. */
#include "reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_reading(&acr_provider_openai, data, size);
    fuzz_reading(&acr_provider_deepseek, data, size); /* its corrections are its own */
    return 0;
}
