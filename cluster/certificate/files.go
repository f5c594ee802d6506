package certificate

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Files are where a node's or a client's certificate lies.
type Files struct {
	Authority   string // the authority's certificate; several may follow each other while one takes another's place
	Certificate string
	Key         string
}

// FilesIn are the usual names: ca.crt, and node.crt, node.key or client.crt, client.key.
func FilesIn(directory string, role Role) Files {
	return Files{
		Authority:   filepath.Join(directory, AuthorityCertificate),
		Certificate: filepath.Join(directory, string(role)+".crt"),
		Key:         filepath.Join(directory, string(role)+".key"),
	}
}

const (
	pemCertificate = "CERTIFICATE"
	pemKey         = "PRIVATE KEY"
	// maxFileBytes is far more than any such file has.
	maxFileBytes = 1 << 20
	othersMode   = 0o077
)

func (p *Pair) write(certificatePath, keyPath string) error {
	key, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		return fmt.Errorf("write %s: %w", keyPath, err)
	}
	if err := writeNew(keyPath, pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: key})); err != nil {
		return err
	}
	if err := writeNew(certificatePath, encodeCertificate(p.certificate)); err != nil {
		removeAll([]string{keyPath})
		return err
	}
	return nil
}

func encodeCertificate(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: c.Raw})
}

func (p *Pair) writeAuthority(directory string) error {
	path := filepath.Join(directory, AuthorityCertificate)
	want := encodeCertificate(p.authority)
	err := writeNew(path, want)
	if !errors.Is(err, ErrExists) {
		return err
	}
	if there, readErr := os.ReadFile(path); readErr == nil && bytes.Equal(there, want) {
		return nil
	}
	return failure(ErrExists, "%s is of another authority", path).hint("Write the certificate into another directory.")
}

// writeNew writes a file that is its owner's alone from the first moment, and never over another (T4).
func writeNew(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return failure(ErrExists, "%s exists and was left alone", path).hint("Move it away if it is not needed any more, or choose another directory.")
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		removeAll([]string{path})
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, failure(ErrMissing, "%s does not exist", path).hint("Make it with “csmsql cluster cert”, or copy it from where it was made.")
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	case info.Size() > maxFileBytes || !info.Mode().IsRegular():
		return nil, failure(ErrMalformed, "%s is too large, or no file: %d bytes", path, info.Size())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data, nil
}

// readCertificates returns at least one.
func readCertificates(path string) (list []*x509.Certificate, err error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != pemCertificate {
			return nil, failure(ErrMalformed, "%s holds a %q where a certificate should be", path, block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, failure(ErrMalformed, "%s holds no certificate: %v", path, err)
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, failure(ErrMalformed, "%s holds no certificate in PEM form", path)
	}
	return list, nil
}

func readKey(path string) (crypto.Signer, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if info.Mode()&othersMode != 0 {
		return nil, failure(ErrExposed, "%s can be read by others than its owner (mode %04o)", path, info.Mode().Perm()).
			hint("Run chmod 600 on it; if it was open for long, make a new one.")
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, failure(ErrMalformed, "%s holds no key in PEM form", path)
	}
	key, err := parseKey(block)
	if err != nil {
		return nil, failure(ErrMalformed, "%s holds no key that can be used: %v", path, err)
	}
	return key, nil
}

// parseKey also takes the forms that other tools write.
func parseKey(block *pem.Block) (crypto.Signer, error) {
	switch block.Type {
	case "EC PRIVATE KEY":
		return x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		return x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a %T cannot sign", key)
	}
	return signer, nil
}

func checkTime(what string, c *x509.Certificate) error {
	switch now := time.Now(); {
	case now.After(c.NotAfter):
		return failure(ErrExpired, "%s (%v) has expired at %v", what, c.Subject, c.NotAfter.Format(time.RFC3339)).hint(hintRenew)
	case now.Before(c.NotBefore):
		return failure(ErrNotYetValid, "%s (%v) is valid only from %v on", what, c.Subject, c.NotBefore.Format(time.RFC3339)).hint(hintClock)
	}
	return nil
}
