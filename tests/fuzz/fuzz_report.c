/*
 * Bytes as the files of a run (see fuzz_put_files): the report is made, or the run is refused, and nothing that the
 * files hold becomes markup: no file can have a script run in the page.
 */
#define _GNU_SOURCE /* mkdtemp, memmem */
#include "fuzz_folder.h"
#include "picture/png.h"
#include "report/live.h"
#include "report/report.h"
#include "report_files.h"

#include <sys/stat.h>

static void make_pictures(void) {
    static const char *const PICTURES[] = {"hardest", "triage", "worst"};
    const uint8_t pixels[16] = {0, 50, 100, 150, 200, 250};
    if (access(fuzz_path("hardest"), F_OK) == 0) return;
    for (int k = 0; k < 3; k++) {
        char name[64];
        require(mkdir(fuzz_path(PICTURES[k]), 0700) == 0);
        snprintf(name, sizeof name, "%s/a.png", PICTURES[k]);
        require(png_save(fuzz_path(name), pixels, 4, 4, PNG_GREY, NULL) == STATUS_OK);
    }
}

/* What would begin an element, if it were not escaped; no page of ours has it. */
static void check(const text *page) {
    static const char *const MARKUP[] = {"<xss", "\"xss=", "'xss="};
    require(!page->failed);
    for (int k = 0; k < 3; k++) require(!memmem(page->bytes, page->size, MARKUP[k], strlen(MARKUP[k])));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > FUZZ_LARGEST) return 0;
    const char *const folders[] = {fuzz_folder()};
    failure failure = {0};
    text page = {0}, live = {0};
    make_pictures();
    fuzz_put_files(REPORT_FILES, REPORT_FILE_COUNT, data, size);
    const report_request request = {.folders = folders, .count = 1};
    const status_code status = report_page(&page, &request, &failure);
    require(status == STATUS_OK || failure.message[0]);
    if (status == STATUS_OK) check(&page);
    const live_runs runs = {folders, 1};
    if (live_part(&live, &runs, &failure) == STATUS_OK) check(&live);
    (void)live_version(&runs);
    text_close(&page);
    text_close(&live);
    return 0;
}
