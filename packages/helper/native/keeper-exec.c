#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "keeper.h"

/* How long a process that was left behind may hold a finished command's output open. */
#define DRAIN_MS 1000

static struct client *client_of(uint64_t job)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (keeper.clients[i].fd >= 0 && keeper.clients[i].kind == CLIENT_EXEC && keeper.clients[i].exec.job == job)
			return &keeper.clients[i];
	return NULL;
}

static void close_end(int *fd)
{
	if (*fd < 0)
		return;
	unwatch_fd(*fd);
	close(*fd);
	*fd = -1;
}

static void close_theirs(struct exec *e)
{
	for (int i = 0; i < 3; i++)
		if (e->theirs[i] >= 0)
			close(e->theirs[i]);
	e->theirs[0] = e->theirs[1] = e->theirs[2] = -1;
}

void exec_close(struct client *c)
{
	struct exec *e = &c->exec;

	/* Its client is gone: nobody waits for what it does. */
	if (!e->ended && !keeper.init_gone)
		ask_signal(e->job, SIGKILL);
	close_theirs(e);
	close_end(&e->in);
	close_end(&e->out);
	close_end(&e->err);
}

static int make_pipe(int *ours, int *theirs, bool we_read)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	*ours = ends[we_read ? 0 : 1];
	*theirs = ends[we_read ? 1 : 0];
	return fcntl(*ours, F_SETFL, O_NONBLOCK);
}

static int make_pipes(struct exec *e)
{
	e->theirs[0] = e->theirs[1] = e->theirs[2] = -1;
	if (make_pipe(&e->in, &e->theirs[0], false) < 0 || make_pipe(&e->out, &e->theirs[1], true) < 0 ||
	    make_pipe(&e->err, &e->theirs[2], true) < 0)
		return -1;
	return 0;
}

void exec_begin(struct client *c, const struct records *request)
{
	const char *cwd = records_get(request, "cwd"), *group = records_get(request, "group"), *limit = records_get(request, "timeout_ms");
	struct exec *e = &c->exec;
	uint64_t timeout = 0;

	if (!cwd || cwd[0] != '/' || !group || (strcmp(group, "agent") != 0 && strcmp(group, "side") != 0) ||
	    records_count(request, "arg") == 0 || (limit && parse_u64(limit, 1, NEVER / 4, &timeout) < 0))
		return answer_error(c, "bad_request", "exec needs arg, an absolute cwd, group=agent or side");
	*e = (struct exec){ .job = ++keeper.next_job, .in = -1, .out = -1, .err = -1, .drain_until = NEVER, .deadline = NEVER };
	c->kind = CLIENT_EXEC;
	if (timeout > 0)
		e->deadline = now_ms() + timeout;
	if (make_pipes(e) < 0 || ask_run(e->job, request, cwd, group, e->theirs) < 0) {
		e->ended = true;
		answer_error(c, "spawn_failed", strerror(errno));
	}
	close_theirs(e);
}

void exec_started(uint64_t job)
{
	struct client *c = client_of(job);

	if (!c)
		return ask_signal(job, SIGKILL);
	c->exec.started = true;
	queue_frame(c, 'A', "ok=1", 5);
	client_resume_input(c);
}

void exec_not_started(uint64_t job, const char *message)
{
	struct client *c = client_of(job);

	if (!c)
		return;
	c->exec.ended = true;
	answer_error(c, "spawn_failed", message ? message : "init gave no reason");
	client_update(c);
}

void exec_ended(uint64_t job, const struct records *facts)
{
	static const char *const keys[] = { "code", "signal", "utime_us", "stime_us", "maxrss_kb" };
	struct client *c = client_of(job);
	struct record_writer w;

	if (!c)
		return;
	w = (struct record_writer){ .buf = c->exec.end_record, .cap = sizeof c->exec.end_record };
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (records_get(facts, keys[i]))
			put_str(&w, keys[i], records_get(facts, keys[i]));
	c->exec.end_len = w.len;
	c->exec.ended = true;
	c->exec.deadline = NEVER;
	c->exec.drain_until = now_ms() + DRAIN_MS;
	close_end(&c->exec.in);
	client_update(c);
}

/* One piece of output into the client's buffer. Returns false when there is none now. */
static bool pump_output(struct client *c, int *fd, char type)
{
	ssize_t n;

	if (*fd < 0)
		return false;
	n = read(*fd, c->out + 5, CHUNK);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		close_end(fd);
		return false;
	}
	/* Bytes still come: the drain time is for silence. */
	if (c->exec.ended)
		c->exec.drain_until = now_ms() + DRAIN_MS;
	return queue_frame(c, type, NULL, (size_t)n);
}

void exec_pump(struct client *c)
{
	struct exec *e = &c->exec;

	if (!e->started || c->out_len > 0)
		return;
	if (pump_output(c, &e->out, 'O') || pump_output(c, &e->err, 'E')) {
		/* Until this piece is sent nothing more is read, so the command waits for its reader. */
		return;
	}
	if (e->out >= 0)
		watch_fd(e->out, EPOLLIN, SRC_JOB_OUT, client_index(c));
	if (e->err >= 0)
		watch_fd(e->err, EPOLLIN, SRC_JOB_ERR, client_index(c));
	if (e->ended && !e->queued_end && e->out < 0 && e->err < 0) {
		e->queued_end = queue_frame(c, 'Q', e->end_record, e->end_len);
		c->closing = e->queued_end;
	}
}

void exec_event(size_t index, enum source source)
{
	struct client *c = &keeper.clients[index];

	if (c->fd < 0 || c->kind != CLIENT_EXEC)
		return;
	if (source == SRC_JOB_IN) {
		unwatch_fd(c->exec.in);
		return client_resume_input(c);
	}
	client_update(c);
	/* The socket is full: without this the readable pipe would wake us for ever. */
	if (c->fd >= 0 && c->out_len > 0) {
		if (c->exec.out >= 0)
			unwatch_fd(c->exec.out);
		if (c->exec.err >= 0)
			unwatch_fd(c->exec.err);
	}
}

ssize_t exec_input(struct client *c, const char *bytes, size_t len)
{
	struct exec *e = &c->exec;
	ssize_t n;

	if (e->in < 0)
		return -1;
	if (len == 0) {
		close_end(&e->in);
		return 0;
	}
	n = write(e->in, bytes, len);
	if (n > 0)
		return n;
	if (errno == EAGAIN) {
		watch_fd(e->in, EPOLLOUT, SRC_JOB_IN, client_index(c));
		return 0;
	}
	close_end(&e->in);
	return -1;
}

uint64_t exec_deadline(void)
{
	uint64_t at = NEVER;

	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		const struct client *c = &keeper.clients[i];

		if (c->fd < 0 || c->kind != CLIENT_EXEC)
			continue;
		if (c->exec.deadline < at)
			at = c->exec.deadline;
		if (c->exec.drain_until < at && c->out_len == 0)
			at = c->exec.drain_until;
	}
	return at;
}

void exec_timers(uint64_t now)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &keeper.clients[i];

		if (c->fd < 0 || c->kind != CLIENT_EXEC)
			continue;
		if (now >= c->exec.deadline) {
			c->exec.deadline = NEVER;
			ask_signal(c->exec.job, SIGKILL);
		}
		if (now >= c->exec.drain_until && c->out_len == 0) {
			c->exec.drain_until = NEVER;
			close_end(&c->exec.out);
			close_end(&c->exec.err);
			client_update(c);
		}
	}
}
