/* Folders and CSV files of pictures: which examples they have, and the sets that are made of them. */
#include "images/classification_data.h"

#include "core/path.h"
#include "core/whole_file.h"
#include "picture/png.h"
#include "work_folder.h"

static char notices[4096];

static void hear(void *context, const char *message) {
    (void)context;
    strncat(notices, message, sizeof notices - strlen(notices) - 2);
    strcat(notices, "\n");
}

static const listener LISTENER = {.notice = hear};

static void write_text(const char *name, const char *words) {
    assert_int_equal(whole_file_write(work_path(name), words, strlen(words), NULL), STATUS_OK);
}

/* A grey picture of one shade, so that no two are alike unless their shades are. */
static void write_picture(const char *name, int height, int width, int shade) {
    char folder[PATH_SIZE];
    snprintf(folder, sizeof folder, "%s", work_path(name));
    *strrchr(folder, '/') = 0;
    assert_int_equal(folder_make(folder, NULL), STATUS_OK);
    uint8_t *pixels = malloc((size_t)(height * width));
    memset(pixels, shade, (size_t)(height * width));
    pixels[0] = 7;
    assert_int_equal(png_save(work_path(name), pixels, (size_t)width, (size_t)height, PNG_GREY, NULL), STATUS_OK);
    free(pixels);
}

static classification_data opened(const classification_source *source) {
    classification_data data;
    failure why = {0};
    notices[0] = 0;
    if (classification_data_open(&data, source, &LISTENER, &why) != STATUS_OK) fail_msg("%s", why.message);
    return data;
}

static void refuse(const char *name, const char *words) {
    classification_data data;
    failure why = {0};
    const classification_source source = classification_source_of(work_path(name));
    assert_int_not_equal(classification_data_open(&data, &source, NULL, &why), STATUS_OK);
    if (!strstr(why.message, words)) fail_msg("'%s' lacks '%s'", why.message, words);
    assert_null(data.train.origins);
}

