package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
)

const retry = 500 * time.Millisecond

// join makes this machine a learner of the cluster behind api-int. It tries until it succeeds, and returns the cluster's
// members as etcd takes them: NAME=URL,…
func (m *machine) join(ctx context.Context) (string, error) {
	say("joining through https://%s:%s", m.api, m.port)
	for {
		cluster, err := m.tryToJoin(ctx)
		if err == nil {
			return cluster, nil
		}
		if !pause(ctx, retry) {
			return "", err
		}
	}
}

func (m *machine) tryToJoin(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := m.client(m.api)
	if err != nil {
		return "", err
	}
	defer client.Close()
	// It is refused while another node is a learner, since etcd allows one at a time, or if this one was added before.
	added, refused := client.MemberAddAsLearner(ctx, []string{m.peerURL()})
	if refused == nil {
		return m.cluster(added.Members), nil
	}
	listed, err := client.MemberList(ctx)
	if err != nil {
		return "", err
	}
	mine := withPeer(listed.Members, m.peerURL())
	if mine == nil {
		return "", refused
	}
	if mine.Name != "" {
		say("this node was a member before and has lost its data: removing that member")
		_, err = client.MemberRemove(ctx, mine.ID)
		return "", errors.Join(refused, err)
	}
	return m.cluster(listed.Members), nil
}

func withPeer(members []*etcdserverpb.Member, url string) *etcdserverpb.Member {
	for _, member := range members {
		for _, own := range member.PeerURLs {
			if own == url {
				return member
			}
		}
	}
	return nil
}

func (m *machine) cluster(members []*etcdserverpb.Member) string {
	mine, parts := withPeer(members, m.peerURL()), []string{}
	for _, member := range members {
		name := member.Name
		if member == mine {
			name = m.name
		} else if name == "" {
			name = "not-started"
		}
		for _, url := range member.PeerURLs {
			parts = append(parts, fmt.Sprintf("%s=%s", name, url))
		}
	}
	return strings.Join(parts, ",")
}

// vote returns when this machine's member votes. The leader refuses until the learner has caught up.
func (m *machine) vote(ctx context.Context, started *embed.Etcd) {
	for started.Server.IsLearner() {
		limited, cancel := context.WithTimeout(ctx, patience)
		_, _ = started.Server.PromoteMember(limited, uint64(started.Server.MemberID()))
		cancel()
		if !pause(ctx, retry) {
			return
		}
	}
	say("%s is a voting member", m.name)
}
