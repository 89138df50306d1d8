/* Tests of how `live.json` identifies the process that wrote it, even if another program changed
 * the file. */
#include "test_task.h"

#include "task/live.h"

static AcrLiveProcess process_of(AcrJson *note)
{
    g_autoptr(AcrJson) owned = note;
    AcrLiveProcess process;
    acr_live_process_from_json(owned, &process);
    return process;
}

TEST("/task/live", a_note_says_whether_its_process_is_there)
{
    AcrJson *other = acr_live_process_to_json(7), *earlier = acr_live_process_to_json(7);
    acr_json_set_string(earlier, "boot", "of another time");
    acr_json_set_string(other, "boot", "of another machine");
    acr_json_set_string(other, "host", "elsewhere");
    AcrLiveProcess own = process_of(acr_live_process_to_json(7));
    g_assert_cmpint(own.state, ==, ACR_LIVE_RUNS);
    g_assert_cmpint(own.begun_ms, ==, 7);
    g_assert_cmpstr(own.host, ==, g_get_host_name());
    g_assert_cmpint(process_of(earlier).state, ==, ACR_LIVE_GONE);
    g_assert_cmpint(process_of(other).state, ==, ACR_LIVE_ELSEWHERE);
}

TEST("/task/live", a_note_that_lacks_its_machine_is_nobodys)
{
    static const char *const members[] = {"boot", "host"};
    for (guint i = 0; i < G_N_ELEMENTS(members); i++) {
        AcrJson *note = acr_live_process_to_json(0);
        acr_json_set(note, members[i], acr_json_new_null());
        g_assert_cmpint(process_of(note).state, ==, ACR_LIVE_NONE);
    }
    g_assert_cmpint(process_of(NULL).state, ==, ACR_LIVE_NONE);
}
