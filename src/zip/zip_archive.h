/*
 * Zip archives in memory, read strictly: what PyTorch's and numpy's files are made of.
 *
 *     zip_archive *archive;
 *     status = zip_open(&archive, bytes, size, path, &failure);
 *     const zip_entry *entry = zip_find(archive, "archive/data.pkl");
 *     status = zip_read(archive, entry, destination, &failure);
 *     zip_close(&archive);
 *
 * Entries are stored or deflated; encrypted ones, archives in several parts, names that come twice and everything that
 * lies outside of the bytes are refused. zip64 is read where sizes need it. The archive's own directory is believed; of
 * the headers before the entries only the place of the data is taken, and that they name the same entry.
 */
#ifndef HWS_ZIP_ZIP_ARCHIVE_H
#define HWS_ZIP_ZIP_ARCHIVE_H

#include "core/failure.h"

#include <stddef.h>
#include <stdint.h>

typedef struct zip_entry {
    const char *name;
    int deflated;               /* 0: stored as it is */
    const unsigned char *bytes; /* in the archive */
    size_t packed;              /* how many they are there */
    size_t size;  /* and how many when they are unpacked, as the archive says: ask before allocating them */
    uint32_t crc; /* CRC-32 of the unpacked bytes */
} zip_entry;

typedef struct zip_archive zip_archive;

/* The bytes must outlive the archive. `what` stands for the file in messages. */
status_code zip_open(zip_archive **archive, const void *bytes, size_t size, const char *what, failure *failure);
void zip_close(zip_archive **archive);

/* The entries in the order of their names; NULL if there is none of a name. */
size_t zip_count(const zip_archive *archive);
const zip_entry *zip_at(const zip_archive *archive, size_t index);
const zip_entry *zip_find(const zip_archive *archive, const char *name);

/* Unpacks entry->size bytes. STATUS_CORRUPT when they are not as many or their checksum does not match. */
status_code zip_read(const zip_archive *archive, const zip_entry *entry, void *destination, failure *failure);

/* The same for a stored entry that is used in its place: compares its checksum. */
status_code zip_verify(const zip_archive *archive, const zip_entry *entry, failure *failure);

#endif
