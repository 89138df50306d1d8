/* origin: the repository and commit from which a run began. A pull request is made from the origin
 * and the run's result. */
#pragma once

#include "task/task.h"

/* All members are owned. Zero-initialise the struct. */
typedef struct {
    AcrRunResult result;
    char *repo; /* the run's repository; NULL if it was a folder without git */
    /* the commit that has the run's files, or on which they are based; NULL if there is none */
    char *commit;
    bool is_changed; /* the run began with uncommitted changes */
} AcrOrigin;
void acr_origin_clear(AcrOrigin *origin);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrOrigin, acr_origin_clear)
/* Reads the origin from a run folder. Errors: USAGE (not a run folder), ENVIRONMENT (the folder
 * is damaged), UNFINISHED (there is no patch, or it was rejected). */
bool acr_origin_read(const char *dir, AcrOrigin *out, GError **error) ACR_MUST_USE;
/* Applies the patch to the origin's commit; owned. `repo` replaces the run's repository; may be
 * NULL. Errors: ENVIRONMENT (there is no commit; the patch does not apply to the commit alone),
 * those of vcs. */
AcrOverlay *acr_origin_apply(const AcrOrigin *origin, const char *repo, AcrRepo **out_repo,
                             GError **error) ACR_MUST_USE;
