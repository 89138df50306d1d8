/* origin: where a run began: what a pull request is made of beside its result. */
#ifndef ACR_TASK_ORIGIN_H
#define ACR_TASK_ORIGIN_H

#include "task/task.h"

/* All owned. Zero-initialise. */
typedef struct {
    AcrRunResult result;
    char *repo;   /* the repository that the run was started with; NULL: a folder without git */
    char *commit; /* what its files are of, or over; NULL: none */
} AcrOrigin;
void acr_origin_clear(AcrOrigin *origin);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrOrigin, acr_origin_clear)
/* Of a run folder. Errors: USAGE (it is not one), ENVIRONMENT (damaged), UNFINISHED (no patch that nothing
 * rejected). */
bool acr_origin_read(const char *dir, AcrOrigin *out, GError **error) ACR_MUST_USE;
/* The patch on top of that commit; owned. `repo`: in place of the run's; may be NULL. Errors: ENVIRONMENT
 * (there is no commit; the patch does not apply to it alone), those of vcs. */
AcrOverlay *acr_origin_apply(const AcrOrigin *origin, const char *repo, AcrRepo **out_repo,
                             GError **error) ACR_MUST_USE;

#endif
