/* usage: peer_folds N: prints the five folds of N cases, first val, then train, a line each. */
#include "dataset/splits.h"

#include <stdio.h>
#include <stdlib.h>

static void print_list(const size_t *cases, size_t count) {
    for (size_t k = 0; k < count; k++) printf("%s%zu", k ? " " : "", cases[k]);
    putchar('\n');
}

int main(int count, char **arguments) {
    splits splits;
    failure failure;
    if (count != 2) return 2;
    if (splits_make(&splits, &(splits_request){.cases = strtoul(arguments[1], NULL, 10), .folds = SPLITS_FOLDS},
                    &failure) != STATUS_OK) {
        fprintf(stderr, "%s\n", failure.message);
        return 1;
    }
    for (int k = 0; k < splits.count; k++) {
        print_list(splits.folds[k].val, splits.folds[k].val_count);
        print_list(splits.folds[k].train, splits.folds[k].train_count);
    }
    splits_close(&splits);
    return 0;
}
