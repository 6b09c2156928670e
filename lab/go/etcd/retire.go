package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os/exec"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

// removeBootstrap returns when the bootstrap is no member: each node tries, and the first one that can removes it.
func (m *machine) removeBootstrap(ctx context.Context, started *embed.Etcd) {
	if m.retireAfter == 0 {
		m.operate(ctx, started)
		return
	}
	reached := time.Now()
	for pause(ctx, 2*time.Second) {
		bootstrap := m.bootstrap(started.Server.Cluster().Members())
		switch {
		case bootstrap == nil:
			say("the bootstrap is not a member")
			return
		case m.bootstrapAnswers():
			reached = time.Now()
		case time.Since(reached) > m.retireAfter && m.isSafe(ctx, started):
			say("the bootstrap has been unreachable for %.0f s: removing its member", time.Since(reached).Seconds())
			m.remove(ctx, started, bootstrap)
		}
	}
}

func (m *machine) bootstrap(members []*membership.Member) *membership.Member {
	for _, member := range members {
		if member.Name == m.bootstrapName {
			return member
		}
	}
	return nil
}

func (m *machine) remove(ctx context.Context, started *embed.Etcd, member *membership.Member) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := started.Server.RemoveMember(limited, uint64(member.ID)); err != nil {
		say("not removed: %v", err)
	}
}

// A bare connect: an API that answers "not ready" still counts as reachable.
func (m *machine) bootstrapAnswers() bool {
	connection, err := net.DialTimeout("tcp", net.JoinHostPort(m.bootstrapAddress, m.port), 3*time.Second)
	if err == nil {
		connection.Close()
	}
	return err == nil
}

// isSafe tells whether every node that holds etcd is a started, ready voter: then a majority remains. It asks the
// whole cluster: without a majority there is no answer.
func (m *machine) isSafe(ctx context.Context, started *embed.Etcd) bool {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if started.Server.LinearizableReadNotify(limited) != nil {
		return false
	}
	count := 0
	for _, member := range started.Server.Cluster().Members() {
		if member.Name == m.bootstrapName {
			continue
		}
		if !member.IsStarted() || member.IsLearner || !m.isReady(limited, member.ClientURLs[0]) {
			return false
		}
		count++
	}
	return count == m.members
}

func (m *machine) isReady(ctx context.Context, clientURL string) bool {
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: m.trusted, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, clientURL+"/readyz", nil)
	if err != nil {
		return false
	}
	answer, err := client.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// leave is what bootkube does last: when etcd has the key, it ends this machine's config server and API.
func (m *machine) leave(ctx context.Context, started *embed.Etcd) {
	client := v3client.New(started.Server)
	defer client.Close()
	key := m.completeKey
	for pause(ctx, 2*time.Second) {
		found, err := client.Get(ctx, key)
		if err != nil || len(found.Kvs) == 0 {
			continue
		}
		say("the bootstrap is complete: ending this machine's config server and API")
		_ = exec.Command("systemctl", "stop", "lab-config-server.service", "lab-etcd.service").Run()
		return
	}
}
