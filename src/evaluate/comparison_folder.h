/* The files of a comparison: the same table as text, CSV, Markdown, LaTeX and JSON. */
#ifndef HWS_EVALUATE_COMPARISON_FOLDER_H
#define HWS_EVALUATE_COMPARISON_FOLDER_H

#include "core/failure.h"
#include "core/text.h"
#include "evaluate/table.h"

/* Makes the table in one format. */
typedef status_code (*comparison_writer)(const void *context, table_format format, text *out, failure *failure);

/* Writes all of them into the folder, which is made. */
status_code comparison_folder_write(const char *folder, comparison_writer write, const void *context, failure *failure);

#endif
