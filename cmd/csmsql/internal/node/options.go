package node

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/place"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/bytesize"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/wire"
)

// Off is the address that means "do not listen".
const Off = "off"

// Options of a node.
type Options struct {
	Data            string // data directory
	PostgreSQL      string // host:port, or Off
	HTTP            string // host:port, or empty
	Fabric          string // as memregion.ParseFabric reads it
	RegionDirectory string
	RegionBytes     int64
	Quotas          []string // TABLE=SIZE each
	MemoryBytes     int64
	Threads         int
	Workers         int // processes that run queries in the node's place
	Node            string
	Files           []string // directories that SQL may read and write
	Verify          string   // when chunks are compared with their checksums, as engine.Verification; empty: as the fabric needs
	VerifyAtStart   bool
	Dialect         string // what a session's text means, as engine.Config.Dialect
	Prefault        bool
	Progress        func(noderpc.Progress) // of Prefault; may be nil
	ClusterInit     bool                   // begin a cluster: run a member of etcd in this process
	Etcd            []string               // join the cluster of this etcd
	EtcdMember      bool                   // run a member of etcd, too, that joins those of Etcd
	EtcdListen      string                 // where the member of etcd listens, host:port; empty: a socket in the data directory
	EtcdPeer        string                 // where the other members of etcd reach it, host:port; empty: a port of 127.0.0.1
	EtcdQuota       int64                  // bytes of the member's database; 0: etcd.DefaultQuotaBytes
	EtcdHistory     time.Duration          // how long it remembers changes; 0: etcd.DefaultHistory
	RPC             string                 // where other nodes reach this one, host:port; empty: its socket, for nodes on this machine
	Certificates    string                 // directory of ca.crt, node.crt and node.key
	SessionTTL      time.Duration
	RepairAfter     time.Duration     // how long another node may be gone before its replicas are rebuilt; 0: for ever
	Heap            func(bytes int64) // as engine.Config has it
	Sessions        func(open int)    // likewise
	Log             *slog.Logger
	// Stuck is called when statements, or loads, have not ended so long after ctx that only the end of the process ends
	// them; nil: Run waits.
	Stuck func()
	Fault faults.Hook // of tests that are the program; nil otherwise
}

// Check finds what is wrong with the options as they stand, before anything is touched.
func (o Options) Check() error {
	_, err := o.complete()
	return err
}

// complete makes paths absolute and checks what can be checked.
func (o Options) complete() (Options, error) {
	if err := engine.Verification(o.Verify).Check(); err != nil {
		return o, fmt.Errorf("--verify: %w", err)
	}
	if err := dialect.Check(o.Dialect); err != nil {
		return o, fmt.Errorf("--dialect: %w", err)
	}
	if o.PostgreSQL != Off {
		if err := wire.CheckListen(o.PostgreSQL, false); err != nil {
			return o, fmt.Errorf("--pg: %w", err)
		}
	}
	if o.HTTP != "" {
		if err := wire.CheckListen(o.HTTP, false); err != nil {
			return o, fmt.Errorf("--http: %w", err)
		}
	}
	if _, _, err := memregion.ParseFabric(o.Fabric); err != nil {
		return o, fmt.Errorf("--fabric %s: this version knows shm (memory, gone after a reboot), file (on disk), device:PATH[@OFFSET][,incoherent|,home-snoop] (memory that is there already) and, for tests, emulated[:SEED][,home-snoop][,64|128] (memory that is not coherent)", o.Fabric)
	}
	if o.Threads < 0 {
		return o, fmt.Errorf("--threads %d: say how many threads queries may use, or 0 for one per CPU", o.Threads)
	}
	if o.Workers < 0 || o.Workers > workersMost {
		return o, fmt.Errorf("--workers %d: say how many processes run queries, 0 to %d", o.Workers, workersMost)
	}
	if o.Workers > 0 && o.clustered() {
		return o, errors.New("--workers is for a node that is alone: it does not go with --cluster-init or --etcd")
	}
	if o.RegionBytes > 0 && o.RegionBytes < leastBytes {
		return o, fmt.Errorf("--region %s: a region has at least %s", bytesize.Size(o.RegionBytes), bytesize.Size(leastBytes))
	}
	if _, err := o.quotas(); err != nil {
		return o, err
	}
	if o.MemoryBytes > 0 && o.MemoryBytes < leastBytes {
		return o, fmt.Errorf("--memory %s: queries have at least %s", bytesize.Size(o.MemoryBytes), bytesize.Size(leastBytes))
	}
	if err := o.checkCluster(); err != nil {
		return o, err
	}
	var err error
	if o.Data, err = filepath.Abs(o.Data); err != nil {
		return o, fmt.Errorf("--data: %w", err)
	}
	if _, device, _ := memregion.ParseDevice(o.Fabric); device && o.RegionDirectory != "" {
		return o, fmt.Errorf("--region-dir %s is for a region in a file of its own, --fabric %s is where it lies already: give one of them", o.RegionDirectory, o.Fabric)
	}
	if o.RegionDirectory != "" {
		if o.RegionDirectory, err = directory("--region-dir", o.RegionDirectory); err != nil {
			return o, err
		}
	}
	o.Files = slices.Clone(o.Files)
	for i, dir := range o.Files {
		if o.Files[i], err = directory("--files", dir); err != nil {
			return o, err
		}
	}
	return o, nil
}

