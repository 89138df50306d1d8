/* The client of the engine's API. It sends requests with JSON and archives. It parses answers
 * leniently: from the body of an error it reads only "message", and it reads an exit code only if
 * the answer contains no error. */
#include "sandbox/container_engine_private.h"
#include "sandbox/sandbox_private.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CALL_MS (120 * 1000)
#define ARCHIVE_MS (600 * 1000)
#define COMMIT_MS (600 * 1000)
/* time limit of the first request, during which the engine may have to be started */
#define PING_MS (20 * 1000)
#define SWEEP_MS (10 * 1000) /* time limit for removing all old containers */
/* time limit for removing a container, which cannot be interrupted */
#define REMOVE_MS (30 * 1000)
/* maximum number of bytes of an engine's message that an error message quotes */
#define MAX_MESSAGE_BYTES 1000u
#define MAX_ANSWER_BYTES ((gsize)16 * 1024 * 1024)
#define LABEL "acr-host.owner"
#define NOFILE 4096
/* number of processes added to the limit: the container's first process, and one process of the
 * engine */
#define OWN_PROCESSES 2
/* minimum limit of processes; with fewer, an engine may be unable to start a command */
#define FEWEST_PROCESSES 8

void acr_engine_answer_clear(AcrEngineAnswer *answer)
{
    g_clear_pointer(&answer->json, acr_json_free);
    g_clear_pointer(&answer->archive, g_bytes_unref);
}

static bool is_interrupt(const GError *error)
{
    return g_error_matches(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_INTERRUPTED);
}

/* Shortens the engine's message in `json` and makes it one line. */
static void clean_message(AcrJson *json)
{
    const char *message = acr_json_get_string(json, "message");
    if (!message)
        return;
    g_autofree char *text = acr_text_shorten(message, MAX_MESSAGE_BYTES);
    for (char *c = text; *c; c++)
        if (g_ascii_iscntrl(*c))
            *c = ' ';
    acr_json_set_string(json, "message", text);
}

bool acr_engine_call(AcrEngine *engine, const AcrEngineCall *what, AcrEngineAnswer *out,
                     GError **error)
{
    g_autofree char *url = g_strconcat(engine->api, what->path, NULL);
    g_autofree char *text = what->json ? acr_json_print(what->json) : NULL;
    gsize len = text ? strlen(text) : 0;
    const void *body = what->tar ? g_bytes_get_data(what->tar, &len) : text;
    const char *const headers[] = {
        what->tar ? "Content-Type: application/x-tar" : "Content-Type: application/json", NULL};
    AcrHttpRequest request = {
        .method = what->method,
        .url = url,
        .unix_socket = engine->socket,
        .headers = headers,
        .body = body ? body : "",
        .body_len = len,
        .total_timeout_ms = what->timeout_ms ? what->timeout_ms : CALL_MS,
        .idle_timeout_ms = what->timeout_ms ? what->timeout_ms : CALL_MS,
        .body_limit = MAX_ANSWER_BYTES,
        .interrupt = engine->interrupt,
    };
    g_auto(AcrHttpResponse) response = {0};
    g_autoptr(GError) reason = NULL;
    if (!acr_http_exchange(engine->client, &request, &response, &reason))
        return acr_sandbox_fail(error,
                                is_interrupt(reason) ? ACR_SANDBOX_ERROR_INTERRUPTED
                                                     : ACR_SANDBOX_ERROR_UNAVAILABLE,
                                "the container engine at '%s': %s", engine->place, reason->message);
    if (what->is_archive && response.status == 200) {
        *out = (AcrEngineAnswer){.status = 200, .archive = g_bytes_ref(response.body)};
        return true;
    }
    *out = (AcrEngineAnswer){
        .status = response.status,
        .json = acr_json_parse_bytes(response.body, NULL),
    };
    clean_message(out->json);
    return true;
}

static const char *message_of(const AcrEngineAnswer *answer)
{
    const char *message = acr_json_get_string(answer->json, "message");
    return message ? message : "no reason is given";
}

