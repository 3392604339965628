/* Pictures of examples that a run's folder holds, and cards with them. */
#ifndef HWS_REPORT_GALLERY_PICTURE_H
#define HWS_REPORT_GALLERY_PICTURE_H

#include "core/text.h"
#include "report/section.h"
#include "run/run_folder.h"

/* The picture of an example in one of the run's folders of pictures (RUN_HARDEST_PICTURES, RUN_WORST_PICTURES), as a
   data address, or words where there is none. */
void gallery_picture(text *page, const run *run, run_file pictures, const char *example);

/* What an example is called and what the network takes it for: two classes, or words about a case. */
void gallery_verdict(text *page, const run *run, const char *label, const char *prediction);

/* Its name in an element: a case's, which comes first, in a <b>; others', which come last, in a <span>. A number has a
   # before it, a file is called without its folder. */
void gallery_identity(text *page, const char *open, const char *close, const char *example);

/* Cards of rows of a table, which `add` writes as a <li> each: as many as suit the number of runs,
   the others behind a button. */
enum { GALLERY_MOST = 64 }; /* cards, at all */
typedef void gallery_card(text *page, const run *run, size_t row);
typedef struct gallery_list {
    const run_table *table;
    const size_t *rows; /* NULL: the first `count` */
    size_t count;
    gallery_card *add;
} gallery_list;
void gallery_cards(text *page, const runs *runs, const run *run, const gallery_list *list);

#endif
