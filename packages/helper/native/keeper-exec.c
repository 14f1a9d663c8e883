#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "keeper.h"

/* How long a process that was left behind may hold a finished command's output open. */
#define DRAIN_MS 1000

static bool is_exec(const struct client *c)
{
	return c->port.fd >= 0 && c->kind == CLIENT_EXEC;
}

/* The slot of a job: its client's, or what was kept of it until init hears that it is to be killed. */
static struct client *client_of(uint64_t job)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &keeper.clients[i];

		if ((is_exec(c) || c->exec.kill_unsent) && c->exec.job == job)
			return c;
	}
	return NULL;
}

static void kill_job(struct exec *e)
{
	e->kill_unsent = ask_signal(e->job, SIGKILL) < 0;
}

/* Init knows about the end of a job whose client had left: its slot is free. */
static void settle_slot(struct client *c)
{
	c->exec.ended = true;
	c->exec.kill_unsent = false;
	if (c->port.fd < 0)
		(void)port_arm(&keeper.listener, EPOLLIN);
}

void exec_close(struct client *c)
{
	struct exec *e = &c->exec;

	/* Its client is gone: nobody waits for what it does. */
	if (!e->ended && !keeper.init_gone)
		kill_job(e);
	port_close(&e->in);
	port_close(&e->out);
	port_close(&e->err);
}

/* A pipe between keeper (nonblocking end in `ours`) and job. Returns 0, or -1 with errno. */
static int make_pipe(struct client *c, struct port *ours, enum source source, int *theirs)
{
	int ends[2], read_here = source != SRC_JOB_IN;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	/* A job of another uid opens /dev/stdin by the pipe's own mode. */
	(void)fchmod(ends[0], 0666);
	port_set(ours, ends[read_here ? 0 : 1], source, client_index(c));
	*theirs = ends[read_here ? 1 : 0];
	return fcntl(ours->fd, F_SETFL, O_NONBLOCK);
}

static int start(struct client *c, const struct records *request, const char *cwd, const char *group)
{
	struct exec *e = &c->exec;
	int theirs[3] = { -1, -1, -1 }, result = -1, saved;

	if (make_pipe(c, &e->in, SRC_JOB_IN, &theirs[0]) == 0 && make_pipe(c, &e->out, SRC_JOB_OUT, &theirs[1]) == 0 &&
	    make_pipe(c, &e->err, SRC_JOB_ERR, &theirs[2]) == 0)
		result = ask_run(e->job, request, cwd, group, theirs, 3);
	saved = errno;
	for (int i = 0; i < 3; i++)
		if (theirs[i] >= 0)
			close(theirs[i]);
	errno = saved;
	return result;
}

void exec_begin(struct client *c, const struct records *request)
{
	const char *cwd = records_get(request, "cwd"), *group = records_get(request, "group"), *limit = records_get(request, "timeout_ms");
	struct exec *e = &c->exec;
	uint64_t timeout = 0;

	if (!cwd || cwd[0] != '/' || !group || (strcmp(group, "agent") != 0 && strcmp(group, "side") != 0) ||
	    records_count(request, "arg") == 0)
		return answer_error(c, "bad_request", "exec needs arg, an absolute cwd, group=agent or side");
	if (limit && parse_u64(limit, 1, NEVER / 4, &timeout) < 0)
		return answer_error(c, "bad_request", "timeout_ms is a number from 1 on");
	*e = (struct exec){ .job = ++keeper.next_job, .drain_until = NEVER, .deadline = timeout > 0 ? now_ms() + timeout : NEVER };
	e->in.fd = e->out.fd = e->err.fd = -1;
	c->kind = CLIENT_EXEC;
	if (start(c, request, cwd, group) == 0)
		return;
	e->ended = true;
	answer_error(c, errno == EAGAIN ? "busy" : "spawn_failed", errno == EAGAIN ? "init does not listen; try again" : strerror(errno));
}

void exec_started(uint64_t job)
{
	struct client *c = client_of(job);

	if (!c) {
		/* Its client left before it ran, and init heard the kill before there was a process: once more. */
		(void)ask_signal(job, SIGKILL);
		return;
	}
	if (!is_exec(c))
		return;
	c->exec.started = true;
	queue_frame(c, 'A', "ok=1", 5);
	client_resume_input(c);
}

void exec_not_started(uint64_t job, const char *message)
{
	struct client *c = client_of(job);

	if (!c)
		return;
	settle_slot(c);
	if (!is_exec(c))
		return;
	answer_error(c, "spawn_failed", message);
	client_update(c);
}

