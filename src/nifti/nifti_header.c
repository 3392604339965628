#include "nifti/nifti_header.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Where version 1 and 2 keep what we read and write; numbers are floats and shorts in 1, doubles and longs in 2. */
typedef struct layout {
    int bytes, whole, real, code; /* size of the header, of a dimension, of a real number, of a form code */
    int magic, type, bits, dimensions, spacings, offset, slope, intercept, units;
    int qform_code, sform_code, quaternion, qoffset, sform, description;
} layout;

static const layout LAYOUTS[2] = {
    {348, 2, 4, 2, 344, 70, 72, 40, 76, 108, 112, 116, 123, 252, 254, 256, 268, 280, 148},
    {540, 8, 8, 4, 4, 12, 14, 16, 104, 168, 176, 184, 500, 344, 348, 352, 376, 400, 240},
};

static const char MAGIC1[] = "n+1", PAIR1[] = "ni1", MAGIC2[] = "n+2\0\r\n\032\n", PAIR2[] = "ni2\0\r\n\032\n";

int nifti_type_bytes(nifti_type type) {
    switch (type) {
    case NIFTI_UINT8:
    case NIFTI_INT8: return 1;
    case NIFTI_INT16:
    case NIFTI_UINT16: return 2;
    case NIFTI_INT32:
    case NIFTI_UINT32:
    case NIFTI_FLOAT32: return 4;
    case NIFTI_FLOAT64:
    case NIFTI_INT64:
    case NIFTI_UINT64: return 8;
    }
    return 0;
}

typedef struct header_reader {
    const uint8_t *bytes;
    const layout *layout;
    int big_endian;
} header_reader;

static uint64_t get_bits(const header_reader *reader, int offset, int size) {
    uint64_t bits = 0;
    for (int k = 0; k < size; k++) bits = bits << 8 | reader->bytes[offset + (reader->big_endian ? k : size - 1 - k)];
    return bits;
}

static int64_t get_whole(const header_reader *reader, int offset, int size) {
    const uint64_t bits = get_bits(reader, offset, size), sign = (uint64_t)1 << (8 * size - 1);
    return bits & sign ? -(int64_t)(~bits & (sign - 1)) - 1 : (int64_t)bits;
}

static double get_real(const header_reader *reader, int offset) {
    const uint64_t bits = get_bits(reader, offset, reader->layout->real);
    if (reader->layout->real == 8) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    const uint32_t half = (uint32_t)bits;
    float value;
    memcpy(&value, &half, sizeof value);
    return value;
}

static double get_nth_real(const header_reader *reader, int offset, int index) {
    return get_real(reader, offset + index * reader->layout->real);
}

/* The size of the header, its first number, tells the version and the byte order. */
static int find_layout(header_reader *reader, size_t count) {
    if (count < 4) return 0;
    for (int k = 0; k < 4; k++) {
        reader->layout = &LAYOUTS[k / 2];
        reader->big_endian = k % 2;
        if (get_bits(reader, 0, 4) == (uint64_t)reader->layout->bytes) return 1;
    }
    return 0;
}

static status_code check_magic(const header_reader *reader, size_t count, const char *path, failure *failure) {
    if (count < (size_t)reader->layout->bytes)
        return fail(failure, STATUS_CORRUPT, "%s ends within its header; it is cut off", path);
    const uint8_t *magic = reader->bytes + reader->layout->magic;
    const int first = reader->layout == &LAYOUTS[0];
    if (memcmp(magic, first ? PAIR1 : PAIR2, first ? 4 : 8) == 0)
        return fail(failure, STATUS_CORRUPT,
                    "%s is the header of a .hdr/.img pair; convert it to one .nii.gz file first", path);
    if (memcmp(magic, first ? MAGIC1 : MAGIC2, first ? 4 : 8) != 0)
        return fail(failure, STATUS_CORRUPT, "%s is not a NIfTI file: its magic is wrong", path);
    return STATUS_OK;
}

