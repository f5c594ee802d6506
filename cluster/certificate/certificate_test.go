package certificate_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/certificate"
)

func node(name string) certificate.Identity {
	return certificate.Identity{Role: certificate.RoleNode, Name: name}
}

func authority(t testing.TB) *certificate.Authority {
	a, err := certificate.CreateAuthority(t.TempDir(), "test")
	require.NoError(t, err)
	return a
}

// issue writes a certificate and returns where.
func issue(t testing.TB, a *certificate.Authority, who certificate.Identity, options certificate.IssueOptions) certificate.Files {
	pair, err := a.Issue(who, options)
	require.NoError(t, err)
	directory := t.TempDir()
	require.NoError(t, pair.Write(directory))
	return certificate.FilesIn(directory, who.Role)
}

func load(t testing.TB, files certificate.Files) *certificate.Credentials {
	c, err := certificate.Load(files)
	require.NoError(t, err)
	return c
}

func hint(t *testing.T, err error) string {
	var hinted interface {
		Hint() string
		SQLState() string
	}
	require.ErrorAs(t, err, &hinted)
	require.Len(t, hinted.SQLState(), 5)
	return hinted.Hint()
}

// T4.
func TestFilesAreTheirOwnersAloneAndNeverReplaced(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "new")
	a, err := certificate.CreateAuthority(directory, "c")
	require.NoError(t, err)
	pair, err := a.Issue(node("n1"), certificate.IssueOptions{})
	require.NoError(t, err)
	require.NoError(t, pair.Write(directory), "the same ca.crt is no obstacle")
	for _, name := range []string{"ca.crt", "ca.key", "node.crt", "node.key"} {
		info, err := os.Stat(filepath.Join(directory, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode(), name)
	}
	key, err := os.ReadFile(filepath.Join(directory, "node.key"))
	require.NoError(t, err)

	require.ErrorIs(t, pair.Write(directory), certificate.ErrExists)
	_, err = certificate.CreateAuthority(directory, "c")
	require.ErrorIs(t, err, certificate.ErrExists)
	require.NotEmpty(t, hint(t, err))
	again, err := os.ReadFile(filepath.Join(directory, "node.key"))
	require.NoError(t, err)
	require.Equal(t, key, again)

	foreign, err := authority(t).Issue(certificate.Identity{Role: certificate.RoleClient, Name: "x"}, certificate.IssueOptions{})
	require.NoError(t, err)
	require.ErrorContains(t, foreign.Write(directory), "another authority")
	require.NoFileExists(t, filepath.Join(directory, "client.key"))

	require.NoError(t, os.Remove(filepath.Join(directory, "node.key")))
	require.ErrorIs(t, pair.Write(directory), certificate.ErrExists)
	require.NoFileExists(t, filepath.Join(directory, "node.key"), "a key without its certificate is not left behind")
}

func TestAnAuthorityIsLoaded(t *testing.T) {
	directory := t.TempDir()
	_, err := certificate.CreateAuthority(directory, "c")
	require.NoError(t, err)
	a, err := certificate.LoadAuthority(directory)
	require.NoError(t, err)
	c := load(t, issue(t, a, node("n1"), certificate.IssueOptions{Hosts: []string{"db.example", "10.1.2.3"}}))
	require.Equal(t, node("n1"), c.Identity())
	require.WithinDuration(t, time.Now().Add(365*24*time.Hour), c.Until(), time.Hour)

	require.NoError(t, os.Rename(filepath.Join(directory, "ca.key"), filepath.Join(directory, "k")))
	_, err = certificate.LoadAuthority(directory)
	require.ErrorIs(t, err, certificate.ErrMissing)
	other := issue(t, a, node("n2"), certificate.IssueOptions{})
	require.NoError(t, os.Rename(other.Key, filepath.Join(directory, "ca.key")))
	_, err = certificate.LoadAuthority(directory)
	require.ErrorIs(t, err, certificate.ErrMismatch)
}

