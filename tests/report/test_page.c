#define _XOPEN_SOURCE 700
#include "folders.h"
#include "markup.h"

#include "core/whole_file.h"
#include "report/report.h"
#include "report/run_results.h"

static text page_with_groups(const folder *folders, size_t count, const char *groups) {
    const char *paths[REPORT_MAX_RUNS];
    text page = {0};
    failure why = {0};
    for (size_t k = 0; k < count; k++) paths[k] = folders[k].path;
    if (report_page(&page, &(report_request){.folders = paths, .count = count, .groups = groups}, &why) != STATUS_OK)
        fail_msg("%s", why.message);
    assert_good_page(page.bytes);
    return page;
}

static text page_of(const folder *folders, size_t count) { return page_with_groups(folders, count, NULL); }

static void assert_says(const text *page, const char *words) {
    if (!strstr(page->bytes, words)) fail_msg("the page lacks '%s'", words);
}

static void a_run_has_all_sections(void **state) {
    (void)state;
    folder run = whole_run("dro", 10, 0, 6, 0.867);
    write_hardest(&run, 64);
    text page = page_of(&run, 1);
    assert_says(&page, "<title>DRO \xCE\xB2=10: wrn-16-1 on mnist</title>");
    assert_says(&page, "<b>95.0\xC2\xA0%</b> overall, but <b>86.7\xC2\xA0%</b> on its worst class");
    assert_says(&page, "with only 1\xC2\xA0% of the class");
    assert_says(&page, "Test accuracy of the rare class");
    assert_says(&page, "Effective share of the training set");
    assert_says(&page, "Losses of the training examples");
    assert_says(&page, "Chance to be drawn");
    assert_says(&page, "<b>75.0\xC2\xA0%</b> of all draws");
    assert_says(&page, "<th scope=\"row\">keep.3</th>");
    assert_int_equal(occurrences(page.bytes, "<img "), 64);
    assert_int_equal(occurrences(page.bytes, "class=\"wrong\""), 32);
    assert_int_equal(occurrences(page.bytes, "<svg class=\"chart hover\""), 9);
    assert_int_equal(occurrences(page.bytes, "<section"), 6);
    assert_null(strstr(page.bytes, "class=\"note\""));
    assert_null(strstr(page.bytes, "did not draw by hardness"));
    text_close(&page);
    folder_close(&run);
}

static void several_runs_are_compared(void **state) {
    (void)state;
    folder runs[] = {whole_run("erm", 0, 0, 6, 0.01), whole_run("dro", 10, 0, 6, 0.867),
                     whole_run("dro", 100, 0, 9, 0.8)};
    text page = page_of(runs, 2);
    assert_says(&page, "Best where it is hardest is <b>DRO \xCE\xB2=10</b>");
    assert_null(strstr(page.bytes, "different length"));
    text_close(&page);
    page = page_of(runs, 3); /* the third is longer */
    assert_says(&page, "The runs are of different length");
    assert_says(&page, "This page compares 3 runs");
    assert_says(&page, "<b>ERM</b> reaches a test accuracy of <b>95.0\xC2\xA0%</b> overall, but <b>1.0\xC2\xA0%</b>");
    assert_says(&page, "Highest where it is hardest, though the comparison is not fair, is <b>DRO \xCE\xB2=10</b>");
    assert_says(&page, "<tr class=\"differs\"><th scope=\"row\">beta");
    assert_null(strstr(page.bytes, "<tr class=\"differs\"><th scope=\"row\">batch"));
    assert_says(&page, "data-name=\"DRO \xCE\xB2=100\"");
    assert_says(&page, "<p><b>ERM</b> did not draw by hardness");
    assert_says(&page, "<b>75.0\xC2\xA0%</b> of all draws with ERM, <b>75.0\xC2\xA0%</b> with DRO");
    text_close(&page);
    for (int k = 0; k < 3; k++) folder_close(&runs[k]);
}

static void ties_unfinished_runs_and_chance_are_said(void **state) {
    (void)state;
    folder runs[] = {whole_run("erm", 0, 0, 6, 0.8), whole_run("dro", 10, 0, 6, 0.8)};
    text page = page_of(runs, 2);
    assert_says(&page, "Level with it is <b>");
    assert_null(strstr(page.bytes, "Best where"));
    text_close(&page);
    write_string(&runs[0], "config.json",
                 "{\"task\": \"classification\", \"objective\": \"erm\", \"epochs\": 60, \"epoch_iterations\": 100000, "
                 "\"classes\": [\"a\", \"b\"]}");
    write_string(&runs[0], "history.csv", "epoch,iteration,test_accuracy\n1,100,0.5\n");
    page = page_of(runs, 1);
    assert_says(&page, "has not ended: ");
    assert_says(&page, "cannot be told from chance (50.0\xC2\xA0% for 2 classes).");
    text_close(&page);
    for (int k = 0; k < 2; k++) folder_close(&runs[k]);
}

/* 100 test examples, of which an evaluation of the kept weights may find more right than the last epoch had. */
static void chance_is_judged_by_what_the_headline_says(void **state) {
    (void)state;
    folder run = folder_open();
    write_string(&run, "config.json",
                 "{\"task\": \"classification\", \"objective\": \"erm\", \"test_examples\": 100, "
                 "\"classes\": [\"a\", \"b\"]}");
    write_string(&run, "history.csv", "epoch,iteration,test_accuracy\n1,100,0.55\n");
    text page = page_of(&run, 1);
    assert_says(&page, "cannot be told from chance (50.0\xC2\xA0% for 2 classes) on 100 test examples.");
    text_close(&page);
    write_string(&run, "history.csv",
                 "epoch,iteration,test_accuracy\n1,100,0.62\n"); /* more than 2, less than 3 errors */
    page = page_of(&run, 1);
    assert_null(strstr(page.bytes, "from chance"));
    text_close(&page);
    write_string(&run, "history.csv", "epoch,iteration,test_accuracy\n1,100,0.5\n");
    write_string(&run, "strata.csv", "column,value,examples,accuracy\n,all,400,0.9\n");
    page = page_of(&run, 1);
    assert_null(strstr(page.bytes, "from chance"));
    text_close(&page);
    folder_close(&run);
}

/* What is called 0 in one run is no class of another that counts from 0. */
static void classes_are_not_named_after_those_of_other_runs(void **state) {
    (void)state;
    folder runs[] = {folder_open(), folder_open(), folder_open()};
    static const char *const CLASSES[] = {"\"zebra\", \"yak\"", "\"0\", \"1\"", "\"xerus\", \"wombat\""};
    static const char *const COLUMNS[] = {"test_accuracy_zebra,test_accuracy_yak", "test_accuracy_0,test_accuracy_1",
                                          "test_accuracy_0,test_accuracy_1"};
    for (int k = 0; k < 3; k++) {
        char words[300];
        snprintf(words, sizeof words,
                 "{\"task\": \"classification\", \"objective\": \"erm\", \"seed\": %d, \"classes\": [%s]}", k,
                 CLASSES[k]);
        write_string(&runs[k], "config.json", words);
        snprintf(words, sizeof words, "epoch,test_accuracy,%s\n1,0.9,0.8,%g\n", COLUMNS[k], k ? 0.1 : 0.7);
        write_string(&runs[k], "history.csv", words);
    }
    text page = page_of(runs, 2); /* the worst is the 1 of the second */
    assert_says(&page, "<span class=\"faint\">1</span>");
    assert_int_equal(occurrences(page.bytes, "<span class=\"faint\">yak</span>"), 1);
    text_close(&page);
    const folder others[] = {runs[0], runs[2]};
    page = page_of(others, 2);
    assert_says(&page, "<span class=\"faint\">wombat</span>");
    text_close(&page);
    for (int k = 0; k < 3; k++) folder_close(&runs[k]);
}

