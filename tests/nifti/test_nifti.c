#define _POSIX_C_SOURCE 200809L
#include "nifti/nifti.h"

#include "failing_memory.h"
#include "memory.h"
#include "nifti_bytes.h"

#include <sys/stat.h>

static const struct {
    int type, bits, is_signed, is_real;
} TYPES[] = {{2, 8, 0, 0},    {256, 8, 1, 0}, {4, 16, 1, 0},    {512, 16, 0, 0},  {8, 32, 1, 0},
             {768, 32, 0, 0}, {16, 32, 1, 1}, {1024, 64, 1, 0}, {1280, 64, 0, 0}, {64, 64, 1, 1}};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

static double value_at(int type, int i) { return TYPES[type].is_signed ? i - 30 : i; }

static void put_voxels(nifti_bytes *file, int type) {
    const int size = TYPES[type].bits / 8;
    for (int i = 0; i < 60; i++) {
        const int at = voxels_at(file) + i * size;
        const double value = value_at(type, i);
        if (!TYPES[type].is_real) put(file, at, size, (uint64_t)(int64_t)value);
        else if (size == 4) put_float(file, at, value);
        else put_double(file, at, value);
    }
}

static void start_typed(nifti_bytes *file, int version, int big, int type) {
    start_file(file, version, big, TYPES[type].type, TYPES[type].bits);
    put_voxels(file, type);
}

static void assert_refused(const nifti_bytes *file, const char *words) {
    const char *path = scratch_path("refused.nii");
    volume image;
    label_map labels;
    nifti_info info;
    failure failure;
    for (int packed = 0; packed < 2; packed++) {
        if (packed) write_gzip(path, file->bytes, file->size);
        else write_plain(path, file->bytes, file->size);
        assert_int_not_equal(nifti_read_volume(path, NIFTI_ALL_CHANNELS, &image, &failure), STATUS_OK);
        if (!strstr(failure.message, words)) fail_msg("'%s' lacks '%s'", failure.message, words);
        assert_non_null(strstr(failure.message, path));
        assert_null(image.voxels);
        assert_int_not_equal(nifti_read_labels(path, &labels, &failure), STATUS_OK);
        assert_null(labels.labels);
        (void)nifti_inspect(path, &info, &failure);
    }
    remove(path);
}

static void every_type_version_and_byte_order_is_read(void **state) {
    (void)state;
    nifti_bytes *file = malloc(sizeof *file);
    const char *path = scratch_path("typed.nii.gz");
    for (int k = 0; k < TYPE_COUNT * 8; k++) {
        const int type = k / 8, version = k / 4 % 2 + 1, big = k / 2 % 2, packed = k % 2;
        start_typed(file, version, big, type);
        (packed ? write_gzip : write_plain)(path, file->bytes, file->size);
        volume image;
        label_map labels;
        failure failure;
        assert_int_equal(nifti_read_volume(path, 0, &image, &failure), STATUS_OK);
        assert_int_equal(nifti_read_labels(path, &labels, &failure), STATUS_OK);
        assert_int_equal(image.grid.nifti_version, version);
        assert_int_equal(image.channels, 1);
        for (int axis = 0; axis < 3; axis++) {
            assert_int_equal(image.grid.size[axis], axis + 3);
            assert_true(image.grid.spacing[axis] == axis + 1);
        }
        for (int i = 0; i < 60; i++) {
            assert_true(image.voxels[i] == (float)value_at(type, i));
            assert_int_equal(labels.labels[i], (int)value_at(type, i));
        }
        volume_close(&image);
        label_map_close(&labels);
    }
    remove(path);
    free(file);
}

static void numbers_are_scaled_unless_the_slope_is_zero_or_no_number(void **state) {
    (void)state;
    static const double slopes[] = {2.5, 0, NAN, -1, INFINITY};
    static const int scaled[] = {1, 0, 0, 1, 0};
    nifti_bytes *file = malloc(sizeof *file);
    const char *path = scratch_path("scaled.nii");
    for (int k = 0; k < 10; k++) {
        start_typed(file, k % 2 + 1, 0, 2);
        put_real(file, 112, 176, slopes[k / 2]);
        put_real(file, 116, 184, 7);
        write_plain(path, file->bytes, file->size);
        volume image;
        assert_int_equal(nifti_read_volume(path, 0, &image, NULL), STATUS_OK);
        for (int i = 0; i < 60; i++) {
            const double stored = i - 30, expected = scaled[k / 2] ? stored * slopes[k / 2] + 7 : stored;
            assert_true(image.voxels[i] == (float)expected);
        }
        volume_close(&image);
    }
    put_real(file, 112, 176, 1);
    put_real(file, 116, 184, NAN);
    assert_refused(file, "scl_inter");
    remove(path);
    free(file);
}

