package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
)

const (
	data  = "/var/lib/lab-etcd"
	files = "/etc/lab"
	// They suit emulated guests, which may get no core for a second.
	heartbeatMs, electionMs = 500, 5000
	patience                = 8 * time.Second
)

// machine is what its environment says of this machine and its cluster.
type machine struct {
	name, address                   string
	api, port                       string
	clientPort                      string // of its own etcd: that of the API, if etcd stands in for it
	bootstrapName, bootstrapAddress string
	members                         int           // of etcd, without the bootstrap
	retireAfter                     time.Duration // 0: a real API says when the bootstrap is complete
	completeKey                     string
	fenced                          bool // two nodes that fence each other: Pacemaker takes etcd over
	trusted                         *x509.CertPool
}

func fromEnvironment() (*machine, error) {
	members, err := strconv.Atoi(os.Getenv("ETCD_MEMBERS"))
	if err != nil {
		return nil, fmt.Errorf("ETCD_MEMBERS: %w", err)
	}
	seconds, err := strconv.Atoi("0" + os.Getenv("RETIRE_AFTER_S"))
	if err != nil {
		return nil, fmt.Errorf("RETIRE_AFTER_S: %w", err)
	}
	trusted, err := pool(filepath.Join(files, "ca.crt"))
	if err != nil {
		return nil, err
	}
	return &machine{
		name:             os.Getenv("NODE"),
		address:          os.Getenv("ADDRESS"),
		api:              "api-int." + os.Getenv("DOMAIN"),
		port:             os.Getenv("ETCD_PORT"),
		clientPort:       os.Getenv("ETCD_PORT"),
		bootstrapName:    os.Getenv("BOOTSTRAP_NAME"),
		bootstrapAddress: os.Getenv("BOOTSTRAP_ADDRESS"),
		members:          members,
		retireAfter:      time.Duration(seconds) * time.Second,
		completeKey:      os.Getenv("COMPLETE"),
		fenced:           os.Getenv("FENCED") != "",
		trusted:          trusted,
	}, nil
}

func pool(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return roots, nil
}

func say(format string, values ...any) {
	fmt.Printf("okd-lab: etcd: "+format+"\n", values...)
}

func (m *machine) peerURL() string { return "http://" + net.JoinHostPort(m.address, "2380") }

func (m *machine) hasData() bool {
	_, err := os.Stat(filepath.Join(data, "member"))
	return err == nil
}

// client returns a client of the etcd at a name or address.
func (m *machine) client(host string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints: []string{"https://" + net.JoinHostPort(host, m.port)},
		TLS:       &tls.Config{RootCAs: m.trusted, MinVersion: tls.VersionTLS12},
	})
}

// start returns a running etcd that serves, or a learner's, which refuses until it votes.
func (m *machine) start(cluster, state string) (*embed.Etcd, error) {
	say("starting %s at %s with %s", m.name, m.address, cluster)
	config := embed.NewConfig()
	config.Name, config.Dir, config.LogLevel = m.name, data, "error"
	config.TickMs, config.ElectionMs = heartbeatMs, electionMs
	// With this check each member would wait until the one before has been connected for 5 s: three joined in 12 s
	// instead of 2 s (etcd 3.6.8, 2026-11). A member that joins is a learner first, and removeBootstrap has checks of
	// its own.
	config.StrictReconfigCheck = false
	peer, err := url.Parse(m.peerURL())
	if err != nil {
		return nil, err
	}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	config.ListenClientUrls = []url.URL{{Scheme: "https", Host: net.JoinHostPort("::", m.clientPort)}}
	config.AdvertiseClientUrls = []url.URL{{Scheme: "https", Host: net.JoinHostPort(m.address, m.clientPort)}}
	config.ClientTLSInfo = transport.TLSInfo{
		CertFile: filepath.Join(files, "server.crt"), KeyFile: filepath.Join(files, "server.key"),
	}
	config.InitialCluster, config.ClusterState = cluster, state
	started, err := embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	<-started.Server.ReadyNotify()
	return started, nil
}

// ready tells systemd that this machine's etcd serves: the units after it start.
func (m *machine) ready() {
	if _, err := daemon.SdNotify(false, daemon.SdNotifyReady); err != nil {
		say("systemd was not told: %v", err)
	}
}

// serve returns when the machine is told to stop, or its member was removed.
func (m *machine) serve(ctx context.Context, started *embed.Etcd) error {
	select {
	case <-ctx.Done():
		return nil
	case <-started.Server.StopNotify():
		say("%s is a member no more", m.name)
		return nil
	case err := <-started.Err():
		return err
	}
}

// pause waits; it returns false when the machine is told to stop.
func pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
		return true
	}
}