bool acr_engine_demand(AcrEngine *engine, const AcrEngineCall *what, const char *purpose,
                       AcrEngineAnswer *out, GError **error)
{
    g_auto(AcrEngineAnswer) answer = {0};
    if (!acr_engine_call(engine, what, &answer, error))
        return false;
    if (answer.status < 200 || answer.status > 299)
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED,
                                "the container engine cannot %s: %s (status %d)", purpose,
                                message_of(&answer), answer.status);
    *out = answer;
    memset(&answer, 0, sizeof answer);
    return true;
}

static bool is_socket(const char *path)
{
    struct stat st;
    return path && stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* Returns the engine's address: the value of DOCKER_HOST or CONTAINER_HOST, or if neither is set,
 * the first of the usual sockets that exists. NULL if no socket exists; `tried` then lists the
 * sockets. */
static char *find_place(GString *tried)
{
    const char *docker = g_getenv("DOCKER_HOST"), *podman = g_getenv("CONTAINER_HOST");
    if ((docker && *docker) || (podman && *podman))
        return g_strdup(docker && *docker ? docker : podman);
    const char *runtime = g_getenv("XDG_RUNTIME_DIR");
    g_autofree char *own = runtime ? g_build_filename(runtime, "podman/podman.sock", NULL) : NULL,
                    *own_docker = runtime ? g_build_filename(runtime, "docker.sock", NULL) : NULL;
    const char *const usual[] = {"/var/run/docker.sock", own_docker, "/run/podman/podman.sock",
                                 own};
    for (guint i = 0; i < G_N_ELEMENTS(usual); i++) {
        if (is_socket(usual[i]))
            return g_strdup(usual[i]);
        if (usual[i])
            g_string_append_printf(tried, "%s%s", tried->len ? ", " : "", usual[i]);
    }
    return NULL;
}

/* Sets the engine's address from unix://PATH, a path, or tcp://HOST:PORT on this machine. Rejects
 * other machines, because commands and files would be sent unencrypted. */
static bool set_place(AcrEngine *engine, const char *place, GError **error)
{
    const char *tls = g_getenv("DOCKER_TLS_VERIFY"), *scheme = strstr(place, "://");
    bool is_tcp = g_str_has_prefix(place, "tcp://") || g_str_has_prefix(place, "http://");
    if (!scheme || g_str_has_prefix(place, "unix://")) {
        engine->place = g_strdup(scheme ? scheme + strlen("://") : place);
        engine->socket = engine->place;
        engine->api = g_strdup("http://engine" ACR_ENGINE_VERSION);
        return true;
    }
    g_autofree char *host = g_strdup(scheme + strlen("://"));
    host[strcspn(host, "/")] = '\0';
    const char *port = strrchr(host, ':');
    bool has_port = port && !strchr(port, ']');
    engine->place = g_strdup(place);
    engine->api = g_strconcat("http://", port == host ? "127.0.0.1" : "", host,
                              has_port ? "" : ":2375", ACR_ENGINE_VERSION, NULL);
    return (is_tcp && !(tls && *tls) && acr_http_url_is_loopback(engine->api)) ||
           acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE,
                            "cannot use the container engine at '%s'%s: name unix://PATH, or "
                            "tcp://127.0.0.1:PORT "
                            "without TLS; reach an engine elsewhere through 'ssh -nNT -L "
                            "/tmp/engine.sock:/var/run/docker.sock HOST'",
                            place, tls && *tls ? " (DOCKER_TLS_VERIFY is set)" : "");
}