/* How many channels can be read, one after the other, before something is wrong; -1: not even the header. */
static int channels_read(const char *path, float *voxels, failure *failure) {
    nifti_reader *reader;
    nifti_info info;
    if (nifti_reader_open(&reader, path, &info, failure) != STATUS_OK) {
        assert_null(reader);
        return -1;
    }
    int channel = 0;
    const size_t size = volume_grid_voxels(&info.grid);
    while (channel < info.channels && nifti_reader_next(reader, voxels + (size_t)channel * size, failure) == STATUS_OK)
        channel++;
    nifti_reader_close(&reader);
    nifti_reader_close(&reader);
    return channel;
}

static void channels_are_read_one_by_one_or_together(void **state) {
    (void)state;
    nifti_bytes *file = malloc(sizeof *file);
    const char *path = scratch_path("channels.nii.gz");
    for (int k = 0; k < 4; k++) {
        start_file(file, k % 2 + 1, 0, 2, 8);
        const int dimension = k < 2 ? 4 : 5; /* time, or the components that ITK writes */
        put_dimension(file, 0, dimension);
        put_dimension(file, dimension, 3);
        for (int i = 0; i < 180; i++) file->bytes[voxels_at(file) + i] = (uint8_t)i;
        file->size = (size_t)voxels_at(file) + 180;
        write_gzip(path, file->bytes, file->size);
        volume image;
        failure failure;
        nifti_info info;
        assert_int_equal(nifti_inspect(path, &info, &failure), STATUS_OK);
        assert_int_equal(info.channels, 3);
        for (int channel = 0; channel < 3; channel++) {
            assert_int_equal(nifti_read_volume(path, channel, &image, &failure), STATUS_OK);
            assert_int_equal(image.channels, 1);
            for (int i = 0; i < 60; i++) assert_true(image.voxels[i] == (float)(60 * channel + i));
            volume_close(&image);
        }
        assert_int_equal(nifti_read_volume(path, NIFTI_ALL_CHANNELS, &image, &failure), STATUS_OK);
        assert_int_equal(image.channels, 3);
        for (int i = 0; i < 180; i++) assert_true(image.voxels[i] == (float)i);
        volume_close(&image);
        float voxels[180];
        assert_int_equal(channels_read(path, voxels, &failure), 3);
        for (int i = 0; i < 180; i++) assert_true(voxels[i] == (float)i);
        assert_int_equal(nifti_read_volume(path, 3, &image, &failure), STATUS_BAD_INPUT);
        assert_int_equal(nifti_read_volume(path, -2, &image, &failure), STATUS_BAD_INPUT);
        label_map labels;
        assert_int_equal(nifti_read_labels(path, &labels, &failure), STATUS_CORRUPT);
        assert_non_null(strstr(failure.message, "channels"));
        write_gzip(path, file->bytes, file->size - 61); /* the last byte of the second channel, and the third */
        assert_int_equal(channels_read(path, voxels, &failure), 1);
        assert_non_null(strstr(failure.message, "cut off"));
        write_gzip(path, file->bytes, file->size + 1);
        assert_int_equal(channels_read(path, voxels, &failure), 2);
        assert_non_null(strstr(failure.message, "more bytes"));
        assert_int_equal(channels_read("no such file", voxels, &failure), -1);
    }
    remove(path);
    free(file);
}

