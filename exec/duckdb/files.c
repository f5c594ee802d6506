// Which files SQL reaches (D10). DuckDB compares names, and allows its spill directory besides. A name is not a file: it may be a link, or
// become one between the comparison and the opening; and what one session spills must not reach another.
//
// So the linker leads DuckDB's question, and then its system calls, through here (--wrap, see files_unsafe.go):
//
//	SQL, the spilling ──► OpenerFileSystem ──► TryGetDatabase   who asks: the database for itself, or (if ours is not called) a client's statement?
//	                            │         └──► CanAccessFile    DuckDB's answer, and ours: a client never reaches what is spilled,
//	                            ▼                               and the database for itself nothing else there
//	                      LocalFileSystem ───► open, opendir, …  below a handle of the directory that was allowed (openat2), regular files only
//
// All of that happens in one thread, one after the other, so a thread's last question says for whom its next system calls are. A database whose
// external access is on is let through, and so are a few names that DuckDB reads for itself. Who asks is known of each question by itself: what the
// thread asked before says nothing, as it works for all.
// Rejected: a secret name for the spill directory, which settings, lists of files and errors reveal; names like
// /proc/self/fd/3 for SQL, which would have to be allowed to be opened, and with them every file that the process has
// open.
#define _GNU_SOURCE
#include "files.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __linux__

#ifndef SYS_openat2
#define SYS_openat2 437 // one number on all architectures
#endif

struct how {
	uint64_t flags, mode, resolve;
};

enum { NO_MAGICLINKS = 0x02, BENEATH = 0x08 };

// What a C++ string is in libstdc++.
struct text {
	const char *data;
	size_t length;
	char inside[16];
};

