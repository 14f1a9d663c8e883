#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "channel.h"
#include "keeper.h"

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
		/* The one descriptor that it keeps; all others are close-on-exec. */
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
	if (keeper.init == 0)
		exec_init(pair[1]);
	close(pair[1]);
	port_set(&keeper.ctl, pair[0], SRC_CTL, 0);
}

/* In `enhanced` init was made before this program was executed: it is the only child, so the kernel is asked. */
static pid_t only_child(void)
{
	char path[64];
	FILE *list;
	int pid = 0;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	list = fopen(path, "re");
	if (list && fscanf(list, "%d", &pid) != 1)
		pid = 0;
	if (list)
		fclose(list);
	return pid;
}

int ask_run(uint64_t job, const struct records *request, const char *cwd, const char *group, const int *fds, size_t nfds)
{
	static char buf[FRAME_MAX];
	struct record_writer w = { .buf = buf, .cap = sizeof buf };

	put_u64(&w, "run", job);
	put_str(&w, "cwd", cwd);
	put_str(&w, "group", group);
	if (job == 0 && keeper.spec.tty) {
		put_u64(&w, "tty", 1);
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
	return channel_try_send(keeper.ctl.fd, w.buf, w.len, fds, nfds);
}

static int tell_init(const char *key, uint64_t value, const char *key2, uint64_t value2)
{
	char buf[64];
	struct record_writer w = { .buf = buf, .cap = sizeof buf };

	put_u64(&w, key, value);
	if (key2)
		put_u64(&w, key2, value2);
	/* An init that is gone is noticed by the end of the channel. */
	if (keeper.ctl.fd < 0 || channel_try_send(keeper.ctl.fd, w.buf, w.len, NULL, 0) == 0 || errno != EAGAIN)
		return 0;
	return -1;
}

int ask_signal(uint64_t job, int number)
{
	return tell_init("signal", job, "number", (uint64_t)number);
}

int ask_killall(void)
{
	return tell_init("killall", 1, NULL, 0);
}

static const char *fact(const char *key, const char *otherwise)
{
	const char *text = records_get(&facts, key);

	return text ? text : otherwise;
}

static void init_ready(void)
{
	if (keeper.init == 0)
		keeper.init = only_child();
	job0_start();
}

static void started(uint64_t job, int *fds, size_t *nfds)
{
	uint64_t pid = 0;

	if (job != 0)
		return exec_started(job);
	(void)parse_u64(fact("pid", "0"), 0, INT32_MAX, &pid);
	job0_started((pid_t)pid, fds, nfds);
}

static void not_started(uint64_t job)
{
	if (job != 0)
		return exec_not_started(job, fact("message", "init gave no reason"));
	fail_start("spawn_failed", "%s", fact("message", "init gave no reason"));
}

static void handle(int *fds, size_t *nfds)
{
	const struct record *head = &facts.at[0];
	uint64_t job;

	if (record_is(head, "failed"))
		fail_start("sandbox_failed", "%s: %s", head->value, fact("message", "no reason given"));
	if (record_is(head, "ready"))
		return init_ready();
	if (record_is(head, "killed"))
		return job0_all_killed();
	if (parse_u64(head->value, 0, UINT64_MAX, &job) < 0)
		return;
	if (record_is(head, "started"))
		started(job, fds, nfds);
	else if (record_is(head, "notstarted"))
		not_started(job);
	else if (record_is(head, "ended"))
		job == 0 ? job0_ended(&facts) : exec_ended(job, &facts);
}

void init_message(void)
{
	int fds[CHANNEL_FDS_MAX];
	size_t nfds;
	ssize_t n = channel_receive(keeper.ctl.fd, message, sizeof message, fds, &nfds);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EMSGSIZE))
		return init_lost();
	if (n > 0 && records_parse(message, (size_t)n, &facts) == 0)
		handle(fds, &nfds);
	/* Who took descriptors over has set their number to 0. */
	for (size_t i = 0; i < nfds; i++)
		close(fds[i]);
}