static void the_sform_goes_before_the_qform_and_both_survive_writing(void **state) {
    (void)state;
    static const double sform[12] = {-1, 0.125, 0, 90.5, 0.125, 2, 0.25, -126, 0, -0.25, 3, -72};
    static const double b_c_d[3] = {0, 0.6000000238418579, 0.800000011920929}, offset[3] = {1, -2, 3.5};
    nifti_bytes *file = malloc(sizeof *file);
    const char *path = scratch_path("affine.nii"), *copy = scratch_path("affine_copy.nii.gz");
    for (int k = 0; k < 8; k++) {
        start_typed(file, k / 4 + 1, 0, 0);
        put_spacing(file, 0, -1);
        if (k & 1) put_sform(file, sform);
        if (k & 2) put_qform(file, b_c_d, offset);
        write_plain(path, file->bytes, file->size);
        label_map first, second;
        failure failure;
        assert_int_equal(nifti_read_labels(path, &first, &failure), STATUS_OK);
        if (k & 1)
            for (int i = 0; i < 12; i++) assert_true(first.grid.affine[i / 4][i % 4] == sform[i]);
        else if (k & 2)
            for (int i = 0; i < 3; i++) assert_true(first.grid.affine[i][3] == offset[i]);
        else
            for (int i = 0; i < 3; i++) assert_true(first.grid.affine[i][i] == i + 1);
        if (k == 2) { /* half a turn about (0, 0.6, 0.8), the third axis then reversed */
            static const double expected[3][3] = {{-1, 0, 0}, {0, -0.56, -2.88}, {0, 1.92, -0.84}};
            for (int i = 0; i < 9; i++) assert_near(first.grid.affine[i / 3][i % 3], expected[i / 3][i % 3], 1e-6);
        }
        assert_int_equal(nifti_write_labels(copy, &first, &failure), STATUS_OK);
        assert_int_equal(nifti_read_labels(copy, &second, &failure), STATUS_OK);
        assert_memory_equal(&first.grid, &second.grid, sizeof first.grid);
        assert_memory_equal(first.labels, second.labels, 60 * sizeof *first.labels);
        label_map_close(&first);
        label_map_close(&second);
    }
    remove(path);
    remove(copy);
    free(file);
}

/* In metres, millimetres and micrometres, without an affine, with a qform and with an sform. */
static void other_units_are_read_in_mm_and_written_as_they_were(void **state) {
    (void)state;
    static const double sform[12] = {-1, 0.1, 0, 90.5, 0.1, 2, 0.3, -126, 0, -0.3, 3, -72}, none[3] = {0, 0, 0},
                        offset[3] = {1, -2, 3.5}, in_mm[4] = {1, 1e3, 1, 1e-3};
    nifti_bytes *file = malloc(sizeof *file), *again = malloc(sizeof *again);
    const char *path = scratch_path("units.nii"), *copy = scratch_path("units_copy.nii");
    for (int k = 0; k < 2 * 4 * 3; k++) {
        const int version = k % 2 + 1, unit = k / 2 % 4, form = k / 8;
        volume image;
        start_typed(file, version, 0, 0);
        put(file, version == 1 ? 123 : 500, 1, (uint64_t)(unit | 8)); /* and seconds */
        for (int axis = 0; axis < 3; axis++) put_spacing(file, axis + 1, 0.1 * (axis + 1));
        if (form == 1) put_qform(file, none, offset);
        if (form == 2) put_sform(file, sform);
        write_plain(path, file->bytes, file->size);
        assert_int_equal(nifti_read_volume(path, 0, &image, NULL), STATUS_OK);
        for (int axis = 0; axis < 3; axis++) {
            assert_near(image.grid.spacing[axis], 0.1 * (axis + 1) * in_mm[unit], 1e-6 * in_mm[unit]);
            assert_near(image.grid.affine[axis][axis], (form == 2 ? sform[5 * axis] : 0.1 * (axis + 1)) * in_mm[unit],
                        1e-6 * in_mm[unit]);
            if (form == 1) assert_near(image.grid.affine[axis][3], offset[axis] * in_mm[unit], 1e-9);
        }
        assert_int_equal(nifti_write_volume(copy, &image, NULL), STATUS_OK);
        assert_true(read_plain(copy, again->bytes, FILE_BYTES) >= (size_t)voxels_at(file));
        assert_memory_equal(file->bytes + (version == 1 ? 80 : 112), again->bytes + (version == 1 ? 80 : 112),
                            (size_t)(version == 1 ? 12 : 24)); /* the spacing */
        assert_memory_equal(file->bytes + (version == 1 ? 268 : 376), again->bytes + (version == 1 ? 268 : 376),
                            (size_t)(version == 1 ? 60 : 120)); /* the qform's offset and the sform */
        assert_int_equal(again->bytes[version == 1 ? 123 : 500], unit | 8);
        volume_close(&image);
    }
    remove(path);
    remove(copy);
    free(file);
    free(again);
}

