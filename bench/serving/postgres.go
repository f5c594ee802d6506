package serving

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ErrNoPostgres says that there is no PostgreSQL to compare with.
var ErrNoPostgres = errors.New("PostgreSQL's programs initdb and postgres are not there; Debian and Ubuntu have them: apt-get install postgresql-15")

// FindPostgres finds the directory of PostgreSQL's programs: as asked, or the newest of Debian's, or that of PATH.
func FindPostgres(asked string) (string, error) {
	if asked != "" {
		return asked, isPostgres(asked)
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	slices.SortFunc(found, func(a, b string) int { return majorOf(b) - majorOf(a) })
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, filepath.Dir(path))
	}
	for _, dir := range found {
		if isPostgres(dir) == nil {
			return dir, nil
		}
	}
	return "", ErrNoPostgres
}

func isPostgres(dir string) error {
	for _, program := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(dir, program)); err != nil {
			return fmt.Errorf("%w (%w)", ErrNoPostgres, err)
		}
	}
	return nil
}

// majorOf reads 15 from /usr/lib/postgresql/15/bin.
func majorOf(dir string) int {
	major, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir))) // anything else is older than everything
	return major
}

// StartPostgres makes a cluster of its own and starts it: as it comes, but without TCP, and with settings.
func StartPostgres(ctx context.Context, bin string, settings ...string) (_ *Server, err error) {
	s := &Server{Name: "PostgreSQL"}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if bin, err = FindPostgres(bin); err != nil {
		return nil, err
	}
	dir, err := s.directory("")
	if err != nil {
		return nil, err
	}
	owner, err := unprivileged(dir)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	initdb.Dir, initdb.SysProcAttr = dir, &syscall.SysProcAttr{Credential: owner}
	if said, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(said)))
	}
	args := []string{"-D", data, "-k", dir, "-p", postgresPort, "-c", "listen_addresses=", "-c", "timezone=UTC"}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	s.cmd = exec.Command(filepath.Join(bin, "postgres"), args...)
	s.cmd.Dir, s.cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: owner}
	s.Conninfo = connectTo(dir, "postgres")
	if version, err := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version").Output(); err == nil {
		said := strings.TrimSpace(string(version))
		s.Version = strings.NewReplacer("postgres (PostgreSQL)", "PostgreSQL").Replace(said)
	}
	return s, s.run(ctx)
}

// unprivileged gives dir to a user whom PostgreSQL accepts, if this one is root; nil otherwise.
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(errUID, errGID); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, int(uid), int(gid))
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}