// T5: whatever is wrong with the files is reported before anything is served.
func TestFilesThatAreRefused(t *testing.T) {
	a, past := authority(t), time.Now().Add(-time.Hour)
	swap := func(change func(certificate.Files) certificate.Files) func(*testing.T) certificate.Files {
		return func(t *testing.T) certificate.Files {
			return change(issue(t, a, node("n1"), certificate.IssueOptions{}))
		}
	}
	for name, c := range map[string]struct {
		files func(*testing.T) certificate.Files
		want  error
	}{
		"expired": {func(t *testing.T) certificate.Files {
			return issue(t, a, node("n1"), certificate.IssueOptions{From: past.Add(-time.Hour), Until: past})
		}, certificate.ErrExpired},
		"not yet valid": {func(t *testing.T) certificate.Files {
			return issue(t, a, node("n1"), certificate.IssueOptions{From: time.Now().Add(time.Hour)})
		}, certificate.ErrNotYetValid},
		"missing": {swap(func(f certificate.Files) certificate.Files { f.Key += "x"; return f }), certificate.ErrMissing},
		"foreign authority": {swap(func(f certificate.Files) certificate.Files {
			f.Authority = issue(t, authority(t), node("n1"), certificate.IssueOptions{}).Authority
			return f
		}), certificate.ErrForeign},
		"another's key": {swap(func(f certificate.Files) certificate.Files {
			f.Key = issue(t, a, node("n1"), certificate.IssueOptions{}).Key
			return f
		}), certificate.ErrMismatch},
		"key open to others": {swap(func(f certificate.Files) certificate.Files {
			require.NoError(t, os.Chmod(f.Key, 0o640))
			return f
		}), certificate.ErrExposed},
		"key for a certificate": {swap(func(f certificate.Files) certificate.Files { f.Certificate = f.Key; return f }), certificate.ErrMalformed},
		"certificate for a key": {swap(func(f certificate.Files) certificate.Files { f.Key = f.Certificate; return f }), certificate.ErrMalformed},
		"rubbish": {swap(func(f certificate.Files) certificate.Files {
			require.NoError(t, os.WriteFile(f.Certificate, []byte("rubbish"), 0o600))
			return f
		}), certificate.ErrMalformed},
		"too large": {swap(func(f certificate.Files) certificate.Files {
			require.NoError(t, os.Truncate(f.Certificate, 2<<20))
			return f
		}), certificate.ErrMalformed},
		"the authority's own": {swap(func(f certificate.Files) certificate.Files {
			f.Certificate = f.Authority
			return f
		}), certificate.ErrMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := certificate.Load(c.files(t))
			require.ErrorIs(t, err, c.want)
		})
	}
}

func TestNames(t *testing.T) {
	a := authority(t)
	for _, name := range []string{"", "-x", ".", "a/b", "a b", "ä", "a\x00", "%41", string(make([]byte, 64))} {
		_, err := a.Issue(node(name), certificate.IssueOptions{})
		require.ErrorIs(t, err, certificate.ErrNoIdentity, "%q", name)
	}
	_, err := a.Issue(certificate.Identity{Role: "root", Name: "x"}, certificate.IssueOptions{})
	require.ErrorIs(t, err, certificate.ErrNoIdentity)
	_, err = a.Issue(node("n1"), certificate.IssueOptions{Until: time.Now().Add(-time.Hour)})
	require.ErrorIs(t, err, certificate.ErrExpired)
}

// T2: of all that a certificate may say, exactly one URI counts.
func TestTheIdentityIsTheOneURI(t *testing.T) {
	parse := func(list ...string) *x509.Certificate {
		c := &x509.Certificate{Subject: pkix.Name{CommonName: "n1"}, DNSNames: []string{"n1"}}
		for _, text := range list {
			u, err := url.Parse(text)
			require.NoError(t, err)
			c.URIs = append(c.URIs, u)
		}
		return c
	}
	got, err := certificate.IdentityOf(parse("spiffe://x/y", "csmsql://client/ops-1"))
	require.NoError(t, err)
	require.Equal(t, certificate.Identity{Role: certificate.RoleClient, Name: "ops-1"}, got)
	for _, bad := range [][]string{
		{}, {"spiffe://x/y"}, {"csmsql://node/a", "csmsql://node/b"}, {"csmsql://node/a", "csmsql://node/a"}, {"csmsql://other/a"}, {"csmsql://node/"},
		{"csmsql://node"}, {"csmsql://node/a/b"}, {"csmsql://node/a?x"}, {"csmsql://node/a#x"}, {"csmsql://u@node/a"}, {"csmsql://node:1/a"},
		{"csmsql:node/a"}, {"csmsql://node/%61"}, {"csmsql://NODE/a"}, {"csmsql://node//a"},
	} {
		_, err := certificate.IdentityOf(parse(bad...))
		require.ErrorIs(t, err, certificate.ErrNoIdentity, "%q", bad)
	}
}

// shake connects two configurations and returns what each side says; the server's answer to a refused client is read.
func shake(t *testing.T, server, client *tls.Config) (atServer, atClient error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close() //nolint:errcheck // a test's
	served := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			served <- err
			return
		}
		defer conn.Close() //nolint:errcheck // a test's
		s := tls.Server(conn, server)
		if err = s.Handshake(); err == nil {
			_, err = s.Write([]byte("hello"))
		}
		served <- err
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // a test's
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	if client == nil {
		_, err = conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	} else {
		c := tls.Client(conn, client)
		if err = c.Handshake(); err == nil {
			_, err = io.ReadFull(c, make([]byte, 5))
		}
	}
	return <-served, err
}

