/* The column that says whose each example is, under its usual names. */
#include "testing.h"

#include "core/patient_column.h"

/* Of a table with these names. */
static long found_in(const char *names) {
    csv table;
    char line[256];
    const int length = snprintf(line, sizeof line, "%s\n", names);
    assert_int_equal(csv_parse(&table, "x.csv", line, (size_t)length, CSV_STRICT, NULL), STATUS_OK);
    const long column = patient_column_of_csv(&table);
    csv_close(&table);
    return column;
}

static void usual_names_are_known_however_they_are_written(void **state) {
    (void)state;
    static const char *const NAMES[] = {"patient",    "Patient",     "patient_id",    "PatientID",
                                        "Patient ID", "patient-id",  "subject",       "Subject",
                                        "subject_id", "participant", "participant_id"};
    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++) {
        char names[64];
        snprintf(names, sizeof names, "file,label,%s", NAMES[k]);
        if (found_in(names) != 2) fail_msg("'%s' is not known", NAMES[k]);
        assert_true(patient_column_is_usual(NAMES[k]));
        assert_int_equal(patient_column_is_plain(NAMES[k]), k < 2);
    }
}

static void others_are_not_taken_for_it(void **state) {
    (void)state;
    assert_int_equal(found_in("file,label,id,patient_age,Patient Gender,patients,patient_id_old,inpatient,pat,_"), -1);
    assert_false(patient_column_is_usual(""));
}

static void the_plainest_name_wins(void **state) {
    (void)state;
    assert_int_equal(found_in("PATIENT,patient_id,patient"), 2);
    assert_int_equal(found_in("patient_id,Patient"), 1);
    assert_int_equal(found_in("subject,file,patient_id"), 2);
    assert_int_equal(found_in("participant_id,subject_id,subject"), 2);
    assert_int_equal(found_in("Patient ID,PatientID"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_names_are_known_however_they_are_written),
        cmocka_unit_test(others_are_not_taken_for_it),
        cmocka_unit_test(the_plainest_name_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
