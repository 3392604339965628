/* Picture files that are missing or broken: what is told of them. */
#ifndef HWS_IMAGES_BROKEN_PICTURES_H
#define HWS_IMAGES_BROKEN_PICTURES_H

#include "core/listener.h"
#include "images/example_list.h"

/* Each complaint is about the picture of its number; NULL: that is all right. */
size_t broken_pictures_count(const example_list *list, char *const *complaints);

/*
 * Fails if there are any. All are named, up to fifty: the first ones by the failure, the others by notices before it;
 * of more than fifty the first ones alone. Where nothing but files that are not there is wrong the failure tells of
 * them in one line, and how their names must end if they are there under such names. `others` says what becomes of the
 * rest, as in "; the others are scored"; "" if nothing does.
 */
status_code broken_pictures_fail(const example_list *list, char *const *complaints, const char *others,
                                 const listener *listener, failure *failure);

#endif