struct directory {
	struct directory *next;
	bool spill;
	size_t length;
	char path[];
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct directory *directories; // guarded by lock

static _Thread_local bool confined; // this thread's next system calls are for a client of a restricted database

bool csm_files_add(const char *path, bool spill) {
	size_t length = strlen(path);
	struct directory *d = malloc(sizeof *d + length + 1);
	if (!d) return false;
	d->spill = spill;
	d->length = length;
	memcpy(d->path, path, length + 1);
	pthread_rwlock_wrlock(&lock);
	d->next = directories;
	directories = d;
	pthread_rwlock_unlock(&lock);
	return true;
}

void csm_files_remove(const char *path, bool spill) {
	pthread_rwlock_wrlock(&lock);
	for (struct directory **at = &directories; *at; at = &(*at)->next) {
		struct directory *d = *at;
		if (d->spill == spill && !strcmp(d->path, path)) {
			*at = d->next;
			free(d);
			break;
		}
	}
	pthread_rwlock_unlock(&lock);
}

// clean makes a name absolute, without . and .. and doubled slashes; false: it is too long.
static bool clean(const char *path, size_t length, char out[PATH_MAX]) {
	size_t n = 0;
	if (length == 0 || path[0] != '/') {
		if (!getcwd(out, PATH_MAX) || out[0] != '/') return false;
		n = strlen(out) == 1 ? 0 : strlen(out);
	}
	for (size_t i = 0; i < length;) {
		size_t end = i;
		while (end < length && path[end] != '/') end++;
		size_t part = end - i;
		if (part == 2 && path[i] == '.' && path[i + 1] == '.') {
			while (n > 0 && out[--n] != '/') {}
		} else if (part > 0 && !(part == 1 && path[i] == '.')) {
			if (n + part + 2 > PATH_MAX) return false;
			out[n++] = '/';
			memcpy(out + n, path + i, part);
			n += part;
		}
		i = end + 1;
	}
	out[n] = 0;
	return true;
}

// below returns what follows a directory's name in a clean name; NULL: it is neither the directory's nor below it.
static const char *below(const struct directory *d, const char *name) {
	if (strncmp(name, d->path, d->length) || (name[d->length] && name[d->length] != '/')) return NULL;
	name += d->length;
	return *name ? name + 1 : name;
}

// spilled gives what follows the spill directory's name in a clean name; NULL: it is none of a spill directory's. Each
// database has one below a directory that they share.
static const char *spilled(const char *name) {
	const char *rest = NULL;
	pthread_rwlock_rdlock(&lock);
	for (struct directory *d = directories; d; d = d->next) {
		const char *found = d->spill ? below(d, name) : NULL;
		if (found && (!rest || found > rest)) rest = found; // the longest name counts
	}
	pthread_rwlock_unlock(&lock);
	return rest;
}

bool csm_files_spilled(const char *path) { return spilled(path) != NULL; }

static bool ends(const char *name, const char *end) {
	size_t n = strlen(name), m = strlen(end);
	return n >= m && !strcmp(name + n - m, end);
}

// is_spill_name reports whether a name is one that DuckDB gives to what it spills, or the directory's own.
static bool is_spill_name(const char *rest) {
	if (!*rest) return true;
	if (strchr(rest, '/')) return false;
	return (!strncmp(rest, "duckdb_temp_storage_", 20) && ends(rest, ".tmp")) || (!strncmp(rest, "duckdb_temp_block-", 18) && ends(rest, ".block"));
}

// without_scheme cuts what DuckDB allows in front of a local name: file:/x, file:///x, file://localhost/x.
static const char *without_scheme(const char *path) {
	if (strncmp(path, "file:/", 6)) return path;
	if (!strncmp(path, "file://localhost/", 17)) return path + 16;
	return strncmp(path, "file://", 7) ? path + 5 : path + 7;
}

static char image[64]; // guarded by lock: what is being attached (Connection.Attach); empty: nothing

void csm_files_image(const char *path) {
	pthread_rwlock_wrlock(&lock);
	snprintf(image, sizeof image, "%s", path ? path : "");
	pthread_rwlock_unlock(&lock);
}

// is_image reports whether a name is that of a database which is being attached, or of its logs, of which there are none. It is sealed memory of the
// program's own: a client that names it meanwhile reads what all are shown.
static bool is_image(const char *path) {
	pthread_rwlock_rdlock(&lock);
	size_t length = strlen(image);
	bool is = length && !strncmp(path, image, length) && (!path[length] || !strncmp(path + length, ".wal", 4));
	pthread_rwlock_unlock(&lock);
	return is;
}

// DuckDB's question is OpenerFileSystem::VerifyCanAccessFileInternal: it gets its opener's database, then asks CanAccessFile of it. A database's opener is a
// class whose functions are weak, so this one replaces DuckDB's. What it notes counts for a question that the same function asks next, and for no other:
// other functions get the database, too, and a thread serves clients and the spilling by turns.
static _Thread_local const char *for_itself; // where a database's opener was asked last; NULL: that has been used up

enum { NEAR = 256 }; // bytes of code between the two calls: 19 on amd64

void *_ZN6duckdb18DatabaseFileOpener14TryGetDatabaseEv(void **opener) {
	for_itself = __builtin_return_address(0);
	return opener[1]; // the class's only member
}

#define CAN_ACCESS(prefix) prefix##_ZN6duckdb8DBConfig13CanAccessFileERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEENS_8FileTypeE
extern bool CAN_ACCESS(__real_)(void *config, const struct text *path, int type);

bool CAN_ACCESS(__wrap_)(void *config, const struct text *path, int type) {
	const char *asked = for_itself, *here = __builtin_return_address(0);
	bool client = !asked || here < asked || here - asked > NEAR;
	for_itself = NULL;
	struct text nowhere = {.length = 9, .inside = "\1nowhere\1"};
	nowhere.data = nowhere.inside;
	if (CAN_ACCESS(__real_)(config, &nowhere, 0)) { // every name is allowed
		confined = false;
		return true;
	}
	if (is_image(path->data)) {
		confined = false;
		return true;
	}
	confined = true;
	char name[PATH_MAX];
	if (!CAN_ACCESS(__real_)(config, path, type) || strlen(path->data) != path->length) return false;
	const char *local = without_scheme(path->data);
	if (!clean(local, strlen(local), name)) return false;
	const char *rest = spilled(name);
	char real[PATH_MAX];
	if (!rest) return !realpath(local, real) || !spilled(real); // DuckDB allows what its links lead to, where it allows that
	if (client || !is_spill_name(rest)) return false;
	confined = false;
	return true;
}

extern int __real_open(const char *path, int flags, ...);

// directory_of opens the directory that holds what a clean name means, the longest that was allowed; *rest is what follows. -1: there is none.
// -2: it cannot be opened.
static int directory_of(const char *name, const char **rest) {
	const struct directory *best = NULL;
	char path[PATH_MAX];
	pthread_rwlock_rdlock(&lock);
	for (struct directory *d = directories; d; d = d->next) {
		if (!d->spill && (!best || d->length > best->length) && below(d, name)) best = d;
	}
	if (best) {
		*rest = below(best, name);
		snprintf(path, sizeof path, "%s", best->length ? best->path : "/");
	}
	pthread_rwlock_unlock(&lock);
	if (!best) return -1;
	int fd = __real_open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -2 : fd;
}

// outside_of_spill closes a file that lies in a spill directory, however it was found.
static int outside_of_spill(int fd) {
	char link[64], name[PATH_MAX];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, name, sizeof name - 1);
	if (n > 0) {
		name[n] = 0;
		if (!spilled(name)) return fd;
	}
	close(fd);
	errno = EACCES;
	return -1;
}