/* 400 test examples of two groups; the worse one is right on `worst` of its 100. */
static void write_evaluation(const folder *run, double all, double worst) {
    FILE *file = open_in(run, "strata.csv");
    fputs("column,value,examples,accuracy\n", file);
    fprintf(file, ",all,400,%g\n", all);
    fputs("sex,m,300,0.97\nsex,x,2,0\n", file);
    fprintf(file, "sex,f,100,%g\n", worst);
    fclose(file);
}

/* The weights that are kept may be those of another epoch than the last, of which history.csv tells. */
static void classifiers_are_judged_by_their_evaluation(void **state) {
    (void)state;
    folder runs[2] = {whole_run("erm", 10, 0, 2, 0.9), whole_run("dro", 10, 0, 2, 0.1)};
    write_evaluation(&runs[0], 0.91, 0.5);
    text page = page_of(runs, 2); /* one of them was not evaluated */
    assert_says(&page, "Best where it is hardest");
    text_close(&page);
    write_evaluation(&runs[1], 0.89, 0.7);
    page = page_of(runs, 2);
    assert_says(&page, "Evaluated on 400 test examples: <b>ERM</b> is right on <b>91.0\xC2\xA0%</b> (95\xC2\xA0% "
                       "interval 87.8 to 93.4) of them, and on <b>50.0\xC2\xA0%</b> (40.4 to 59.6) of its worst group, "
                       "\xE2\x80\x9Csex f\xE2\x80\x9D");
    assert_says(&page, "Where it is hardest, <b>DRO \xCE\xB2=10</b> is better than ERM, by more than chance");
    assert_says(&page, "<td>70.0\xC2\xA0% <span class=\"faint\">sex f</span></td>");
    assert_null(strstr(page.bytes, "Best where it is hardest"));
    text_close(&page);
    write_evaluation(&runs[1], 0.89, 0.55);
    page = page_of(runs, 2);
    assert_says(&page, "these examples do not tell them apart");
    text_close(&page);
    write_evaluation(&runs[1], 0.89, 0.2);
    page = page_of(runs, 2);
    assert_says(&page, "none is as good as <b>ERM");
    text_close(&page);
    folder_close(&runs[0]);
    folder_close(&runs[1]);
}

/* Ten of ten are not so much better than six of ten that it could not be chance, though no
   resampling of ten can say so. */
static void a_small_group_without_mistakes_is_no_proof(void **state) {
    (void)state;
    folder runs[2] = {whole_run("erm", 10, 0, 2, 0.9), whole_run("dro", 10, 0, 2, 0.1)};
    for (int k = 0; k < 2; k++) {
        FILE *file = open_in(&runs[k], "strata.csv");
        fputs("column,value,examples,accuracy,accuracy_low,accuracy_high\n,all,100,0.9,0.8,1\n", file);
        fputs(k ? "sex,f,10,1,1,1\n" : "sex,f,10,0.6,0.3,0.9\n", file);
        fclose(file);
    }
    text page = page_of(runs, 2);
    assert_says(&page, "these examples do not tell them apart");
    text_close(&page);
    for (int k = 0; k < 2; k++) folder_close(&runs[k]);
}

static void runs_that_saw_other_examples_are_not_compared(void **state) {
    (void)state;
    folder runs[2] = {whole_run("erm", 10, 0, 2, 0.9), whole_run("dro", 10, 0, 2, 0.1)};
    write_evaluation(&runs[0], 0.91, 0.5);
    write_evaluation(&runs[1], 0.89, 0.7);
    write_string(&runs[0], "confusion.csv", "label,0,3\n0,190,10\n3,20,180\n");
    write_string(&runs[1], "confusion.csv", "label,0,3\n0,189,10\n3,20,181\n");
    text page = page_of(runs, 2);
    assert_says(&page, "They were evaluated on different examples, so that this is no comparison");
    assert_null(strstr(page.bytes, "by more than chance"));
    text_close(&page);
    write_string(&runs[1], "strata.csv", "column,value,examples,accuracy\n,all,300,0.9\n");
    page = page_of(runs, 2);
    assert_says(&page, "Evaluated on 400 test examples: <b>ERM");
    assert_says(&page, "Evaluated on 300 test examples: <b>DRO");
    assert_says(&page, "this is no comparison");
    text_close(&page);
    for (int k = 0; k < 2; k++) folder_close(&runs[k]);
}

/* whole_run ends after 2 epochs of so many iterations. */
/* Grades 1 to 3: a 1 is the class that is called 1, not the one that stands at place 1. */
static void classes_called_by_numbers_keep_their_names(void **state) {
    (void)state;
    char *names[] = {"1", "2", "3"};
    const run grades = {.classes = names, .class_count = 3};
    assert_string_equal(run_class_name(&grades, "1"), "1");
    assert_string_equal(run_class_name(&grades, "3"), "3");
    assert_string_equal(run_class_name(&grades, "0"), "1");
    assert_string_equal(run_class_at(&grades, "1"), "2");
}

/* By which column they were scored does not change what they saw. */
static void runs_scored_by_other_groups_are_told_how_to_be_compared(void **state) {
    (void)state;
    folder runs[2] = {whole_run("erm", 10, 0, 2, 0.9), whole_run("dro", 10, 0, 2, 0.1)};
    write_evaluation(&runs[0], 0.91, 0.5);
    write_string(&runs[1], "strata.csv",
                 "column,value,examples,accuracy\n,all,400,0.9\nsite,a,200,0.99\nsite,b,200,0.8\n");
    for (int k = 0; k < 2; k++) write_string(&runs[k], "confusion.csv", "label,0,3\n0,190,10\n3,20,180\n");
    text page = page_of(runs, 2);
    assert_says(&page, "They were scored by different groups: <code>hws evaluate --by COLUMN</code>");
    assert_null(strstr(page.bytes, "different examples"));
    assert_null(strstr(page.bytes, "by more than chance"));
    text_close(&page);
    for (int k = 0; k < 2; k++) folder_close(&runs[k]);
}

static void an_evaluation_of_older_weights_is_no_headline(void **state) {
    (void)state;
    folder run = whole_run("dro", 10, 0, 2, 0.1);
    write_string(&run, "strata.csv", "column,value,examples,accuracy,iteration\n,all,400,0.7,1\n");
    text page = page_of(&run, 1);
    assert_says(&page, "was trained further after it was evaluated");
    assert_null(strstr(page.bytes, "is right on <b>70.0"));
    text_close(&page);
    write_string(&run, "strata.csv", "column,value,examples,accuracy,iteration\n,all,400,0.7,1000000\n");
    page = page_of(&run, 1);
    assert_says(&page, "is right on <b>70.0");
    assert_null(strstr(page.bytes, "was trained further"));
    text_close(&page);
    folder_close(&run);
}