AcrEngine *acr_engine_open(const AcrInterrupt *interrupt, GError **error)
{
    g_autoptr(AcrEngine) engine = g_new0(AcrEngine, 1);
    g_autoptr(GString) tried = g_string_new(NULL);
    engine->interrupt = interrupt;
    engine->client = acr_http_client_new();
    g_autofree char *place = find_place(tried);
    if (!place)
        return ACR_NULL(acr_sandbox_fail(
            error, ACR_SANDBOX_ERROR_UNAVAILABLE,
            "there is no container engine: no socket at %s; start docker or podman, or set "
            "DOCKER_HOST",
            tried->str));
    if (!set_place(engine, place, error))
        return NULL;
    g_auto(AcrEngineAnswer) answer = {0};
    g_autoptr(GError) reason = NULL;
    /* Request /_ping and not /version, because podman starts other programs to find its version. */
    bool there = acr_engine_call(
        engine, &(AcrEngineCall){.method = "GET", .path = "/_ping", .timeout_ms = PING_MS}, &answer,
        &reason);
    if (!there && g_error_matches(reason, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_INTERRUPTED))
        return ACR_NULL(acr_pass_error(error, &reason));
    if (!there || answer.status != 200)
        return ACR_NULL(acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE,
                                         "the container engine at '%s' does not answer: %s",
                                         engine->place,
                                         there ? message_of(&answer) : reason->message));
    return g_steal_pointer(&engine);
}

void acr_engine_free(AcrEngine *engine)
{
    if (!engine)
        return;
    acr_http_client_free(engine->client);
    ACR_FREE(engine->place, engine->api, engine);
}

/* Percent-encodes an image name for use in a path, except for slashes, colons and "@". */
static char *escape(const char *name)
{
    return g_uri_escape_string(name, "/:@", FALSE);
}

char *acr_engine_image(AcrEngine *engine, const char *name, gint64 *out_bytes, GError **error)
{
    g_autofree char *escaped = escape(name);
    g_autofree char *path = g_strdup_printf("/images/%s/json", escaped);
    g_auto(AcrEngineAnswer) answer = {0};
    if (!acr_engine_call(engine, &(AcrEngineCall){.method = "GET", .path = path}, &answer, error))
        return NULL;
    const char *id = acr_json_get_string(answer.json, "Id");
    *out_bytes = acr_json_get_int(answer.json, "Size", 0);
    if (answer.status == 200 && id)
        return g_strdup(id);
    return ACR_NULL(acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE,
                                     "the container engine has no image '%s': %s", name,
                                     message_of(&answer)));
}

char *acr_engine_foreign(AcrEngine *engine, const char *name)
{
    g_autofree char *escaped = escape(name);
    g_autofree char *path = g_strdup_printf("/images/%s/json", escaped);
    g_autoptr(GError) reason = NULL;
    g_auto(AcrEngineAnswer) image = {0}, version = {0};
    if (!acr_engine_call(engine, &(AcrEngineCall){.method = "GET", .path = path}, &image,
                         &reason) ||
        !acr_engine_call(engine, &(AcrEngineCall){.method = "GET", .path = "/version"}, &version,
                         &reason))
        return NULL;
    const char *its = acr_json_get_string(image.json, "Architecture"),
               *here = acr_json_get_string(version.json, "Arch");
    if (!its || !here || !*its || strcmp(its, here) == 0)
        return NULL;
    return g_strdup_printf("the image is built for %s, but the engine runs on %s", its, here);
}

bool acr_engine_has_image(AcrEngine *engine, const char *name)
{
    g_autoptr(GError) reason = NULL;
    gint64 bytes = 0;
    g_autofree char *id = acr_engine_image(engine, name, &bytes, &reason);
    return id != NULL;
}

/* Returns a text that identifies the machine and the process namespace in which our process ids are
 * valid. Needed because an engine may serve machines and containers that cannot see each other's
 * processes. */
static char *place_text(void)
{
    AcrOwner self;
    g_autofree char *space = g_file_read_link("/proc/self/ns/pid", NULL);
    acr_owner_self(&self);
    return g_strdup_printf("%s/%s", self.boot, space ? space : "");
}

/* Returns the owner of the container as a label: "PID START PLACE". */
static char *owner_text(void)
{
    AcrOwner self;
    g_autofree char *place = place_text();
    acr_owner_self(&self);
    return g_strdup_printf("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %s", self.pid, self.start,
                           place);
}