// leastBytes is the least size of the region, and of memory: a region has at least one page, and DuckDB needs some
// memory.
const leastBytes = 8 << 20

// workersMost is more than is useful on any machine.
const workersMost = 256

// directory makes the path of an existing directory absolute.
func directory(flag, path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	info, err := os.Stat(absolute)
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s: %s is not a directory", flag, absolute)
	}
	return absolute, nil
}

// TableNamed parses a command's name of a table: schema.table, or table alone, with an empty schema. Unlike in SQL,
// names are not quoted or folded.
func TableNamed(text string) catalog.TableName {
	if schema, name, qualified := strings.Cut(text, "."); qualified {
		return catalog.TableName{Schema: schema, Name: name}
	}
	return catalog.TableName{Name: text}
}

// quotas are how many bytes of the region tables may hold.
func (o Options) quotas() (map[catalog.TableName]int64, error) {
	quotas := map[catalog.TableName]int64{}
	for _, text := range o.Quotas {
		at := max(strings.LastIndex(text, "="), 0) // a name may have one
		name := TableNamed(text[:at])
		name.Schema = cmp.Or(name.Schema, duckdb.SchemaName)
		var size bytesize.Size
		if err := size.Set(strings.TrimPrefix(text[at:], "=")); err != nil || size <= 0 || name.Name == "" {
			return nil, fmt.Errorf("--quota %s: say which table may hold how much of the region, as in --quota sales=4GiB", text)
		}
		if _, twice := quotas[name]; twice {
			return nil, fmt.Errorf("--quota %s: table %v has a quota already", text, name)
		}
		quotas[name] = int64(size)
	}
	return quotas, nil
}

func (o Options) engine() engine.Config {
	quotas, _ := o.quotas() // complete has looked
	return engine.Config{
		Directory: o.Data, Node: o.Node, Fabric: memregion.FabricKind(o.Fabric), RegionDirectory: o.RegionDirectory,
		RegionBytes: o.RegionBytes, Quotas: quotas, MemoryBytes: o.MemoryBytes, Threads: o.Threads,
		Workers: engine.Workers{Count: o.Workers, Command: []string{"/proc/self/exe", "worker"}, Socket: filepath.Join(o.Data, place.SocketName)},
		Files:   engine.FileAccess{Directories: o.Files}, Verify: engine.Verification(o.Verify), VerifyAtStart: o.VerifyAtStart, Dialect: o.Dialect,
		Prefault: o.Prefault, Progress: o.Progress, Heap: o.Heap, Sessions: o.Sessions, Log: o.Log, Fault: o.Fault,
	}
}

// clustered reports whether the node is one of several.
func (o Options) clustered() bool { return o.ClusterInit || len(o.Etcd) > 0 }

