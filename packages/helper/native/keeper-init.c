#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "init-kill.h"
#include "keeper.h"

/* How long output may stay open after all processes of the agent are gone: somebody outside holds it. */
#define DRAIN_MS 2000

static char message[FRAME_MAX];
static struct records facts;

static _Noreturn void exec_init(int ctl)
{
	static char self[4096], program[4128], number[16];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n > 0) {
		self[n] = '\0';
		snprintf(program, sizeof program, "%s/drover-init", dirname(self));
		snprintf(number, sizeof number, "%d", ctl);
		fcntl(ctl, F_SETFD, 0);
		execl(program, "drover-init", "--ctl-fd", number, (char *)NULL);
	}
	_exit(127);
}

void start_basic_init(void)
{
	int pair[2];

	/* Should init die, its orphans come here and are ended; in a pid namespace the kernel does that. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		fail_start("spawn_failed", "socketpair: %s", strerror(errno));
	keeper.init = fork();
	if (keeper.init < 0)
		fail_start("spawn_failed", "fork: %s", strerror(errno));
	if (keeper.init == 0) {
		/* Its own copy of these numbers; all others are close-on-exec. */
		exec_init(pair[1]);
	}
	close(pair[1]);
	keeper.ctl = pair[0];
}

/* Header records, then args and environment of `request`. */
int ask_run(uint64_t job, const struct records *request, const char *cwd, const char *group, const int fds[3])
{
	static char buf[FRAME_MAX];
	struct record_writer w = { .buf = buf, .cap = sizeof buf };

	put_u64(&w, "run", job);
	put_str(&w, "cwd", cwd);
	put_str(&w, "group", group);
	if (!fds) {
		put_str(&w, "tty", "1");
		put_u64(&w, "rows", keeper.spec.rows);
		put_u64(&w, "cols", keeper.spec.cols);
	}
	for (size_t i = 0; i < request->count; i++)
		if (record_is(&request->at[i], "arg"))
			put_str(&w, "arg", request->at[i].value);
		else if (record_is(&request->at[i], "env"))
			put_str(&w, "env", request->at[i].value);
	if (w.full) {
		errno = E2BIG;
		return -1;
	}
	return channel_send(keeper.ctl, w.buf, w.len, fds, fds ? 3 : 0);
}

static void tell_init(const char *key, uint64_t value, const char *key2, uint64_t value2)
{
	char buf[64];
	struct record_writer w = { .buf = buf, .cap = sizeof buf };

	put_u64(&w, key, value);
	if (key2)
		put_u64(&w, key2, value2);
	/* An init that is gone is noticed by the end of the channel. */
	(void)channel_send(keeper.ctl, w.buf, w.len, NULL, 0);
}

void ask_signal(uint64_t job, int number)
{
	tell_init("signal", job, "number", (uint64_t)number);
}

static void ask_killall(void)
{
	keeper.killing = true;
	keeper.kill_at = NEVER;
	tell_init("killall", 1, NULL, 0);
}

static void add_output(struct output *out, int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	out->source = fd;
	if (watch_fd(fd, EPOLLIN, out == &keeper.out ? SRC_OUT : SRC_ERR, 0) < 0)
		fail_start("spawn_failed", "epoll: %s", strerror(errno));
}

static void make_pipe(struct output *out, int *theirs)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		fail_start("spawn_failed", "pipe: %s", strerror(errno));
	*theirs = ends[1];
	add_output(out, ends[0]);
}

static void start_job0(void)
{
	int fds[3];

	if (keeper.spec.tty) {
		if (ask_run(0, &spec_records, keeper.spec.cwd, "agent", NULL) < 0)
			fail_start("spawn_failed", "init cannot be asked: %s", strerror(errno));
		return;
	}
	fds[0] = open(keeper.spec.stdin_path ? keeper.spec.stdin_path : "/dev/null", O_RDONLY | O_CLOEXEC);
	if (fds[0] < 0)
		fail_start("bad_path", "%s cannot be read: %s", keeper.spec.stdin_path, strerror(errno));
	make_pipe(&keeper.out, &fds[1]);
	if (keeper.spec.merge)
		fds[2] = fds[1];
	else
		make_pipe(&keeper.err, &fds[2]);
	if (ask_run(0, &spec_records, keeper.spec.cwd, "agent", fds) < 0)
		fail_start("spawn_failed", "init cannot be asked: %s", strerror(errno));
	for (int i = 0; i < 3; i++)
		if (i < 2 || !keeper.spec.merge)
			close(fds[i]);
}

static uint64_t fact(const char *key)
{
	const char *text = records_get(&facts, key);
	uint64_t n = 0;

	return text && parse_u64(text, 0, UINT64_MAX, &n) == 0 ? n : 0;
}

static void job0_started(int *fds, size_t nfds)
{
	if (keeper.spec.tty && nfds == 1)
		add_output(&keeper.out, fds[0]);
	else if (keeper.spec.tty)
		fail_start("spawn_failed", "init gave no terminal");
	keeper.job0 = (pid_t)fact("pid");
	keeper.state = RUNNING;
	keeper.started = keeper.run_since = now_ms();
	keeper.started_wall_ms = wall_ms();
	report_started();
}

