#define _POSIX_C_SOURCE 200809L
#include "core/patient_column.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* As is_called reads them; those in front win. */
static const char *const USUAL[] = {"patient", "patientid", "subject", "subjectid", "participant", "participantid"};

static int is_called(const char *name, const char *usual) {
    for (; *name; name++) {
        if (strchr(" \t_-", *name)) continue;
        if (!*usual || tolower((unsigned char)*name) != *usual) return 0;
        usual++;
    }
    return !*usual;
}

int patient_column_is_usual(const char *name) {
    for (size_t u = 0; u < sizeof USUAL / sizeof *USUAL; u++)
        if (is_called(name, USUAL[u])) return 1;
    return 0;
}

int patient_column_is_plain(const char *name) { return strcasecmp(name, USUAL[0]) == 0; }

long patient_column(const void *table, size_t count, const char *(*name)(const void *table, size_t column)) {
    for (size_t k = 0; k < count; k++)
        if (strcmp(name(table, k), USUAL[0]) == 0) return (long)k;
    for (size_t u = 0; u < sizeof USUAL / sizeof *USUAL; u++)
        for (size_t k = 0; k < count; k++)
            if (is_called(name(table, k), USUAL[u])) return (long)k;
    return -1;
}

static const char *name_in_csv(const void *table, size_t column) { return csv_name(table, column); }

long patient_column_of_csv(const csv *table) { return patient_column(table, table->columns, name_in_csv); }
