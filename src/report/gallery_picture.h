/* Pictures of examples that a run's folder holds. */
#ifndef HWS_REPORT_GALLERY_PICTURE_H
#define HWS_REPORT_GALLERY_PICTURE_H

#include "core/text.h"
#include "report/run_results.h"
#include "run/run_folder.h"

/* The picture of an example in one of the run's folders of pictures (RUN_HARDEST_PICTURES, RUN_WORST_PICTURES), as a data
   address, or words where there is none. */
void gallery_picture(text *page, const run *run, run_file pictures, const char *example);

#endif
