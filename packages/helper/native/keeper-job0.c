#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "init-kill.h"
#include "keeper.h"

/* How long set-up and exec may take: a hung file system must not keep the starter waiting for ever. */
#define START_MS 60000
/* How long output may stay silent and open after all processes are gone (somebody outside holds it), and how long in all. */
#define DRAIN_MS 2000
#define DRAIN_MOST_MS 60000
/* How often init is asked again when it did not listen, and orphans of a lost one are looked for. */
#define AGAIN_MS 50
#define RECORD_AGAIN_MS 500

uint64_t job0_run_time(void)
{
	return keeper.ran + (keeper.state == RUNNING && !keeper.paused ? now_ms() - keeper.run_since : 0);
}

void job0_expect(void)
{
	keeper.start_by = now_ms() + START_MS;
}

void job0_output_came(void)
{
	if (keeper.state == DRAINING)
		keeper.drain_until = now_ms() + DRAIN_MS;
}

static void make_pipe(struct output *out, int *theirs)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		fail_start("spawn_failed", "pipe: %s", strerror(errno));
	/* An agent of another uid opens /dev/stderr by the pipe's own mode. */
	(void)fchmod(ends[1], 0666);
	*theirs = ends[1];
	output_open(out, ends[0]);
}

/* The agent's stdin: a file or /dev/null. A pipe or a device could make the open wait for ever. */
static int open_stdin(void)
{
	const char *path = keeper.spec.stdin_path ? keeper.spec.stdin_path : "/dev/null";
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		fail_start("bad_path", "%s cannot be read: %s", path, strerror(errno));
	if (keeper.spec.stdin_path && !S_ISREG(st.st_mode))
		fail_start("bad_path", "%s is not a regular file", path);
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

static void ask_job0(const int *fds, size_t nfds)
{
	if (ask_run(0, &spec_records, keeper.spec.cwd, "agent", fds, nfds) < 0)
		fail_start("spawn_failed", "init cannot be asked: %s", strerror(errno));
}

void job0_start(void)
{
	int fds[3] = { -1, -1, -1 };
	static bool asked;

	if (asked)
		return;
	asked = true;
	if (!keeper.spec.tty || keeper.spec.stdin_path)
		fds[0] = open_stdin();
	if (keeper.spec.tty) {
		/* The terminal is opened by init, inside the sandbox, and comes back with `started`. */
		ask_job0(fds, keeper.spec.stdin_path ? 1 : 0);
	} else {
		make_pipe(&keeper.out, &fds[1]);
		if (!keeper.spec.merge)
			make_pipe(&keeper.err, &fds[2]);
		ask_job0((int[]){ fds[0], fds[1], keeper.spec.merge ? fds[1] : fds[2] }, 3);
	}
	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* The last number of `NSpid:` is the one that the process has in its own namespace. */
static bool has_inner_pid(pid_t pid, pid_t inner)
{
	char path[32], line[256];
	bool yes = false;
	FILE *status;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	status = fopen(path, "re");
	if (!status)
		return false;
	while (fgets(line, sizeof line, status)) {
		const char *last = strrchr(line, '\t');
		int number;

		if (strncmp(line, "NSpid:", 6) != 0)
			continue;
		yes = last && sscanf(last, "%d", &number) == 1 && number == inner;
		break;
	}
	fclose(status);
	return yes;
}

/* The number here of init's child that has the number `inner` in init's namespace; 0 when it cannot be seen (any more). */
static pid_t pid_here(pid_t inner)
{
	char path[64];
	FILE *list;
	int pid, found = 0;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", keeper.init, keeper.init);
	list = fopen(path, "re");
	if (!list)
		return 0;
	while (!found && fscanf(list, "%d", &pid) == 1)
		if (has_inner_pid(pid, inner))
			found = pid;
	fclose(list);
	return found;
}

void job0_started(pid_t inner, int *fds, size_t *nfds)
{
	int number;

	if (keeper.state != STARTING)
		return;
	if (keeper.spec.tty) {
		if (*nfds != 1 || ioctl(fds[0], TIOCGPTN, &number) < 0)
			fail_start("spawn_failed", "init gave no terminal");
		output_open(&keeper.out, fds[0]);
		*nfds = 0;
	}
	keeper.job0 = pid_here(inner);
	keeper.state = RUNNING;
	keeper.start_by = NEVER;
	keeper.run_since = now_ms();
	keeper.started_wall_ms = wall_ms();
	report_started();
}

static void kill_all(void)
{
	keeper.kill_at = ask_killall() < 0 ? now_ms() + AGAIN_MS : NEVER;
}

/* Job 0 has ended or is lost; what it left behind ends with it, and only then is its output complete. */
static void begin_killing(void)
{
	keeper.ran = job0_run_time();
	keeper.ended_wall_ms = wall_ms();
	keeper.state = KILLING;
	keeper.killing_since = now_ms();
	/* The bound of all that follows: with a disk that stays full or a process that no signal reaches, this process goes all the same. */
	keeper.settle_at = keeper.killing_since + keeper.spec.settle_ms;
}

static int64_t number_of(const struct records *facts, const char *key, int64_t otherwise)
{
	const char *text = records_get(facts, key);
	uint64_t n;

	return text && parse_u64(text, 0, INT64_MAX, &n) == 0 ? (int64_t)n : otherwise;
}

void job0_ended(const struct records *facts)
{
	if (keeper.state != RUNNING)
		return;
	keeper.ended = true;
	keeper.signal = number_of(facts, "signal", -1);
	keeper.code = number_of(facts, "code", -1);
	keeper.utime_us = (uint64_t)number_of(facts, "utime_us", 0);
	keeper.stime_us = (uint64_t)number_of(facts, "stime_us", 0);
	keeper.maxrss_kb = (uint64_t)number_of(facts, "maxrss_kb", 0);
	begin_killing();
	kill_all();
}

void job0_all_killed(void)
{
	uint64_t now = now_ms();

	if (keeper.state != KILLING)
		return;
	keeper.state = DRAINING;
	keeper.killing_since = NEVER;
	keeper.drain_until = now + DRAIN_MS;
	keeper.drain_end = now + DRAIN_MOST_MS;
}

void job0_stop(uint64_t grace_ms)
{
	uint64_t at = now_ms() + grace_ms;

	if (keeper.state != RUNNING)
		return;
	if (!keeper.stopping && grace_ms > 0)
		(void)ask_signal(0, SIGTERM);
	/* A second stop can be sooner, never later. */
	if (!keeper.stopping || at < keeper.kill_at)
		keeper.kill_at = at;
	keeper.stopping = true;
}

void job0_pause(bool paused)
{
	if (keeper.state != RUNNING || keeper.paused == paused)
		return;
	keeper.ran = job0_run_time();
	keeper.run_since = now_ms();
	keeper.paused = paused;
}

/* When job 0's wall clock runs out; NEVER while it stands still. */
static uint64_t wall_deadline(void)
{
	if (keeper.state != RUNNING || keeper.paused || keeper.stopping || keeper.spec.deadline_ms == NEVER)
		return NEVER;
	return keeper.run_since + (keeper.spec.deadline_ms > keeper.ran ? keeper.spec.deadline_ms - keeper.ran : 0);
}

/* Not for long: whoever waits for the start is to hear that it failed. */
static void end_orphans(void)
{
	for (int i = 0; i < 100; i++) {
		(void)kill_everything(false, NULL, 0);
		if (waitpid(-1, NULL, WNOHANG) < 0)
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
}

/* No init: in a pid namespace all is dead with it; else what it leaves comes to this process and is ended here. */
void init_lost(void)
{
	port_close(&keeper.ctl);
	keeper.init_gone = true;
	if (keeper.state == STARTING) {
		end_orphans();
		fail_start("sandbox_failed", "init ended before the program ran");
	}
	if (keeper.state == RUNNING)
		begin_killing();
	if (keeper.state == SETTLING)
		return begin_leaving();
	child_ended();
}

void child_ended(void)
{
	pid_t pid;

	if (keeper.init_gone)
		(void)kill_everything(false, NULL, 0);
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		;
	keeper.reap_at = keeper.init_gone ? now_ms() + AGAIN_MS : NEVER;
	if (!keeper.init_gone || pid == 0)
		return;
	/* No child is left, so no process of the sandbox is. */
	keeper.reap_at = NEVER;
	if (keeper.state == LEAVING)
		leave(0);
	job0_all_killed();
}

void begin_leaving(void)
{
	keeper.state = LEAVING;
	keeper.drain_until = keeper.drain_end = keeper.record_at = keeper.settle_at = NEVER;
	if (keeper.init_gone)
		return child_ended();
	/* The end of the channel ends init, and init what is below it. */
	shutdown(keeper.ctl.fd, SHUT_WR);
}

static bool drained(uint64_t now)
{
	if (output_stalled(&keeper.out) || output_stalled(&keeper.err)) {
		/* The disk's time is not the output's. */
		keeper.drain_until = now + DRAIN_MS;
		keeper.drain_end = now + DRAIN_MOST_MS;
	} else if (now >= keeper.drain_until || now >= keeper.drain_end) {
		output_give_up(&keeper.out);
		output_give_up(&keeper.err);
	}
	return output_drained(&keeper.out) && output_drained(&keeper.err);
}

/* After all output is on disk: the record, the state, the news. */
static void finish(uint64_t now)
{
	if (keeper.state != DRAINING || !drained(now) || (keeper.record_at != NEVER && now < keeper.record_at))
		return;
	if (write_exit_record() < 0) {
		/* The directory was removed: nobody will ever read a record. */
		if (errno == ENOENT)
			return begin_leaving();
		/* A full disk may be emptied; the record is worth waiting for. */
		keeper.drain_until = keeper.drain_end = NEVER;
		keeper.record_at = now + RECORD_AGAIN_MS;
		return;
	}
	keeper.state = SETTLING;
	keeper.drain_until = keeper.drain_end = keeper.record_at = NEVER;
	keeper.settle_at = now + keeper.spec.settle_ms;
	serve_viewers();
	if (keeper.init_gone || keeper.leave_after)
		begin_leaving();
}

/* The engine did not come: the worktree stays as it is, settling can go on in a new sandbox. */
static void settle_over(void)
{
	if (keeper.state == DRAINING) {
		output_give_up(&keeper.out);
		output_give_up(&keeper.err);
		(void)write_exit_record();
	}
	begin_leaving();
}

uint64_t job0_deadline(void)
{
	uint64_t all[] = { keeper.start_by,    keeper.kill_at,	 keeper.reap_at,   keeper.drain_until,
			   keeper.drain_end, keeper.record_at, keeper.settle_at };
	uint64_t at = wall_deadline();

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (all[i] < at)
			at = all[i];
	return at;
}

void job0_timers(uint64_t now)
{
	if (now >= keeper.start_by)
		fail_start("timeout", "the program was not running after %d seconds", START_MS / 1000);
	if (now >= wall_deadline()) {
		keeper.expired = true;
		job0_stop(keeper.spec.grace_ms);
	}
	if (now >= keeper.kill_at)
		kill_all();
	if (now >= keeper.reap_at)
		child_ended();
	finish(now);
	if (now >= keeper.settle_at)
		settle_over();
}