/* (3, 20) comes back as (3, 20), (3, 4, 5) as it is. */
static void files_keep_their_number_of_dimensions(void **state) {
    (void)state;
    nifti_bytes *file = malloc(sizeof *file), *again = malloc(sizeof *again);
    const char *path = scratch_path("flat.nii"), *copy = scratch_path("flat_copy.nii");
    for (int k = 0; k < 6; k++) {
        const int version = k % 2 + 1, count = k / 2 + 1;
        const int64_t sizes[3][4] = {{1, 60, 1, 1}, {2, 3, 20, 1}, {3, 3, 4, 5}};
        label_map labels;
        start_typed(file, version, 0, 0);
        for (int axis = 0; axis < 4; axis++) put_dimension(file, axis, sizes[count - 1][axis]);
        write_plain(path, file->bytes, file->size);
        assert_int_equal(nifti_read_labels(path, &labels, NULL), STATUS_OK);
        assert_int_equal(nifti_write_labels(copy, &labels, NULL), STATUS_OK);
        read_plain(copy, again->bytes, FILE_BYTES);
        assert_int_equal(again->bytes[version == 1 ? 40 : 16], count);
        labels.grid.size[2] *= 2; /* a grid that was made from it and has grown is not cut */
        const size_t voxels = volume_grid_voxels(&labels.grid);
        label_map larger;
        assert_int_equal(label_map_open(&larger, &labels.grid, NULL), STATUS_OK);
        memset(larger.labels, 0, voxels * sizeof *larger.labels);
        assert_int_equal(nifti_write_labels(copy, &larger, NULL), STATUS_OK);
        read_plain(copy, again->bytes, FILE_BYTES);
        assert_int_equal(again->bytes[version == 1 ? 40 : 16], 3);
        label_map_close(&larger);
        label_map_close(&labels);
    }
    remove(path);
    remove(copy);
    free(file);
    free(again);
}

static void images_survive_writing_to_the_bit_and_equal_ones_give_equal_files(void **state) {
    (void)state;
    const int size[3] = {31, 17, 23};
    const double spacing[3] = {0.8, 1.25, 3};
    const volume_grid grid = volume_grid_plain(size, spacing);
    volume image, again;
    assert_int_equal(volume_open(&image, &grid, 2, NULL), STATUS_OK);
    const size_t count = 2 * volume_grid_voxels(&grid);
    uint64_t random = 5;
    for (size_t i = 0; i < count; i++) image.voxels[i] = (float)test_normal(&random);
    image.voxels[7] = INFINITY;
    const char *names[2] = {"image.nii", "image.nii.gz"};
    uint8_t *bytes = malloc(1 << 18), *same = malloc(1 << 18);
    for (int k = 0; k < 2; k++) {
        const char *path = scratch_path(names[k]);
        assert_int_equal(nifti_write_volume(path, &image, NULL), STATUS_OK);
        const size_t written = read_plain(path, bytes, 1 << 18);
        assert_int_equal(nifti_write_volume(path, &image, NULL), STATUS_OK);
        assert_int_equal(read_plain(path, same, 1 << 18), written);
        assert_memory_equal(bytes, same, written);
        assert_int_equal(bytes[0] == 0x1f && bytes[1] == 0x8b, k);
        assert_int_equal(nifti_read_volume(path, NIFTI_ALL_CHANNELS, &again, NULL), STATUS_OK);
        assert_int_equal(again.channels, 2);
        assert_memory_equal(image.voxels, again.voxels, count * sizeof *image.voxels);
        volume_close(&again);
        remove(path);
    }
    volume_close(&image);
    free(bytes);
    free(same);
}

static void labels_are_written_in_the_smallest_type_that_holds_them(void **state) {
    (void)state;
    static const int16_t extremes[][2] = {{0, 255}, {-1, 5}, {0, 256}, {-32768, 32767}};
    const int size[3] = {2, 1, 1};
    const double spacing[3] = {1, 1, 1};
    const volume_grid grid = volume_grid_plain(size, spacing);
    const char *path = scratch_path("labels.nii");
    for (int k = 0; k < 4; k++) {
        label_map labels, again;
        uint8_t bytes[1000];
        assert_int_equal(label_map_open(&labels, &grid, NULL), STATUS_OK);
        memcpy(labels.labels, extremes[k], 4);
        assert_int_equal(nifti_write_labels(path, &labels, NULL), STATUS_OK);
        assert_int_equal(read_plain(path, bytes, sizeof bytes), k == 0 ? 354 : 356);
        assert_int_equal(nifti_read_labels(path, &again, NULL), STATUS_OK);
        assert_memory_equal(again.labels, extremes[k], 4);
        label_map_close(&labels);
        label_map_close(&again);
    }
    remove(path);
}

