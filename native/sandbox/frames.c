/*
 * The frames of a command's output as an engine streams it. They may be cut anywhere.
 */
#include "sandbox/engine.h"

static guint32 length_of(const guint8 *head)
{
    return (guint32)head[4] << 24 | (guint32)head[5] << 16 | (guint32)head[6] << 8 | head[7];
}

bool acr_frames_feed(AcrFrames *frames, const char *data, gsize len)
{
    while (len > 0) {
        if (frames->left > 0) {
            gsize n = MIN(len, frames->left);
            frames->take(frames->ctx, frames->head[0] == 2, data, n);
            frames->left -= (guint32)n;
            data += n;
            len -= n;
            continue;
        }
        if (frames->have == sizeof frames->head)
            frames->have = 0;
        frames->head[frames->have++] = (guint8)*data++;
        len--;
        if (frames->have == 1 && frames->head[0] > 2)
            return false;
        if (frames->have == sizeof frames->head)
            frames->left = length_of(frames->head);
    }
    return true;
}
