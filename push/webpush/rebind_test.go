package webpush

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"belfry/push"
)

// resolver returns one that answers every name with these addresses, and with none that there is no such.
func resolver(addresses ...string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go serveNames(server, addresses)
		return client, nil
	}}
}

// serveNames speaks DNS as over TCP, which the resolver does on a connection without packets.
func serveNames(conn net.Conn, addresses []string) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		answer := answerTo(query, addresses)
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// answerTo answers the one question of a query (RFC 1035, section 4).
func answerTo(query []byte, addresses []string) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	question := query[12 : end+5]
	kind := binary.BigEndian.Uint16(query[end+1:])
	var count uint16
	var records []byte
	for _, text := range addresses {
		a := netip.MustParseAddr(text)
		if a.Is4() != (kind == 1) || kind != 1 && kind != 28 {
			continue
		}
		count++
		// A pointer to the name in the question, type, class IN, a TTL of 0, the address.
		records = append(records, 0xc0, 12)
		records = binary.BigEndian.AppendUint16(records, kind)
		records = append(records, 0, 1, 0, 0, 0, 0)
		records = binary.BigEndian.AppendUint16(records, uint16(a.BitLen()/8))
		records = append(records, a.AsSlice()...)
	}
	code := byte(0)
	if len(addresses) == 0 {
		code = 3
	}
	answer := append([]byte{query[0], query[1], 0x81, 0x80 | code, 0, 1}, 0, byte(count), 0, 0, 0, 0)
	return append(append(answer, question...), records...)
}

// A name on the list that leads into one's own network gets nothing, whatever it led to before.
func TestNamesOfPrivateAddresses(t *testing.T) {
	t.Parallel()
	refused := push.Result{Verdict: push.Failed, Error: "address_not_allowed"}
	for _, address := range []string{
		"127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "192.168.0.1", "169.254.169.254", "0.0.0.0", "fd00:ec2::254", "64:ff9b::7f00:1",
	} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			s, cfg := newService(t, status(http.StatusCreated))
			cfg.AllowPrivate, cfg.Resolver = false, resolver(address)
			checkResults(t, []push.Result{refused}, sendToName(t, s, cfg))
			if got := len(s.got()); got != 0 {
				t.Errorf("received %d requests, want none", got)
			}
		})
	}
	t.Run("allowed", func(t *testing.T) {
		t.Parallel()
		s, cfg := newService(t, status(http.StatusCreated))
		cfg.Resolver = resolver("127.0.0.1")
		checkResults(t, []push.Result{{Verdict: push.Delivered}}, sendToName(t, s, cfg))
	})
}

// sendToName sends to the service by a name that its certificate holds.
func sendToName(t *testing.T, s *service, cfg Config) []push.Result {
	t.Helper()
	_, port, _ := strings.Cut(s.Listener.Addr().String(), ":")
	cfg.AllowedHosts = []string{"*.example.com:" + port}
	return newClient(t, cfg).Send(t.Context(), []push.Message{s.messageTo("https://push.example.com:" + port + "/")})
}

// The list alone stops these, before anything is looked up. The device stays: a list that is put right
// makes it good again.
func TestHostsThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	s, cfg := newService(t, status(http.StatusCreated))
	cfg.AllowedHosts, cfg.AllowPrivate = nil, false
	c := newClient(t, cfg)
	var messages []push.Message
	var want []push.Result
	for _, endpoint := range []string{
		s.URL + "/", "https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/latest", "https://10.0.0.1/",
		"https://[::ffff:127.0.0.1]/", "https://evil.example/", "https://fcm.googleapis.com:8443/", "https://fcm.googleapis.com.evil.example/",
	} {
		messages = append(messages, s.messageTo(endpoint))
		want = append(want, push.Result{Verdict: push.Failed, Error: "host_not_allowed"})
	}
	// These are no subscriptions to inbox either.
	for _, endpoint := range []string{"http://fcm.googleapis.com/", "https://fcm.googleapis.com@evil.example/", "https://a:b@fcm.googleapis.com/", "gopher://x/"} {
		messages = append(messages, s.messageTo(endpoint))
		want = append(want, push.Result{Verdict: push.Failed, Error: "invalid_token", DisableDevice: true})
	}
	checkResults(t, want, c.Send(t.Context(), messages))
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	target, cfg := newService(t, status(http.StatusCreated))
	for _, code := range []int{301, 302, 303, 307, 308} {
		s, own := newService(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target.URL, code) })
		own.AllowedHosts = append(own.AllowedHosts, cfg.AllowedHosts...)
		got := newClient(t, own).Send(t.Context(), []push.Message{s.message("/")})
		checkResults(t, []push.Result{{Verdict: push.Failed, Error: fmt.Sprint("http_", code)}}, got)
	}
	if got := len(target.got()); got != 0 {
		t.Errorf("the target received %d requests, want none", got)
	}
}
