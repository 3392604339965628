#include "hws.h"

const char *hws_version(void) { return HWS_VERSION; }

const char *hws_status_text(hws_status status) {
    switch (status) {
#define STATUS_CASE(name, value, text)                                                                                 \
    case name: return text;
        HWS_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}
