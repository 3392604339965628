#include "evaluate/comparison_folder.h"

#include "core/path.h"
#include "run/run_folder.h"

static const struct {
    table_format format;
    run_file file;
} FILES[] = {{TABLE_CSV, RUN_COMPARISON_CSV},
             {TABLE_TEXT, RUN_COMPARISON_TEXT},
             {TABLE_MARKDOWN, RUN_COMPARISON_MARKDOWN},
             {TABLE_LATEX, RUN_COMPARISON_LATEX},
             {TABLE_JSON, RUN_COMPARISON_JSON}};

status_code comparison_folder_write(const char *folder, comparison_writer write, const void *context,
                                    failure *failure) {
    status_code status = folder_make(folder, failure);
    for (size_t k = 0; k < sizeof FILES / sizeof *FILES && status == STATUS_OK; k++) {
        text out = {0};
        status = write(context, FILES[k].format, &out, failure);
        if (status == STATUS_OK) status = run_write(folder, FILES[k].file, &out, failure);
        text_close(&out);
    }
    return status;
}