static void assert_told(const char *words) {
    if (!strstr(notices, words)) fail_msg("'%s' lacks '%s'", notices, words);
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */

static void folders_of_classes_within_parts(void **state) {
    (void)state;
    write_picture("parts/train/cat/b.png", 4, 4, 1);
    write_picture("parts/train/cat/deep/a.png", 4, 4, 2);
    write_picture("parts/train/dog/x.PNG", 4, 4, 3);
    write_picture("parts/val/dog/y.png", 4, 4, 4);
    write_picture("parts/test/cat/z.png", 4, 4, 5);
    write_picture("parts/test/cat/.hidden.png", 4, 4, 6);
    write_text("parts/train/cat/notes.txt", "x");
    const classification_source source = classification_source_of(work_path("parts"));
    assert_true(classification_data_named(work_path("parts")));
    classification_data d = opened(&source);
    assert_true(d.train.count == 3 && d.validation.count == 1 && d.test.count == 1 && d.train.classes == 2);
    assert_true(d.train.height == 4 && d.train.width == 4 && d.train.channels == 1);
    assert_string_equal(d.train.class_names[0], "cat");
    assert_string_equal(d.train.names[0], "train/cat/b.png");
    assert_string_equal(d.train.names[1], "train/cat/deep/a.png");
    assert_memory_equal(d.train.labels, "\0\0\1", 3);
    assert_int_equal(labelled_images_at(&d.train, 2)[5], 3);
    assert_int_equal(d.validation.labels[0], 1);
    assert_told("notes.txt");
    classification_data_close(&d);
}

static void a_fifth_of_each_class_is_tested_on_where_nothing_is_said(void **state) {
    (void)state;
    char name[64];
    for (int k = 0; k < 40; k++) {
        snprintf(name, sizeof name, "plain/%s/%02d.png", k < 30 ? "a" : "b", k);
        write_picture(name, 3, 3, k);
    }
    const classification_source source = classification_source_of(work_path("plain"));
    classification_data d = opened(&source), again = opened(&source);
    assert_true(d.train.count == 32 && d.test.count == 8);
    assert_int_equal(labelled_images_count_class(&d.test, 1), 2);
    assert_told("a fifth of each class");
    for (int k = 0; k < 8; k++) assert_string_equal(d.test.names[k], again.test.names[k]);
    assert_true(labelled_images_fingerprint(&d.train) == labelled_images_fingerprint(&again.train));
    classification_data_close(&d);
    classification_data_close(&again);
}

static void folders_that_are_no_classes_are_told(void **state) {
    (void)state;
    char name[64];
    for (int k = 0; k < 20; k++) {
        snprintf(name, sizeof name, "hollow/train/%s/%02d.png", k % 2 ? "a" : "b", k);
        write_picture(name, 3, 3, k);
    }
    write_picture("hollow/dev/a/x.png", 3, 3, 99);
    write_text("hollow/readme.txt", "words");
    assert_int_equal(folder_make(work_path("hollow/train/c"), NULL), STATUS_OK);
    const classification_source source = classification_source_of(work_path("hollow"));
    classification_data d = opened(&source);
    assert_int_equal(d.train.classes, 2);
    assert_told("1 folder is left out, such as dev: beside train, only val and test are known\n");
    assert_told("1 file is left out, such as readme.txt: ");
    assert_told("1 folder is left out, such as train/c: without pictures it is no class\n");
    classification_data_close(&d);
    write_picture("half/cat/x.png", 2, 2, 1);
    assert_int_equal(folder_make(work_path("half/dog"), NULL), STATUS_OK);
    failure why = {0};
    const classification_source half = classification_source_of(work_path("half"));
    notices[0] = 0;
    assert_int_not_equal(classification_data_open(&d, &half, &LISTENER, &why), STATUS_OK);
    assert_told("1 folder is left out, such as dog: without pictures it is no class\n");
}

/* Parts that nobody knows by their names; but classes may be divided by years. */
static void parts_are_not_taken_for_classes(void **state) {
    (void)state;
    char name[64];
    for (int k = 0; k < 40; k++) {
        snprintf(name, sizeof name, "sets/%s_set/%s/%02d.png", k < 30 ? "train" : "test", k % 2 ? "a" : "b", k);
        write_picture(name, 3, 3, k);
        snprintf(name, sizeof name, "years/%s/%s/%02d.png", k < 30 ? "cat" : "dog", k % 2 ? "2024" : "2025", k);
        write_picture(name, 3, 3, k);
    }
    refuse(
        "sets",
        "such as test_set and train_set, hold the same folders (a, b) and no pictures of their own: call them train");
    classification_source source = classification_source_of(work_path("years"));
    classification_data d = opened(&source);
    assert_told("hold the same folders (2024, 2025) and no pictures of their own; they are taken for classes");
    classification_data_close(&d);
    write_picture("sets/test_set/own.png", 3, 3, 50);
    source.data = work_path("sets");
    d = opened(&source);
    assert_null(strstr(notices, "same folders"));
    classification_data_close(&d);
}

static void folders_without_pictures_are_refused(void **state) {
    (void)state;
    assert_int_equal(folder_make(work_path("empty/a"), NULL), STATUS_OK);
    refuse("empty", "holds no .png, .jpg or .jpeg files");
    write_picture("lonely/a/x.png", 2, 2, 1);
    refuse("lonely", "one class only");
    write_picture("strange/train/a/x.png", 2, 2, 1);
    write_picture("strange/train/b/x.png", 2, 2, 2);
    write_picture("strange/test/c/x.png", 2, 2, 3);
    refuse("strange", "the class 'c' has examples to test on and none to train on");
}

/* ---- CSV files --------------------------------------------------------------------------------------------------- */

static void write_pictures(const char *folder, int count) {
    char name[64];
    for (int k = 0; k < count; k++) {
        snprintf(name, sizeof name, "%s/p %d.png", folder, k);
        write_picture(name, 4 + k % 2, 6, 10 * k);
    }
}

/* A byte order mark, \r\n, quotes and numbers as classes. */
static void csv_files_with_columns(void **state) {
    (void)state;
    write_pictures("csv", 6);
    write_text("csv/list.csv", "\xEF\xBB\xBF"
                               "file,label,split,\"group\",patient\r\n"
                               "\"p 0.png\",10,train,\"a, b\",1\r\n"
                               "p 1.png,9,train,c,2\r\n"
                               "p 2.png,10,train,,3\r\n"
                               "p 3.png,9,val,c,4\r\n"
                               "p 4.png,10,test,c,1\r\n"
                               "p 5.png,9,test,c,5\r\n");
    classification_source source = classification_source_of(work_path("csv/list.csv"));
    source.pictures.height = source.pictures.width = 4;
    classification_data d = opened(&source);
    assert_true(d.train.count == 3 && d.validation.count == 1 && d.test.count == 2);
    assert_string_equal(d.train.class_names[0], "9");
    assert_memory_equal(d.train.labels, "\1\0\1", 3);
    const example_column *group = labelled_images_column(&d.train, "group");
    assert_true(group && group->value_count == 2 && group->of[0] == 0 && group->of[1] == 1 && group->of[2] == -1);
    assert_string_equal(group->values[0], "a, b");
    assert_null(labelled_images_column(&d.train, "label"));
    assert_told("1 of 5 patients, such as 1");
    assert_int_equal(labelled_images_keep_named(&d.train, "group:c", 0, 1, NULL), STATUS_OK);
    assert_true(d.train.count == 2 && strcmp(d.train.names[1], "p 2.png") == 0 && d.train.columns[0].of[1] == -1);
    failure why = {0};
    assert_int_equal(labelled_images_keep_named(&d.train, "group:x", 0.5, 1, &why), STATUS_BAD_INPUT);
    assert_int_equal(labelled_images_keep_named(&d.train, "sex:c", 0.5, 1, &why), STATUS_BAD_INPUT);
    assert_int_equal(labelled_images_keep_named(&d.train, "9", 1, 1, &why), STATUS_OK);
    classification_data_close(&d);
}

/* And one that is called so exactly comes first. */
static void names_of_columns_may_be_in_any_case(void **state) {
    (void)state;
    write_pictures("case", 4);
    write_text("case/list.csv", "LABEL,File,Label,Split,Patient\n"
                                "x,p 0.png,a,train,1\n"
                                "x,p 1.png,b,train,2\n"
                                "x,p 2.png,a,test,1\n"
                                "x,p 3.png,b,test,3\n");
    classification_source source = classification_source_of(work_path("case/list.csv"));
    source.examples.label = "Label";
    source.pictures.height = source.pictures.width = 4;
    classification_data d = opened(&source);
    assert_true(d.train.count == 2 && d.test.count == 2 && d.train.classes == 2);
    assert_string_equal(d.train.class_names[1], "b");
    assert_told("1 of 3 patients, such as 1");
    classification_data_close(&d);
    source.examples.label = NULL;
    refuse("case/list.csv", "one class only, 'x'");
}

static void classes_that_are_mistyped_or_not_tested_on_are_told(void **state) {
    (void)state;
    write_pictures("typed", 6);
    write_text("typed/list.csv", "file,label,split\n"
                                 "p 0.png,cat,train\n"
                                 "p 1.png, cat ,test\n"
                                 "p 2.png,dog,train\n"
                                 "p 3.png,Cat,train\n"
                                 "p 4.png,dog\t,test\n");
    classification_source source = classification_source_of(work_path("typed/list.csv"));
    source.pictures.height = source.pictures.width = 4;
    classification_data d = opened(&source);
    assert_int_equal(d.train.classes, 3);
    assert_told("the classes 'Cat' and 'cat' differ by case only: are they one?\n");
    assert_told("the class 'Cat' has nothing to test on\n");
    classification_data_close(&d);
    static const char *const OLD[] = {" cat ", "dog", "Cat"}; /* of a run of an earlier version */
    source.examples.class_names = OLD;
    source.examples.class_count = 3;
    d = opened(&source);
    assert_memory_equal(d.train.labels, "\0\1\2", 3);
    classification_data_close(&d);
}

static void patients_stay_together(void **state) {
    (void)state;
    text csv = {0};
    char name[64];
    text_add(&csv, "file,label,patient\n");
    for (int k = 0; k < 60; k++) {
        snprintf(name, sizeof name, "patients/%02d.png", k);
        write_picture(name, 2, 2, k);
        text_format(&csv, "%02d.png,%s,p%d\n", k, k / 3 % 2 ? "a" : "b", k / 3);
    }
    write_text("patients/labels.csv", text_string(&csv));
    text_close(&csv);
    const classification_source source = classification_source_of(work_path("patients"));
    classification_data d = opened(&source);
    assert_true(d.test.count == 12 && d.train.count == 48);
    const int32_t *train = d.train.columns[0].of, *test = d.test.columns[0].of;
    for (int i = 0; i < 48; i++)
        for (int k = 0; k < 12; k++) assert_int_not_equal(train[i], test[k]);
    classification_data_close(&d);
}

static void a_csv_file_may_name_pictures_anywhere(void **state) {
    (void)state;
    text csv = {0};
    write_pictures("far/away", 3);
    text_format(&csv, "file,label,split\n%s,a,train\n%s,b,train\n%s,b,test\n", work_path("far/away/p 0.png"),
                work_path("far/away/p 1.png"), work_path("far/away/p 2.png"));
    assert_int_equal(folder_make(work_path("near"), NULL), STATUS_OK);
    write_text("near/labels.csv", text_string(&csv));
    text_close(&csv);
    classification_source source = classification_source_of(work_path("near"));
    source.pictures.height = source.pictures.width = 4;
    for (int k = 0; k < 2; k++, source.pictures.memory = 0) { /* the second time decoded when they are wanted */
        uint8_t pixels[64];
        classification_data d = opened(&source);
        assert_true(d.train.count == 2 && d.test.count == 1 && labelled_images_stride(&d.test) <= sizeof pixels);
        assert_int_equal(labelled_images_copy(&d.test, 0, pixels, NULL), STATUS_OK);
        classification_data_close(&d);
    }
}

static void wrong_csv_files_are_refused(void **state) {
    (void)state;
    write_pictures("bad", 4);
    write_text("bad/a.csv", "file,label,split\np 0.png,1,train\np 1.png,2,trian\n");
    refuse("bad/a.csv", "line 3: the split is 'trian'");
    write_text("bad/b.csv", "file,label\np 0.png,1\np 0.png,2\n");
    refuse("bad/b.csv", "lines 2 and 3: the file 'p 0.png' comes twice, with the labels '1' and '2'");
    write_text("bad/b.csv", "file,label\np 0.png,1\np 1.png,1\np 0.png,1\n");
    refuse("bad/b.csv", "lines 2 and 4: the file 'p 0.png' comes twice; leave one out");
    write_text("bad/b.csv", "file,label\np 0.png,1\np 1.png,1\np 0.png,1\np 1.png,2\n");
    refuse("bad/b.csv", "2 lines name a file that has a line already; leave them out: lines 2 and 4 ('p 0.png'), lines "
                        "3 and 5 ('p 1.png', with different labels)");
    write_text("bad/b.csv", "file,label\nsub\\p 0.png,1\np 1.png,1\n");
    refuse("bad/b.csv", "line 2: there is no file 'sub\\p 0.png'; write / instead of \\ between folders");
    write_text("bad/c.csv", "file,class\np 0.png,1\n");
    refuse("bad/c.csv", "has file, class: name the column of the classes with --label COLUMN");
    write_text("bad/c.csv", "file;label\np 0.png;1\n");
    refuse("bad/c.csv", "is the file separated by ';'?");
    write_text("bad/c.csv", "file\tlabel\np 0.png\t1\n");
    refuse("bad/c.csv", "is the file separated by tabs?");
    write_text("bad/c.csv", "p 0.png,1\np 1.png,2\n");
    refuse("bad/c.csv", "its first line, which is to name the columns, has p 0.png, 1:");
    write_text("bad/d.csv", "file,label\np 0.png,1\np 1.png,\n");
    refuse("bad/d.csv", "line 3: 'p 1.png' has no label");
    write_text("bad/d.csv", "file,label\np 0.png,\np 2.png,1\np 1.png,\n");
    refuse("bad/d.csv", "2 of 3 examples have no label: line 2: 'p 0.png', line 4: 'p 1.png'");
    write_text("bad/e.csv", "file,label\n,1\n");
    refuse("bad/e.csv", "line 2: no file is named");
    write_text("bad/f.csv", "file,label\n");
    refuse("bad/f.csv", "has no lines");
    write_text("bad/g.csv", "file,label,split\np 0.png,1,train\np 1.png,2,train\n");
    refuse("bad/g.csv", "nothing to test on");
    write_text("bad/h.csv", "file,label,split\np 0.png,1,train\nmissing.png,2,train\np 1.png,1,test\n");
    refuse("bad/h.csv", "missing.png");
}

/* A fifth of a class of two, or of a single patient, is nothing. */
static void too_few_to_keep_some_for_the_test_are_refused(void **state) {
    (void)state;
    write_pictures("few/a", 2);
    write_pictures("few/b", 2);
    refuse("few", "has nothing to test on");
    write_pictures("few", 8);
    write_text("few/labels.csv", "file,label,patient\np 0.png,a,x\np 1.png,a,x\np 2.png,a,x\np 3.png,a,x\n"
                                 "p 4.png,b,y\np 5.png,b,y\np 6.png,b,y\np 7.png,b,y\n");
    refuse("few", "has nothing to test on");
}

/* All of them at once, before anything else happens. */
static void broken_files_are_named(void **state) {
    (void)state;
    for (int k = 0; k < 5; k++) {
        char name[64];
        snprintf(name, sizeof name, "broken/%s/%d.png", k % 2 ? "a" : "b", k);
        write_picture(name, 3, 3, k);
    }
    write_text("broken/a/zero.png", "");
    refuse("broken", "zero.png: is empty");
    write_text("broken/b/words.jpg", "no picture");
    refuse("broken", "2 of 7 pictures cannot be used");
    refuse("broken", "words.jpg: is neither a PNG nor a JPEG");
    /* One that looks well until it is decoded. */
    char *bytes;
    size_t size;
    assert_int_equal(whole_file_read(work_path("broken/b/0.png"), 1000, &bytes, &size, NULL), STATUS_OK);
    assert_int_equal(whole_file_write(work_path("broken/b/0.png"), bytes, size - 20, NULL), STATUS_OK);
    free(bytes);
    refuse("broken", "3 of 7 pictures cannot be used:");
    refuse("broken", "0.png: is a broken PNG file");
    refuse("broken", "zero.png: is empty");
    refuse("broken", "words.jpg: is neither");
}

/* A folder of so many files that are no pictures; what is told of them. */
static failure refuse_ruins(const char *folder, int count) {
    char name[64];
    for (int k = 0; k < count; k++) {
        snprintf(name, sizeof name, "%s/%s/%02d.png", folder, k % 2 ? "a" : "b", k);
        write_picture(name, 3, 3, k);
        write_text(name, "no picture");
    }
    classification_data data;
    failure why = {0};
    const classification_source source = classification_source_of(work_path(folder));
    notices[0] = 0;
    assert_int_not_equal(classification_data_open(&data, &source, &LISTENER, &why), STATUS_OK);
    return why;
}

static void many_broken_files_are_named(void **state) {
    (void)state;
    const failure why = refuse_ruins("ruins", 30);
    assert_non_null(strstr(why.message, "30 of 30 pictures cannot be used, among them:"));
    for (int k = 0; k < 30; k++) {
        char name[64];
        snprintf(name, sizeof name, "/%02d.png: is neither", k);
        assert_true(strstr(why.message, name) || strstr(notices, name));
        assert_false(strstr(why.message, name) && strstr(notices, name));
    }
}

/* Of more than fifty some are enough. */
static void countless_broken_files_are_told_once(void **state) {
    (void)state;
    const failure why = refuse_ruins("rubble", 60);
    assert_non_null(strstr(why.message, "60 of 60 pictures cannot be used, among them:"));
    assert_null(strstr(notices, "is neither"));
}

/* 2 x 2 pixels with the values 0, 4095, 1024 and 2048. */
static void write_deep_picture(const char *name) {
    static const uint8_t PNG[] = {0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49,
                                  0x48, 0x44, 0x52, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x10, 0x00,
                                  0x00, 0x00, 0x00, 0x07, 0x4d, 0x8e, 0xbb, 0x00, 0x00, 0x00, 0x12, 0x49, 0x44,
                                  0x41, 0x54, 0x78, 0xda, 0x63, 0x60, 0x60, 0xe0, 0xff, 0xcf, 0xc0, 0xc2, 0xc0,
                                  0xc1, 0x00, 0x00, 0x06, 0x8d, 0x01, 0x1b, 0x04, 0x26, 0x76, 0xa1, 0x00, 0x00,
                                  0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
    write_picture(name, 2, 2, 1); /* its folder */
    assert_int_equal(whole_file_write(work_path(name), (const char *)PNG, sizeof PNG, NULL), STATUS_OK);
}

static void pictures_of_16_bits_are_told(void **state) {
    (void)state;
    write_picture("deep/train/a/x.png", 2, 2, 1);
    write_picture("deep/train/b/x.png", 2, 2, 2);
    write_picture("deep/test/a/x.png", 2, 2, 3);
    write_deep_picture("deep/test/b/x.png");
    classification_source source = classification_source_of(work_path("deep"));
    classification_data d = opened(&source);
    assert_told(
        "1 of the pictures has 16 bits and is divided by 257, to 8; the values are 0 to 4095: hws train --greys "
        "0,4095 spreads them");
    assert_memory_equal(labelled_images_at(&d.test, 1), "\0\20\4\10", 4);
    classification_data_close(&d);
    write_deep_picture("deep/test/b/y.png");
    d = opened(&source);
    assert_told("2 of the pictures have 16 bits and are divided by 257, to 8; ");
    classification_data_close(&d);
}

/* Others than those of 16 bits have no such greys; and where pictures are decoded on demand they are the same. */
static void greys_are_those_of_16_bits(void **state) {
    (void)state;
    uint8_t pixels[4];
    failure why = {0};
    classification_data d;
    for (int k = 0; k < 4; k++) {
        static const char *const NAMES[] = {"greys/train/a/x.png", "greys/train/b/x.png", "greys/test/a/x.png",
                                            "greys/test/b/x.png"};
        write_deep_picture(NAMES[k]);
    }
    classification_source source = classification_source_of(work_path("greys"));
    source.pictures.greys = (raster_greys){1024, 2048};
    for (source.pictures.memory = 1e6; source.pictures.memory >= 0; source.pictures.memory -= 1e6) {
        d = opened(&source);
        assert_null(strstr(notices, "16 bits"));
        assert_int_equal(labelled_images_copy(&d.train, 1, pixels, NULL), STATUS_OK);
        assert_memory_equal(pixels, "\0\377\0\377", 4);
        classification_data_close(&d);
    }
    write_picture("greys/test/b/y.png", 2, 2, 3);
    assert_int_equal(classification_data_open(&d, &source, NULL, &why), STATUS_CORRUPT);
    assert_non_null(strstr(why.message, "y.png: has 8 bits, but greys from 1024 to 2048 are asked for"));
    source.data = "digits:20,20";
    assert_int_equal(classification_data_open(&d, &source, NULL, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "has no pictures of 16 bits"));
    assert_null(d.train.origins);
}

static void pictures_that_are_there_twice_are_told(void **state) {
    (void)state;
    write_picture("twins/train/a/x.png", 3, 3, 1);
    write_picture("twins/train/b/y.png", 3, 3, 2);
    write_picture("twins/test/b/z.png", 3, 3, 2);
    const classification_source source = classification_source_of(work_path("twins"));
    classification_data d = opened(&source);
    assert_told("1 of the pictures is the same as another, such as test/b/z.png and train/b/y.png");
    assert_told("both trained and tested on");
    classification_data_close(&d);
}

/* Decoded when they are wanted, they are the same, to the bit. */
static void pictures_need_not_fit_into_memory(void **state) {
    (void)state;
    write_pictures("lazy/a", 3);
    write_pictures("lazy/b", 4);
    classification_source source = classification_source_of(work_path("lazy"));
    source.pictures.height = 3;
    source.pictures.width = 5;
    classification_data kept = opened(&source);
    source.pictures.memory = 10;
    classification_data lazy = opened(&source);
    assert_told("decoded again");
    assert_null(lazy.train.pixels);
    uint8_t pixels[15];
    for (int64_t i = 0; i < kept.train.count; i++) {
        assert_int_equal(labelled_images_copy(&lazy.train, i, pixels, NULL), STATUS_OK);
        assert_memory_equal(pixels, labelled_images_at(&kept.train, i), 15);
    }
    assert_true(labelled_images_fingerprint(&kept.train) == labelled_images_fingerprint(&lazy.train));
    classification_data_close(&kept);
    classification_data_close(&lazy);
}

/* For data that a run is asked about. */
static void classes_can_be_given(void **state) {
    (void)state;
    static const char *const NAMES[] = {"x", "b", "a"};
    write_picture("given/a/1.png", 3, 3, 1);
    write_picture("given/b/2.png", 3, 3, 2);
    classification_source source = classification_source_of(work_path("given"));
    source.examples.class_names = NAMES;
    source.examples.class_count = 3;
    classification_data d = opened(&source);
    const labelled_images *set = d.test.count ? &d.test : &d.train;
    assert_int_equal(set->classes, 3);
    for (int64_t i = 0; i < set->count; i++) assert_int_equal(set->labels[i], set->names[i][0] == 'a' ? 2 : 1);
    classification_data_close(&d);
    write_picture("given/new/2.png", 3, 3, 2);
    failure why = {0};
    assert_int_equal(classification_data_open(&d, &source, NULL, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "not trained on the class 'new'"));
}

/* What a run with the classes a and b is asked about, which was trained on `own`, in grey
   pictures of side x side pixels. */
static classification_source source_of_a_run(const char *data, const char *own, int side) {
    static const char *const NAMES[] = {"a", "b"};
    classification_source source = classification_source_of(work_path(data));
    source.examples.class_names = NAMES;
    source.examples.class_count = 2;
    source.trained_on = work_path(own);
    source.pictures.height = source.pictures.width = side;
    source.pictures.channels = 1;
    return source;
}

/* What else a run is asked about is there to be tested on, all of it, unless it says otherwise;
   its own data are divided. */
static void data_from_elsewhere_are_tested_on_as_a_whole(void **state) {
    (void)state;
    write_pictures("elsewhere/a", 6);
    write_pictures("elsewhere/b", 6);
    write_text("elsewhere.csv", "file,label\nelsewhere/a/p 0.png,a\nelsewhere/b/p 0.png,b\n");
    write_text("marked.csv", "file,label,split\nelsewhere/a/p 0.png,a,train\nelsewhere/b/p 0.png,b,test\n");
    classification_source source = source_of_a_run("elsewhere", "lazy", 4);
    classification_data d = opened(&source);
    assert_true(d.train.count == 0 && d.test.count == 12);
    assert_told("all 12 are tested on");
    classification_data_close(&d);
    source.data = work_path("elsewhere.csv");
    d = opened(&source);
    assert_true(d.train.count == 0 && d.test.count == 2);
    classification_data_close(&d);
    source.data = work_path("marked.csv");
    d = opened(&source);
    assert_true(d.train.count == 1 && d.test.count == 1);
    classification_data_close(&d);
    source.data = source.trained_on = work_path("elsewhere");
    d = opened(&source);
    assert_true(d.train.count == 10 && d.test.count == 2);
    classification_data_close(&d);
}

/* A folder and the list in it are the same data. */
static void the_own_list_is_divided_by_either_name(void **state) {
    (void)state;
    const classification_source source = source_of_a_run("patients/labels.csv", "patients", 2);
    classification_data d = opened(&source);
    assert_true(d.test.count == 12 && d.train.count == 48);
    classification_data_close(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_of_classes_within_parts),
        cmocka_unit_test(a_fifth_of_each_class_is_tested_on_where_nothing_is_said),
        cmocka_unit_test(folders_that_are_no_classes_are_told),
        cmocka_unit_test(parts_are_not_taken_for_classes),
        cmocka_unit_test(folders_without_pictures_are_refused),
        cmocka_unit_test(csv_files_with_columns),
        cmocka_unit_test(names_of_columns_may_be_in_any_case),
        cmocka_unit_test(classes_that_are_mistyped_or_not_tested_on_are_told),
        cmocka_unit_test(patients_stay_together),
        cmocka_unit_test(a_csv_file_may_name_pictures_anywhere),
        cmocka_unit_test(wrong_csv_files_are_refused),
        cmocka_unit_test(too_few_to_keep_some_for_the_test_are_refused),
        cmocka_unit_test(broken_files_are_named),
        cmocka_unit_test(many_broken_files_are_named),
        cmocka_unit_test(countless_broken_files_are_told_once),
        cmocka_unit_test(pictures_of_16_bits_are_told),
        cmocka_unit_test(greys_are_those_of_16_bits),
        cmocka_unit_test(pictures_that_are_there_twice_are_told),
        cmocka_unit_test(pictures_need_not_fit_into_memory),
        cmocka_unit_test(classes_can_be_given),
        cmocka_unit_test(data_from_elsewhere_are_tested_on_as_a_whole),
        cmocka_unit_test(the_own_list_is_divided_by_either_name),
    };
    return cmocka_run_group_tests(tests, work_folder_open, work_folder_close);
}