/* Without groups the classes of the confusion matrix are looked at. */
static void without_groups_the_worst_class_counts(void **state) {
    (void)state;
    folder run = whole_run("dro", 10, 0, 2, 0.1);
    write_string(&run, "strata.csv",
                 "column,value,examples,accuracy,accuracy_low,accuracy_high\n,all,20,0.75,0.6,0.9\n");
    write_string(&run, "confusion.csv", "label,0,3\n0,9,1\n3,4,6\n");
    text page = page_of(&run, 1);
    assert_says(&page, "on <b>60.0\xC2\xA0%</b> (31.3 to 83.2) of its worst class, \xE2\x80\x9C"
                       "3\xE2\x80\x9D");
    text_close(&page);
    folder_close(&run);
}

/* Class by class, each with the runs that know it below each other; evaluations of before there were
   rates have no such table. */
static void rates_of_classes_stand_side_by_side(void **state) {
    (void)state;
    static const char HEAD[] =
        "class,images,accuracy,loss,sensitivity,sensitivity_low,sensitivity_high,specificity,precision,f1,"
        "f1_low,f1_high\n";
    folder runs[2] = {whole_run("erm", 10, 0, 2, 0.9), whole_run("dro", 10, 0, 2, 0.1)};
    char classes[600];
    for (int k = 0; k < 2; k++) write_evaluation(&runs[k], 0.9, 0.5);
    text page = page_of(runs, 2);
    assert_null(strstr(page.bytes, "sensitivity"));
    text_close(&page);
    snprintf(
        classes, sizeof classes,
        "%sbad & odd,20,0.8,1,0.8,0.584,0.919,0.75,nan,0.5,0.4,0.6\nall,40,0.9,1,nan,nan,nan,nan,nan,0.7,0.6,0.8\n",
        HEAD);
    write_string(&runs[0], "classes.csv", classes);
    snprintf(classes, sizeof classes,
             "%sbad & "
             "odd,20,0.9,1,0.9,nan,nan,0.7,0.6,0.55,nan,nan\nnew,20,0,1,0,nan,nan,1,nan,0,nan,nan\nall,40,0.9,1,nan,"
             "nan,nan,nan,nan,0.3,nan,nan\n",
             HEAD);
    write_string(&runs[1], "classes.csv", classes);
    page = page_of(runs, 2);
    const char *first = strstr(page.bytes, "<th scope=\"row\">bad &amp; odd</th>");
    assert_non_null(first);
    assert_says(&page, "<td>80.0 <span class=\"faint\">(58.4 to 91.9)</span></td><td>75.0</td><td class=\"faint\">");
    const char *second = strstr(first + 1, "<th scope=\"row\">bad &amp; odd</th>"),
               *all = strstr(first, ">all, mean F1</th>");
    const char *added = strstr(first, "<th scope=\"row\">new</th>");
    assert_true(second && all && added && second < added && added < all);
    assert_null(strstr(added + 1, "<th scope=\"row\">new</th>"));
    text_close(&page);
    for (int k = 0; k < 2; k++) folder_close(&runs[k]);
}

/* 400 examples of 40 patients are 40 witnesses. */
static void patients_with_several_examples_widen_the_intervals(void **state) {
    (void)state;
    folder run = whole_run("dro", 10, 0, 2, 0.1);
    const char *const columns = "column,value,examples,accuracy,accuracy_low,accuracy_high,patients\n";
    char strata[400];
    snprintf(strata, sizeof strata, "%s,all,400,0.75,0.6,0.9,40\n", columns);
    write_string(&run, "strata.csv", strata);
    write_string(&run, "confusion.csv", "label,0,3\n0,190,10\n3,80,120\n");
    text page = page_of(&run, 1);
    assert_says(&page, "is right on <b>75.0\xC2\xA0%</b> (95\xC2\xA0% interval 60.0 to 90.0)");
    assert_says(&page, "on <b>60.0\xC2\xA0%</b> (38.7 to 78.1) of its worst class"); /* 12 of 20 */
    assert_says(&page, "The intervals are by resampling 40 patients: some have more than one example");
    text_close(&page);
    snprintf(strata, sizeof strata, "%s,all,40,0.75,0.6,0.9,40\n", columns);
    write_string(&run, "strata.csv", strata);
    page = page_of(&run, 1);
    assert_says(&page, "(95\xC2\xA0% interval 59.8 to 85.8)"); /* one each: Wilson's */
    assert_null(strstr(page.bytes, "resampling"));
    text_close(&page);
    folder_close(&run);
}

static void twelve_runs_have_names_of_their_own(void **state) {
    (void)state;
    folder runs[12];
    char name[60];
    for (int k = 0; k < 12; k++) runs[k] = whole_run(k % 2 ? "dro" : "erm", 10, k, 1 + k, 0.5);
    text page = page_of(runs, 12);
    assert_says(&page, "12 runs of wrn-16-1 on mnist");
    for (int k = 0; k < 12; k++) {
        snprintf(name, sizeof name, "data-name=\"%s, seed %d\"", k % 2 ? "DRO \xCE\xB2=10" : "ERM", k);
        assert_says(&page, name);
    }
    text_close(&page);
    for (int k = 0; k < 12; k++) folder_close(&runs[k]);
}

static void runs_with_the_same_settings_are_told_apart_by_their_folders(void **state) {
    (void)state;
    folder runs[] = {whole_run("erm", 0, 0, 2, 0.1), whole_run("erm", 0, 0, 2, 0.2)};
    char name[100];
    text page = page_of(runs, 2);
    for (int k = 0; k < 2; k++) {
        snprintf(name, sizeof name, "data-name=\"ERM, %s\"", strrchr(runs[k].path, '/') + 1);
        assert_says(&page, name);
        folder_close(&runs[k]);
    }
    text_close(&page);
}

static void runs_in_folders_of_the_same_name_are_told_apart(void **state) {
    (void)state;
    folder above[] = {folder_open(), folder_open()};
    folder runs[2];
    char name[200];
    for (int k = 0; k < 2; k++) {
        snprintf(runs[k].path, sizeof runs[k].path, "%.150s/same", above[k].path);
        assert_int_equal(mkdir(runs[k].path, 0777), 0);
        fill_run(&runs[k], "erm", 0, 0, 2, 0.1);
    }
    text page = page_of(runs, 2);
    for (int k = 0; k < 2; k++) {
        snprintf(name, sizeof name, "data-name=\"ERM, %s/same\"", strrchr(above[k].path, '/') + 1);
        assert_says(&page, name);
        folder_close(&above[k]);
    }
    text_close(&page);
}

static void refuses_both(const folder *a, const folder *b, const char *words) {
    const char *paths[] = {a->path, b->path};
    text page = {0};
    failure why = {0};
    assert_int_equal(report_page(&page, &(report_request){.folders = paths, .count = 2}, &why), STATUS_BAD_INPUT);
    if (!strstr(why.message, words)) fail_msg("'%s' lacks '%s'", why.message, words);
    text_close(&page);
}

static void pages_of_what_does_not_belong_together_are_refused(void **state) {
    (void)state;
    folder run = whole_run("erm", 0, 0, 2, 0.1), other = folder_open();
    write_string(&other, "config.json", "{\"task\": \"segmentation\", \"objective\": \"dro\"}");
    refuses_both(&run, &run, "is given twice");
    refuses_both(&other, &run, "they need a page each");
    folder_close(&run);
    folder_close(&other);
}

