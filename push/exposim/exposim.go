// Package exposim is a simulator of Expo's push API, for tests and for trying Belfry without Expo. It takes
// POST /--/api/v2/push/send and POST /--/api/v2/push/getReceipts as Expo does, remembers what the devices
// would have been given, and answers GET /deliveries with that.
//
// What a request is to meet is written into its tokens, so that every client can cause it: a token is
// ExponentPushToken[NAME], and where NAME ends with "-" and one of the words below, that happens. A NAME
// that begins with "shop:" is of the project @belfry/shop, one without a colon of @belfry/app.
//
// Of one message, in its ticket:
//
//	unregistered        an error ticket, DeviceNotRegistered, that names the token
//	refused             an error ticket with a code that no document knows
//	codeless            an error ticket without details
//	exceeded            an error ticket, MessageRateExceeded
//	status              a ticket whose status is neither ok nor error
//	noid                an ok ticket without an id; the device gets the message
//
// Of one message, in its receipt; the device does not get it:
//
//	gone                DeviceNotRegistered
//	big                 MessageTooBig
//	rate                MessageRateExceeded
//	mismatch            MismatchSenderId
//	credentials         InvalidCredentials
//	developer           DeveloperError
//	expo                ExpoError
//	fcm                 ProviderError of FCM, as seen in the wild
//	apns                ProviderError of Apple, as seen in the wild, with fields that no document knows
//	strange             a code that no document knows
//	lost                no receipt ever
//
// Of a whole request, which is not taken:
//
//	400                 VALIDATION_ERROR
//	401                 {"error":"invalid_token",...}, without the key errors
//	403                 UNAUTHORIZED
//	413                 a page of HTML
//	429                 TOO_MANY_REQUESTS, with Retry-After: 1
//	reset               the connection is reset
//
// Of a whole request that is taken all the same, so that who sends it again shows a message twice:
//
//	500                 INTERNAL_SERVER_ERROR
//	502, 503, 504       a page of HTML
//	cut                 the connection is reset instead of an answer
//	slow                the answer's first bytes, and then nothing
//	html                200 with a page of HTML
//	errors              200 with errors
//	garbage             200 with half of a JSON document
//	empty               200 with no body
//	short, long         200 with one ticket too few, or too many
//	array               200 with the tickets as a map, or the receipts as an array
//
// The words of whole requests are the values of Fault as well, which a test can queue with FailSend and
// FailReceipts.
package exposim

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// The limits that Expo documents.
const (
	maxMessages    = 100
	maxReceipts    = 1000
	maxPayload     = 4096
	receiptsExpire = 24 * time.Hour
	defaultLimit   = 600
	defaultKeep    = 100_000
)

// Config is how a simulator behaves; its zero value is Expo with receipts at once.
type Config struct {
	// AccessToken is the bearer token that requests need; "" for none.
	AccessToken string
	// Limit is how many messages a second a project may send: 600 where it is 0, any where it is negative.
	Limit int
	// ReceiptDelay is how long a receipt takes to appear. Expo's own advice is to look after 15 minutes.
	ReceiptDelay time.Duration
	// Keep is how many of the latest deliveries are remembered, 100,000 where it is 0.
	Keep int
}

// Simulator is a running simulator, an http.Handler. It is safe for concurrent use.
type Simulator struct {
	config Config
	mux    *http.ServeMux

	mu         sync.Mutex
	ahead      time.Duration // all below is guarded by mu
	buckets    map[string]*bucket
	sends      []Fault
	receipts   []Fault
	deliveries []Delivery
	issued     issuer
	stats      Stats
}

// Stats counts what a simulator was asked.
type Stats struct {
	// SendRequests and ReceiptRequests are counted whatever the answer.
	SendRequests    int `json:"sendRequests"`
	ReceiptRequests int `json:"receiptRequests"`
	// Messages are those for which a ticket was made, one a recipient.
	Messages int `json:"messages"`
	// Delivered are those that a device got.
	Delivered int `json:"delivered"`
}

// New makes a simulator.
func New(config Config) *Simulator {
	if config.Limit == 0 {
		config.Limit = defaultLimit
	}
	if config.Keep == 0 {
		config.Keep = defaultKeep
	}
	s := &Simulator{config: config, mux: http.NewServeMux(), buckets: map[string]*bucket{}}
	_, _ = rand.Read(s.issued.run[:]) // it never returns an error
	s.mux.HandleFunc("POST /--/api/v2/push/send", s.send)
	s.mux.HandleFunc("POST /--/api/v2/push/getReceipts", s.getReceipts)
	s.mux.HandleFunc("GET /deliveries", s.showDeliveries)
	return s
}

// ServeHTTP implements http.Handler.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Advance moves the simulator's clock on: receipts appear and expire, and the rate's buckets fill.
func (s *Simulator) Advance(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += by
}

// Stats returns what the simulator was asked so far.
func (s *Simulator) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// FailSend lets the next requests to send meet these faults, one each; None is a request that meets none.
func (s *Simulator) FailSend(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sends = append(s.sends, faults...)
}

// FailReceipts is FailSend for requests for receipts.
func (s *Simulator) FailReceipts(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receipts = append(s.receipts, faults...)
}

// now is the simulator's time; s.mu is held.
func (s *Simulator) now() time.Time { return time.Now().Add(s.ahead) }

// next takes the first fault of a queue; s.mu is held.
func next(queue *[]Fault) Fault {
	if len(*queue) == 0 {
		return None
	}
	fault := (*queue)[0]
	*queue = (*queue)[1:]
	return fault
}

// isAuthorized answers a request without the bearer token that it needs.
func (s *Simulator) isAuthorized(w http.ResponseWriter, r *http.Request) bool {
	given := r.Header.Get("Authorization")
	switch {
	case s.config.AccessToken == "" || given == "Bearer "+s.config.AccessToken:
		return true
	case given == "":
		respondError(w, http.StatusForbidden, codeUnauthorized,
			"Insufficient permissions to send push notifications: this project needs an access token.", nil)
	default:
		Unauthorized.respond(w, r, nil)
	}
	return false
}

func (s *Simulator) showDeliveries(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(struct {
		Stats      Stats      `json:"stats"`
		Deliveries []Delivery `json:"deliveries"`
	}{s.Stats(), s.Deliveries()})
}
