#include "images/broken_pictures.h"

#include "core/path.h"
#include "images/labelled_images.h"

#include <stdio.h>
#include <string.h>

enum { NAMED_MOST = 50, COMPLAINT_BYTES = 850, MISSING_NAMED = 3 };

size_t broken_pictures_count(const example_list *list, char *const *complaints) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) count += complaints[i] != NULL;
    return count;
}

/* ---- files that are not there ------------------------------------------------------------------------------------ */

static int is_there(const example_list *list, size_t i, const char *ending) {
    char path[PATH_SIZE], whole[PATH_SIZE];
    if (labelled_images_path(path, list->folder, list->names[i], NULL) != STATUS_OK) return 1;
    return path_format(whole, NULL, "%s%s", path, ending) != STATUS_OK || path_exists(whole);
}

static int all_missing(const example_list *list, char *const *complaints) {
    for (size_t i = 0; i < list->count; i++)
        if (complaints[i] && is_there(list, i, "")) return 0;
    return 1;
}

/* With which the picture would be there; NULL: with none that we know. */
static const char *lacking_ending(const example_list *list, size_t i) {
    static const char *const ENDINGS[] = {".png", ".jpg", ".jpeg", ".PNG", ".JPG", ".JPEG"};
    for (size_t k = 0; k < sizeof ENDINGS / sizeof *ENDINGS; k++)
        if (is_there(list, i, ENDINGS[k])) return ENDINGS[k];
    return NULL;
}

static status_code fail_missing(const example_list *list, char *const *complaints, const char *others,
                                failure *failure) {
    text some = {0};
    char hint[64] = "";
    size_t told = 0;
    const size_t missing = broken_pictures_count(list, complaints);
    for (size_t i = 0; i < list->count && told < MISSING_NAMED; i++) {
        if (!complaints[i]) continue;
        const char *ending = told ? NULL : lacking_ending(list, i);
        if (ending) snprintf(hint, sizeof hint, "; with %s behind its name the first is there", ending);
        text_format(&some, "%s%.150s", told++ ? ", " : "", list->names[i]);
    }
    fail(failure, STATUS_CANNOT_READ, "%zu of %zu pictures %s not there%s: %s%s, in %.200s%s", missing, list->count,
         missing == 1 ? "is" : "are", others, text_string(&some), missing > told ? " and others" : "", list->folder,
         hint);
    text_close(&some);
    return STATUS_CANNOT_READ;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static status_code fail_listed(const example_list *list, size_t broken, size_t fitted, const char *others,
                               const text *some, failure *failure) {
    if (broken == 1 && !*others) return fail(failure, STATUS_CORRUPT, "%.1000s", text_string(some));
    return fail(failure, STATUS_CORRUPT, "%zu of %zu pictures cannot be used%s%s:\n  %.*s", broken, list->count, others,
                broken > fitted ? ", among them" : "", COMPLAINT_BYTES, text_string(some));
}

status_code broken_pictures_fail(const example_list *list, char *const *complaints, const char *others,
                                 const listener *listener, failure *failure) {
    text some = {0};
    size_t told = 0, fitted = 0;
    const size_t broken = broken_pictures_count(list, complaints);
    if (!broken) return STATUS_OK;
    if (all_missing(list, complaints)) return fail_missing(list, complaints, others, failure);
    for (size_t i = 0; i < list->count; i++) {
        const char *complaint = complaints[i];
        if (!complaint) continue;
        const int fits = fitted == told && (!told || some.size + strlen(complaint) + 3 <= COMPLAINT_BYTES);
        if (fits) text_format(&some, "%s%s", told ? "\n  " : "", complaint);
        else if (broken <= NAMED_MOST) listener_notice(listener, complaint);
        fitted += (size_t)fits;
        told++;
    }
    const status_code status = fail_listed(list, broken, fitted, others, &some, failure);
    text_close(&some);
    return status;
}
