#include "evaluate/regions.h"

#include "core/array.h"
#include "core/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int has_label(const region *region, int label) {
    for (int k = 0; k < region->count; k++)
        if (region->labels[k] == label) return 1;
    return 0;
}

static int same_labels(const region *a, const region *b) {
    if (a->count != b->count) return 0;
    for (int k = 0; k < a->count; k++)
        if (!has_label(b, a->labels[k])) return 0;
    return 1;
}

long regions_find(const region_list *list, const region *region) {
    for (size_t k = 0; k < list->count; k++)
        if (same_labels(&list->regions[k], region)) return (long)k;
    return -1;
}

static int is_good_in_tables(const char *name) {
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == '|' || *name == 0x7f) return 0;
    return 1;
}

int region_name_is_good(const char *name) {
    return *name && strlen(name) < REGION_NAME_BYTES && !strpbrk(name, ",=+") && is_good_in_tables(name);
}

int regions_have_name(const region_list *list, const char *name) {
    for (size_t k = 0; k < list->count; k++)
        if (strcmp(list->regions[k].name, name) == 0) return 1;
    return 0;
}

static status_code add(region_list *list, const region *added, failure *failure) {
    if (!is_good_in_tables(added->name))
        return fail(failure, STATUS_BAD_INPUT, "a region's name must have no | and no control characters");
    char key[REGION_KEY_BYTES];
    region_key(added, key);
    if (regions_find(list, added) >= 0)
        return fail(failure, STATUS_BAD_INPUT, "the label or region %s is asked for twice", key);
    if (regions_have_name(list, added->name))
        return fail(failure, STATUS_BAD_INPUT, "two regions are called %s", added->name);
    if (list->count == REGIONS_MAX)
        return fail(failure, STATUS_BAD_INPUT, "more than %d labels and regions", REGIONS_MAX);
    region *grown = array_grow(list->regions, list->count, &list->capacity, sizeof *grown);
    if (!grown) return fail_memory(failure, "regions");
    list->regions = grown;
    list->regions[list->count++] = *added;
    return STATUS_OK;
}

/* Reads a label of `region` and moves behind it. */
static status_code parse_label(const char **at, region *region, failure *failure) {
    char *end;
    const long label = strtol(*at, &end, 10);
    if (!isdigit((unsigned char)**at) || label > INT16_MAX)
        return fail(failure, STATUS_BAD_INPUT, "'%.40s' does not begin with a label, a number from 0 to %d", *at,
                    INT16_MAX);
    if (has_label(region, (int)label))
        return fail(failure, STATUS_BAD_INPUT, "the region %s has the label %ld twice", region->name, label);
    if (region->count == REGION_MAX_LABELS)
        return fail(failure, STATUS_BAD_INPUT, "the region %s has more than %d labels", region->name,
                    REGION_MAX_LABELS);
    region->labels[region->count++] = (int16_t)label;
    *at = end;
    return STATUS_OK;
}

status_code regions_add_label(region_list *list, int label, failure *failure) {
    region added = {.count = 1, .labels = {(int16_t)label}};
    snprintf(added.name, sizeof added.name, "%d", label);
    return add(list, &added, failure);
}

/* Behind an item comes a comma and another item, or the end. */
static status_code parse_comma(const char **at, failure *failure) {
    if (**at == 0) return STATUS_OK;
    if (**at != ',' || (*at)[1] == 0)
        return fail(failure, STATUS_BAD_INPUT, "'%.40s' was not expected there; items are separated by commas", *at);
    ++*at;
    return STATUS_OK;
}

static status_code parse_plain(const char **at, region *region, failure *failure) {
    const status_code status = parse_label(at, region, failure);
    snprintf(region->name, sizeof region->name, "%d", region->labels[0]);
    return status == STATUS_OK ? parse_comma(at, failure) : status;
}