static void what_is_no_label_is_refused_with_its_place(void **state) {
    (void)state;
    static const double wrong[] = {0.5, 40000, -40000, NAN, INFINITY};
    nifti_bytes *file = malloc(sizeof *file);
    const char *path = scratch_path("odd.nii");
    for (int k = 0; k < 5; k++) {
        start_typed(file, 1, 0, 6);
        put_float(file, voxels_at(file) + 4 * (3 * 4 * 2 + 3 * 1 + 2), wrong[k]);
        write_plain(path, file->bytes, file->size);
        label_map labels;
        failure failure;
        assert_int_equal(nifti_read_labels(path, &labels, &failure), STATUS_CORRUPT);
        assert_non_null(strstr(failure.message, "voxel (2, 1, 2)"));
        assert_null(labels.labels);
    }
    remove(path);
    free(file);
}

/* nibabel stores floating-point labels 0 to 3 as int16 so: 0 is -32768, 3 is 32767. */
static void scaled_labels_are_rounded_if_they_are_nearly_whole(void **state) {
    (void)state;
    nifti_bytes *file = malloc(sizeof *file);
    const char *path = scratch_path("scaled.nii");
    label_map labels;
    failure failure;
    start_file(file, 1, 0, 4, 16);
    put_float(file, 112, 3.0 / 65535);
    put_float(file, 116, 32768 * 3.0 / 65535);
    for (int i = 0; i < 60; i++) {
        const int stored = (int)lround(i % 4 * 65535 / 3.0) - 32768;
        put(file, voxels_at(file) + 2 * i, 2, (uint64_t)(stored + 65536));
    }
    write_plain(path, file->bytes, file->size);
    if (nifti_read_labels(path, &labels, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    for (int i = 0; i < 60; i++) assert_int_equal(labels.labels[i], i % 4);
    label_map_close(&labels);
    put(file, voxels_at(file) + 2 * 7, 2, 32767 - 600); /* 2.97 */
    write_plain(path, file->bytes, file->size);
    assert_int_equal(nifti_read_labels(path, &labels, &failure), STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "voxel (1, 2, 0) is 2.97"));
    assert_non_null(strstr(failure.message, "after scl_slope 4.57"));
    start_file(file, 1, 0, 16, 32); /* without a slope nothing is rounded, and the sentence shows why */
    put_float(file, voxels_at(file), 3 + 0x1p-20);
    write_plain(path, file->bytes, file->size);
    assert_int_equal(nifti_read_labels(path, &labels, &failure), STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "is 3.00000095"));
    assert_null(strstr(failure.message, "scl_slope"));
    remove(path);
    free(file);
}

