/*
 * drover-keeper supervise [--max-restarts N] -- PROGRAM ARGS...: keeps one program running, in a session of its own.
 * It starts the program again after a crash, waits longer each time it crashes soon, and ends when the program exits 0 or with
 * DO_NOT_RESTART, or has crashed too often in a row. SIGTERM and SIGINT go to the program.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "keeper.h"

#define DO_NOT_RESTART 75
#define RESTARTS_DEFAULT 7
#define FIRST_WAIT_MS 100
#define LONGEST_WAIT_MS 10000
/* A run of this length was no failed start: the count begins anew. */
#define HEALTHY_MS 30000

static bool told_to_end;

/* The signals stay blocked and are taken one by one: none can come between a look and a wait. */
static sigset_t awaited(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	return set;
}

static pid_t start_program(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGHUP, SIG_DFL);
		execvp(argv[0], argv);
		fprintf(stderr, "supervise: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	return pid;
}

/* Runs it once, to its end. Returns its wait status, or -1. */
static int run_once(char **argv)
{
	sigset_t set = awaited();
	pid_t pid = start_program(argv);
	int status;

	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		int number = sigwaitinfo(&set, NULL);

		if (number == SIGTERM || number == SIGINT) {
			told_to_end = true;
			kill(pid, number);
		}
	}
	return status;
}

/* Returns at once when told to end. */
static void wait_ms(uint64_t ms)
{
	uint64_t until = now_ms() + ms;
	sigset_t set = awaited();

	for (uint64_t now = now_ms(); now < until && !told_to_end; now = now_ms()) {
		struct timespec left = { .tv_sec = (time_t)((until - now) / 1000), .tv_nsec = (long)((until - now) % 1000) * 1000000 };
		int number = sigtimedwait(&set, NULL, &left);

		told_to_end = number == SIGTERM || number == SIGINT;
	}
}

static void tell_restart(const char *program, int status, uint64_t wait)
{
	bool by_signal = WIFSIGNALED(status);

	fprintf(stderr, "supervise: %s %s %d; started again in %llu ms\n", program, by_signal ? "was ended by signal" : "exited with",
		by_signal ? WTERMSIG(status) : WEXITSTATUS(status), (unsigned long long)wait);
}

static int keep_running(char **argv, uint64_t max_restarts)
{
	uint64_t crashes = 0, wait = FIRST_WAIT_MS;

	while (!told_to_end) {
		uint64_t begun = now_ms();
		int status = run_once(argv);

		if (status < 0)
			return 1;
		if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == DO_NOT_RESTART))
			return WEXITSTATUS(status);
		if (told_to_end)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
		if (now_ms() - begun >= HEALTHY_MS) {
			crashes = 0;
			wait = FIRST_WAIT_MS;
		}
		if (crashes++ == max_restarts) {
			fprintf(stderr, "supervise: %s crashed %llu times in a row; not started again\n", argv[0], (unsigned long long)crashes);
			return 1;
		}
		tell_restart(argv[0], status, wait);
		wait_ms(wait);
		wait = wait * 2 > LONGEST_WAIT_MS ? LONGEST_WAIT_MS : wait * 2;
	}
	return 0;
}

int supervise(int argc, char **argv)
{
	uint64_t max_restarts = RESTARTS_DEFAULT;
	sigset_t set = awaited();
	int at = 0;

	if (argc > 1 && strcmp(argv[0], "--max-restarts") == 0) {
		if (parse_u64(argv[1], 0, 1000000, &max_restarts) < 0)
			return 2;
		at = 2;
	}
	if (argc < at + 2 || strcmp(argv[at], "--") != 0) {
		fputs("usage: drover-keeper supervise [--max-restarts N] -- PROGRAM ARGS...\n", stderr);
		return 2;
	}
	setsid();
	signal(SIGHUP, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return keep_running(argv + at + 1, max_restarts);
}