/* Dimensions 1 to 3 are space, the others make channels. */
static status_code parse_dimensions(const header_reader *reader, const char *path, nifti_header *header,
                                    failure *failure) {
    const layout *layout = reader->layout;
    const int64_t count = get_whole(reader, layout->dimensions, layout->whole);
    if (count < 1 || count > 7)
        return fail(failure, STATUS_CORRUPT, "%s has %lld dimensions; 1 to 7 are possible", path, (long long)count);
    uint64_t bytes = (uint64_t)nifti_type_bytes(header->type);
    for (int k = 0; k < 3; k++) header->grid.size[k] = 1;
    header->channels = 1;
    for (int k = 0; k < count; k++) {
        const int64_t size = get_whole(reader, layout->dimensions + (k + 1) * layout->whole, layout->whole);
        if (size < 1 || size > INT_MAX)
            return fail(failure, STATUS_CORRUPT, "%s has the size %lld in dimension %d", path, (long long)size, k + 1);
        if (bytes > ((uint64_t)1 << 62) / (uint64_t)size || (k >= 3 && (int64_t)header->channels * size > INT_MAX))
            return fail(failure, STATUS_CORRUPT, "%s promises more voxels than any memory holds", path);
        bytes *= (uint64_t)size;
        if (k < 3) header->grid.size[k] = (int)size;
        else header->channels *= (int)size;
    }
    header->voxel_bytes = bytes;
    header->grid.dimensions = count < 3 ? (int)count : 0;
    return STATUS_OK;
}

static status_code parse_type(const header_reader *reader, const char *path, nifti_header *header, failure *failure) {
    const int64_t type = get_whole(reader, reader->layout->type, 2), bits = get_whole(reader, reader->layout->bits, 2);
    header->type = (nifti_type)type;
    const int bytes = nifti_type_bytes(header->type);
    if (bytes == 0)
        return fail(failure, STATUS_CORRUPT, "%s has voxels of type %lld; (u)int8 to 64 and float32, 64 are read", path,
                    (long long)type);
    if (bits != 8 * bytes)
        return fail(failure, STATUS_CORRUPT, "%s says its voxels have %lld bits, but their type has %d", path,
                    (long long)bits, 8 * bytes);
    return STATUS_OK;
}

static status_code parse_offset(const header_reader *reader, const char *path, nifti_header *header, failure *failure) {
    const layout *layout = reader->layout;
    const double offset =
        layout->whole == 2 ? get_real(reader, layout->offset) : (double)get_whole(reader, layout->offset, 8);
    if (!(offset >= layout->bytes + 4 && offset <= 0x1p40) || offset != floor(offset))
        return fail(failure, STATUS_CORRUPT, "%s puts its voxels at byte %g; its header takes %d", path, offset,
                    layout->bytes + 4);
    header->voxel_offset = (uint64_t)offset;
    return STATUS_OK;
}

/* As nibabel does: no scaling if the slope is zero or not a number. */
static status_code parse_scaling(const header_reader *reader, const char *path, nifti_header *header,
                                 failure *failure) {
    header->slope = get_real(reader, reader->layout->slope);
    header->intercept = get_real(reader, reader->layout->intercept);
    if (header->slope == 0 || !isfinite(header->slope)) {
        header->slope = 1;
        header->intercept = 0;
    }
    if (!isfinite(header->intercept))
        return fail(failure, STATUS_CORRUPT, "%s has a scl_inter that is not a number", path);
    return STATUS_OK;
}

/* NIfTI's codes of length: a metre, a millimetre, a micrometre; files that do not tell mean millimetres. */
static double unit_in_mm(int units) { return (units & 7) == 1 ? 1e3 : (units & 7) == 3 ? 1e-3 : 1; }

/* Axes of one voxel have no spacing; files without a third dimension say 0 there. */
static status_code parse_spacing(const header_reader *reader, const char *path, nifti_header *header,
                                 failure *failure) {
    volume_grid *grid = &header->grid;
    for (int k = 0; k < 3; k++) {
        double spacing = get_nth_real(reader, reader->layout->spacings, k + 1) * unit_in_mm(grid->units);
        if (spacing == 0 && grid->size[k] == 1) spacing = 1;
        if (!(spacing > 0 && spacing < 1e6))
            return fail(failure, STATUS_CORRUPT,
                        "%s has the spacing %g mm along axis %d; it must be above 0 and below 1e6", path, spacing,
                        k + 1);
        grid->spacing[k] = spacing;
    }
    return STATUS_OK;
}