static bool owner_is_gone(const char *text)
{
    AcrOwner owner, self;
    char *at;
    g_autofree char *place = place_text();
    acr_owner_self(&self);
    owner = self; /* take over the boot id, which `place` compares */
    owner.pid = g_ascii_strtoll(text, &at, 10);
    owner.start = g_ascii_strtoll(at, &at, 10);
    return *at == ' ' && strcmp(at + 1, place) == 0 && !acr_owner_is_alive(&owner, &self);
}

static void add_ulimit(AcrJson *list, const char *name, gint64 value)
{
    acr_json_add(list, ACR_STRING("Name", name), ACR_INT("Soft", value), ACR_INT("Hard", value));
}

static AcrJson *host_config(const AcrEngine *engine, const AcrEngineContainer *container)
{
    const AcrSandboxLimits *limits = container->limits;
    AcrJson *ulimits = acr_json_new_array(), *tmpfs = acr_json_new_object(),
            *log = acr_json_new_object();
    /* Set both limits, which the engine would otherwise set itself, because podman then requests
     * higher limits than it is allowed to set. */
    add_ulimit(ulimits, "nofile", NOFILE);
    add_ulimit(ulimits, "nproc", NOFILE);
    add_ulimit(ulimits, "core", 0);
    add_ulimit(ulimits, "fsize", limits->disk_bytes);
    add_ulimit(ulimits, "cpu", limits->cpu_s);
    acr_json_set_string(tmpfs, "/dev/shm", "size=64m");
    acr_json_set_string(log, "Type", "none");
    AcrJson *json = acr_json_of(
        ACR_STRING("NetworkMode", container->network ? "bridge" : "none"),
        ACR_INT("Memory", limits->memory_bytes), ACR_INT("MemorySwap", limits->memory_bytes),
        ACR_INT("PidsLimit", MAX((gint64)limits->processes + OWN_PROCESSES, FEWEST_PROCESSES)),
        ACR_JSON("Ulimits", ulimits),
        ACR_JSON("CapDrop", acr_json_new_strings((const char *const[]){"ALL", NULL})), NULL);
    acr_json_set(
        json, "CapAdd",
        acr_json_new_strings((const char *const[]){"CHOWN", "DAC_OVERRIDE", "FOWNER", NULL}));
    acr_json_set(json, "SecurityOpt",
                 acr_json_new_strings((const char *const[]){"no-new-privileges", NULL}));
    acr_json_set(json, "Tmpfs", tmpfs);
    acr_json_set(json, "LogConfig", log);
    if (engine->walls == ACR_WALLS_MOUNTED)
        acr_engine_walls_mount(container->walls, json);
    return json;
}

/* Returns the command of the container's first process, which only waits. Without the system call
 * filter, the command is a shell that reads from an input to which nothing is written, so the
 * container needs no other program. */
static AcrJson *first_command(const AcrEngine *engine)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    acr_engine_walls_words(engine, words);
    if (!words->len)
        acr_helper_words(words, ACR_ENGINE_SHELL, "-c", "read x", NULL);
    g_ptr_array_add(words, NULL);
    return acr_json_new_strings((const char *const *)words->pdata);
}

static AcrJson *container_json(const AcrEngine *engine, const AcrEngineContainer *container)
{
    g_autofree char *owner = owner_text();
    AcrJson *labels = acr_json_new_object();
    acr_json_set_string(labels, LABEL, owner);
    return acr_json_of(ACR_STRING("Image", container->image),
                       ACR_JSON("Cmd", first_command(engine)),
                       ACR_STRING("Hostname", container->host_name), ACR_BOOL("OpenStdin", true),
                       ACR_JSON("Entrypoint", acr_json_new_strings(NULL)),
                       ACR_STRING("WorkingDir", container->dir), ACR_JSON("Labels", labels),
                       ACR_JSON("HostConfig", host_config(engine, container)), NULL);
}

static char *create(AcrEngine *engine, const AcrEngineContainer *container, GError **error)
{
    g_autoptr(AcrJson) json = container_json(engine, container);
    g_auto(AcrEngineAnswer) made = {0};
    if (!acr_engine_demand(
            engine, &(AcrEngineCall){.method = "POST", .path = "/containers/create", .json = json},
            "create a container", &made, error))
        return NULL;
    const char *id = acr_json_get_string(made.json, "Id");
    if (!id)
        return ACR_NULL(
            acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED,
                             "the container engine sent a malformed reply: no container id"));
    return g_strdup(id);
}