static void groups_of_any_run_have_a_curve(void **state) {
    (void)state;
    folder runs[] = {whole_run("erm", 0, 0, 2, 0.1), whole_run("dro", 10, 0, 2, 0.1)};
    write_evaluation(&runs[0], 0.9, 0.8);
    write_string(&runs[1], "history.csv", "epoch,test_accuracy,test_accuracy_sex:f\n1,0.5,0.4\n2,0.6,0.5\n");
    text page = page_of(runs, 2);
    assert_says(&page, "<h3>Accuracy of sex f</h3>");
    text_close(&page);
    for (int k = 0; k < 2; k++) folder_close(&runs[k]);
}

/* assert_good_page looks for " nan". */
static void losses_that_are_not_known_are_dashes(void **state) {
    (void)state;
    folder run = whole_run("erm", 0, 0, 2, 0.1);
    write_evaluation(&run, 0.9, 0.8);
    write_string(&run, "worst.csv", "kind,column,value,rank,example,label,prediction,loss\nhardest,,,1,7,3,8,nan\n");
    text page = page_of(&run, 1);
    assert_says(&page, "<span>loss \xE2\x80\x93</span>");
    text_close(&page);
    folder_close(&run);
}

/* 70 classes, of which the last is the worst. */
static void of_many_classes_the_worst_are_shown(void **state) {
    (void)state;
    enum { CLASSES = 70 };
    folder run = whole_run("erm", 0, 0, 2, 0.1);
    FILE *history = open_in(&run, "history.csv"), *confusion = open_in(&run, "confusion.csv");
    fputs("epoch,test_accuracy", history);
    fputs("label", confusion);
    for (int k = 0; k < CLASSES; k++) fprintf(history, ",test_accuracy_kind%d", k), fprintf(confusion, ",kind%d", k);
    fputs("\n1,0.5", history);
    for (int k = 0; k < CLASSES; k++) fprintf(history, ",%g", 0.9 - 0.01 * k);
    for (int k = 0; k < CLASSES; k++) {
        fprintf(confusion, "\nkind%d", k);
        for (int j = 0; j < CLASSES; j++) fprintf(confusion, ",%d", j == k);
    }
    fputs("\n", history);
    fputs("\n", confusion);
    fclose(history);
    fclose(confusion);
    write_string(&run, "strata.csv", "column,value,examples,accuracy\n,all,70,1\n");
    text page = page_of(&run, 1);
    assert_says(&page, "The worst 60 of 70 are shown");
    assert_says(&page, ">kind69<");
    assert_null(strstr(page.bytes, ">kind1<"));
    assert_says(&page, "A confusion matrix of 70 classes is too large for this page");
    text_close(&page);
    folder_close(&run);
}

static void bands_go_on_after_a_gap_and_reach_the_last_row(void **state) {
    (void)state;
    folder run = whole_run("dro", 10, 0, 2, 0.1);
    FILE *file = open_in(&run, "distribution.csv");
    fputs("epoch,l0,l5,l25,l50,l75,l95,l100,p0,p5,p25,p50,p75,p95,p100\n"
          "1,nan,1,1,1,1,1,1,1,1,1,1,1,1,1\n",
          file);
    for (int e = 2; e <= 1000; e++) fprintf(file, "%d,1,2,3,4,5,6,7,1,1,1,1,1,1,1\n", e);
    fclose(file);
    text page = page_of(&run, 1);
    assert_null(strstr(page.bytes, "No numbers were recorded"));
    const char *bands = strstr(page.bytes, "Losses of the training examples");
    assert_non_null(bands);
    assert_non_null(strstr(bands, "|1000\" data-x"));
    text_close(&page);
    folder_close(&run);
}

static void what_is_missing_is_told(void **state) {
    (void)state;
    folder run = folder_open();
    write_config(&run, "erm", 0, 0);
    text page = page_of(&run, 1);
    assert_says(&page, "history.csv is missing");
    assert_says(&page, "distribution.csv is missing");
    assert_says(&page, "hardest.csv is missing");
    assert_says(&page, "No epoch has been recorded yet");
    assert_says(&page, "No result on held-out examples");
    text_close(&page);

    write_string(&run, "history.csv", "epoch,test_accuracy\n");
    write_string(&run, "distribution.csv", "");
    write_string(&run, "hardest.csv", "rank,example\n1,\"2\n");
    page = page_of(&run, 1);
    assert_says(&page, "history.csv has no rows");
    assert_says(&page, "distribution.csv: is empty");
    assert_says(&page, "hardest.csv, line 2: a quoted field is never closed");
    text_close(&page);
    folder_close(&run);
}

static void without_pictures_the_losses_are_listed(void **state) {
    (void)state;
    folder run = folder_open();
    write_config(&run, "dro", 10, 0);
    write_string(&run, "losses.csv", "example,stale_loss,age,draws\n7,0.5,1,2\n8,nan,1,2\n9,3.5,1,2\n11,0.5,0,0\n");
    text page = page_of(&run, 1);
    const char *nine = strstr(page.bytes, "<th scope=\"row\">9</th>");
    const char *seven = strstr(page.bytes, "<th scope=\"row\">7</th>");
    const char *eleven = strstr(page.bytes, "<th scope=\"row\">11</th>");
    assert_true(nine && seven && eleven && nine < seven && seven < eleven);
    assert_null(strstr(page.bytes, "<th scope=\"row\">8</th>"));
    assert_says(&page, "<th scope=\"row\">9</th><td>3.50</td><td>2</td></tr>"); /* no column of what is not known */
    assert_null(strstr(page.bytes, "<th scope=\"col\">prediction"));
    text_close(&page);
    write_string(&run, "config.json", "{\"task\": \"classification\", \"classes\": [\"2\", \"cat\", \"dog\"]}");
    write_string(&run, "losses.csv", "example,stale_loss,age,draws,label\n7,0.5,1,4,2\n");
    page = page_of(&run, 1);
    assert_says(&page, "<th scope=\"row\">7</th><td>dog</td><td>0.50</td><td>4</td></tr>");
    text_close(&page);
    folder_close(&run);
}

/* The order of triage.csv is not that of the doubt alone. */
static void only_labels_in_doubt_are_shown_as_such(void **state) {
    (void)state;
    folder run = whole_run("dro", 10, 0, 2, 0.5);
    write_string(&run, "triage.csv",
                 "rank,example,doubt,loss,loss_mean,peers,trend,evidence,draws,label,prediction,margin\n"
                 "1,701,0.9,2,3,0.5,-1,5.5,9,3,8,-2\n2,702,0.4956,2,3,0.1,-1,3.478,9,3,8,-2\n"
                 "3,703,0.5,2,3,2,-1,3.5,9,3,8,-2\n4,704,0,0.1,0.1,1,0,0,9,,,\n");
    text page = page_of(&run, 1);
    assert_says(&page, "<p>2 of 4 labels are in doubt:</p>");
    assert_says(&page, "<li title=\"example 701\">");
    assert_says(&page, "<li title=\"example 703\">");
    assert_null(strstr(page.bytes, "<li title=\"example 702\">"));
    text_close(&page);
    folder_close(&run);
}

