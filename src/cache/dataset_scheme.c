#include "cache/dataset_scheme.h"

#include "core/utf8.h"

#include <string.h>

static status_code check(const dataset *set, failure *failure) {
    const int regions = set->label_count - 1;
    if (set->values > LABELS_MAX_CLASSES || set->values < 2)
        return fail(failure, STATUS_BAD_INPUT, "%.500s has %d labels; 2 to %d are possible", set->folder, set->values,
                    LABELS_MAX_CLASSES);
    if (!set->has_regions) return STATUS_OK;
    if (regions > LABELS_MAX_REGIONS)
        return fail(failure, STATUS_BAD_INPUT, "%.500s has %d regions; at most %d are possible", set->folder, regions,
                    LABELS_MAX_REGIONS);
    if (set->order_count) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%.500s/dataset.json has labels of several values (regions), but no \"regions_class_order\": list, for "
                "each of the %d labels but the background, the value that label maps get where it is found; later ones "
                "win",
                set->folder, regions);
}

static void add_region(const dataset_label *label, int value_written, label_scheme *scheme) {
    label_region *region = &scheme->region[scheme->regions];
    utf8_copy(region->name, sizeof region->name, label->name);
    region->writes = (int16_t)label_scheme_class(scheme, value_written);
    for (int k = 0; k < label->count; k++)
        scheme->inside[label_scheme_class(scheme, label->values[k])] |= (uint16_t)(1u << scheme->regions);
    scheme->regions++;
}

status_code dataset_scheme(const dataset *set, label_scheme *scheme, failure *failure) {
    const status_code status = check(set, failure);
    if (status != STATUS_OK) return status;
    label_scheme_plain(scheme, set->values);
    memcpy(scheme->values, set->value, (size_t)set->values * sizeof *set->value);
    for (int k = 0; k < set->label_count && set->has_regions; k++)
        if (set->labels[k].values[0] != 0) add_region(&set->labels[k], set->class_order[scheme->regions], scheme);
    return STATUS_OK;
}
