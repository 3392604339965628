/* hws watch over the loopback interface: what it answers, what it refuses, and that it notices what changes. */
#define _XOPEN_SOURCE 700
#include "folders.h"
#include "watch/watch.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

typedef struct answer {
    int status; /* 0: the connection was closed without an answer */
    char *all;  /* head and body, a string that the caller frees */
} answer;

/* The words as they are, to the port of a loopback address; all that comes back. */
static answer talk_to(in_addr_t address, int port, const char *words) {
    const struct sockaddr_in place = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(address)};
    const int connection = socket(AF_INET, SOCK_STREAM, 0);
    text all = {0};
    char bytes[4096];
    assert_true(connection >= 0);
    assert_int_equal(connect(connection, (const struct sockaddr *)&place, sizeof place), 0);
    assert_int_equal(write(connection, words, strlen(words)), (ssize_t)strlen(words));
    for (ssize_t size; (size = read(connection, bytes, sizeof bytes)) > 0;) text_add_bytes(&all, bytes, (size_t)size);
    close(connection);
    assert_false(all.failed);
    return (answer){all.size > 12 ? atoi(all.bytes + 9) : 0, all.bytes};
}

static answer talk(int port, const char *words) { return talk_to(INADDR_LOOPBACK, port, words); }

static answer ask(int port, const char *method, const char *address, const char *more) {
    char words[1000];
    snprintf(words, sizeof words, "%s %s HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n%s\r\n", method,
             address, port, more);
    return talk(port, words);
}

static void expect(int port, const char *method, const char *address, int status, const char *words) {
    answer a = ask(port, method, address, "");
    if (a.status != status) fail_msg("%s %s: %d, expected %d", method, address, a.status, status);
    if (words && !strstr(a.all, words)) fail_msg("%s %s lacks '%s': %.2000s", method, address, words, a.all);
    free(a.all);
}