static void headers_that_contradict_themselves_are_refused(void **state) {
    (void)state;
    nifti_bytes *file = malloc(sizeof *file);
    for (int k = 0; k < 4; k++) {
        const int version = k % 2 + 1, big = k / 2;
#define REFUSED(words, change)                                                                                         \
    start_typed(file, version, big, 2);                                                                                \
    change;                                                                                                            \
    assert_refused(file, words)
        REFUSED("not a NIfTI", put(file, 0, 4, 349));
        REFUSED("magic", file->bytes[version == 1 ? 344 : 4] = 'x');
        REFUSED(".hdr/.img", file->bytes[version == 1 ? 345 : 5] = 'i');
        REFUSED("dimensions", put_dimension(file, 0, 0));
        REFUSED("dimensions", put_dimension(file, 0, 8));
        REFUSED("dimensions", put_dimension(file, 0, -3));
        REFUSED("dimension 2", put_dimension(file, 2, 0));
        REFUSED("dimension 3", put_dimension(file, 3, -5));
        REFUSED("type 128", put_type(file, 128, 24));
        REFUSED("type 0", put_type(file, 0, 0));
        REFUSED("type -4", put_type(file, -4, 16));
        REFUSED("bits", put_type(file, 4, 8));
        REFUSED("bits", put_type(file, 16, 64));
        REFUSED("at byte", put_offset(file, 0));
        REFUSED("at byte", put_offset(file, -352));
        REFUSED("at byte", put_offset(file, voxels_at(file) - 1));
        REFUSED("too small", put_offset(file, 0x1p36));
        REFUSED("spacing", put_spacing(file, 1, NAN));
        REFUSED("spacing", put_spacing(file, 2, 0));
        REFUSED("spacing", put_spacing(file, 3, -1));
        REFUSED("spacing", put_spacing(file, 3, INFINITY));
        REFUSED("sform", put_sform(file, (double[12]){1, 0, 0, NAN}));
        REFUSED("qform", put_qform(file, (double[3]){0, 5, 0}, (double[3]){0, 0, 0}));
        REFUSED("qform", put_qform(file, (double[3]){0, 0, 0}, (double[3]){0, INFINITY, 0}));
        REFUSED("too small", put_dimension(file, 1, 30000); put_dimension(file, 2, 30000));
        REFUSED("cut off", put_dimension(file, 3, 6); file->size += 23);
        REFUSED("more bytes", file->size += 1);
        REFUSED("more bytes", put_dimension(file, 3, 4));
        REFUSED("more voxels", put_dimension(file, 0, 7); for (int d = 1; d < 8; d++) put_dimension(file, d, 32767));
        if (version == 1) {
            REFUSED("at byte", put_offset(file, NAN));
            REFUSED("at byte", put_offset(file, 352.5));
        } else {
            REFUSED("size", put_dimension(file, 1, INT64_MAX));
            REFUSED("size", put_dimension(file, 1, INT64_MIN));
        }
#undef REFUSED
    }
    free(file);
}

static void every_shortened_file_is_refused(void **state) {
    (void)state;
    nifti_bytes *file = malloc(sizeof *file);
    uint8_t packed[FILE_BYTES];
    const char *path = scratch_path("short.nii.gz");
    for (int k = 0; k < 4; k++) {
        start_typed(file, k % 2 + 1, 0, 0);
        size_t size = file->size;
        memcpy(packed, file->bytes, size);
        if (k >= 2) {
            write_gzip(path, file->bytes, file->size);
            size = read_plain(path, packed, sizeof packed);
        }
        label_map labels;
        failure failure;
        for (size_t kept = 0; kept < size; kept++) {
            write_plain(path, packed, kept);
            assert_int_equal(nifti_read_labels(path, &labels, &failure), STATUS_CORRUPT);
            assert_null(labels.labels);
        }
        write_plain(path, packed, size);
        assert_int_equal(nifti_read_labels(path, &labels, NULL), STATUS_OK);
        label_map_close(&labels);
    }
    remove(path);
    free(file);
}

static void flipped_bits_in_a_compressed_file_are_noticed(void **state) {
    (void)state;
    nifti_bytes *file = malloc(sizeof *file);
    uint8_t packed[FILE_BYTES];
    const char *path = scratch_path("flipped.nii.gz");
    start_typed(file, 1, 0, 0);
    write_gzip(path, file->bytes, file->size);
    const size_t size = read_plain(path, packed, sizeof packed);
    for (size_t at = 10; at < size; at++) { /* the ten bytes before hold flags and times that do not matter */
        packed[at] ^= 4;
        write_plain(path, packed, size);
        label_map labels;
        failure failure;
        if (nifti_read_labels(path, &labels, &failure) == STATUS_OK) { /* a bit that says the same either way */
            for (int i = 0; i < 60; i++) assert_int_equal(labels.labels[i], i);
            label_map_close(&labels);
        }
        packed[at] ^= 4;
    }
    remove(path);
    free(file);
}