static bool lay_walls(AcrEngine *engine, const char *id, GError **error)
{
    g_autoptr(GBytes) tar = engine->walls == ACR_WALLS_LAID ? acr_engine_walls_tar() : NULL;
    return !tar || acr_engine_put(engine, id, "/", tar, error);
}

static char *start_engine(AcrEngine *engine, const AcrEngineContainer *container, GError **error)
{
    g_autofree char *id = create(engine, container, error);
    g_autofree char *path = id ? g_strdup_printf("/containers/%s/start", id) : NULL;
    g_auto(AcrEngineAnswer) started = {0};
    if (!id)
        return NULL;
    if (lay_walls(engine, id, error) &&
        acr_engine_demand(engine, &(AcrEngineCall){.method = "POST", .path = path},
                          "start a container", &started, error))
        return g_steal_pointer(&id);
    g_autoptr(GError) left = NULL;
    if (!acr_engine_remove(engine, id, &left))
        g_debug("%s", left->message); /* a later call of acr_engine_sweep removes the container */
    return NULL;
}

/* No status code says whether the engine or the image rejects the system call filter, so the filter
 * is weakened after any failure. */
char *acr_engine_start(AcrEngine *engine, const AcrEngineContainer *container, GError **error)
{
    AcrWalls had = engine->walls;
    for (;;) {
        g_autoptr(GError) reason = NULL;
        char *id = start_engine(engine, container, &reason);
        if (id)
            return id;
        if (g_error_matches(reason, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_FAILED) &&
            acr_engine_lower_walls(engine))
            continue;
        engine->walls = had;
        return ACR_NULL(acr_pass_error(error, &reason));
    }
}

static bool remove_within(AcrEngine *engine, const char *id, gint64 timeout_ms, GError **error)
{
    g_autofree char *path = g_strdup_printf("/containers/%s?force=1&v=1", id);
    g_auto(AcrEngineAnswer) answer = {0};
    /* remove the container even if the user has interrupted the program */
    AcrEngine patient = *engine;
    patient.interrupt = NULL;
    patient.client = NULL;
    if (!acr_engine_call(&patient, &(AcrEngineCall){"DELETE", path, .timeout_ms = timeout_ms},
                         &answer, error))
        return false;
    return answer.status < 300 || answer.status == 404 ||
           acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED,
                            "the container engine cannot remove a container: %s",
                            message_of(&answer));
}

bool acr_engine_remove(AcrEngine *engine, const char *id, GError **error)
{
    return remove_within(engine, id, REMOVE_MS, error);
}

void acr_engine_sweep(AcrEngine *engine)
{
    g_autoptr(GError) reason = NULL;
    g_auto(AcrEngineAnswer) answer = {0};
    gint64 until = g_get_monotonic_time() / 1000 + SWEEP_MS;
    static const char path[] =
        "/containers/json?all=1&filters=%7B%22label%22%3A%5B%22" LABEL "%22%5D%7D";
    if (!acr_engine_call(engine,
                         &(AcrEngineCall){.method = "GET", .path = path, .timeout_ms = SWEEP_MS},
                         &answer, &reason))
        return;
    for (const AcrJson *at = acr_json_first(answer.json); at; at = acr_json_next(at)) {
        const char *id = acr_json_get_string(at, "Id"),
                   *owner = acr_json_get_string(acr_json_get(at, "Labels"), LABEL);
        gint64 left_ms = until - g_get_monotonic_time() / 1000;
        g_autoptr(GError) left = NULL;
        if (left_ms <= 0 || acr_interrupted(engine->interrupt))
            return;
        if (id && owner && owner_is_gone(owner) && !remove_within(engine, id, left_ms, &left))
            g_debug("%s", left->message);
    }
}

