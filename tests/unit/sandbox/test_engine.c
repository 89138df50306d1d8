/* Tests that acr-host uses the engine that is named, and no other. */
#include "test_sandbox.h"

#include <string.h>

#include "sandbox/container_engine.h"

/* Nothing listens at any of the names; the message must say which engine was tried. */
static void expect_tried(const char *tried)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrEngine) engine = acr_engine_open(NULL, &error);
    g_assert_null(engine);
    g_assert_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE);
    g_assert_nonnull(strstr(error->message, tried));
    g_assert_null(strchr(error->message, '\n'));
}

BOX_TEST("/sandbox/engine", the_engine_that_is_named_is_asked)
{
    g_autofree char *docker = box_path(box, "docker.sock"), *podman = box_path(box, "podman.sock"),
                    *docker_host = g_strconcat("unix://", docker, NULL),
                    *podman_host = g_strconcat("unix://", podman, NULL);
    g_setenv("CONTAINER_HOST", podman_host, TRUE);
    g_unsetenv("DOCKER_HOST");
    expect_tried(podman);
    g_setenv("DOCKER_HOST", docker_host, TRUE);
    expect_tried(docker);
    /* an address of a kind that is not supported */
    g_setenv("DOCKER_HOST", "tcp://127.0.0.1:1", TRUE);
    expect_tried("tcp://127.0.0.1:1");
    g_unsetenv("DOCKER_HOST");
    g_unsetenv("CONTAINER_HOST");
}
