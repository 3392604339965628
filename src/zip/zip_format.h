/* What zip archives are made of: signatures, sizes and the places of fields, as PKWARE's APPNOTE 6.3 has them. */
#ifndef HWS_ZIP_ZIP_FORMAT_H
#define HWS_ZIP_ZIP_FORMAT_H

#define ZIP_LOCAL UINT32_C(0x04034b50)
#define ZIP_CENTRAL UINT32_C(0x02014b50)
#define ZIP_END UINT32_C(0x06054b50)
#define ZIP64_END UINT32_C(0x06064b50)
#define ZIP64_LOCATOR UINT32_C(0x07064b50)
#define ZIP_SEE_64 UINT32_C(0xffffffff) /* the number stands in the zip64 field */

enum {
    ZIP_LOCAL_BYTES = 30,
    ZIP_CENTRAL_BYTES = 46,
    ZIP_END_BYTES = 22,
    ZIP64_END_BYTES = 56,
    ZIP64_LOCATOR_BYTES = 20,
    ZIP_EXTRA_BYTES = 4, /* number and size of an extra field */
    ZIP64_EXTRA = 1,
    ZIP_STORED = 0,
    ZIP_DEFLATED = 8,
    ZIP_ENCRYPTED = 1 /* a flag */
};

#endif