/* 64 MB of zeros in 64 KB of gzip behind a header of 60 voxels, and a small file that promises 10 GB. */
static void small_files_cannot_ask_for_much_memory(void **state) {
    (void)state;
    nifti_bytes *file = malloc(sizeof *file);
    const char *path = scratch_path("bomb.nii.gz");
    start_typed(file, 1, 0, 0);
    uint8_t *zeros = calloc(1, 1 << 20);
    gzFile out = gzopen(path, "wb");
    gzwrite(out, file->bytes, (unsigned)file->size);
    for (int k = 0; k < 64; k++) gzwrite(out, zeros, 1 << 20);
    gzclose(out);
    label_map labels;
    volume image;
    failure failure;
    assert_int_equal(nifti_read_labels(path, &labels, &failure), STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "more bytes"));
    put_dimension(file, 1, 32767);
    put_dimension(file, 2, 10000);
    put_dimension(file, 3, 32);
    write_gzip(path, file->bytes, file->size);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_true(info.st_size < 400);
    memory_fail_after(-1);
    assert_int_equal(nifti_read_volume(path, 0, &image, &failure), STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "too small"));
    assert_int_equal(memory_fail_after(-1), 0);
    remove(path);
    free(zeros);
    free(file);
}

static void extensions_before_the_voxels_are_skipped(void **state) {
    (void)state;
    nifti_bytes *file = malloc(sizeof *file);
    const char *path = scratch_path("extension.nii");
    for (int version = 1; version <= 2; version++) {
        start_typed(file, version, 1, 0);
        const int from = voxels_at(file), to = from + 64;
        memmove(file->bytes + to, file->bytes + from, 60);
        memset(file->bytes + from - 4, 0xAB, 68);
        put_offset(file, to);
        file->size += 64;
        write_plain(path, file->bytes, file->size);
        label_map labels;
        assert_int_equal(nifti_read_labels(path, &labels, NULL), STATUS_OK);
        for (int i = 0; i < 60; i++) assert_int_equal(labels.labels[i], i);
        label_map_close(&labels);
    }
    remove(path);
    free(file);
}

static void failing_memory_and_places_that_cannot_be_used_are_told(void **state) {
    (void)state;
    nifti_bytes *file = malloc(sizeof *file);
    const char *path = scratch_path("memory.nii.gz");
    start_typed(file, 1, 0, 0);
    write_gzip(path, file->bytes, file->size);
    label_map labels;
    failure failure;
    long allocations = 0;
    for (;; allocations++) {
        memory_fail_after(allocations);
        const status_code status = nifti_read_labels(path, &labels, &failure);
        if (status == STATUS_OK) break;
        assert_int_equal(status, STATUS_OUT_OF_MEMORY);
        assert_null(labels.labels);
    }
    assert_int_equal(allocations, 3);
    for (allocations = 0;; allocations++) {
        memory_fail_after(allocations);
        if (nifti_write_labels(path, &labels, &failure) == STATUS_OK) break;
    }
    assert_true(allocations >= 3);
    memory_fail_after(-1);
    assert_int_equal(nifti_write_labels("no/such/folder/a.nii", &labels, &failure), STATUS_CANNOT_WRITE);
    assert_non_null(strstr(failure.message, "no/such/folder/a.nii"));
    label_map_close(&labels);
    assert_int_equal(nifti_read_labels("no such file", &labels, &failure), STATUS_CANNOT_READ);
    assert_int_equal(nifti_read_labels(".", &labels, &failure), STATUS_CANNOT_READ);
    assert_int_equal(nifti_read_labels("/dev/null", &labels, &failure), STATUS_CANNOT_READ);
    remove(path);
    free(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_version_and_byte_order_is_read),
        cmocka_unit_test(numbers_are_scaled_unless_the_slope_is_zero_or_no_number),
        cmocka_unit_test(channels_are_read_one_by_one_or_together),
        cmocka_unit_test(the_sform_goes_before_the_qform_and_both_survive_writing),
        cmocka_unit_test(other_units_are_read_in_mm_and_written_as_they_were),
        cmocka_unit_test(files_keep_their_number_of_dimensions),
        cmocka_unit_test(images_survive_writing_to_the_bit_and_equal_ones_give_equal_files),
        cmocka_unit_test(labels_are_written_in_the_smallest_type_that_holds_them),
        cmocka_unit_test(what_is_no_label_is_refused_with_its_place),
        cmocka_unit_test(scaled_labels_are_rounded_if_they_are_nearly_whole),
        cmocka_unit_test(headers_that_contradict_themselves_are_refused),
        cmocka_unit_test(every_shortened_file_is_refused),
        cmocka_unit_test(flipped_bits_in_a_compressed_file_are_noticed),
        cmocka_unit_test(small_files_cannot_ask_for_much_memory),
        cmocka_unit_test(extensions_before_the_voxels_are_skipped),
        cmocka_unit_test(failing_memory_and_places_that_cannot_be_used_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