func (o Options) checkCluster() error {
	switch {
	case o.ClusterInit && len(o.Etcd) > 0:
		return errors.New("--cluster-init begins a cluster and --etcd joins one: give one of them")
	case !o.clustered() && (o.RPC != "" || o.Certificates != "" || o.EtcdListen != "" || o.EtcdPeer != "" || o.EtcdMember):
		return errors.New("--rpc, --certs, --etcd-listen, --etcd-peer and --etcd-member are for nodes of a cluster: give --cluster-init or --etcd, too")
	case o.SessionTTL < 0:
		return fmt.Errorf("--session-ttl %v: say a time above 0", o.SessionTTL)
	case o.RepairAfter < 0:
		return fmt.Errorf("--repair-after %v: say a time, or 0 for ever", o.RepairAfter)
	case o.RPC != "" && o.Certificates == "":
		return errors.New("--rpc opens the node to others over the network, which takes certificates: make them with “csmsql cluster cert” and give their directory with --certs")
	case o.EtcdMember && len(o.Etcd) == 0:
		return errors.New("--etcd-member joins the other members of etcd: say where they are with --etcd (the first node has --cluster-init instead)")
	case (o.EtcdListen != "" || o.EtcdPeer != "") && !o.ClusterInit && !o.EtcdMember:
		return errors.New("--etcd-listen and --etcd-peer are for nodes that run a member of etcd: give --cluster-init or --etcd-member, too")
	case (o.EtcdQuota != 0 || o.EtcdHistory != 0) && !o.ClusterInit && !o.EtcdMember:
		return errors.New("--etcd-quota and --etcd-history are for nodes that run a member of etcd: give --cluster-init or --etcd-member, too")
	case o.EtcdQuota != 0 && o.EtcdQuota < leastEtcdQuota:
		return fmt.Errorf("--etcd-quota %s: etcd's database has at least %s", bytesize.Size(o.EtcdQuota), bytesize.Size(leastEtcdQuota))
	case o.EtcdHistory != 0 && o.EtcdHistory < leastEtcdHistory:
		return fmt.Errorf("--etcd-history %v: nodes that lose the connection for less must miss nothing: say %v or more", o.EtcdHistory, leastEtcdHistory)
	case o.clustered() && o.Node == defaultNode:
		return fmt.Errorf("a node of a cluster needs a name of its own: give --node NAME (not %q)", defaultNode)
	}
	for _, f := range [][2]string{{"rpc", o.RPC}, {"etcd-listen", o.EtcdListen}, {"etcd-peer", o.EtcdPeer}} {
		if f[1] != "" && !isAddress(f[1]) {
			return fmt.Errorf("--%s %q is not an address: want HOST:PORT, for example 127.0.0.1:2380", f[0], f[1])
		}
	}
	for _, endpoint := range o.Etcd {
		if path, socket := strings.CutPrefix(endpoint, "unix://"); !isAddress(endpoint) && (!socket || !filepath.IsAbs(path)) {
			return fmt.Errorf("--etcd %q is not an address: want HOST:PORT or unix:///path", endpoint)
		}
	}
	return nil
}

// What a member of etcd needs: room for a catalog, and changes for nodes that were cut off for a moment.
const (
	leastEtcdQuota   = 16 << 20
	leastEtcdHistory = time.Minute
)

// isAddress reports whether a text is HOST:PORT, with or without the scheme that etcd's own tools write.
func isAddress(text string) bool {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "https://"), "http://")
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// defaultNode is the name of a node that is not in a cluster.
const defaultNode = "local"

// cluster says how the engine is to join; nil: not at all.
func (o Options) cluster(d *doors) *engine.Cluster {
	if !o.clustered() {
		return nil
	}
	c := &engine.Cluster{
		Endpoints: o.Etcd, Init: o.ClusterInit, Member: o.EtcdMember, EtcdListen: o.EtcdListen, EtcdPeer: o.EtcdPeer,
		EtcdQuota: o.EtcdQuota, EtcdHistory: o.EtcdHistory,
		Certificates: o.Certificates, SessionTTL: o.SessionTTL, RepairAfter: cmp.Or(o.RepairAfter, -1),
		Address: filepath.Join(o.Data, place.SocketName),
	}
	if d.remote != nil {
		c.Address = d.remote.listener.Addr().String()
	}
	if d.tcp != nil {
		c.Frontend = d.tcp.listener.Addr().String()
	}
	return c
}
