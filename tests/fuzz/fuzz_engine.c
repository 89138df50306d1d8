/* Fuzzes the answers of a container engine. The input is a list of bodies, separated by lines "--";
 * the first byte of a body selects its status. A thread serves one body for each call through a
 * unix socket, and then the empty list. Whatever they are, the whole life of a container, and the
 * cleanup before it, must end in success or in one-line errors. */
#include "sandbox/container_engine.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/http.h"

#define WAIT_MS 10000
#define OUTPUT 1000u
#define BETWEEN "\n--\n"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- The engine ---------------------------------------------------------------------------------
 */

typedef struct {
    int fd, stop;        /* `stop` becomes readable at the end */
    const uint8_t *data; /* the rest of the input */
    size_t size;
} Server;

/* Reads the head and body of a request, which come in few pieces; the head has the body's
 * length. */
static bool read_request(int fd)
{
    char text[65536];
    size_t have = 0;

    while (have < sizeof text - 1) {
        struct pollfd poller = {.fd = fd, .events = POLLIN};
        ssize_t n = poll(&poller, 1, WAIT_MS) > 0 ? recv(fd, text + have, sizeof text - 1 - have, 0) : -1;
        if (n <= 0)
            return false;
        have += (size_t)n;
        text[have] = '\0';
        const char *end = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");
        guint64 body = length && end && length < end ? g_ascii_strtoull(length + 16, NULL, 10) : 0;
        if (end && have >= (size_t)(end + 4 - text) + body)
            return true;
    }
    return false;
}

static void answer(Server *server, int fd)
{
    static const int statuses[] = {200, 201, 204, 304, 400, 404, 409, 500};
    const uint8_t *end = server->size ? memmem(server->data, server->size, BETWEEN, strlen(BETWEEN)) : NULL;
    size_t len = end ? (size_t)(end - server->data) : server->size, used = len + (end ? strlen(BETWEEN) : 0);
    int status = len ? statuses[server->data[0] % G_N_ELEMENTS(statuses)] : 200;
    const uint8_t *body = len ? server->data + 1 : (const uint8_t *)"[]";
    size_t body_len = len ? len - 1 : 2;
    g_autofree char *head = g_strdup_printf("HTTP/1.1 %d x\r\nConnection: close\r\nContent-Type: x\r\n\r\n", status);

    if (send(fd, head, strlen(head), MSG_NOSIGNAL) > 0)
        (void)!send(fd, body, body_len, MSG_NOSIGNAL);
    server->data += used;
    server->size -= used;
}

static void *serve(void *ctx)
{
    Server *server = ctx;

    for (;;) {
        struct pollfd fds[] = {{.fd = server->stop, .events = POLLIN}, {.fd = server->fd, .events = POLLIN}};
        if (poll(fds, 2, WAIT_MS) <= 0 || fds[0].revents)
            return NULL;
        int fd = accept(server->fd, NULL, NULL);
        if (fd < 0)
            return NULL;
        if (read_request(fd))
            answer(server, fd);
        close(fd);
    }
}

/* ---- The client ---------------------------------------------------------------------------------
 */

static void check_error(bool ok, GError **error)
{
    g_assert_true(ok == (*error == NULL));
    g_assert_true(ok || (g_utf8_validate((*error)->message, -1, NULL) && !strpbrk((*error)->message, "\r\n")));
    g_clear_error(error);
}

static void execute(AcrEngine *engine, const char *id)
{
    static const char *const argv[] = {"true", NULL};
    g_autoptr(GError) error = NULL;
    AcrEngineExec exec = {
        .argv = argv, .dir = "/testbed", .timeout_ms = WAIT_MS, .output_limit = OUTPUT, .flood_limit = OUTPUT * 4};
    bool ok = acr_engine_exec(engine, id, &exec, &error);

    check_error(ok, &error);
    if (ok)
        g_assert_true(exec.spawned.out && g_bytes_get_size(exec.spawned.out) <= OUTPUT &&
                      g_bytes_get_size(exec.spawned.err) <= OUTPUT);
    acr_spawn_result_clear(&exec.spawned);
}

static void live(AcrEngine *engine)
{
    AcrSandboxLimits limits = {.wall_ms = WAIT_MS, .cpu_s = 1, .memory_bytes = 1, .processes = 1};
    AcrEngineContainer container = {.image = "image", .dir = "/testbed", .limits = &limits, .walls = "/nowhere"};
    g_autoptr(GError) error = NULL;
    gint64 bytes = 0;
    g_autofree char *image = acr_engine_image(engine, "image", &bytes, &error);

    check_error(image != NULL, &error);
    acr_engine_sweep(engine);
    g_autofree char *id = acr_engine_start(engine, &container, &error);
    check_error(id != NULL, &error);
    if (!id)
        return;
    execute(engine, id);
    g_autoptr(GHashTable) changed = acr_engine_changes(engine, id, "/testbed");
    g_assert_true(!changed || g_hash_table_size(changed) <= ACR_SANDBOX_MAX_CHANGED);
    bool removed = acr_engine_remove(engine, id, &error);
    check_error(removed, &error);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return acr_http_global_init(NULL) ? 0 : 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[] = "/tmp/acr-fuzz-XXXXXX";
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    Server server = {.data = data, .size = size};
    g_autoptr(GError) error = NULL;
    pthread_t thread;
    int ends[2];

    g_assert_nonnull(g_mkdtemp(folder));
    g_snprintf(un.sun_path, sizeof un.sun_path, "%s/s", folder);
    server.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_true(bind(server.fd, (struct sockaddr *)&un, sizeof un) == 0 && listen(server.fd, 8) == 0 &&
                  pipe2(ends, O_CLOEXEC) == 0);
    server.stop = ends[0];
    g_assert_cmpint(pthread_create(&thread, NULL, serve, &server), ==, 0);
    g_autofree char *host = g_strconcat("unix://", un.sun_path, NULL);
    g_setenv("DOCKER_HOST", host, TRUE);
    g_autoptr(AcrEngine) engine = acr_engine_open(NULL, &error);
    check_error(engine != NULL, &error);
    if (engine)
        live(engine);
    close(ends[1]);
    pthread_join(thread, NULL);
    close(ends[0]);
    close(server.fd);
    unlink(un.sun_path);
    rmdir(folder);
    return 0;
}
