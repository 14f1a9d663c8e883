/*
 * Children of the daemon. A client's path may lie on a file system that never answers, and a control file may make its writer wait for the
 * kernel: such work is done in a child, which reports one record list on a pipe and has a deadline.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "helper.h"

#define REPORT_MAX 4096 /* a pipe keeps a write of this size whole */

struct child *child_new(struct helper *h)
{
	for (size_t i = 0; i < MAX_CHILDREN; i++) {
		struct child *c = &h->children[i];

		if (c->used)
			continue;
		*c = (struct child){ .pidfd = -1, .report = -1 };
		return c;
	}
	return NULL;
}

void child_detach(struct helper *h)
{
	struct rlimit files = { .rlim_cur = h->files_limit, .rlim_max = h->files_limit_max };
	sigset_t none;

	setsid();
	sigemptyset(&none);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setrlimit(RLIMIT_NOFILE, &files);
	umask(022);
	/* Ours protects the daemon from the OOM killer; a child that kept it would protect whatever it becomes. */
	if (h->oom_lowered) {
		fd_auto int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

		if (fd < 0 || write(fd, "0", 1) != 1)
			_exit(70);
	}
}

void report_error(int report, const struct error *err)
{
	char text[REPORT_MAX];
	struct record_writer w = { .buf = text, .cap = sizeof text };

	put_str(&w, "error", err->code);
	put_str(&w, "message", err->text);
	if (write(report, text, w.len) < 0)
		_exit(71);
}

int child_start(struct helper *h, struct child *c, child_run *run, child_done *done, struct error *err)
{
	fd_auto int reader = -1;
	fd_auto int writer = -1;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(err, "internal", "pipe");
	reader = ends[0];
	writer = ends[1];
	c->pid = fork();
	if (c->pid < 0)
		return fail_errno(err, "internal", "fork");
	if (c->pid == 0) {
		child_detach(h);
		_exit(run(h, c, writer) < 0 ? 1 : 0);
	}
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	fcntl(reader, F_SETFL, O_NONBLOCK);
	if (c->pidfd < 0 || loop_add(h, reader, EPOLL_CHILD, (int)(c - h->children), EPOLLIN) < 0) {
		kill(c->pid, SIGKILL); /* our own child, not yet reaped: the number is still his */
		close_fd(&c->pidfd);
		return fail_errno(err, "internal", "a child cannot be watched");
	}
	c->report = take_fd(&reader);
	c->deadline = now_ms() + CHILD_TIMEOUT_MS;
	c->done = done;
	c->used = true;
	return 0;
}

/* The slot is free before `done` runs, which may want one. */
static void finish(struct helper *h, struct child *c, const struct records *report, struct error *err)
{
	struct child done = *c;

	close_fd(&c->report);
	close_fd(&c->pidfd);
	c->used = false;
	done.done(h, &done, report, err);
}

void child_serve(struct helper *h, int index)
{
	static struct records list;
	struct child *c = &h->children[index];
	char text[REPORT_MAX];
	struct error err;
	ssize_t n;

	if (!c->used)
		return;
	n = read(c->report, text, sizeof text);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || records_parse(text, (size_t)n, &list) < 0) {
		fail(&err, "spawn_failed", "the child ended without a report");
		finish(h, c, NULL, &err);
		return;
	}
	finish(h, c, &list, &err);
}

int64_t children_expire(struct helper *h, int64_t now)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < MAX_CHILDREN; i++) {
		struct child *c = &h->children[i];
		struct error err;

		if (!c->used)
			continue;
		if (now < c->deadline) {
			next = c->deadline < next ? c->deadline : next;
			continue;
		}
		syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
		fail(&err, "timeout", "it took more than %d s; a path of the request may lie on a file system that does not answer",
		     CHILD_TIMEOUT_MS / 1000);
		finish(h, c, NULL, &err);
	}
	return next;
}

void children_reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}