static void rows_cut_short_and_odd_numbers_do_no_harm(void **state) {
    (void)state;
    folder run = folder_open();
    write_config(&run, "dro", 10, 0);
    write_string(
        &run, "history.csv",
        "epoch,train_loss_mean,train_loss_std,test_accuracy,test_accuracy_3,surprise,ess\n"
        "1,nan,inf,0.5,,hello,5\n2,-inf,1e999,,0.4,,1e300\n3,1e29,-1e29,-5,17,x,-1\n4,0.1,0.1,0.9,0.8,,\n5,0.2");
    write_string(&run, "distribution.csv",
                 "epoch,l0,l5,l25,l50,l75,l95,l100,p0,p5,p25,p50,p75,p95,p100\n"
                 "1,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n2,nan,1,1,1,1,1,1,1,1,1,1,1,1,1\n");
    text page = page_of(&run, 1);
    assert_says(&page, "1 incomplete row was");
    assert_says(&page, "<b>90.0\xC2\xA0%</b>");
    text_close(&page);
    folder_close(&run);
}

static void epochs_without_measurements_do_not_break_a_line(void **state) {
    (void)state;
    folder run = folder_open();
    write_config(&run, "erm", 0, 0);
    write_string(&run, "history.csv", "epoch,test_accuracy\n1,0.1\n2,\n3,0.5\n4,\n5,0.9\n6,\n");
    text page = page_of(&run, 1);
    assert_says(&page, "data-e=\"1|3|5\"");
    assert_says(&page, "d=\"M46.0 162.8L198.0 94.0L350.0 25.2\"");
    text_close(&page);
    folder_close(&run);
}

static void nothing_from_files_becomes_markup_or_leads_elsewhere(void **state) {
    (void)state;
    folder run = folder_open(), other = whole_run("dro", 1, 0, 3, 0.5);
    const char *evil = "<script>alert(1)</script>\\\"'onload=x";
    char config[2000], hardest[500];
    snprintf(config, sizeof config,
             "{\"objective\": \"%s\", \"model\": \"%s\", \"data\": \"%s\", \"%s\": {\"%s\": [\"%s\", {}, []]}, "
             "\"keep\": {\"3\": 0.01}, \"classes\": [\"%s\", 1, null, {}], \"deep\": [[[[[[1]]]]]]}",
             evil, evil, evil, evil, evil, evil, evil);
    write_string(&run, "config.json", config);
    write_string(
        &run, "history.csv",
        "epoch,test_accuracy,test_accuracy_0,test_accuracy_<b>,\"test_accuracy_\"\"x\"\"\"\n1,0.5,0.5,0.4,0.3\n");
    snprintf(hardest, sizeof hardest,
             "rank,example,label,prediction,loss,draws,age\n1,../../..%s/hardest/1000,<b>,</ul>,1,2,<i>\n"
             "2,../1,0,3,nan,,\n3,.hidden,0,0,1,1,1\n4,,,,,,\n",
             other.path);
    write_string(&run, "hardest.csv", hardest);
    text page = page_of(&run, 1);
    assert_int_equal(occurrences(page.bytes, "<script>"), 1);
    assert_null(strstr(page.bytes, "<img"));
    assert_null(strstr(page.bytes, "<i>"));
    assert_int_equal(occurrences(page.bytes, "no picture"), 4);
    text_close(&page);
    folder_close(&run);
    folder_close(&other);
}

static void files_that_are_no_pictures_are_not_put_into_the_page(void **state) {
    (void)state;
    folder run = folder_open();
    char path[300];
    write_config(&run, "dro", 10, 0);
    write_hardest(&run, 3);
    write_string(&run, "hardest/1000.png", "not a picture, though long enough to be one if it were");
    write_string(&run, "hardest/1001.png", "");
    snprintf(path, sizeof path, "%s/hardest/1002.png", run.path);
    remove(path);
    mkdir(path, 0777);
    text page = page_of(&run, 1);
    assert_null(strstr(page.bytes, "<img"));
    assert_int_equal(occurrences(page.bytes, "no picture"), 3);
    text_close(&page);
    folder_close(&run);
}

static void segmentations_show_dice_and_groups(void **state) {
    (void)state;
    folder run = folder_open();
    write_string(&run, "config.json",
                 "{\"task\": \"segmentation\", \"objective\": \"dro\", \"beta\": 100, "
                 "\"data\": \"/data/Dataset004_Hippocampus\", \"model\": \"unet\", \"examples\": 159}");
    write_string(
        &run, "history.csv",
        "epoch,val_loss,val_dice,val_dice_Anterior,val_dice_Posterior\n1,0.5,0.6,0.7,0.5\n2,0.3,0.8,0.85,0.75\n");
    write_string(&run, "cases.csv",
                 "case,label,Dice,HD95\na,Anterior,0.9,1\nb,Anterior,0.8,2\na,Posterior,0.7,\nb,Posterior,nan,\n");
    write_string(&run, "groups.csv", "case,diagnosis\na,control\nb,\"spina <bifida>\"\n");
    text page = page_of(&run, 1);
    assert_says(&page, "unet on Dataset004_Hippocampus");
    assert_says(&page,
                "a patch validation Dice of <b>80.0\xC2\xA0%</b> overall, but <b>75.0\xC2\xA0%</b> on its worst label");
    assert_says(&page, "Dice score of Anterior");
    assert_says(&page, "spina &lt;bifida&gt;");
    assert_int_equal(occurrences(page.bytes, "<rect class=\"box\""), 3);
    assert_null(strstr(page.bytes, "legend.")); /* a single run has none */
    text_close(&page);
    folder_close(&run);
}

/* Settings and facts of config.json in one object, as versions before 0.2 wrote them, or in two. */
static void both_forms_of_config_give_the_same_page(void **state) {
    (void)state;
    folder run = folder_open();
    write_string(&run, "history.csv", "epoch,test_accuracy,test_accuracy_0\n1,0.5,0.25\n");
    write_string(&run, "config.json",
                 "{\"objective\": \"dro\", \"beta\": 10, \"keep\": {\"0\": 0.5}, \"task\": \"classification\", "
                 "\"examples\": 60, \"classes\": [\"zero\"]}");
    text flat = page_of(&run, 1);
    assert_says(&flat, "60 training examples");
    assert_says(&flat, "zero");
    write_string(&run, "config.json",
                 "{\"settings\": {\"objective\": \"dro\", \"beta\": 10, \"keep\": {\"0\": 0.5}}, "
                 "\"facts\": {\"task\": \"classification\", \"examples\": 60, \"classes\": [\"zero\"]}}");
    text nested = page_of(&run, 1);
    assert_string_equal(flat.bytes, nested.bytes);
    text_close(&flat);
    text_close(&nested);
    folder_close(&run);
}

static folder segmentation_run(const char *objective, const char *more) {
    folder run = folder_open();
    char config[300];
    snprintf(config, sizeof config,
             "{\"task\": \"segmentation\", \"objective\": \"%s\", \"classes\": [\"background\", \"Anterior\", "
             "\"Posterior\"]%s}",
             objective, more);
    write_string(&run, "config.json", config);
    return run;
}

#define DISTRIBUTION "epoch,l0,l5,l25,l50,l75,l95,l100,p0,p5,p25,p50,p75,p95,p100\n"