/* The rotation of a unit quaternion (a, b, c, d) of which the file keeps b, c and d. */
static void rotation_of(const double quaternion[3], double rotation[3][3]) {
    double b = quaternion[0], c = quaternion[1], d = quaternion[2];
    double a = 1 - (b * b + c * c + d * d);
    if (a < 1e-7) {
        const double length = sqrt(b * b + c * c + d * d);
        b /= length;
        c /= length;
        d /= length;
        a = 0;
    }
    a = sqrt(a);
    const double rows[3][3] = {{a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)},
                               {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)},
                               {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c}};
    memcpy(rotation, rows, sizeof rows);
}

static void affine_from_qform(volume_grid *grid) {
    double rotation[3][3];
    rotation_of(grid->quaternion, rotation);
    for (int row = 0; row < 3; row++) {
        for (int axis = 0; axis < 3; axis++)
            grid->affine[row][axis] = rotation[row][axis] * grid->spacing[axis] * (axis == 2 ? grid->qfac : 1);
        grid->affine[row][3] = grid->offset[row] * unit_in_mm(grid->units);
    }
}

static void choose_affine(volume_grid *grid) {
    memset(grid->affine, 0, sizeof grid->affine);
    if (grid->sform_code > 0)
        for (int k = 0; k < 12; k++) grid->affine[k / 4][k % 4] = grid->sform[k / 4][k % 4] * unit_in_mm(grid->units);
    else if (grid->qform_code > 0) affine_from_qform(grid);
    else
        for (int axis = 0; axis < 3; axis++) grid->affine[axis][axis] = grid->spacing[axis];
}

/* What no code vouches for is often not set, so it is not judged; but only numbers are kept. */
static double finite_or_zero(double value) { return isfinite(value) ? value : 0; }

static status_code parse_affine(const header_reader *reader, const char *path, nifti_header *header, failure *failure) {
    const layout *layout = reader->layout;
    volume_grid *grid = &header->grid;
    grid->qform_code = (int)get_whole(reader, layout->qform_code, layout->code);
    grid->sform_code = (int)get_whole(reader, layout->sform_code, layout->code);
    grid->qfac = get_real(reader, layout->spacings) < 0 ? -1 : 1;
    int good_qform = 1, good_sform = 1;
    for (int k = 0; k < 3; k++) {
        const double quaternion = get_nth_real(reader, layout->quaternion, k);
        const double offset = get_nth_real(reader, layout->qoffset, k);
        good_qform &= fabs(quaternion) <= 2 && isfinite(offset * unit_in_mm(grid->units));
        grid->quaternion[k] = finite_or_zero(quaternion);
        grid->offset[k] = finite_or_zero(offset);
    }
    for (int k = 0; k < 12; k++) {
        const double value = get_nth_real(reader, layout->sform, k);
        good_sform &= isfinite(value * unit_in_mm(grid->units)) != 0;
        grid->sform[k / 4][k % 4] = finite_or_zero(value);
    }
    if (grid->sform_code > 0 && !good_sform)
        return fail(failure, STATUS_CORRUPT, "%s has an sform with entries that are not numbers", path);
    if (grid->qform_code > 0 && !good_qform)
        return fail(failure, STATUS_CORRUPT, "%s has a qform that is not a rotation and an offset", path);
    choose_affine(grid);
    return STATUS_OK;
}

status_code nifti_header_parse(const uint8_t *bytes, size_t count, const char *path, nifti_header *header,
                               failure *failure) {
    *header = (nifti_header){.channels = 1};
    header_reader reader = {.bytes = bytes};
    if (!find_layout(&reader, count))
        return fail(failure, STATUS_CORRUPT, "%s is not a NIfTI file: it does not begin with the size of a header",
                    path);
    header->big_endian = reader.big_endian;
    header->grid.nifti_version = reader.layout == &LAYOUTS[0] ? 1 : 2;
    header->grid.units = (int)get_bits(&reader, reader.layout->units, reader.layout->code == 2 ? 1 : 4);
    status_code status = check_magic(&reader, count, path, failure);
    if (status == STATUS_OK) status = parse_type(&reader, path, header, failure);
    if (status == STATUS_OK) status = parse_dimensions(&reader, path, header, failure);
    if (status == STATUS_OK) status = parse_offset(&reader, path, header, failure);
    if (status == STATUS_OK) status = parse_scaling(&reader, path, header, failure);
    if (status == STATUS_OK) status = parse_spacing(&reader, path, header, failure);
    return status == STATUS_OK ? parse_affine(&reader, path, header, failure) : status;
}

typedef struct header_writer {
    uint8_t *bytes;
    const layout *layout;
} header_writer;

