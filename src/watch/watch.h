/*
 * hws watch as a call: a page about runs, by HTTP, while they train.
 *
 *     watch_open(&watch, &request, &failure);        answers from now on, in a thread of its own
 *     printf("http://127.0.0.1:%d/\n", watch_port(watch));
 *     watch_close(&watch);
 *
 * It answers GET and HEAD of five addresses (/, /live, /page.css, /page.js, /live.js) and nothing else: no address is
 * ever made a file's name. On a loopback address it refuses requests for another host, which a page from elsewhere
 * could have sent here under a name of its own. Nothing is loaded from elsewhere, and the browser is told so
 * (Content-Security-Policy).
 */
#ifndef HWS_WATCH_WATCH_H
#define HWS_WATCH_WATCH_H

#include "report/live.h"

typedef struct watch_request {
    live_runs runs;      /* must live as long */
    const char *address; /* of IPv4; NULL: 127.0.0.1 */
    int port;            /* 0: any that is free */
} watch_request;

typedef struct watch watch;

status_code watch_open(watch **opened, const watch_request *request, failure *failure);
int watch_port(const watch *watch);
void watch_close(watch **watch);

#endif
