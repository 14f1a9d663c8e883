#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "keeper.h"

/* How often a disk that took nothing is asked again. */
#define RETRY_MS 500

static int open_log(const char *name)
{
	int fd = openat(keeper.dir, name, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		fail_start("spawn_failed", "%s/%s cannot be written: %s", keeper.spec.dir, name, strerror(errno));
	return fd;
}

void open_logs(void)
{
	keeper.out.source = keeper.err.source = -1;
	keeper.out.retry_at = keeper.err.retry_at = NEVER;
	keeper.out.log = open_log("stdout.log");
	keeper.err.log = keeper.spec.merge ? -1 : open_log("stderr.log");
}

static enum source source_of(const struct output *out)
{
	return out == &keeper.out ? SRC_OUT : SRC_ERR;
}

void output_close(struct output *out)
{
	if (out->source < 0)
		return;
	unwatch_fd(out->source);
	close(out->source);
	out->source = -1;
}

/*
 * Writes what waits in the buffer. While the disk takes nothing the source is not read, so the agent waits in its write:
 * it is slowed down, but no byte is lost. Past log_max bytes are counted and dropped.
 */
static void flush(struct output *out)
{
	while (out->pending > 0) {
		size_t room = out->bytes < keeper.spec.log_max ? (size_t)(keeper.spec.log_max - out->bytes) : 0;
		size_t want = out->pending < room ? out->pending : room;
		ssize_t n;

		if (want == 0) {
			out->dropped += out->pending;
			out->pending = 0;
			break;
		}
		n = write(out->log, out->buf + out->pending_at, want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			out->retry_at = now_ms() + RETRY_MS;
			if (out->source >= 0)
				unwatch_fd(out->source);
			return;
		}
		out->pending_at += (size_t)n;
		out->pending -= (size_t)n;
		out->bytes += (uint64_t)n;
	}
	if (out->retry_at != NEVER && out->source >= 0)
		watch_fd(out->source, EPOLLIN, source_of(out), 0);
	out->retry_at = NEVER;
}

void output_ready(struct output *out)
{
	ssize_t n;

	if (out->source < 0 || out->pending > 0)
		return;
	n = read(out->source, out->buf, sizeof out->buf);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* A terminal without a process answers EIO: that is its end of file. */
	if (n <= 0) {
		output_close(out);
		return;
	}
	out->pending_at = 0;
	out->pending = (size_t)n;
	flush(out);
	if (out == &keeper.out)
		serve_viewers();
}

void output_retry(struct output *out, uint64_t now)
{
	if (now < out->retry_at)
		return;
	flush(out);
	if (out == &keeper.out)
		serve_viewers();
}

bool output_drained(const struct output *out)
{
	return out->source < 0 && out->pending == 0;
}
