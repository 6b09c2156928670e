package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
)

const (
	credentials = "/opt/openshift/tls"
	configMap   = "/api/v1/namespaces/kube-system/configmaps/bootstrap"
	etcdStatus  = "/apis/operator.openshift.io/v1/etcds/cluster/status"
	removed     = "EtcdBootstrapMemberRemoved"
)

// operate does what OKD's etcd operator does: it removes the bootstrap's member once the bootstrap is complete and every
// node votes, and says so in the operator's condition. Each node runs it.
func (m *machine) operate(ctx context.Context, started *embed.Etcd) {
	api, err := newAPI(m.api)
	if err != nil {
		say("no client of the API: %v", err)
		return
	}
	if m.fenced {
		go m.handOver(ctx, started, api)
	}
	for !api.isComplete(ctx) {
		if !pause(ctx, 3*time.Second) {
			return
		}
	}
	for {
		bootstrap := m.bootstrap(started.Server.Cluster().Members())
		if bootstrap == nil {
			break
		}
		if voters(started.Server.Cluster().Members()) > m.members {
			m.takeOut(ctx, started, bootstrap)
		}
		if !pause(ctx, time.Second) {
			return
		}
	}
	if api.report(ctx, removed) {
		say("the bootstrap is not a member")
	}
}

func voters(members []*membership.Member) int {
	count := 0
	for _, member := range members {
		if member.IsStarted() && !member.IsLearner {
			count++
		}
	}
	return count
}

// takeOut removes the bootstrap's member from the node that leads: OKD has one operator that does it. If the bootstrap leads,
// a node has to lead first: OKD removes a leader too, and its etcd elects another in a second, which takes this one 5 s or
// more. While nobody leads, the bootstrap may lead again.
func (m *machine) takeOut(ctx context.Context, started *embed.Etcd, bootstrap *membership.Member) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch started.Server.Leader() {
	case started.Server.MemberID():
		say("all nodes vote, and this one leads: removing the bootstrap's member")
		m.remove(ctx, started, bootstrap)
	case bootstrap.ID:
		if client, err := m.client(m.bootstrapAddress); err == nil {
			defer client.Close()
			_, _ = client.MoveLeader(limited, uint64(started.Server.MemberID()))
		}
	}
}

// api is the Kubernetes API at api-int.
type api struct {
	address string
	client  *http.Client
}

func newAPI(host string) (*api, error) {
	roots, err := pool(filepath.Join(credentials, "kube-apiserver-complete-server-ca-bundle.crt"))
	if err != nil {
		return nil, err
	}
	name := filepath.Join(credentials, "kube-control-plane-kube-controller-manager-client")
	own, err := tls.LoadX509KeyPair(name+".crt", name+".key")
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: config}}
	return &api{"https://" + host + ":6443", client}, nil
}

func (a *api) isComplete(ctx context.Context) bool {
	var found struct{ Data map[string]string }
	return a.call(ctx, http.MethodGet, configMap, "", &found) == nil && found.Data["status"] == "complete"
}

type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}

// conditions reads those of the etcd operator, and the version that they are of.
func (a *api) conditions(ctx context.Context) ([]condition, string, error) {
	var found struct {
		Metadata struct{ ResourceVersion string }
		Status   struct{ Conditions []condition }
	}
	err := a.call(ctx, http.MethodGet, etcdStatus, "", &found)
	return found.Status.Conditions, found.Metadata.ResourceVersion, err
}

// report makes a condition of the etcd operator True, beside those that another node has reported. It tries until it succeeds,
// and returns false when the machine is told to stop.
func (a *api) report(ctx context.Context, kind string) bool {
	for {
		listed, version, err := a.conditions(ctx)
		if err == nil {
			if slices.ContainsFunc(listed, func(each condition) bool { return each.Type == kind }) {
				return true
			}
			patch, _ := json.Marshal(map[string]any{
				"metadata": map[string]any{"resourceVersion": version},
				"status":   map[string]any{"conditions": append(listed, condition{kind, "True"})},
			})
			if a.call(ctx, http.MethodPatch, etcdStatus, string(patch), nil) == nil {
				return true
			}
		}
		if !pause(ctx, time.Second) {
			return false
		}
	}
}

// call sends a merge patch, or nothing, and reads the answer.
func (a *api) call(ctx context.Context, method, path, patch string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, a.address+path, bytes.NewBufferString(patch))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/merge-patch+json")
	answer, err := a.client.Do(request)
	if err != nil {
		// The VIP may have moved: the next request makes a new connection.
		a.client.CloseIdleConnections()
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, answer.Status)
	}
	if into == nil {
		_, err = io.Copy(io.Discard, answer.Body)
		return err
	}
	return json.NewDecoder(answer.Body).Decode(into)
}
