#define _XOPEN_SOURCE 700
/* What hws predict takes for pictures, also where memory runs out while it looks. */
#include "predict/predict_pictures.h"

#include "core/path.h"
#include "picture/png.h"
#include "remove_tree.h"
#include "testing.h"

#include <unistd.h>

/* The growing of a block that fails: the so many-th from now on; 0: none. */
static long fails_at;

void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);

void *__wrap_realloc(void *block, size_t size) {
    return fails_at > 0 && --fails_at == 0 ? NULL : __real_realloc(block, size);
}

static char root[] = "/tmp/hws-pictures-XXXXXX", with[64], without[64];

static int make_folders(void **state) {
    static const unsigned char pixels[4];
    char path[80];
    (void)state;
    if (!mkdtemp(root)) return -1;
    snprintf(with, sizeof with, "%s/with", root);
    snprintf(without, sizeof without, "%s/without", root);
    snprintf(path, sizeof path, "%s/a.png", with);
    return folder_make(with, NULL) != STATUS_OK || folder_make(without, NULL) != STATUS_OK ||
           png_save(path, pixels, 2, 2, PNG_GREY, NULL) != STATUS_OK;
}

static int remove_folders(void **state) {
    (void)state;
    return remove_tree(root);
}

static void a_folder_takes_pictures_if_one_is_in_it(void **state) {
    (void)state;
    int takes = 0;
    assert_int_equal(predict_takes_pictures(root, &takes, NULL), STATUS_OK);
    assert_true(takes);
    assert_int_equal(predict_takes_pictures(without, &takes, NULL), STATUS_OK);
    assert_false(takes);
}

static void without_memory_it_is_not_known(void **state) {
    (void)state;
    int ran_out = 1;
    long k = 1;
    for (; ran_out; k++) {
        int takes = 0;
        fails_at = k;
        const status_code status = predict_takes_pictures(with, &takes, NULL);
        ran_out = fails_at == 0;
        fails_at = 0;
        assert_int_equal(status, ran_out ? STATUS_OUT_OF_MEMORY : STATUS_OK);
        assert_int_equal(takes, !ran_out);
    }
    assert_true(k > 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_takes_pictures_if_one_is_in_it),
        cmocka_unit_test(without_memory_it_is_not_known),
    };
    return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