static void job0_ended(void)
{
	keeper.ran = run_time();
	keeper.ended_wall_ms = wall_ms();
	keeper.ended = true;
	keeper.signal = records_get(&facts, "signal") ? (int64_t)fact("signal") : -1;
	keeper.code = (int64_t)fact("code");
	keeper.utime_us = fact("utime_us");
	keeper.stime_us = fact("stime_us");
	keeper.maxrss_kb = fact("maxrss_kb");
	keeper.state = DRAINING;
	/* What it left behind ends with it; only then is its output complete. */
	ask_killall();
}

static void all_killed(void)
{
	keeper.killing = false;
	if (keeper.state == DRAINING)
		keeper.drain_until = now_ms() + DRAIN_MS;
}

static void handle(int *fds, size_t nfds)
{
	const struct record *head = &facts.at[0];
	uint64_t job;

	if (record_is(head, "failed"))
		fail_start("sandbox_failed", "%s: %s", head->value, records_get(&facts, "message") ? records_get(&facts, "message") : "?");
	if (record_is(head, "ready")) {
		if (!keeper.told_ready)
			start_job0();
		keeper.told_ready = true;
		return;
	}
	if (record_is(head, "killed"))
		return all_killed();
	if (parse_u64(head->value, 0, UINT64_MAX, &job) < 0)
		return;
	if (record_is(head, "started"))
		job == 0 ? job0_started(fds, nfds) : exec_started(job);
	else if (record_is(head, "notstarted") && job == 0)
		fail_start("spawn_failed", "%s", records_get(&facts, "message") ? records_get(&facts, "message") : "?");
	else if (record_is(head, "notstarted"))
		exec_not_started(job, records_get(&facts, "message"));
	else if (record_is(head, "ended"))
		job == 0 ? job0_ended() : exec_ended(job, &facts);
}

/* No init, no sandbox: what ran in it is dead. */
static void init_lost(void)
{
	unwatch_fd(keeper.ctl);
	close(keeper.ctl);
	keeper.ctl = -1;
	keeper.init_gone = true;
	if (keeper.state == STARTING)
		fail_start("sandbox_failed", "init ended before it was ready");
	if (keeper.state == SETTLING)
		leave(0);
	if (!keeper.ended) {
		keeper.ran = run_time();
		keeper.ended_wall_ms = wall_ms();
	}
	keeper.state = DRAINING;
	keeper.killing = false;
	keeper.drain_until = now_ms() + DRAIN_MS;
	init_reaped();
}

void init_message(void)
{
	int fds[CHANNEL_FDS_MAX];
	size_t nfds, kept = 0;
	ssize_t n = channel_receive(keeper.ctl, message, sizeof message, fds, &nfds);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EMSGSIZE))
		return init_lost();
	if (n > 0 && records_parse(message, (size_t)n, &facts) == 0) {
		handle(fds, nfds);
		/* Job 0's terminal was taken over. */
		if (keeper.spec.tty && record_is(&facts.at[0], "started") && fact("started") == 0)
			kept = 1;
	}
	for (size_t i = kept; i < nfds; i++)
		close(fds[i]);
}

void init_reaped(void)
{
	int status;

	while (waitpid(-1, &status, WNOHANG) > 0)
		;
	if (keeper.init_gone)
		(void)kill_everything(false, NULL, 0);
}

void stop_job0(uint64_t grace_ms)
{
	if (keeper.state != RUNNING && keeper.state != STOPPING)
		return;
	if (grace_ms == 0) {
		keeper.state = STOPPING;
		return ask_killall();
	}
	if (keeper.state == STOPPING)
		return;
	keeper.state = STOPPING;
	keeper.kill_at = now_ms() + grace_ms;
	ask_signal(0, SIGTERM);
}

/* When job 0's wall clock runs out; NEVER while it stands still. */
static uint64_t wall_deadline(void)
{
	if (keeper.state != RUNNING || keeper.paused || keeper.spec.deadline_ms == NEVER)
		return NEVER;
	return keeper.run_since + (keeper.spec.deadline_ms > keeper.ran ? keeper.spec.deadline_ms - keeper.ran : 0);
}

uint64_t job0_deadline(void)
{
	uint64_t at = wall_deadline();

	if (keeper.kill_at < at)
		at = keeper.kill_at;
	if (keeper.state == DRAINING && keeper.drain_until < at)
		at = keeper.drain_until;
	return keeper.settle_at < at ? keeper.settle_at : at;
}

void job0_timers(uint64_t now)
{
	if (now >= wall_deadline()) {
		keeper.expired = true;
		stop_job0(keeper.spec.grace_ms);
	}
	if (now >= keeper.kill_at)
		ask_killall();
	finish_job0_if_drained(now);
	/* The engine did not come: the worktree stays as it is, settling can go on in a new sandbox. */
	if (now >= keeper.settle_at)
		leave(0);
}

void finish_job0_if_drained(uint64_t now)
{
	static uint64_t retry_at;

	if (keeper.state != DRAINING || keeper.killing || now < retry_at)
		return;
	if (now >= keeper.drain_until) {
		output_close(&keeper.out);
		output_close(&keeper.err);
	}
	if (!output_drained(&keeper.out) || !output_drained(&keeper.err))
		return;
	if (write_exit_record() < 0) {
		/* A full disk may be emptied; the record is worth waiting for. */
		retry_at = keeper.drain_until = now + 500;
		return;
	}
	keeper.state = SETTLING;
	keeper.settle_at = now + keeper.spec.settle_ms;
	keeper.drain_until = NEVER;
	tell_exit();
	if (keeper.init_gone)
		leave(0);
}