static void negative_losses_of_any_run_make_the_scale_of_all_linear(void **state) {
    (void)state;
    folder runs[] = {segmentation_run("erm", ""), segmentation_run("dro", "")};
    write_string(&runs[0], "distribution.csv",
                 DISTRIBUTION "1,0.1,0.2,0.3,0.5,0.6,0.8,1,0,0.2,0.5,0.7,1.2,4,10\n"
                              "2,0.1,0.2,0.3,0.4,0.6,0.8,1,0,0.2,0.5,0.7,1.2,4,10\n");
    write_string(&runs[1], "distribution.csv",
                 DISTRIBUTION "1,-0.1,0.1,0.2,0.5,0.6,0.8,1,0,0.2,0.5,0.7,1.2,4,10\n"
                              "2,-0.8,-0.7,-0.6,-0.5,-0.4,-0.3,0,0,0.2,0.5,0.7,1.2,4,10\n");
    text page = page_of(runs, 2);
    assert_says(&page, "<path class=\"line \" d=\"M46.0 51.0L350.0 59.6\"/>");
    assert_says(&page, "<path class=\"line \" d=\"M46.0 51.0L350.0 137.0\"/>"); /* from 0.5 to -0.5 between -1 and 1 */
    assert_says(&page, "<path class=\"band q0\" d=\"M46.0 8.0L350.0 94.0L350.0 162.8L46.0 102.6z\"/>");
    assert_int_equal(occurrences(page.bytes, ">-0.5</text>"), 2);
    assert_int_equal(occurrences(page.bytes, ">0.1</text>"), 2); /* chances stay on decades, though some are 0 */
    text_close(&page);
    for (int k = 0; k < 2; k++) folder_close(&runs[k]);
}

/* Between -1.5 and 1: zero lies at 76.8, which is no edge of a band. */
static void bands_around_negative_losses_have_their_full_width(void **state) {
    (void)state;
    folder run = segmentation_run("erm", "");
    write_string(&run, "history.csv",
                 "epoch,train_loss_mean,train_loss_std,val_loss\n1,0.5,0.5,0.4\n2,0,0.5,-0.2\n3,-1,0.5,-0.8\n");
    text page = page_of(&run, 1);
    assert_says(&page,
                "<path class=\"band\" d=\"M46.0 8.0L198.0 42.4L350.0 111.2L350.0 180.0L198.0 111.2L46.0 76.8z\"/>");
    text_close(&page);

    write_string(&run, "history.csv", "epoch,train_loss_mean,train_loss_std\n1,0.5,0.5\n2,0.2,0.5\n");
    page = page_of(&run, 1);
    assert_says(&page, "<path class=\"band\" d=\"M46.0 8.0L350.0 59.6L350.0 180.0L46.0 180.0z\"/>");
    text_close(&page);
    folder_close(&run);
}

/* Cases may have numbers for names, which are no class numbers; older runs have them in the
   column of the label, too. */
static void hard_cases_are_named_and_not_taken_for_something(void **state) {
    (void)state;
    folder run = segmentation_run("dro", "");
    write_string(&run, "hardest.csv",
                 "rank,example,label,prediction,loss,draws,age\n1,001,,Dice 0.85 in this plane,-0.5,10,3\n"
                 "2,002,002,Dice <0.9> in this plane,-0.6,9,2\n3,003,,,-0.7,8,1\n");
    text page = page_of(&run, 1);
    assert_says(&page, "<b>001</b><span>Dice 0.85 in this plane</span><span>loss -0.500</span>");
    assert_says(&page, "<b>002</b><span>Dice &lt;0.9&gt; in this plane</span><span>loss");
    assert_says(&page, "<b>003</b><span>loss");
    assert_null(strstr(page.bytes, "taken for"));
    assert_null(strstr(page.bytes, "<b>Anterior"));
    text_close(&page);
    folder_close(&run);
}

static void scores_on_training_cases_are_called_that(void **state) {
    (void)state;
    folder runs[] = {segmentation_run("erm", ", \"fold\": 0"), segmentation_run("dro", ", \"fold\": -1"),
                     segmentation_run("ohem", ", \"fold\": -1")};
    for (int k = 0; k < 3; k++)
        write_string(&runs[k], "history.csv", "epoch,val_loss,val_dice\n1,0.5,0.6\n2,-0.3,0.8\n");
    text page = page_of(runs, 1); /* a fold */
    assert_says(&page, "First on examples that were kept apart from training, then");
    assert_says(&page, "examples that were not trained on");
    assert_null(strstr(page.bytes, "fold -1"));
    text_close(&page);

    page = page_of(runs + 1, 1); /* all cases */
    assert_says(&page, "This run was trained on all cases (fold -1), the validation cases among them: its scores");
    assert_says(&page, "First on the validation cases, which were trained on, too, then");
    assert_null(strstr(page.bytes, "kept apart"));
    assert_null(strstr(page.bytes, "not trained on"));
    text_close(&page);

    page = page_of(runs, 2); /* one of each */
    assert_says(&page, "</b> was trained on all cases (fold -1), the validation cases among them: its scores");
    assert_says(&page, "First on the validation cases, which some of the runs were trained on, too, then");
    assert_null(strstr(page.bytes, "kept apart"));
    assert_null(strstr(page.bytes, "not trained on"));
    text_close(&page);

    page = page_of(runs, 3);
    assert_says(&page, "</b> were trained on all cases (fold -1), the validation cases among them: their scores");
    text_close(&page);
    page = page_of(runs + 1, 2);
    assert_says(&page, "These runs were trained on all cases (fold -1)");
    text_close(&page);
    for (int k = 0; k < 3; k++) folder_close(&runs[k]);
}

/* The worst twentieth of the training losses, with the lines of the runs that have them and no
   figure where none has. */
static void the_worst_losses_have_curves(void **state) {
    (void)state;
    folder runs[] = {segmentation_run("erm", ""), segmentation_run("dro", ""), segmentation_run("ohem", "")};
    write_string(&runs[0], "history.csv", "epoch,cvar_5,loss_p95,loss_p95_bound\n1,0.9,0.7,\n2,-0.2,-0.4,\n");
    write_string(&runs[1], "history.csv", "epoch,cvar_5,loss_p95,loss_p95_bound\n1,0.8,0.6,0.85\n2,-0.3,-0.5,-0.25\n");
    write_string(&runs[2], "history.csv", "epoch,ess\n1,3\n");
    static const char MEAN[] = "<h3>Mean loss of the hardest 5 %</h3>",
                      PERCENTILE[] = "<h3>95th percentile of the losses</h3>",
                      BOUND[] = "<h3>Bound of the 95th percentile</h3>";
    text page = page_of(runs, 3);
    assert_says(&page, MEAN);
    assert_says(&page, PERCENTILE);
    const char *bound = strstr(page.bytes, BOUND);
    assert_non_null(bound);
    assert_says(&page, "<td>0.900</td><td>0.800</td></tr>"); /* side by side, without the third */
    assert_non_null(strstr(bound, "<td>0.850</td></tr>"));
    text_close(&page);
    page = page_of(runs, 1);
    assert_says(&page, PERCENTILE);
    assert_null(strstr(page.bytes, BOUND));
    text_close(&page);
    page = page_of(runs + 2, 1);
    assert_null(strstr(page.bytes, MEAN));
    assert_null(strstr(page.bytes, PERCENTILE));
    text_close(&page);
    for (int k = 0; k < 3; k++) folder_close(&runs[k]);
}

