/* Fuzzes the reader of Anthropic's Messages dialect: reading.h says what must hold. */
#include "reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_reading(&acr_provider_anthropic, data, size);
    return 0;
}
