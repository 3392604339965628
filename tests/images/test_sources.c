/* MedMNIST's and CIFAR-10's files, tables, and augmentation of pictures. */
#include "images/cifar.h"
#include "images/npz.h"
#include "images/picture_augment.h"
#include "images/table_sets.h"

#include "core/path.h"
#include "core/whole_file.h"
#include "work_folder.h"
#include "zip/zip_writer.h"

static void close_sets(labelled_images sets[DATA_PARTS]) {
    for (int p = 0; p < DATA_PARTS; p++) labelled_images_close(&sets[p]);
}

/* ---- .npz -------------------------------------------------------------------------------------------------------- */

static void add_array(zip_writer *zip, const char *name, const char *type, const char *shape, const void *data,
                      size_t size) {
    static char header[8][128];
    static int next;
    char *h = header[next++ % 8];
    memset(h, ' ', 128);
    memcpy(h, "\x93NUMPY\1\0\x76\0", 10);
    const int length = snprintf(h + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    h[10 + length] = ' ';
    h[127] = '\n';
    const zip_span spans[] = {{h, 128}, {data, size}};
    zip_writer_add(zip, name, spans, 2, 1);
}

static void write_npz(const char *name, const char *label_shape, size_t label_bytes) {
    static const uint8_t pixels[2 * 3 * 2 * 3] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const int64_t labels[4] = {4, 0, 1, 1};
    zip_writer zip;
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s", work_path(name));
    zip_writer_open(&zip, path);
    add_array(&zip, "train_images.npy", "|u1", "(2, 3, 2, 3)", pixels, sizeof pixels);
    add_array(&zip, "train_labels.npy", "<i8", label_shape, labels, label_bytes);
    add_array(&zip, "test_images.npy", "|u1", "(1, 3, 2, 3)", pixels, 18);
    add_array(&zip, "test_labels.npy", "|u1", "(1,)", labels, 1);
    assert_int_equal(zip_writer_close(&zip, NULL), STATUS_OK);
}

/* An image of four bytes of another type. */
static void refuse_images(const char *type, const char *words) {
    static const uint8_t bytes[4] = {1};
    labelled_images sets[DATA_PARTS];
    failure why = {0};
    zip_writer zip;
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s", work_path("type.npz"));
    zip_writer_open(&zip, path);
    add_array(&zip, "train_images.npy", type, "(1, 1, 1)", bytes, sizeof bytes);
    add_array(&zip, "train_labels.npy", "|u1", "(1,)", bytes, 1);
    assert_int_equal(zip_writer_close(&zip, NULL), STATUS_OK);
    assert_int_equal(npz_open(sets, path, &why), STATUS_CORRUPT);
    if (!strstr(why.message, words)) fail_msg("'%s' lacks '%s'", why.message, words);
}

static void npz_files_as_medmnist_has_them(void **state) {
    (void)state;
    labelled_images sets[DATA_PARTS];
    failure why = {0};
    write_npz("a.npz", "(2, 1)", 16);
    if (npz_open(sets, work_path("a.npz"), &why) != STATUS_OK) fail_msg("%s", why.message);
    const labelled_images *train = &sets[PART_TRAIN];
    assert_true(train->count == 2 && train->height == 3 && train->width == 2 && train->channels == 3);
    assert_true(train->classes == 5 && train->labels[0] == 4 && train->labels[1] == 0 && train->pixels[8] == 9);
    assert_true(sets[PART_VALIDATION].count == 0 && sets[PART_TEST].count == 1);
    close_sets(sets);
    write_npz("b.npz", "(2, 2)", 32);
    assert_int_equal(npz_open(sets, work_path("b.npz"), &why), STATUS_CORRUPT);
    assert_non_null(strstr(why.message, "not one number for each image"));
    write_npz("b.npz", "(4,)", 32);
    assert_int_equal(npz_open(sets, work_path("b.npz"), &why), STATUS_CORRUPT);
    assert_non_null(strstr(why.message, "train_labels has 4 labels for the 2 images of train_images"));
    refuse_images("<f4", "holds float32 of the shape (1, 1, 1)");
    refuse_images("<u4", "train_images are uint32 of the shape (1, 1, 1); uint8 from 0 to 255");
    refuse_images("<U1", "holds strings of the shape (1, 1, 1)");
    refuse_images("<f999999999", "holds '<f999999999' of the shape");
    assert_int_equal(whole_file_write(work_path("c.npz"), "PK", 2, NULL), STATUS_OK);
    assert_int_not_equal(npz_open(sets, work_path("c.npz"), &why), STATUS_OK);
}

static void an_empty_part_of_an_npz_file_is_named(void **state) {
    (void)state;
    labelled_images sets[DATA_PARTS];
    failure why = {0};
    zip_writer zip;
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s", work_path("empty.npz"));
    zip_writer_open(&zip, path);
    add_array(&zip, "train_images.npy", "|u1", "(1, 3, 2, 3)", "abcdefghijklmnopqr", 18);
    add_array(&zip, "train_labels.npy", "|u1", "(1,)", "", 1);
    add_array(&zip, "test_images.npy", "|u1", "(0, 3, 2, 3)", "", 0);
    add_array(&zip, "test_labels.npy", "|u1", "(0,)", "", 0);
    assert_int_equal(zip_writer_close(&zip, NULL), STATUS_OK);
    assert_int_equal(npz_open(sets, path, &why), STATUS_CORRUPT);
    assert_non_null(strstr(why.message, "empty.npz: test_images holds no images"));
}

/* ---- CIFAR-10 ---------------------------------------------------------------------------------------------------- */

static void cifar_planes_become_pixels(void **state) {
    (void)state;
    static char record[3073];
    char name[32];
    labelled_images train, test;
    failure why = {0};
    for (int k = 1; k < 3073; k++) record[k] = (char)((k - 1) / 1024 * 50 + 1);
    assert_false(cifar_is_there(work_folder));
    for (int k = 0; k < 6; k++) {
        record[0] = (char)k;
        snprintf(name, sizeof name, k < 5 ? "data_batch_%d.bin" : "test_batch.bin", k + 1);
        assert_int_equal(whole_file_write(work_path(name), record, sizeof record, NULL), STATUS_OK);
    }
    assert_true(cifar_is_there(work_folder));
    if (cifar_open(&train, &test, work_folder, &why) != STATUS_OK) fail_msg("%s", why.message);
    assert_true(train.count == 5 && test.count == 1 && train.labels[3] == 3 && test.labels[0] == 5);
    assert_memory_equal(train.pixels, "\x01\x33\x65\x01\x33\x65", 6);
    labelled_images_close(&train);
    labelled_images_close(&test);
    assert_int_equal(whole_file_write(work_path("test_batch.bin"), record, 3000, NULL), STATUS_OK);
    assert_int_equal(cifar_open(&train, &test, work_folder, &why), STATUS_CORRUPT);
    assert_non_null(strstr(why.message, "test_batch.bin: has 3000 bytes"));
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void keep_notice(void *context, const char *text) { snprintf(context, 512, "%s", text); }

/* Opens what stands in a file of this name; `notice` becomes the last one that was told. */
static void open_table(labelled_images sets[DATA_PARTS], const char *name, const char *table, char notice[512]) {
    failure why = {0};
    notice[0] = 0;
    const listener listener = {.context = notice, .notice = keep_notice};
    assert_int_equal(whole_file_write(work_path(name), table, strlen(table), NULL), STATUS_OK);
    const table_source source = {.path = work_path(name)};
    if (table_sets_open(sets, &source, &(example_options){0}, &listener, &why) != STATUS_OK)
        fail_msg("%s", why.message);
}

static void tables_become_numbers(void **state) {
    (void)state;
    static const char TABLE[] = "id,age,city,split,label\n"
                                "1,10,A,train,x\n2,30,B,train,y\n3,,A,train,x\n4,50,C,test,y\n5,20,?,test,x\n";
    labelled_images sets[DATA_PARTS];
    failure why = {0};
    assert_int_equal(whole_file_write(work_path("t.csv"), TABLE, sizeof TABLE - 1, NULL), STATUS_OK);
    int table = 0;
    assert_int_equal(table_sets_is_table(work_path("t.csv"), &table, &why), STATUS_OK);
    assert_true(table);
    if (table_sets_open(sets, &(table_source){.path = work_path("t.csv")}, &(example_options){0}, NULL, &why) !=
        STATUS_OK)
        fail_msg("%s", why.message);
    const float train[] = {-1, 1, 0, 1, 0, 1, 0, 1, 0}, test[] = {3, 0, 0, 0, 0, 0}; /* mean 20, std 10 */
    assert_int_equal(sets[PART_TRAIN].channels, 3);
    for (int k = 0; k < 9; k++) assert_near((double)sets[PART_TRAIN].values[k], (double)train[k], 1e-6);
    for (int k = 0; k < 6; k++) assert_near((double)sets[PART_TEST].values[k], (double)test[k], 1e-6);
    assert_memory_equal(sets[PART_TRAIN].labels, "\0\1\0", 3);
    assert_non_null(labelled_images_column(&sets[PART_TEST], "city"));
    close_sets(sets);
}

/* Three hundred measurements of thirty patients, ten rows each; who and where stand behind them. */
static void write_wide_table(const char *name) {
    text table = {0};
    for (int k = 0; k < 300; k++) text_format(&table, "f%d,", k);
    text_add(&table, "label,site,patient\n");
    for (int row = 0; row < 300; row++) {
        for (int k = 0; k < 300; k++) text_format(&table, "%d.5,", row * 7 + k);
        text_format(&table, "%s,site%d,patient%d\n", row % 2 ? "x" : "y", row % 3, row % 30);
    }
    assert_int_equal(whole_file_write_text(work_path(name), &table, NULL), STATUS_OK);
    text_close(&table);
}

static void in_wide_tables_patients_stay_together_too(void **state) {
    (void)state;
    labelled_images sets[DATA_PARTS];
    failure why = {0};
    int seen[30] = {0};
    write_wide_table("wide.csv");
    if (table_sets_open(sets, &(table_source){.path = work_path("wide.csv")}, &(example_options){0}, NULL, &why) !=
        STATUS_OK)
        fail_msg("%s", why.message);
    assert_int_equal(sets[PART_TRAIN].count + sets[PART_TEST].count, 300);
    for (int p = 0; p < DATA_PARTS; p++) {
        const example_column *patients = labelled_images_column(&sets[p], "patient");
        assert_true(!sets[p].count || (patients && labelled_images_column(&sets[p], "site")));
        for (int64_t i = 0; i < sets[p].count; i++)
            seen[atoi(patients->values[patients->of[i]] + strlen("patient"))] |= 1 << p;
        labelled_images_close(&sets[p]);
    }
    for (int k = 0; k < 30; k++) assert_true(seen[k] == 1 << PART_TRAIN || seen[k] == 1 << PART_TEST);
}

/* What is learnt from decides: a word in a test row is a mistake there, one in a training row makes
   words of all, and is told. */
static void a_word_among_numbers_does_not_pass_silently(void **state) {
    (void)state;
    static const char TABLE[] =
        "x,label,split\n1,a,train\n2,b,train\n3,a,train\n4,b,train\n\"12,5\",a,train\n1,b,test\n";
    char notice[512];
    labelled_images sets[DATA_PARTS];
    open_table(sets, "word.csv", TABLE, notice);
    assert_int_equal(sets[PART_TRAIN].channels, 5);
    if (!strstr(notice, "line 6 has '12,5'")) fail_msg("the notice is '%s'", notice);
    close_sets(sets);
}

/* A run of an earlier version may have kept the spaces. */
static void words_are_the_same_with_spaces_around_them(void **state) {
    (void)state;
    static const char TABLE[] =
        "job,n,label,split\n cook ,1 ,a,train\nnurse, 3,b,train\ncook  ,2,a,test\n\"nurse\",2,b,test\n";
    static const char OLD[] = "column,word,mean,std\njob, cook ,,\njob,nurse,,\nn,,2,1\n";
    assert_int_equal(whole_file_write(work_path("spaces.csv"), TABLE, strlen(TABLE), NULL), STATUS_OK);
    assert_int_equal(whole_file_write(work_path("old.csv"), OLD, strlen(OLD), NULL), STATUS_OK);
    for (int k = 0; k < 2; k++) {
        labelled_images sets[DATA_PARTS];
        const float train[] = {1, 0, -1, 0, 1, 1}, test[] = {1, 0, 0, 0, 1, 0};
        char notice[512] = "";
        const listener listener = {.context = notice, .notice = keep_notice};
        const table_source source = {.path = work_path("spaces.csv"), .encoding = k ? work_path("old.csv") : NULL};
        assert_int_equal(table_sets_open(sets, &source, &(example_options){0}, &listener, NULL), STATUS_OK);
        assert_int_equal(sets[PART_TRAIN].channels, 3);
        assert_memory_equal(sets[PART_TRAIN].values, train, sizeof train);
        assert_memory_equal(sets[PART_TEST].values, test, sizeof test);
        assert_string_equal(notice, "");
        close_sets(sets);
    }
}

static void words_that_were_not_trained_on_are_told(void **state) {
    (void)state;
    static const char TABLE[] =
        "job,label,split\ncook,a,train\nnurse,b,train\npilot,a,test\n?,b,test\nbaker,b,test\ncook,a,test\n";
    char notice[512];
    labelled_images sets[DATA_PARTS];
    open_table(sets, "unseen.csv", TABLE, notice);
    assert_string_equal(notice, "2 of 6 rows have a 'job' that was not trained on, such as 'pilot' (line 4)");
    close_sets(sets);
}

static void many_words_for_what_is_missing(void **state) {
    (void)state;
    static const char TABLE[] = "x,none,label,split\n1,nan,a,train\nNaN,,b,train\n3,NULL,a,train\nnull,null,b,train\n"
                                "nan,NaN,a,test\n4,?,b,test\n";
    const float train[] = {-1, 0, 1, 0}, test[] = {0, 2};
    char notice[512];
    labelled_images sets[DATA_PARTS];
    open_table(sets, "nan.csv", TABLE, notice);
    assert_int_equal(sets[PART_TRAIN].channels, 1);
    assert_memory_equal(sets[PART_TRAIN].values, train, sizeof train);
    assert_memory_equal(sets[PART_TEST].values, test, sizeof test);
    assert_string_equal(notice, "the column 'none' is left out: it says nothing in the rows that are trained on");
    close_sets(sets);
}

static void a_column_of_names_is_told(void **state) {
    (void)state;
    text table = {0};
    text_add(&table, "x,who,city,label,split\n");
    for (int k = 0; k < 20; k++)
        text_format(&table, "%d,name%d,c%d,%s,%s\n", k, k / 19 ? 0 : k, k % 12, k % 2 ? "a" : "b", "train");
    text_add(&table, "3,name3,c4,a,test\n");
    char notice[512];
    labelled_images sets[DATA_PARTS];
    open_table(sets, "who.csv", text_string(&table), notice);
    text_close(&table);
    if (!strstr(notice, "the column 'who' has 19 different words in the 20 rows"))
        fail_msg("the notice is '%s'", notice);
    close_sets(sets);
}

/* Unless two rows have the same, or one has none. */
static void rows_are_called_by_their_id(void **state) {
    (void)state;
    static const char TABLE[] = "Id,x,label,split\np1,1,a,train\np%s,2,b,train\np3,3,a,test\n%s,4,b,test\n";
    static const char *const IDS[][3] = {
        {"2", "p4", ""}, {"1", "p4", "the id 'p1' comes twice"}, {"2", " ", "not all have an id"}};
    for (int k = 0; k < 3; k++) {
        char bytes[256], notice[512];
        labelled_images sets[DATA_PARTS];
        text name = {0};
        snprintf(bytes, sizeof bytes, TABLE, IDS[k][0], IDS[k][1]);
        open_table(sets, "ids.csv", bytes, notice);
        labelled_images_name(&sets[PART_TEST], 0, &name);
        assert_string_equal(text_string(&name), k ? "2" : "p3");
        if (!strstr(notice, IDS[k][2])) fail_msg("the notice is '%s'", notice);
        text_close(&name);
        close_sets(sets);
    }
}

static void a_broken_table_is_no_list_of_pictures(void **state) {
    (void)state;
    static const char *const BROKEN[] = {"a,b\n\"1,2\n", "a,a\n1,2\n"};
    int table;
    for (int k = 0; k < 3; k++) {
        failure why = {0};
        if (k < 2)
            assert_int_equal(whole_file_write(work_path("broken.csv"), BROKEN[k], strlen(BROKEN[k]), NULL), STATUS_OK);
        assert_int_not_equal(table_sets_is_table(work_path(k < 2 ? "broken.csv" : "nothere.csv"), &table, &why),
                             STATUS_OK);
        assert_false(table);
        assert_non_null(strstr(why.message, k < 2 ? "broken.csv" : "nothere.csv"));
    }
    assert_int_equal(table_sets_is_table(work_path("nothere.png"), &table, NULL), STATUS_OK);
    assert_false(table);
}

static void refuse_table(const char *table, const char *complaint) {
    labelled_images sets[DATA_PARTS];
    failure why = {0};
    assert_int_equal(whole_file_write(work_path("far.csv"), table, strlen(table), NULL), STATUS_OK);
    const table_source source = {.path = work_path("far.csv")};
    assert_int_equal(table_sets_open(sets, &source, &(example_options){0}, NULL, &why), STATUS_BAD_INPUT);
    if (!strstr(why.message, complaint)) fail_msg("'%s' does not say '%s'", why.message, complaint);
    for (int p = 0; p < DATA_PARTS; p++) assert_null(sets[p].values);
}

static void numbers_that_would_become_infinite_are_refused(void **state) {
    (void)state;
    refuse_table("x,label,split\n1,a,train\n2,b,train\ninf,a,test\n3,b,test\n", "line 4: x is 'inf'");
    refuse_table("x,label,split\n1,a,train\n2,b,train\n1e300,a,test\n3,b,test\n", "line 4: x is 1e300");
    refuse_table("x,label,split\n1e308,a,train\n1e308,b,train\n1,a,test\n3,b,test\n", "'x' has numbers too large");
    refuse_table("x,label,split\n-1e200,a,train\n1e200,b,train\n1,a,test\n3,b,test\n", "'x' has numbers too large");
}

/* ---- augmentation ------------------------------------------------------------------------------------------------ */

enum { SIDE = 9 };

static const labelled_images LIKE = {.count = 1, .height = SIDE, .width = SIDE, .channels = 3};

static void apply(const picture_augment *a, uint64_t iteration, const uint8_t *from, uint8_t *to) {
    const uint64_t key[2] = {7, iteration};
    picture_augment_apply(a, &LIKE, key, 3, from, to);
}

static void flips_and_moves_are_exact(void **state) {
    (void)state;
    uint8_t from[SIDE * SIDE * 3], to[SIDE * SIDE * 3];
    uint64_t random = 1;
    int flipped = 0, moves = 0;
    for (size_t k = 0; k < sizeof from; k++) from[k] = (uint8_t)test_random(&random);
    for (uint64_t t = 0; t < 200; t++) {
        apply(&(picture_augment){.flip = 1}, t, from, to);
        const int mirrored = memcmp(to, from, sizeof to) != 0;
        flipped += mirrored;
        for (int y = 0; y < SIDE && mirrored; y++)
            for (int x = 0; x < SIDE; x++)
                assert_memory_equal(to + (y * SIDE + x) * 3, from + (y * SIDE + SIDE - 1 - x) * 3, 3);
        apply(&(picture_augment){.crop = 2}, t, from, to);
        int found = 0;
        for (int dy = -2; dy <= 2; dy++)
            for (int dx = -2; dx <= 2; dx++) /* the middle, which no edge reaches */
                found += memcmp(to + (4 * SIDE + 4) * 3, from + ((4 + dy) * SIDE + 4 + dx) * 3, 3) == 0 &&
                         memcmp(to + (5 * SIDE + 3) * 3, from + ((5 + dy) * SIDE + 3 + dx) * 3, 3) == 0;
        assert_int_equal(found, 1);
        moves += memcmp(to, from, sizeof to) != 0;
    }
    assert_true(flipped > 70 && flipped < 130 && moves > 170);
}

static void what_is_random_follows_from_the_key(void **state) {
    (void)state;
    const picture_augment all = {1, 2, 0.3, 20, 0.3, 0.5, 128};
    uint8_t from[SIDE * SIDE * 3], a[SIDE * SIDE * 3], b[SIDE * SIDE * 3];
    int different = 0;
    assert_true(picture_augment_is_on(&all) && !picture_augment_is_on(&(picture_augment){0}));
    for (size_t k = 0; k < sizeof from; k++) from[k] = (uint8_t)(k * 3);
    for (uint64_t t = 0; t < 50; t++) {
        apply(&all, t, from, a);
        apply(&all, t, from, b);
        assert_memory_equal(a, b, sizeof a);
        apply(&all, t + 1, from, b);
        different += memcmp(a, b, sizeof a) != 0;
    }
    assert_int_equal(different, 50);
    apply(&(picture_augment){0}, 1, from, a);
    assert_memory_equal(a, from, sizeof a);
}

/* But a few words that look so are words. */
static void lists_of_pictures_are_no_tables(void **state) {
    (void)state;
    refuse_table("img,label,split\na.png,a,train\nb.JPG,b,train\nc.jpeg,a,test\nd.png,b,test\n",
                 "the column 'img' names pictures: call it file");
    char notice[512];
    labelled_images sets[DATA_PARTS];
    open_table(sets, "some.csv", "word,label,split\na.png,a,train\nb,b,train\nc,a,test\nd,b,test\n", notice);
    close_sets(sets);
}

static void decimal_commas_are_told(void **state) {
    (void)state;
    refuse_table("x,label,split\n\"1,5\",a,train\n\"-2,25\",b,train\n3,a,train\n\"4,1\",b,test\n",
                 "line 2: the column 'x' has '1,5': a decimal comma?");
    labelled_images sets[DATA_PARTS];
    char notice[512];
    open_table(sets, "parts.csv", "x,label,SPLIT\n\"1,5\",a,Train\nlow,b,TRAIN\nhigh,a,train\n\"4,1\",b,Test\n",
               notice);
    assert_true(sets[PART_TRAIN].count == 3 && sets[PART_TEST].count == 1);
    close_sets(sets);
}

static void labels_that_are_missing_are_no_class(void **state) {
    (void)state;
    refuse_table("x,label,split\n1,a,train\n2,b,train\n3,NA,train\n4,b,test\n", "line 4: '2' has no label");
    refuse_table("x,label,split\n1,a,train\n2,b,train\n3, ? ,train\n4,b,test\n", "line 4: '2' has no label");
}

static void columns_that_are_no_features_may_be_in_any_case(void **state) {
    (void)state;
    char notice[512];
    labelled_images sets[DATA_PARTS];
    open_table(sets, "case.csv", "ID,Label,SPLIT,Patient,x\n1,a,train,1,5\n2,b,train,2,6\n3,a,test,3,5\n4,b,test,4,5\n",
               notice);
    assert_int_equal(sets[PART_TRAIN].channels, 1);
    assert_true(sets[PART_TRAIN].count == 2 && sets[PART_TRAIN].values[0] == -1 && sets[PART_TRAIN].values[1] == 1);
    close_sets(sets);
}

/* The usual names of a patients' column count, and so it is no feature; what is the label is not such a column. */
static void patients_under_other_names_are_no_features(void **state) {
    (void)state;
    char notice[512];
    labelled_images sets[DATA_PARTS];
    failure why = {0};
    open_table(sets, "subjects.csv", "Subject-ID,label,split,x\n1,a,train,5\n2,b,train,6\n3,a,test,5\n4,b,test,5\n",
               notice);
    assert_int_equal(sets[PART_TRAIN].channels, 1);
    assert_non_null(strstr(notice, "the column 'Subject-ID' says whose each example is"));
    close_sets(sets);
    static const char TOPICS[] = "subject,participant,x,split\na,1,5,train\nb,2,6,train\na,3,5,test\nb,4,5,test\n";
    assert_int_equal(whole_file_write(work_path("topics.csv"), TOPICS, sizeof TOPICS - 1, NULL), STATUS_OK);
    const example_options options = {.label = "subject"};
    if (table_sets_open(sets, &(table_source){.path = work_path("topics.csv")}, &options, NULL, &why) != STATUS_OK)
        fail_msg("%s", why.message);
    assert_int_equal(sets[PART_TRAIN].channels, 1);
    close_sets(sets);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npz_files_as_medmnist_has_them),
        cmocka_unit_test(an_empty_part_of_an_npz_file_is_named),
        cmocka_unit_test(cifar_planes_become_pixels),
        cmocka_unit_test(tables_become_numbers),
        cmocka_unit_test(words_are_the_same_with_spaces_around_them),
        cmocka_unit_test(words_that_were_not_trained_on_are_told),
        cmocka_unit_test(decimal_commas_are_told),
        cmocka_unit_test(labels_that_are_missing_are_no_class),
        cmocka_unit_test(many_words_for_what_is_missing),
        cmocka_unit_test(a_column_of_names_is_told),
        cmocka_unit_test(rows_are_called_by_their_id),
        cmocka_unit_test(lists_of_pictures_are_no_tables),
        cmocka_unit_test(columns_that_are_no_features_may_be_in_any_case),
        cmocka_unit_test(patients_under_other_names_are_no_features),
        cmocka_unit_test(in_wide_tables_patients_stay_together_too),
        cmocka_unit_test(numbers_that_would_become_infinite_are_refused),
        cmocka_unit_test(a_word_among_numbers_does_not_pass_silently),
        cmocka_unit_test(a_broken_table_is_no_list_of_pictures),
        cmocka_unit_test(flips_and_moves_are_exact),
        cmocka_unit_test(what_is_random_follows_from_the_key),
    };
    return cmocka_run_group_tests(tests, work_folder_open, work_folder_close);
}
