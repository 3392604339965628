#define _POSIX_C_SOURCE 200809L
#include "watch/watch.h"

#include "report/assets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONNECTIONS = 64, SECONDS_PER_CONNECTION = 30 };

static const char POLICY[] =
    "default-src 'none'; img-src data:; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

struct watch {
    live_runs runs;
    int is_local;
    char address[INET_ADDRSTRLEN]; /* that it listens on */
    struct MHD_Daemon *daemon;
};

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response,
                             const char *type) {
    if (!response) return MHD_NO;
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Content-Security-Policy", POLICY);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    const enum MHD_Result sent = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return sent;
}

static enum MHD_Result send_constant(struct MHD_Connection *connection, unsigned status, const char *words,
                                     const char *type) {
    return reply(connection, status,
                 MHD_create_response_from_buffer(strlen(words), (void *)words, MHD_RESPMEM_PERSISTENT), type);
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *words) {
    return send_constant(connection, status, words, "text/plain; charset=utf-8");
}

/* The response takes the text. */
static struct MHD_Response *response_of(text *words) {
    if (words->failed || !words->bytes) return text_close(words), NULL;
    struct MHD_Response *response = MHD_create_response_from_buffer(words->size, words->bytes, MHD_RESPMEM_MUST_FREE);
    if (!response) text_close(words);
    return response;
}

/* Of the page or the part of it that changes; the version is from before it is read, so that nothing new is missed. */
static enum MHD_Result send_live(const watch *w, struct MHD_Connection *connection, int whole) {
    text words = {0};
    failure failure = {0};
    char version[32];
    const char *known = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "If-None-Match");
    snprintf(version, sizeof version, "\"%016" PRIx64 "\"", live_version(&w->runs));
    if (!whole && known && strcmp(known, version) == 0)
        return send_constant(connection, 304, "", "text/html; charset=utf-8");
    const status_code status = (whole ? live_page : live_part)(&words, &w->runs, &failure);
    if (status != STATUS_OK) {
        text_close(&words);
        text_add(&words, failure.message);
        return reply(connection, 500, response_of(&words), "text/plain; charset=utf-8");
    }
    struct MHD_Response *response = response_of(&words);
    if (response && !whole) MHD_add_response_header(response, "ETag", version);
    return reply(connection, 200, response, "text/html; charset=utf-8");
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* "localhost:8017" and its like, or the address that it listens on. */
static int is_local_host(const watch *w, const char *host) {
    const char *const local[] = {"localhost", "127.0.0.1", "[::1]", w->address};
    for (size_t k = 0; k < sizeof local / sizeof *local; k++) {
        const size_t size = strlen(local[k]);
        if (strncmp(host, local[k], size) == 0 && (!host[size] || host[size] == ':')) return 1;
    }
    return 0;
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *address, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **state) {
    static const char JAVASCRIPT[] = "text/javascript; charset=utf-8";
    const watch *w = context;
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    (void)version, (void)upload, (void)upload_size, (void)state;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) return refuse(connection, 405, "only GET\n");
    if (w->is_local && (!host || !is_local_host(w, host))) return refuse(connection, 403, "another host is meant\n");
    if (strcmp(address, "/") == 0) return send_live(w, connection, 1);
    if (strcmp(address, "/live") == 0) return send_live(w, connection, 0);
    if (strcmp(address, "/page.css") == 0) return send_constant(connection, 200, report_css, "text/css; charset=utf-8");
    if (strcmp(address, "/page.js") == 0) return send_constant(connection, 200, report_js, JAVASCRIPT);
    if (strcmp(address, "/live.js") == 0) return send_constant(connection, 200, live_js, JAVASCRIPT);
    return refuse(connection, 404, "there is nothing here\n");
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static status_code start(watch *w, const watch_request *request, failure *failure) {
    const char *address = request->address ? request->address : "127.0.0.1";
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons((uint16_t)request->port)};
    if (inet_pton(AF_INET, address, &place.sin_addr) != 1)
        return fail(failure, STATUS_BAD_INPUT, "'%.100s' is no IPv4 address such as 127.0.0.1 or 0.0.0.0", address);
    inet_ntop(AF_INET, &place.sin_addr, w->address, sizeof w->address);
    w->is_local = ntohl(place.sin_addr.s_addr) >> 24 == 127;
    errno = 0;
    w->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, (uint16_t)request->port, NULL, NULL, answer, w,
                                 MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&place, MHD_OPTION_CONNECTION_LIMIT,
                                 (unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
                                 (unsigned)SECONDS_PER_CONNECTION, MHD_OPTION_END);
    if (w->daemon) return STATUS_OK;
    if (errno == EADDRNOTAVAIL)
        return fail(failure, STATUS_FAILED, "%s is no address of this machine: choose another --address", address);
    return fail(failure, STATUS_FAILED, "%s:%d cannot be listened on: %s; choose another --port, or 0 for any", address,
                request->port, errno ? strerror(errno) : "it is taken");
}

status_code watch_open(watch **opened, const watch_request *request, failure *failure) {
    watch *w = *opened = calloc(1, sizeof *w);
    if (!w) return fail_memory(failure, "the page");
    w->runs = request->runs;
    const status_code status = start(w, request, failure);
    if (status != STATUS_OK) watch_close(opened);
    return status;
}

int watch_port(const watch *w) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(w->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

void watch_close(watch **opened) {
    if (!opened || !*opened) return;
    if ((*opened)->daemon) MHD_stop_daemon((*opened)->daemon);
    free(*opened);
    *opened = NULL;
}
