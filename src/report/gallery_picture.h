/* Pictures of examples that a run's folder holds. */
#ifndef HWS_REPORT_GALLERY_PICTURE_H
#define HWS_REPORT_GALLERY_PICTURE_H

#include "core/text.h"
#include "report/run_results.h"
#include "run/run_folder.h"

/* FOLDER/EXAMPLE.png of the run (RUN_HARDEST_PICTURES or RUN_WORST_PICTURES), as a data address, or words where there is none. */
void gallery_picture(text *page, const run *run, run_file folder, const char *example);

#endif