static watch *open_watch(const char *const *folders, size_t count) {
    watch *w;
    failure failure = {0};
    const watch_request request = {.runs = {folders, count}};
    if (watch_open(&w, &request, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    assert_true(watch_port(w) > 0);
    return w;
}

static void the_page_and_its_assets_are_served(void **state) {
    (void)state;
    folder run = whole_run("dro", 10, 0, 4, 0.5);
    write_string(&run, "train.log", "2026-01-01 00:00:00  first\n2026-01-01 00:00:01  <b>bold</b>\n");
    const char *folders[] = {run.path};
    watch *w = open_watch(folders, 1);
    const int port = watch_port(w);
    static const char *const HEADERS[] = {
        "Content-Security-Policy: default-src 'none'; img-src data:; style-src 'self'; script-src 'self'",
        "X-Content-Type-Options: nosniff", "Cache-Control: no-store", "Content-Type: text/html; charset=utf-8"};
    for (size_t k = 0; k < sizeof HEADERS / sizeof *HEADERS; k++) expect(port, "GET", "/", 200, HEADERS[k]);
    static const char *const PARTS[] = {"<!DOCTYPE html>",  "Learning curves",        "What the sampler did",
                                        "Hardest examples", "data:image/png;base64,", "&lt;b&gt;bold&lt;/b&gt;",
                                        "/live.js"};
    for (size_t k = 0; k < sizeof PARTS / sizeof *PARTS; k++) expect(port, "GET", "/", 200, PARTS[k]);
    expect(port, "GET", "/live", 200, "data-e=\"1|2|3|4\"");
    expect(port, "GET", "/page.css", 200, "Content-Type: text/css");
    expect(port, "GET", "/page.js", 200, "hwsCharts");
    expect(port, "GET", "/live.js", 200, "If-None-Match");
    answer head = ask(port, "HEAD", "/", "");
    assert_int_equal(head.status, 200);
    assert_null(strstr(head.all, "<main"));
    free(head.all);
    watch_close(&w);
    folder_close(&run);
}

static void nothing_else_is_served(void **state) {
    (void)state;
    folder run = whole_run("dro", 10, 0, 2, 0.5);
    const char *folders[] = {run.path};
    watch *w = open_watch(folders, 1);
    const int port = watch_port(w);
    static const char *const ADDRESSES[] = {"/config.json",        "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
                                            "/hardest/1000.png",   "//etc/passwd",      "/live/..",
                                            "/page.css/../secret", "/etc/passwd"};
    for (size_t k = 0; k < sizeof ADDRESSES / sizeof *ADDRESSES; k++) expect(port, "GET", ADDRESSES[k], 404, NULL);
    static const char *const METHODS[] = {"POST", "PUT", "DELETE", "OPTIONS"};
    for (size_t k = 0; k < sizeof METHODS / sizeof *METHODS; k++) expect(port, METHODS[k], "/", 405, NULL);
    answer other = talk(port, "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert_int_equal(other.status, 403);
    free(other.all);
    other = talk(port, "GET / HTTP/1.1\r\nHost: localhost.evil.example\r\nConnection: close\r\n\r\n");
    assert_int_equal(other.status, 403);
    free(other.all);
    other = talk(port, "nonsense\r\n\r\n");
    assert_true(other.status == 0 || other.status >= 400);
    free(other.all);
    expect(port, "GET", "/live", 200, NULL); /* and it goes on */
    watch_close(&w);
    folder_close(&run);
}

static void etag_of(const answer *a, char tag[64]) {
    const char *header = strstr(a->all, "ETag: ");
    assert_non_null(header);
    assert_int_equal(sscanf(header, "ETag: %63[^\r]", tag), 1);
}

static void what_changes_is_noticed(void **state) {
    (void)state;
    char tag[64], header[128];
    folder run = whole_run("dro", 10, 0, 2, 0.5);
    const char *folders[] = {run.path};
    watch *w = open_watch(folders, 1);
    answer a = ask(watch_port(w), "GET", "/live", "");
    etag_of(&a, tag);
    free(a.all);
    snprintf(header, sizeof header, "If-None-Match: %s\r\n", tag);
    a = ask(watch_port(w), "GET", "/live", header);
    assert_int_equal(a.status, 304);
    free(a.all);
    write_history(&run, 5, 0.5); /* another size */
    a = ask(watch_port(w), "GET", "/live", header);
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.all, "data-e=\"1|2|3|4|5\""));
    free(a.all);
    watch_close(&w);
    folder_close(&run);
}

static void several_runs_and_those_to_come_are_shown(void **state) {
    (void)state;
    folder erm = whole_run("erm", 0, 0, 3, 0.1), dro = whole_run("dro", 10, 0, 4, 0.5), later = folder_open();
    const char *folders[] = {erm.path, dro.path, later.path};
    watch *w = open_watch(folders, 3);
    expect(watch_port(w), "GET", "/", 200, ">2 runs of wrn-16-1 on mnist<");
    expect(watch_port(w), "GET", "/", 200, "no run yet");
    fill_run(&later, "dro", 100, 1, 2, 0.5);
    expect(watch_port(w), "GET", "/", 200, ">3 runs of wrn-16-1 on mnist<");
    watch_close(&w);
    folder_close(&erm);
    folder_close(&dro);
    w = open_watch(folders, 2); /* of which none is there any more */
    expect(watch_port(w), "GET", "/", 200, ">Waiting<");
    watch_close(&w);
    folder_close(&later);
}

/* A budget of time made 3 epochs of 5, which are done. */
static void a_run_that_its_budget_shortened_ends(void **state) {
    (void)state;
    folder run = whole_run("dro", 10, 0, 3, 0.5);
    const char *folders[] = {run.path};
    static const char *const CONFIG = "{\"task\": \"classification\", \"data\": \"mnist:/data/mnist\", \"model\": "
                                      "\"wrn-16-1\", \"objective\": \"dro\", \"classes\": [\"0\", \"1\"], \"epochs\": "
                                      "5, \"epoch_iterations\": 843, \"budget_lengths\": \"843:3372,1686:2529\"}";
    write_string(&run, "config.json", CONFIG);
    watch *w = open_watch(folders, 1);
    expect(watch_port(w), "GET", "/live", 200, "<td>3 of 3</td><td>finished</td>");
    watch_close(&w);
    folder_close(&run);
}

static void a_long_log_shows_its_last_lines(void **state) {
    (void)state;
    folder run = whole_run("dro", 10, 0, 2, 0.5);
    const char *folders[] = {run.path};
    FILE *log = open_in(&run, "train.log");
    for (int k = 0; k < 20000; k++) fprintf(log, "2026-01-01 00:00:00  line %d\n", k);
    fclose(log);
    watch *w = open_watch(folders, 1);
    answer a = ask(watch_port(w), "GET", "/live", "");
    assert_non_null(strstr(a.all, "line 19988\n"));
    assert_non_null(strstr(a.all, "line 19999\n"));
    assert_null(strstr(a.all, "line 19987\n"));
    free(a.all);
    watch_close(&w);
    folder_close(&run);
}

/* A damaged run is told of; the others are shown, and the page asks again. */
static void one_damaged_run_leaves_the_others_shown(void **state) {
    (void)state;
    folder erm = whole_run("erm", 0, 0, 3, 0.1), dro = whole_run("dro", 10, 0, 4, 0.5);
    const char *folders[] = {erm.path, dro.path};
    write_string(&erm, "config.json", "{\"task\": <cut");
    watch *w = open_watch(folders, 2);
    static const char *const PARTS[] = {"Learning curves", "/live.js", "data-e=\"1|2|3|4\"", "config.json, line 1"};
    for (size_t k = 0; k < sizeof PARTS / sizeof *PARTS; k++) expect(watch_port(w), "GET", "/", 200, PARTS[k]);
    write_string(&dro, "config.json", "{");
    expect(watch_port(w), "GET", "/", 200, "/live.js");
    expect(watch_port(w), "GET", "/live", 200, "class=\"note\"");
    write_config(&erm, "erm", 0, 0);
    expect(watch_port(w), "GET", "/live", 200, "data-e=\"1|2|3\"");
    watch_close(&w);
    folder_close(&erm);
    folder_close(&dro);
}

static void what_cannot_be_listened_on_is_refused(void **state) {
    (void)state;
    failure failure = {0};
    const char *folders[] = {"/nowhere"};
    watch *w = open_watch(folders, 1), *second;
    watch_request request = {.runs = {folders, 1}, .port = watch_port(w)};
    assert_int_equal(watch_open(&second, &request, &failure), STATUS_FAILED);
    assert_null(second);
    assert_non_null(strstr(failure.message, "--port"));
    request.address = "here";
    assert_int_equal(watch_open(&second, &request, &failure), STATUS_BAD_INPUT);
    watch_close(&w);
    watch_close(&w);
}

/* All of 127/8 is loopback, and who listens on 127.0.0.2 is asked for by that name. */
static void other_loopback_addresses_are_names_too(void **state) {
    (void)state;
    static const struct {
        const char *host;
        int status;
    } HOSTS[] = {
        {"127.0.0.2", 200}, {"localhost", 200}, {"127.0.0.3", 403}, {"127.0.0.20", 403}, {"evil.example", 403}};
    const char *folders[] = {"/nowhere"};
    watch *w;
    const watch_request request = {.runs = {folders, 1}, .address = "127.0.0.2"};
    assert_int_equal(watch_open(&w, &request, NULL), STATUS_OK);
    for (size_t k = 0; k < sizeof HOSTS / sizeof *HOSTS; k++) {
        char words[200];
        snprintf(words, sizeof words, "GET / HTTP/1.1\r\nHost: %s:%d\r\nConnection: close\r\n\r\n", HOSTS[k].host,
                 watch_port(w));
        answer a = talk_to(0x7f000002, watch_port(w), words);
        if (a.status != HOSTS[k].status) fail_msg("%s: %d", HOSTS[k].host, a.status);
        free(a.all);
    }
    watch_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_and_its_assets_are_served),
        cmocka_unit_test(nothing_else_is_served),
        cmocka_unit_test(what_changes_is_noticed),
        cmocka_unit_test(several_runs_and_those_to_come_are_shown),
        cmocka_unit_test(a_run_that_its_budget_shortened_ends),
        cmocka_unit_test(a_long_log_shows_its_last_lines),
        cmocka_unit_test(one_damaged_run_leaves_the_others_shown),
        cmocka_unit_test(what_cannot_be_listened_on_is_refused),
        cmocka_unit_test(other_loopback_addresses_are_names_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
