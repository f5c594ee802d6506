package noderpc

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
)

const (
	keyBytes         = 16
	incarnationBytes = 16
)

// tokens makes and checks the keys of leases: only the borrower that was given a lease can renew or end it (N4). The
// keys are computed, not stored: the server remembers nothing per lease, so nothing can leak or be filled up.
type tokens struct{ secret [32]byte }

func newTokens() *tokens {
	t := &tokens{}
	_, _ = rand.Read(t.secret[:]) // never fails, says its documentation
	return t
}

func (t *tokens) make(id catalog.LeaseID) *nodepb.LeaseToken {
	return &nodepb.LeaseToken{Id: uint64(id), Key: t.key(id)}
}

func (t *tokens) key(id catalog.LeaseID) []byte {
	mac := hmac.New(sha256.New, t.secret[:])
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(id))) // never fails
	return mac.Sum(nil)[:keyBytes]
}

func (t *tokens) check(token *nodepb.LeaseToken) bool {
	return hmac.Equal(token.GetKey(), t.key(catalog.LeaseID(token.GetId())))
}