func TestNodesAndClientsKnowEachOther(t *testing.T) {
	a := authority(t)
	n1, n2 := load(t, issue(t, a, node("n1"), certificate.IssueOptions{})), load(t, issue(t, a, node("n2"), certificate.IssueOptions{}))
	tool := load(t, issue(t, a, certificate.Identity{Role: certificate.RoleClient, Name: "ops"}, certificate.IssueOptions{}))
	for _, client := range []*tls.Config{n2.Client("n1"), n2.Client(""), tool.Client("n1")} {
		atServer, atClient := shake(t, n1.Server(), client)
		require.NoError(t, atServer)
		require.NoError(t, atClient)
	}
	_, atClient := shake(t, n1.Server(), n2.Client("n3"))
	require.ErrorIs(t, atClient, certificate.ErrWrongPeer)
	require.ErrorContains(t, atClient, "node n1, not n3")
	_, atClient = shake(t, tool.Server(), n2.Client("")) // crypto/tls does not look at what the server's certificate is for
	require.ErrorIs(t, atClient, certificate.ErrWrongPeer)
	old := n2.Client("n1")
	old.MinVersion, old.MaxVersion = 0, tls.VersionTLS12
	atServer, _ := shake(t, n1.Server(), old)
	require.ErrorContains(t, atServer, "version")
}

// T1, T3: which peers are refused, and the errors of the server and of the client.
func TestPeersThatAreRefused(t *testing.T) {
	directory := t.TempDir()
	a, err := certificate.CreateAuthority(directory, "test")
	require.NoError(t, err)
	server := load(t, issue(t, a, node("n1"), certificate.IssueOptions{}))
	foreign := load(t, issue(t, authority(t), node("n2"), certificate.IssueOptions{}))
	soon := load(t, issue(t, a, node("n2"), certificate.IssueOptions{Until: time.Now().Add(3 * time.Second)}))
	for name, c := range map[string]struct {
		config  *tls.Config
		reason  string
		subject string
		kind    error // of the client's error; nil: not explained
	}{
		"none":        {&tls.Config{InsecureSkipVerify: true}, "no_certificate", "", certificate.ErrNoCertificate},
		"foreign":     {trusting(foreign.Client("")), "foreign_authority", "csmsql://node/n2", certificate.ErrForeign},
		"no identity": {stranger(t, directory), "no_identity", "stranger", certificate.ErrForeign},
		"no TLS":      {nil, "no_tls", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			atServer, atClient := shake(t, server.Server(), c.config)
			require.Error(t, atServer)
			refusal := certificate.ExplainRefusal(atServer)
			require.Equal(t, c.reason, refusal.Reason, "%v", atServer)
			require.Contains(t, refusal.Subject, c.subject)
			require.Contains(t, certificate.RefusalReasons, refusal.Reason)
			if c.kind != nil {
				explained := server.ExplainAlert(atClient)
				require.ErrorIs(t, explained, c.kind, "%v", atClient)
				require.NotEmpty(t, hint(t, explained))
			}
		})
	}
	t.Run("expired since it was loaded", func(t *testing.T) {
		atServer, atClient := shake(t, server.Server(), soon.Client(""))
		require.NoError(t, errors.Join(atServer, atClient))
		require.Eventually(t, func() bool { return time.Now().After(soon.Until()) }, 5*time.Second, 10*time.Millisecond)
		atServer, atClient = shake(t, server.Server(), soon.Client(""))
		require.Equal(t, "expired", certificate.ExplainRefusal(atServer).Reason)
		require.ErrorIs(t, soon.ExplainAlert(atClient), certificate.ErrExpired)
		_, atClient = shake(t, soon.Server(), server.Client(""))
		require.ErrorIs(t, atClient, certificate.ErrExpired)
	})
	_, atClient := shake(t, foreign.Server(), server.Client(""))
	require.ErrorIs(t, atClient, certificate.ErrForeign)
	require.NoError(t, server.ExplainAlert(errors.New("connection reset")))
}

// trusting does not look at the server.
func trusting(c *tls.Config) *tls.Config {
	c.VerifyConnection = nil
	return c
}

// stranger is a certificate that the authority in the directory signed by other means, without identity.
func stranger(t *testing.T, directory string) *tls.Config {
	parent, err := tls.LoadX509KeyPair(filepath.Join(directory, "ca.crt"), filepath.Join(directory, "ca.key"))
	require.NoError(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stranger"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent.Leaf, &key.PublicKey, parent.PrivateKey)
	require.NoError(t, err)
	own := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return &tls.Config{InsecureSkipVerify: true, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own, nil }}
}