static void put_bits(header_writer *writer, int offset, int size, uint64_t bits) {
    for (int k = 0; k < size; k++) writer->bytes[offset + k] = (uint8_t)(bits >> 8 * k);
}

static void put_real(header_writer *writer, int offset, int index, double value) {
    const int size = writer->layout->real;
    uint64_t bits = 0;
    if (size == 8) {
        memcpy(&bits, &value, sizeof value);
    } else {
        const float small = (float)value;
        uint32_t half;
        memcpy(&half, &small, sizeof half);
        bits = half;
    }
    put_bits(writer, offset + index * size, size, bits);
}

/* The number that is read as this spacing, to the last bit. */
static double spacing_in_file(const volume_grid *grid, int axis) {
    const double unit = unit_in_mm(grid->units), spacing = grid->spacing[axis], near = spacing / unit;
    const double below = nextafter(near, 0), above = nextafter(near, INFINITY);
    return near * unit == spacing ? near : below * unit == spacing ? below : above * unit == spacing ? above : near;
}

/* As many as the file had that the grid is from. */
static int dimensions_in_file(const volume_grid *grid, int channels) {
    if (channels > 1) return 4;
    const int flat = grid->size[2] == 1 && (grid->dimensions == 2 || grid->size[1] == 1);
    return grid->dimensions > 0 && grid->dimensions < 3 && flat ? grid->dimensions : 3;
}

static void put_dimensions(header_writer *writer, const volume_grid *grid, int channels) {
    const layout *layout = writer->layout;
    int64_t sizes[8] = {
        dimensions_in_file(grid, channels), grid->size[0], grid->size[1], grid->size[2], channels, 1, 1, 1};
    for (int k = 0; k < 8; k++)
        put_bits(writer, layout->dimensions + k * layout->whole, layout->whole, (uint64_t)sizes[k]);
    for (int k = 0; k < 8; k++)
        put_real(writer, layout->spacings, k, k == 0 ? grid->qfac : k <= 3 ? spacing_in_file(grid, k - 1) : 1);
}

static void put_affine(header_writer *writer, const volume_grid *grid) {
    const layout *layout = writer->layout;
    put_bits(writer, layout->qform_code, layout->code, (uint64_t)(int64_t)grid->qform_code);
    put_bits(writer, layout->sform_code, layout->code, (uint64_t)(int64_t)grid->sform_code);
    for (int k = 0; k < 3; k++) put_real(writer, layout->quaternion, k, grid->quaternion[k]);
    for (int k = 0; k < 3; k++) put_real(writer, layout->qoffset, k, grid->offset[k]);
    for (int k = 0; k < 12; k++) put_real(writer, layout->sform, k, grid->sform[k / 4][k % 4]);
}

/* Version 1 keeps sizes in 15 bits. */
static int needs_version_2(const volume_grid *grid, int channels) {
    return grid->nifti_version == 2 || grid->size[0] > SHRT_MAX || grid->size[1] > SHRT_MAX ||
           grid->size[2] > SHRT_MAX || channels > SHRT_MAX;
}

size_t nifti_header_write(const volume_grid *grid, int channels, nifti_type type, uint8_t bytes[NIFTI_LARGEST_FRONT]) {
    memset(bytes, 0, NIFTI_LARGEST_FRONT);
    const int version2 = needs_version_2(grid, channels);
    const layout *layout = &LAYOUTS[version2];
    header_writer writer = {bytes, layout};
    const int front = layout->bytes + 4;
    put_bits(&writer, 0, 4, (uint64_t)layout->bytes);
    memcpy(bytes + layout->magic, version2 ? MAGIC2 : MAGIC1, version2 ? 8 : 4);
    put_bits(&writer, layout->type, 2, (uint64_t)type);
    put_bits(&writer, layout->bits, 2, (uint64_t)(8 * nifti_type_bytes(type)));
    put_dimensions(&writer, grid, channels);
    if (version2) put_bits(&writer, layout->offset, 8, (uint64_t)front);
    else put_real(&writer, layout->offset, 0, front);
    put_real(&writer, layout->slope, 0, 1);
    put_bits(&writer, layout->units, version2 ? 4 : 1, (uint64_t)grid->units);
    put_affine(&writer, grid);
    memcpy(bytes + layout->description, "hws", 3);
    if (!version2) bytes[38] = 'r'; /* "regular", which some readers of ANALYZE want */
    return (size_t)front;
}