static void evaluations_are_read_as_they_are_written(void **state) {
    (void)state;
    folder run = folder_open();
    write_string(&run, "config.json", "{\"task\": \"segmentation\"}");
    write_string(
        &run, "cases.csv",
        "case,label,key,condition,centre,Dice,HD95\na,cerebellum,1,control,x,0.9,1\na,whole,\"(1, "
        "2)\",control,x,0.8,2\n"
        "b,cerebellum,1,spina bifida,y,0.5,7\nb,whole,\"(1, 2)\",spina bifida,y,nan,\nc,cerebellum,1,,,0.7,3\n");
    text page = page_of(&run, 1);
    assert_says(&page, "Dice score of cerebellum");
    assert_says(&page, "Dice score of whole");
    assert_says(&page, ">spina bifida</text>");
    assert_says(&page, ">no group</text>");
    assert_int_equal(occurrences(page.bytes, "<rect class=\"box\""), 8); /* by condition and by centre */
    text_close(&page);
    folder_close(&run);
}

/* Each group has one case. */
static void write_cases(const folder *run, int labels, int groups) {
    FILE *file = open_in(run, "cases.csv");
    fputs("case,label,key,site,Dice\n", file);
    for (int g = 0; g < groups; g++)
        for (int l = 0; l < labels; l++) fprintf(file, "c%d,label %d,%d,site %d,0.%d\n", g, l, l, g, 1 + l % 9);
    fclose(file);
}

static void groups_and_labels_that_do_not_fit_are_counted(void **state) {
    (void)state;
    folder runs[] = {segmentation_run("erm", ""), segmentation_run("dro", "")};
    write_cases(&runs[0], 20, 30);
    write_cases(&runs[1], 25, 31);
    text page = page_of(runs, 1);
    assert_null(strstr(page.bytes, "left out"));
    assert_int_equal(occurrences(page.bytes, "<rect class=\"box\""), 600);
    text_close(&page);
    page = page_of(runs, 2);
    assert_says(&page, "<p class=\"note\">5 labels are left out: the figures have the first 20 of 25.</p>");
    assert_says(&page, "<p class=\"note\">1 group is left out: the figures have the first 30 of 31.</p>");
    assert_int_equal(occurrences(page.bytes, "<rect class=\"box\""), 1200);
    text_close(&page);
    for (int k = 0; k < 2; k++) folder_close(&runs[k]);
}

/* ---- the verdict about full evaluations -------------------------------------------------------------------------- */

/* An evaluation of cases with two labels, whose mean Dice is 0.5 or 0.6, of the first two 0.1, and more by `gain` and,
   if there is one, 0.002 times the number of the case; and of one without a score. */
static void write_scores(const folder *run, int cases, double gain) {
    FILE *file = open_in(run, "summary.json");
    fputs("{\"metric_per_case\": [\n", file);
    for (int k = 0; k < cases; k++) {
        const double more = gain == 0 ? 0 : gain + copysign(0.002 * k, gain);
        const double dice = (k < 2 ? 0.1 : k % 2 ? 0.5 : 0.6) + more;
        fprintf(file, "{\"metrics\": {\"1\": {\"Dice\": %.6f}, \"2\": {\"Dice\": %.6f}}, ", dice + 0.05, dice - 0.05);
        fprintf(file, "\"prediction_file\": \"p/c%d.nii.gz\", \"reference_file\": \"r/c%d.nii.gz\"},\n", k, k);
    }
    fputs("{\"metrics\": {\"1\": {\"Dice\": NaN}, \"2\": {\"Dice\": NaN}}, "
          "\"prediction_file\": \"p/none.nii.gz\", \"reference_file\": \"r/none.nii.gz\"}]}\n",
          file);
    fclose(file);
}

/* With sites, of which the worst has two cases alone. */
static text verdict_of(const folder *runs, size_t count) {
    char groups[300];
    FILE *file = open_in(&runs[0], "sites.csv");
    fputs("case,site\nnone,low\n", file);
    for (int k = 0; k < 12; k++) fprintf(file, "c%d,%s\n", k, k < 2 ? "small" : k % 2 ? "low" : "high");
    fclose(file);
    snprintf(groups, sizeof groups, "%s/sites.csv", runs[0].path);
    return page_with_groups(runs, count, groups);
}

static void verdict_says(const folder *runs, size_t count, const char *words) {
    text page = verdict_of(runs, count);
    assert_says(&page, words);
    text_close(&page);
}

/* All cases differ in one direction, of which a sign has a chance of 1 in 2 to the number of cases. */
static void differences_that_are_no_chance_are_said_to_be_none(void **state) {
    (void)state;
    folder runs[] = {segmentation_run("dro", ""), segmentation_run("erm", ""), segmentation_run("ohem", "")};
    write_scores(&runs[1], 12, 0);
    write_scores(&runs[0], 12, 0.02);
    text page = verdict_of(runs, 2);
    assert_says(
        &page, "Evaluated in full on 13 cases, with the mean over the labels of each: <b>ERM</b> has a mean Dice of "
               "<b>47.5\xC2\xA0%</b>, and <b>50.0\xC2\xA0%</b> in its worst group, \xE2\x80\x9Csite low\xE2\x80\x9D. ");
    const char *at = strstr(page.bytes, ": +3.1 points to ERM (95\xC2\xA0% interval ");
    double low, high;
    assert_non_null(at);
    assert_int_equal(
        sscanf(strstr(at, "interval"), "interval %lf to %lf, p = 0.00049); better, by more than chance. ", &low, &high),
        2);
    assert_true(2 < low && low < 3.1 && 3.1 < high && high < 4.2);
    assert_non_null(strstr(at, "p = 0.00049); better, by more than chance. ")); /* 2 / 2^12 */
    text_close(&page);
    write_scores(&runs[0], 12, -0.02);
    verdict_says(runs, 2, "p = 0.00049); worse, by more than chance. ");
    write_scores(&runs[2], 12, 0.02); /* two comparisons: Holm doubles both */
    verdict_says(runs, 3, "p = 0.00098); better, by more than chance. ");
    verdict_says(runs, 3, "p = 0.00098); worse, by more than chance. ");
    for (int k = 0; k < 2; k++)
        write_string(&runs[k], "history.csv", k ? "epoch,iteration\n1,100\n" : "epoch,iteration\n1,200\n");
    verdict_says(runs, 2, "p = 0.00049); more than chance, but the runs differ in more than their method. ");
    for (int k = 0; k < 3; k++) folder_close(&runs[k]);
}

static void few_cases_cannot_tell(void **state) {
    (void)state;
    folder runs[] = {segmentation_run("erm", ""), segmentation_run("dro", "")};
    write_scores(&runs[0], 8, 0);
    write_scores(&runs[1], 8, 0.02);
    verdict_says(runs, 2, ": +2.7 points to ERM (p = 0.008); too few cases to tell whether that is chance. ");
    write_scores(&runs[0], 5, 0);
    write_scores(&runs[1], 5, 0.02);
    verdict_says(runs, 2, ": +2.4 points to ERM; too few cases to tell whether that is chance. ");
    write_scores(&runs[1], 0, 0); /* the case without a score alone */
    write_scores(&runs[0], 0, 0);
    verdict_says(runs, 2, "<b>ERM</b> has no Dice in any of them. <b>DRO</b> has no Dice in any of them: no case has");
    write_scores(&runs[0], 30, 0);
    write_scores(&runs[1], 30, 0.02);
    verdict_says(runs, 2, "p &lt; 0.00001); better");
    write_scores(&runs[0], 12, 0);
    write_scores(&runs[1], 12, 0);
    verdict_says(runs, 2, "these cases do not tell the two apart. ");
    for (int k = 0; k < 2; k++) folder_close(&runs[k]);
}

