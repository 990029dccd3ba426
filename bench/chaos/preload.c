/*
 * A wall clock that can be moved, and a disk that fails, for programs that use the C library.
 *
 * Loaded by LD_PRELOAD, all processes share the page in the file that SLUICE_CHAOS_CONTROL names.
 * The clock is that of CLOCK_REALTIME; waits for a moment of it go on by the real clock. A failing
 * disk is one of PostgreSQL's alone: flushes and writes at an offset fail, as often as the page
 * says. Without the file nothing is changed.
 *
 *     cc -O2 -shared -fPIC -o preload.so preload.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL

/* bench/chaos/preload.py writes it in this order. */
struct control {
	int64_t clock_ahead_ns;
	int64_t calls_to_fail;
	int64_t error;
};

static struct control *control;
static int is_database;

static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_pwritev)(int, const struct iovec *, int, off_t);

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("SLUICE_CHAOS_CONTROL");
	void *page;
	int file;

	real_clock_gettime = real("clock_gettime");
	real_fsync = real("fsync");
	real_fdatasync = real("fdatasync");
	real_pwrite = real("pwrite");
	real_pwritev = real("pwritev");
	is_database = !strcmp(program_invocation_short_name, "postgres");
	file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (file < 0)
		return;
	page = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (page != MAP_FAILED)
		control = page;
}

/* Whether this call is one of those that fail; errno is set then. */
static int fails(void)
{
	if (!control || !is_database ||
	    __atomic_load_n(&control->calls_to_fail, __ATOMIC_RELAXED) <= 0 ||
	    __atomic_fetch_sub(&control->calls_to_fail, 1, __ATOMIC_RELAXED) <= 0)
		return 0;
	errno = (int)control->error;
	return 1;
}

int clock_gettime(clockid_t clock, struct timespec *at)
{
	int64_t ahead, ns;
	int result;

	/* Other libraries may ask before the constructor ran. */
	if (!real_clock_gettime)
		real_clock_gettime = real("clock_gettime");
	result = real_clock_gettime(clock, at);
	if (result || !control || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
		return result;
	ahead = __atomic_load_n(&control->clock_ahead_ns, __ATOMIC_RELAXED);
	ns = (int64_t)at->tv_sec * NS_PER_S + at->tv_nsec + ahead;
	at->tv_sec = ns / NS_PER_S;
	at->tv_nsec = ns % NS_PER_S;
	return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone)
{
	struct timespec found;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &found);
	at->tv_sec = found.tv_sec;
	at->tv_usec = found.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *kept)
{
	struct timespec found;

	clock_gettime(CLOCK_REALTIME, &found);
	if (kept)
		*kept = found.tv_sec;
	return found.tv_sec;
}

int fsync(int file)
{
	return fails() ? -1 : real_fsync(file);
}

int fdatasync(int file)
{
	return fails() ? -1 : real_fdatasync(file);
}

ssize_t pwrite(int file, const void *from, size_t size, off_t at)
{
	return fails() ? -1 : real_pwrite(file, from, size, at);
}

ssize_t pwrite64(int file, const void *from, size_t size, off_t at)
{
	return pwrite(file, from, size, at);
}

ssize_t pwritev(int file, const struct iovec *from, int count, off_t at)
{
	return fails() ? -1 : real_pwritev(file, from, count, at);
}

ssize_t pwritev64(int file, const struct iovec *from, int count, off_t at)
{
	return pwritev(file, from, count, at);
}
