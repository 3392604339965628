/* page.css, page.js and live.js, put into the program when it is built. */
#ifndef HWS_REPORT_ASSETS_H
#define HWS_REPORT_ASSETS_H

extern const char report_css[], report_js[], live_js[];

#endif
