package inbox

import (
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Provider is who brings pushes to a device.
type Provider string

// The providers.
const (
	ProviderExpo    Provider = "EXPO"
	ProviderWebPush Provider = "WEB_PUSH"
)

// Platform is what a device runs.
type Platform string

// The platforms.
const (
	PlatformIOS     Platform = "IOS"
	PlatformAndroid Platform = "ANDROID"
	PlatformWeb     Platform = "WEB"
)

// Device is where a user gets pushes: an app on a phone, or a browser.
type Device struct {
	UserID   string
	ID       UUID
	Provider Provider
	// Token is in the canonical form, unique among all users' devices of the provider.
	Token string
	// Platform is nil where the client did not say.
	Platform *Platform
	// InstallationID is the client's own id, stable across token changes.
	InstallationID *string
	Name           *string
	CreatedAt      time.Time
	LastSeenAt     time.Time
	// DisabledAt is nil for a device that gets pushes.
	DisabledAt *time.Time
	// DisabledReason is the provider's code, e.g. DeviceNotRegistered.
	DisabledReason *string
}

// Enabled reports whether the device gets pushes.
func (d *Device) Enabled() bool { return d.DisabledAt == nil }

// DeviceInput is a device as a client registers it.
type DeviceInput struct {
	Provider Provider
	// Token is an Expo push token, or a Web Push subscription as JSON.
	Token          string
	Platform       *Platform
	InstallationID *string
	Name           *string
}

// The limits of a device, in bytes.
const (
	maxExpoToken      = 255
	maxSubscription   = 4 << 10
	maxInstallationID = 128
	maxDeviceName     = 128
)

// expoToken is what Expo's own SDK 6.1.0 takes, without the empty token and without blanks and brackets
// within one, which the SDK lets through and Expo never issued. The bare form is an alphanumeric UUID.
var expoToken = regexp.MustCompile(`^(?:Expo(?:nent)?PushToken\[[!-Z\\^-~]+\]|` +
	`(?i:[a-z0-9]{8}-[a-z0-9]{4}-[a-z0-9]{4}-[a-z0-9]{4}-[a-z0-9]{12}))$`)

// Check returns what is wrong with the device, nil where nothing is.
func (in DeviceInput) Check() []*UserError {
	var c checker
	in.checkToken(&c)
	if in.InstallationID != nil {
		c.line(*in.InstallationID, 1, maxInstallationID, "input", "deviceId")
	}
	if in.Name != nil {
		c.line(*in.Name, 1, maxDeviceName, "input", "name")
	}
	return c.errors
}

func (in DeviceInput) checkToken(c *checker) {
	most := maxExpoToken
	if in.Provider == ProviderWebPush {
		most = maxSubscription
	}
	if len(in.Token) > most {
		c.tooLarge(fmt.Sprintf("must have at most %d bytes", most), "input", "token")
		return
	}
	switch in.Provider {
	case ProviderExpo:
		if !expoToken.MatchString(in.Token) {
			c.invalid("must be an Expo push token, such as ExponentPushToken[...]", "input", "token")
		}
	case ProviderWebPush:
		if _, ok := ParseSubscription(in.Token); !ok {
			c.invalid("must be a push subscription as JSON: an https endpoint with keys p256dh and auth", "input", "token")
		}
	default:
		c.invalid("must be a known provider", "input", "provider")
	}
}

// CanonicalToken returns the token as it is stored and compared: an Expo token byte for byte, a Web Push
// subscription in the one form of Subscription.String. It is never longer than the token. A token that
// Check refuses comes back as it is.
func (in DeviceInput) CanonicalToken() string {
	if in.Provider == ProviderWebPush {
		if s, ok := ParseSubscription(in.Token); ok {
			return s.String()
		}
	}
	return in.Token
}

// Subscription is where a browser gets pushes, and what they are encrypted with: a PushSubscription of the
// Push API, as its toJSON writes it. Make one with ParseSubscription.
type Subscription struct {
	// Endpoint is an absolute https URL without userinfo and fragment.
	Endpoint string
	// PublicKey is the browser's, p256dh in JSON.
	PublicKey *ecdh.PublicKey
	// Auth is the secret of authLen bytes that browser and server share.
	Auth []byte
}

// authLen is the length of the authentication secret (RFC 8291, section 3.2), in bytes.
const authLen = 16

// subscriptionJSON is a subscription on the wire; the order of the fields is that of the canonical form.
type subscriptionJSON struct {
	Endpoint string `json:"endpoint"`
	Keys     struct {
		P256DH string `json:"p256dh"`
		Auth   string `json:"auth"`
	} `json:"keys"`
}

// ParseSubscription reads a subscription, at most 4 KiB of JSON. Other members are passed over,
// expirationTime among them: a subscription that has expired answers 410.
func ParseSubscription(token string) (Subscription, bool) {
	var raw subscriptionJSON
	if len(token) > maxSubscription || json.Unmarshal([]byte(token), &raw) != nil || !isEndpoint(raw.Endpoint) {
		return Subscription{}, false
	}
	point, pointOK := decodeKey(raw.Keys.P256DH)
	auth, authOK := decodeKey(raw.Keys.Auth)
	if !pointOK || !authOK || len(auth) != authLen {
		return Subscription{}, false
	}
	// It takes 65 bytes, uncompressed, on the curve, and nothing else.
	key, err := ecdh.P256().NewPublicKey(point)
	if err != nil {
		return Subscription{}, false
	}
	return Subscription{Endpoint: raw.Endpoint, PublicKey: key, Auth: auth}, true
}

// String returns the canonical form: endpoint and keys in this order without blanks, the keys in
// base64url without padding. Two texts of one subscription have the same.
func (s Subscription) String() string {
	raw := subscriptionJSON{Endpoint: s.Endpoint}
	raw.Keys.P256DH = base64.RawURLEncoding.EncodeToString(s.PublicKey.Bytes())
	raw.Keys.Auth = base64.RawURLEncoding.EncodeToString(s.Auth)
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	// Three strings always encode, and a Builder takes all.
	_ = encoder.Encode(raw)
	return strings.TrimSuffix(b.String(), "\n")
}

// isEndpoint reports whether s is an absolute https URL as browsers write one: printable ASCII. Which
// hosts and ports are sent to is the sender's to say.
func isEndpoint(s string) bool {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && !strings.Contains(s, "#")
}

// toBase64URL turns what btoa writes into what toJSON writes: many pages encode the keys by hand.
var toBase64URL = strings.NewReplacer("+", "-", "/", "_")

func decodeKey(s string) ([]byte, bool) {
	s = strings.TrimRight(toBase64URL.Replace(s), "=")
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return b, err == nil
}