static void refused(const char *path, status_code status, const char *words) {
    text page = {0};
    failure why = {0};
    assert_int_equal(report_page(&page, &(report_request){.folders = &path, .count = 1}, &why), status);
    if (!strstr(why.message, words)) fail_msg("'%s' lacks '%s'", why.message, words);
    assert_int_equal(page.size, 0);
    text_close(&page);
}

static void what_is_no_run_is_refused(void **state) {
    (void)state;
    static const char *const DAMAGED[] = {"", "{", "[]", "null", "{\"a\": 1} x", "{\"a\": 1, \"a\": 2}", "\xFF\xFE"};
    folder run = folder_open();
    refused("/no/such/folder", STATUS_BAD_INPUT, "/no/such/folder: is not a run's folder");
    refused(run.path, STATUS_BAD_INPUT, "no config.json");
    for (size_t k = 0; k < sizeof DAMAGED / sizeof *DAMAGED; k++) {
        write_string(&run, "config.json", DAMAGED[k]);
        refused(run.path, STATUS_CORRUPT, "config.json, line");
    }
    folder_close(&run);
    failure why;
    text page = {0};
    assert_int_equal(report_page(&page, &(report_request){0}, &why), STATUS_BAD_INPUT);
}

static void pages_are_written_whole_and_are_the_same_each_time(void **state) {
    (void)state;
    folder run = whole_run("dro", 10, 0, 2, 0.5);
    const char *folder = run.path;
    char path[300];
    snprintf(path, sizeof path, "%s/report.html", run.path);
    assert_int_equal(report_write(path, &(report_request){.folders = &folder, .count = 1}, NULL), STATUS_OK);
    text page = page_of(&run, 1);
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(page.size + 1);
    assert_int_equal(fread(bytes, 1, page.size + 1, file), page.size);
    assert_memory_equal(bytes, page.bytes, page.size);
    fclose(file);
    free(bytes);
    failure why;
    assert_int_equal(report_write("/no/such/folder/x.html", &(report_request){.folders = &folder, .count = 1}, &why),
                     STATUS_CANNOT_WRITE);
    assert_non_null(strstr(why.message, "/no/such/folder/x.html"));
    text_close(&page);
    folder_close(&run);
}

/* Each file as it is, with a few bytes changed and perhaps cut short. */
static void mutate(const folder *run, const char *name, const char *bytes, size_t size, uint64_t *random) {
    static const char LETTERS[] = ",\"\n{}[]<>&-.e09nN";
    char *changed = malloc(size);
    memcpy(changed, bytes, size);
    for (uint64_t k = test_random(random) % 6; k > 0; k--)
        changed[test_random(random) % size] = LETTERS[test_random(random) % (sizeof LETTERS - 1)];
    FILE *file = open_in(run, name);
    fwrite(changed, 1, test_random(random) % 4 ? size : test_random(random) % size, file);
    fclose(file);
    free(changed);
}

static void damaged_files_never_crash(void **state) {
    (void)state;
    static const char *const NAMES[] = {"config.json", "history.csv", "distribution.csv", "losses.csv", "hardest.csv"};
    enum { FILES = sizeof NAMES / sizeof *NAMES };
    folder run = whole_run("dro", 10, 0, 4, 0.5);
    const char *path = run.path;
    char *bytes[FILES], where[500];
    size_t sizes[FILES];
    uint64_t random = 11;
    for (int k = 0; k < FILES; k++) {
        snprintf(where, sizeof where, "%s/%s", run.path, NAMES[k]);
        assert_int_equal(whole_file_read(where, 1 << 20, &bytes[k], &sizes[k], NULL), STATUS_OK);
    }
    for (long round = 0; round < test_size(300, 100000); round++) {
        text page = {0};
        failure why = {0};
        for (int k = 0; k < FILES; k++) mutate(&run, NAMES[k], bytes[k], sizes[k], &random);
        if (report_page(&page, &(report_request){.folders = &path, .count = 1}, &why) == STATUS_OK)
            assert_balanced(page.bytes);
        else assert_true(why.status == STATUS_CORRUPT && why.message[0]);
        text_close(&page);
    }
    for (int k = 0; k < FILES; k++) free(bytes[k]);
    folder_close(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_has_all_sections),
        cmocka_unit_test(several_runs_are_compared),
        cmocka_unit_test(ties_unfinished_runs_and_chance_are_said),
        cmocka_unit_test(chance_is_judged_by_what_the_headline_says),
        cmocka_unit_test(classes_are_not_named_after_those_of_other_runs),
        cmocka_unit_test(classifiers_are_judged_by_their_evaluation),
        cmocka_unit_test(a_small_group_without_mistakes_is_no_proof),
        cmocka_unit_test(runs_that_saw_other_examples_are_not_compared),
        cmocka_unit_test(an_evaluation_of_older_weights_is_no_headline),
        cmocka_unit_test(classes_called_by_numbers_keep_their_names),
        cmocka_unit_test(runs_scored_by_other_groups_are_told_how_to_be_compared),
        cmocka_unit_test(without_groups_the_worst_class_counts),
        cmocka_unit_test(rates_of_classes_stand_side_by_side),
        cmocka_unit_test(patients_with_several_examples_widen_the_intervals),
        cmocka_unit_test(twelve_runs_have_names_of_their_own),
        cmocka_unit_test(runs_with_the_same_settings_are_told_apart_by_their_folders),
        cmocka_unit_test(runs_in_folders_of_the_same_name_are_told_apart),
        cmocka_unit_test(pages_of_what_does_not_belong_together_are_refused),
        cmocka_unit_test(groups_of_any_run_have_a_curve),
        cmocka_unit_test(losses_that_are_not_known_are_dashes),
        cmocka_unit_test(of_many_classes_the_worst_are_shown),
        cmocka_unit_test(bands_go_on_after_a_gap_and_reach_the_last_row),
        cmocka_unit_test(what_is_missing_is_told),
        cmocka_unit_test(without_pictures_the_losses_are_listed),
        cmocka_unit_test(only_labels_in_doubt_are_shown_as_such),
        cmocka_unit_test(rows_cut_short_and_odd_numbers_do_no_harm),
        cmocka_unit_test(epochs_without_measurements_do_not_break_a_line),
        cmocka_unit_test(nothing_from_files_becomes_markup_or_leads_elsewhere),
        cmocka_unit_test(files_that_are_no_pictures_are_not_put_into_the_page),
        cmocka_unit_test(segmentations_show_dice_and_groups),
        cmocka_unit_test(both_forms_of_config_give_the_same_page),
        cmocka_unit_test(negative_losses_of_any_run_make_the_scale_of_all_linear),
        cmocka_unit_test(bands_around_negative_losses_have_their_full_width),
        cmocka_unit_test(hard_cases_are_named_and_not_taken_for_something),
        cmocka_unit_test(scores_on_training_cases_are_called_that),
        cmocka_unit_test(the_worst_losses_have_curves),
        cmocka_unit_test(evaluations_are_read_as_they_are_written),
        cmocka_unit_test(groups_and_labels_that_do_not_fit_are_counted),
        cmocka_unit_test(differences_that_are_no_chance_are_said_to_be_none),
        cmocka_unit_test(few_cases_cannot_tell),
        cmocka_unit_test(what_is_no_run_is_refused),
        cmocka_unit_test(damaged_files_never_crash),
        cmocka_unit_test(pages_are_written_whole_and_are_the_same_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