bool acr_engine_is_ended(AcrEngine *engine, const char *id)
{
    g_autofree char *path = g_strdup_printf("/containers/%s/json", id);
    g_autoptr(GError) reason = NULL;
    g_auto(AcrEngineAnswer) answer = {0};
    if (!acr_engine_call(engine, &(AcrEngineCall){.method = "GET", .path = path}, &answer, &reason))
        return false;
    const AcrJson *state = acr_json_get(answer.json, "State");
    return answer.status == 404 ||
           (answer.status == 200 && state && !acr_json_get_bool(state, "Running", true) &&
            !acr_json_get_bool(state, "OOMKilled", false));
}

bool acr_engine_put(AcrEngine *engine, const char *id, const char *dir, GBytes *tar, GError **error)
{
    g_autofree char *escaped = g_uri_escape_string(dir, "/", FALSE);
    g_autofree char *path = g_strdup_printf("/containers/%s/archive?path=%s", id, escaped);
    g_auto(AcrEngineAnswer) answer = {0};
    return acr_engine_demand(
        engine,
        &(AcrEngineCall){.method = "PUT", .path = path, .tar = tar, .timeout_ms = ARCHIVE_MS},
        "take files", &answer, error);
}

bool acr_engine_commit(AcrEngine *engine, const char *id, const char *name, GError **error)
{
    g_autofree char *path = g_strdup_printf("/commit?container=%s&repo=%s&tag=latest", id, name);
    g_autoptr(AcrJson) empty = acr_json_new_object();
    g_auto(AcrEngineAnswer) answer = {0};
    return acr_engine_demand(
        engine,
        &(AcrEngineCall){.method = "POST", .path = path, .json = empty, .timeout_ms = COMMIT_MS},
        "keep an image", &answer, error);
}

/* Removes the parent folders of changed files from the set, because an engine lists these folders
 * too. */
static void remove_parents(GHashTable *paths)
{
    g_autofree gpointer *keys = g_hash_table_get_keys_as_array(paths, NULL);
    g_autoptr(GPtrArray) parents = g_ptr_array_new_with_free_func(g_free);
    for (gpointer *at = keys; *at; at++) {
        for (const char *slash = strchr(*at, '/'); slash; slash = strchr(slash + 1, '/'))
            g_ptr_array_add(parents, g_strndup(*at, (gsize)(slash - (const char *)*at)));
    }
    for (guint i = 0; i < parents->len; i++)
        g_hash_table_remove(paths, parents->pdata[i]);
}

GHashTable *acr_engine_changes(AcrEngine *engine, const char *id, const char *dir)
{
    g_autofree char *path = g_strdup_printf("/containers/%s/changes", id),
                    *prefix = g_strconcat(dir, "/", NULL);
    g_autoptr(GError) reason = NULL;
    g_auto(AcrEngineAnswer) answer = {0};
    if (!acr_engine_call(engine, &(AcrEngineCall){.method = "GET", .path = path}, &answer,
                         &reason) ||
        answer.status != 200)
        return NULL;
    GHashTable *paths = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (const AcrJson *at = acr_json_first(answer.json);
         at && g_hash_table_size(paths) < ACR_SANDBOX_MAX_CHANGED; at = acr_json_next(at)) {
        const char *name = acr_json_get_string(at, "Path");
        if (name && g_str_has_prefix(name, prefix))
            g_hash_table_add(paths, g_strdup(name + strlen(prefix)));
    }
    remove_parents(paths);
    return paths;
}

bool acr_engine_holds(AcrEngine *engine, const char *id, const char *dir, const char *path,
                      GBytes *content)
{
    g_autofree char *whole = g_build_filename(dir, path, NULL),
                    *escaped = g_uri_escape_string(whole, "/", FALSE),
                    *call = g_strdup_printf("/containers/%s/archive?path=%s", id, escaped);
    g_autoptr(GError) reason = NULL;
    g_auto(AcrEngineAnswer) answer = {0};
    return acr_engine_call(engine,
                           &(AcrEngineCall){.method = "GET", .path = call, .is_archive = true},
                           &answer, &reason) &&
           answer.archive && acr_tar_holds(answer.archive, content);
}