static size_t unread(const struct port *p)
{
	int n = 0;

	return p->fd >= 0 && ioctl(p->fd, FIONREAD, &n) == 0 && n > 0 ? (size_t)n : 0;
}

void exec_ended(uint64_t job, const struct records *facts)
{
	static const char *const keys[] = { "code", "signal", "utime_us", "stime_us", "maxrss_kb" };
	struct client *c = client_of(job);
	struct record_writer w;
	struct exec *e;

	if (!c)
		return;
	e = &c->exec;
	settle_slot(c);
	e->deadline = NEVER;
	if (!is_exec(c))
		return;
	w = (struct record_writer){ .buf = e->end_record, .cap = sizeof e->end_record };
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (records_get(facts, keys[i]))
			put_str(&w, keys[i], records_get(facts, keys[i]));
	e->end_len = w.len;
	/* What it wrote itself stands in the pipes now; more can only come from what it left behind. */
	e->owed[0] = unread(&e->out);
	e->owed[1] = unread(&e->err);
	port_close(&e->in);
	client_resume_input(c);
}

/* One piece of output into the client's buffer. Returns false when there is none now. */
static bool pump_output(struct client *c, struct port *p, char type, size_t *owed)
{
	ssize_t n;

	if (p->fd < 0)
		return false;
	n = read(p->fd, c->out + FRAME_HEADER, CHUNK);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		port_close(p);
		*owed = 0;
		return false;
	}
	*owed -= (size_t)n < *owed ? (size_t)n : *owed;
	return queue_frame(c, type, NULL, (size_t)n);
}

static bool pump_either(struct client *c)
{
	struct exec *e = &c->exec;

	for (int i = 0; i < 2; i++) {
		bool err = e->err_next;

		e->err_next = !err;
		if (err ? pump_output(c, &e->err, 'E', &e->owed[1]) : pump_output(c, &e->out, 'O', &e->owed[0]))
			return true;
	}
	return false;
}

void exec_pump(struct client *c)
{
	struct exec *e = &c->exec;

	/* Until a piece is sent nothing more is read, so the command waits for its reader. */
	if (!e->started || c->out_len > 0 || pump_either(c) || !e->ended)
		return;
	if (e->out.fd < 0 && e->err.fd < 0)
		c->closing = queue_frame(c, 'Q', e->end_record, e->end_len);
	else if (e->drain_until == NEVER && e->owed[0] == 0 && e->owed[1] == 0)
		e->drain_until = now_ms() + DRAIN_MS;
}

void exec_arm(struct client *c)
{
	struct exec *e = &c->exec;

	if (e->started && c->out_len == 0) {
		(void)port_arm(&e->out, EPOLLIN);
		(void)port_arm(&e->err, EPOLLIN);
	} else {
		port_rest(&e->out);
		port_rest(&e->err);
	}
	if (e->started && c->in_waits)
		(void)port_arm(&e->in, EPOLLOUT);
	else
		port_rest(&e->in);
}

void exec_event(struct client *c, enum source source)
{
	if (!is_exec(c))
		return;
	if (source == SRC_JOB_IN)
		client_resume_input(c);
	else
		client_update(c);
}

ssize_t exec_input(struct client *c, const char *bytes, size_t len)
{
	struct exec *e = &c->exec;
	ssize_t n;

	if (e->in.fd < 0)
		return -1;
	if (len == 0) {
		port_close(&e->in);
		return 0;
	}
	n = write(e->in.fd, bytes, len);
	if (n > 0)
		return n;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	port_close(&e->in);
	return -1;
}

uint64_t exec_deadline(const struct client *c)
{
	if (c->exec.kill_unsent)
		return now_ms() + 100;
	if (!is_exec(c))
		return NEVER;
	return c->exec.deadline < c->exec.drain_until ? c->exec.deadline : c->exec.drain_until;
}

void exec_timers(struct client *c, uint64_t now)
{
	struct exec *e = &c->exec;

	if (e->kill_unsent) {
		kill_job(e);
		if (!e->kill_unsent && c->port.fd < 0)
			(void)port_arm(&keeper.listener, EPOLLIN);
	}
	if (!is_exec(c))
		return;
	if (now >= e->deadline) {
		e->deadline = NEVER;
		kill_job(e);
	}
	if (now >= e->drain_until) {
		e->drain_until = NEVER;
		port_close(&e->out);
		port_close(&e->err);
		client_update(c);
	}
}