static int open_beneath(int directory, const char *rest, int flags, mode_t mode) {
	struct how how = {.flags = (uint32_t)flags | O_CLOEXEC, .mode = flags & O_CREAT ? mode : 0, .resolve = BENEATH | NO_MAGICLINKS};
	long fd;
	int tries = 0;
	do {
		fd = syscall(SYS_openat2, directory, *rest ? rest : ".", &how, sizeof how);
	} while (fd < 0 && (errno == EINTR || (errno == EAGAIN && ++tries < 64))); // EAGAIN: something was renamed meanwhile
	if (fd < 0 && (errno == EXDEV || errno == ELOOP || errno == EAGAIN)) errno = EACCES;
	return fd < 0 ? -1 : outside_of_spill((int)fd);
}

// is_systems reports whether a name is one that DuckDB itself reads, for a client or not: how much memory there is,
// which time zone.
static bool is_systems(const char *name) {
	static const char *const prefixes[] = {"/proc/", "/sys/", "/usr/share/zoneinfo", "/etc/localtime", "/etc/timezone", "/dev/urandom"};
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
		if (!strncmp(name, prefixes[i], strlen(prefixes[i]))) return true;
	}
	return false;
}

// reach opens what a confined name means. *ours is false for what the caller shall ask the system for itself.
static int reach(const char *path, int flags, mode_t mode, bool *ours) {
	char name[PATH_MAX];
	const char *rest;
	*ours = false;
	if (!confined || !clean(path, strlen(path), name)) return -1;
	if (spilled(name)) {
		*ours = true;
		errno = EACCES;
		return -1;
	}
	int directory = directory_of(name, &rest);
	if (directory == -1) {
		*ours = !is_systems(name);
		errno = EACCES;
		return -1;
	}
	*ours = true;
	if (directory < 0) return -1;
	int fd = open_beneath(directory, rest, flags, mode);
	int failed = errno;
	close(directory);
	errno = failed;
	return fd;
}

// regular closes what is neither a regular file nor the directory that was asked for, and gives it the flags that wait.
static int regular(int fd, int flags) {
	struct stat s;
	bool wanted = fstat(fd, &s) == 0 && (flags & O_DIRECTORY ? S_ISDIR(s.st_mode) : S_ISREG(s.st_mode));
	if (wanted && !(flags & O_NONBLOCK)) wanted = fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) == 0;
	if (wanted && (flags & O_TRUNC)) wanted = ftruncate(fd, 0) == 0;
	if (wanted) return fd;
	close(fd);
	errno = EACCES;
	return -1;
}

int __wrap_open(const char *path, int flags, ...) {
	mode_t mode = 0;
	if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) {
		va_list rest;
		va_start(rest, flags);
		mode = va_arg(rest, mode_t);
		va_end(rest);
	}
	bool ours;
	int fd = reach(path, (flags & ~O_TRUNC) | O_NONBLOCK | O_NOCTTY, mode, &ours); // a FIFO neither waits nor is emptied
	if (!ours) return __real_open(path, flags, mode);
	return fd < 0 ? -1 : regular(fd, flags);
}

