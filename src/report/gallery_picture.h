/* Pictures of examples that a run's folder holds. */
#ifndef HWS_REPORT_GALLERY_PICTURE_H
#define HWS_REPORT_GALLERY_PICTURE_H

#include "core/text.h"
#include "report/run_results.h"
#include "run/run_folder.h"

/* The picture of an example in one of the run's folders of pictures (RUN_HARDEST_PICTURES, RUN_WORST_PICTURES), as a data
   address, or words where there is none. */
void gallery_picture(text *page, const run *run, run_file pictures, const char *example);

/* What an example is called and what the network takes it for: two classes, or words about a case. */
void gallery_verdict(text *page, const run *run, const char *label, const char *prediction);

/* Its name in an element. Cases have names, which come first, in a <b>; other examples have numbers, which come last. */
void gallery_identity(text *page, const char *open, const char *close, const char *example);

#endif
