/* Tests of deadlines and interrupts: what ends an exchange that does not end by itself, and
 * when. */
#include <signal.h>
#include <sys/time.h>

#include "test_http.h"

static AcrInterrupt alarm_interrupt; /* set by the handler of SIGALRM */

static void on_alarm(int number)
{
    alarm_interrupt.signal = number;
}

/* Sets the interrupt by a signal after `ms`, as in the program. */
static void interrupt_in(int ms)
{
    struct itimerval timer = {.it_value = {.tv_usec = ms * 1000}};
    alarm_interrupt.signal = 0;
    signal(SIGALRM, on_alarm);
    g_assert_cmpint(setitimer(ITIMER_REAL, &timer, NULL), ==, 0);
}

TEST("/http/deadline", slow_bytes_are_waited_for)
{
    TestReply reply = {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", .byte_ms = 5};
    AcrHttpRequest request = {.idle_timeout_ms = 2000};
    g_auto(AcrHttpResponse) response = {0};
    g_assert_true(exchange(&reply, &request, &response, NULL));
    assert_body(&response, "hello");
}

static void assert_times_out(const TestReply *reply, const AcrHttpRequest *request)
{
    gint64 start = now_ms();
    assert_fails(reply, request, ACR_HTTP_ERROR_TIMEOUT);
    g_assert_cmpint(now_ms() - start, >=, 190);
    g_assert_cmpint(now_ms() - start, <, 8000);
}

TEST("/http/deadline", each_deadline_ends_the_exchange)
{
    TestReply silent = {.hang = true};
    TestReply half = {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", .hang = true};
    TestReply slow = {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                      .byte_ms = 50};
    assert_times_out(&silent, &(AcrHttpRequest){.first_byte_timeout_ms = 200});
    assert_times_out(&silent, &(AcrHttpRequest){.total_timeout_ms = 200});
    assert_times_out(&half, &(AcrHttpRequest){.idle_timeout_ms = 200, .first_byte_timeout_ms = 5000});
    assert_times_out(&slow, &(AcrHttpRequest){.total_timeout_ms = 400});
}

TEST("/http/deadline", silence_before_the_first_byte_is_not_idleness)
{
    TestReply reply = {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", .wait_ms = 400};
    AcrHttpRequest request = {.idle_timeout_ms = 100};
    g_auto(AcrHttpResponse) response = {0};
    g_assert_true(exchange(&reply, &request, &response, NULL));
    g_assert_cmpint(response.first_byte_ms, >=, 390);
}

/* A listening socket with a full queue: further connections get no answer at all. */
static int full_listener(int *fillers, gsize n, int *out_port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof in;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&in, len), ==, 0);
    g_assert_cmpint(listen(fd, 0), ==, 0);
    g_assert_cmpint(getsockname(fd, (struct sockaddr *)&in, &len), ==, 0);
    for (gsize i = 0; i < n; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)!connect(fillers[i], (struct sockaddr *)&in, len);
    }
    g_usleep(50000);
    *out_port = ntohs(in.sin_port);
    return fd;
}

TEST("/http/deadline", a_connection_that_hangs_ends_by_its_deadline_or_an_interrupt)
{
    int fillers[8];
    int port = 0;
    int fd = full_listener(fillers, G_N_ELEMENTS(fillers), &port);
    g_autofree char *url = g_strdup_printf("http://127.0.0.1:%d/", port);
    AcrHttpRequest request = {.url = url, .connect_timeout_ms = 200};
    AcrHttpResponse response = {0};
    g_autoptr(GError) error = NULL;
    gint64 start = now_ms();
    assert_fails_with(acr_http_exchange(NULL, &request, &response, &error), error, ACR_HTTP_ERROR,
                      ACR_HTTP_ERROR_TIMEOUT);
    g_assert_cmpint(now_ms() - start, <, 8000);
    g_clear_error(&error);
    request.connect_timeout_ms = 0;
    request.interrupt = &alarm_interrupt;
    interrupt_in(200);
    start = now_ms();
    assert_fails_with(acr_http_exchange(NULL, &request, &response, &error), error, ACR_HTTP_ERROR,
                      ACR_HTTP_ERROR_INTERRUPTED);
    g_assert_cmpint(now_ms() - start, <, 8000);
    for (gsize i = 0; i < G_N_ELEMENTS(fillers); i++)
        close(fillers[i]);
    close(fd);
}

TEST("/http/deadline", an_interrupt_ends_a_wait_within_a_moment)
{
    TestReply silent = {.hang = true};
    TestReply half = {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", .hang = true};
    AcrHttpRequest request = {.interrupt = &alarm_interrupt};
    for (int i = 0; i < 2; i++) {
        gint64 start = now_ms();
        interrupt_in(200);
        assert_fails(i ? &half : &silent, &request, ACR_HTTP_ERROR_INTERRUPTED);
        g_assert_cmpint(now_ms() - start, >=, 190);
        g_assert_cmpint(now_ms() - start, <, 8000);
    }
}