static status_code parse_name(const char **at, region *region, failure *failure) {
    const size_t length = strcspn(*at, "=,");
    if (length == 0 || length >= REGION_NAME_BYTES || (*at)[length] != '=')
        return fail(failure, STATUS_BAD_INPUT, "'%.40s' is not NAME=LABEL+LABEL, with a name of at most %d bytes", *at,
                    REGION_NAME_BYTES - 1);
    memcpy(region->name, *at, length);
    *at += length + 1;
    return STATUS_OK;
}

static status_code parse_named(const char **at, region *region, failure *failure) {
    status_code status = parse_name(at, region, failure);
    if (status == STATUS_OK) status = parse_label(at, region, failure);
    while (status == STATUS_OK && **at == '+') {
        ++*at;
        status = parse_label(at, region, failure);
    }
    return status == STATUS_OK ? parse_comma(at, failure) : status;
}

/* All items of a text, or none. */
static status_code add_items(region_list *list, const char *items,
                             status_code (*parse)(const char **at, region *region, failure *failure),
                             failure *failure) {
    region_list result = {0};
    status_code status = regions_copy(&result, list, failure);
    do {
        region added = {0};
        if (status == STATUS_OK) status = parse(&items, &added, failure);
        if (status == STATUS_OK) status = add(&result, &added, failure);
    } while (status == STATUS_OK && *items);
    if (status != STATUS_OK) {
        regions_close(&result);
        return status;
    }
    regions_close(list);
    *list = result;
    return STATUS_OK;
}

status_code regions_add_labels(region_list *list, const char *labels, failure *failure) {
    return add_items(list, labels, parse_plain, failure);
}

status_code regions_add_named(region_list *list, const char *regions, failure *failure) {
    return add_items(list, regions, parse_named, failure);
}

/* "1", or as Python writes tuples: "(1,)", "(1, 2)". */
static status_code parse_key(const char *key, region *region, failure *failure) {
    const char *at = key;
    const int tuple = *at == '(';
    at += tuple;
    status_code status = parse_label(&at, region, failure);
    while (status == STATUS_OK && tuple && *at == ',') {
        at += 1 + (at[1] == ' ');
        if (*at == ')') break;
        status = parse_label(&at, region, failure);
    }
    if (status == STATUS_OK && strcmp(at, tuple ? ")" : "") != 0)
        status = fail(failure, STATUS_CORRUPT, "'%.40s' is not a label or a tuple of labels", key);
    return status;
}

status_code regions_add_key(region_list *list, const char *key, const char *name, failure *failure) {
    region added = {0};
    const status_code status = parse_key(key, &added, failure);
    if (status != STATUS_OK) return status;
    if (name && *name) utf8_copy(added.name, sizeof added.name, name);
    else region_name_by_key(&added, added.name);
    if (!(name && *name) && regions_have_name(list, added.name)) /* large ones may begin alike */
        snprintf(added.name, sizeof added.name, "R%zu", list->count + 1);
    return add(list, &added, failure);
}

void region_name_by_key(const region *region, char name[REGION_NAME_BYTES]) {
    char key[REGION_KEY_BYTES];
    region_key(region, key);
    utf8_copy(name, REGION_NAME_BYTES, key);
}

void region_key(const region *region, char key[REGION_KEY_BYTES]) {
    if (region->count == 1) {
        snprintf(key, REGION_KEY_BYTES, "%d", region->labels[0]);
        return;
    }
    size_t used = 0;
    for (int k = 0; k < region->count; k++)
        used += (size_t)snprintf(key + used, REGION_KEY_BYTES - used, "%s%d", k ? ", " : "(", region->labels[k]);
    snprintf(key + used, REGION_KEY_BYTES - used, ")");
}

status_code regions_copy(region_list *target, const region_list *source, failure *failure) {
    *target = (region_list){0};
    if (source->count == 0) return STATUS_OK;
    target->regions = malloc(source->count * sizeof *target->regions);
    if (!target->regions) return fail_memory(failure, "regions");
    memcpy(target->regions, source->regions, source->count * sizeof *target->regions);
    target->count = source->count;
    return STATUS_OK;
}

void regions_close(region_list *list) {
    free(list->regions);
    *list = (region_list){0};
}