extern DIR *__real_opendir(const char *path);

DIR *__wrap_opendir(const char *path) {
	bool ours;
	int fd = reach(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0, &ours);
	if (!ours) return __real_opendir(path);
	if (fd < 0) return NULL;
	DIR *d = fdopendir(fd);
	if (!d) close(fd);
	return d;
}

// look is stat, lstat and access of a confined name.
static int look(const char *path, int flags, struct stat *out, bool *ours) {
	int fd = reach(path, O_PATH | flags, 0, ours);
	if (fd < 0) return -1;
	int result = fstat(fd, out);
	close(fd);
	return result;
}

extern int __real_access(const char *path, int mode);

int __wrap_access(const char *path, int mode) {
	bool ours;
	struct stat s;
	int result = look(path, 0, &s, &ours);
	return ours ? result : __real_access(path, mode);
}

extern int __real___xstat(int version, const char *path, struct stat *out) __attribute__((weak));
extern int __real___lxstat(int version, const char *path, struct stat *out) __attribute__((weak));

int __wrap___xstat(int version, const char *path, struct stat *out) {
	bool ours;
	int result = look(path, 0, out, &ours);
	if (ours) return result;
	return __real___xstat ? __real___xstat(version, path, out) : fstatat(AT_FDCWD, path, out, 0);
}

int __wrap___lxstat(int version, const char *path, struct stat *out) {
	bool ours;
	int result = look(path, O_NOFOLLOW, out, &ours);
	if (ours) return result;
	return __real___lxstat ? __real___lxstat(version, path, out) : fstatat(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}

// place opens the directory in which a confined name is to be made, renamed or removed; *last is the name there.
static int place(const char *path, char last[NAME_MAX + 1], bool *ours) {
	char name[PATH_MAX];
	*ours = false;
	if (!confined || !clean(path, strlen(path), name)) return -1;
	char *slash = strrchr(name, '/');
	if (!slash || strlen(slash + 1) > NAME_MAX) return -1;
	strcpy(last, slash + 1);
	*slash = 0;
	return reach(*name ? name : "/", O_PATH | O_DIRECTORY, 0, ours);
}

static int done(int directory, int result) {
	int failed = errno;
	close(directory);
	errno = failed;
	return result;
}

extern int __real_unlink(const char *path), __real_remove(const char *path), __real_rmdir(const char *path);
extern int __real_mkdir(const char *path, mode_t mode);
extern int __real_rename(const char *from, const char *to);

static int removes(const char *path, int flags, int (*otherwise)(const char *)) {
	char last[NAME_MAX + 1];
	bool ours;
	int directory = place(path, last, &ours);
	if (!ours) return otherwise(path);
	return directory < 0 ? -1 : done(directory, unlinkat(directory, last, flags));
}

int __wrap_unlink(const char *path) { return removes(path, 0, __real_unlink); }
int __wrap_remove(const char *path) { return removes(path, 0, __real_remove); }
int __wrap_rmdir(const char *path) { return removes(path, AT_REMOVEDIR, __real_rmdir); }

int __wrap_mkdir(const char *path, mode_t mode) {
	char last[NAME_MAX + 1];
	bool ours;
	int directory = place(path, last, &ours);
	if (!ours) return __real_mkdir(path, mode);
	return directory < 0 ? -1 : done(directory, mkdirat(directory, last, mode));
}

int __wrap_rename(const char *from, const char *to) {
	char old[NAME_MAX + 1], last[NAME_MAX + 1];
	bool first, second;
	int source = place(from, old, &first);
	if (!first) return __real_rename(from, to);
	if (source < 0) return -1;
	int target = place(to, last, &second);
	if (!second) errno = EACCES;
	if (target < 0) return done(source, -1);
	return done(source, done(target, renameat(source, old, target, last)));
}

#else

bool csm_files_add(const char *path, bool spill) { return true; }
void csm_files_remove(const char *path, bool spill) {}
void csm_files_image(const char *path) {}
bool csm_files_spilled(const char *path) { return false; }

#endif
