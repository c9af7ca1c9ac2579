package inbox

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxUserID is the longest user id, in bytes.
const MaxUserID = 128

// MaxUsers is the most users, or nodes, that one field returns.
const MaxUsers = 100

// User is someone with an inbox. Every valid id is one; nothing has to be created first.
type User struct {
	ID string
	// Badge has the counters where they were read already; nil where they have to be.
	Badge *Badge
}

// NodeID returns the opaque id.
func (u *User) NodeID() string { return NodeID{Kind: KindUser, UserID: u.ID}.String() }

// ValidUserID reports whether id can name a user: the host application's own string, 1 to 128
// bytes of UTF-8 without control characters.
func ValidUserID(id string) bool {
	return id != "" && len(id) <= MaxUserID && utf8.ValidString(id) && !hasControl(id)
}

// CheckUserID returns what is wrong with input.userId, nil where nothing is.
func CheckUserID(id string) []*UserError {
	var c checker
	c.userID(id, "input", "userId")
	return c.errors
}

// hasControl reports whether s holds a control character, the NUL that Postgres refuses among them.
func hasControl(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '\x7f' {
			return true
		} else if c >= utf8.RuneSelf {
			return strings.ContainsFunc(s[i:], unicode.IsControl)
		}
	}
	return false
}

// Account is what the host application has told about a user.
type Account struct {
	UserID      string
	Email       *string
	DisplayName string
	AvatarURL   *string
	CreatedAt   time.Time
}

// NodeID returns the opaque id.
func (a *Account) NodeID() string { return NodeID{Kind: KindAccount, UserID: a.UserID}.String() }

// AppendNodeID appends the opaque id.
func (a *Account) AppendNodeID(b []byte) []byte {
	return NodeID{Kind: KindAccount, UserID: a.UserID}.Append(b)
}

// Actor is who caused a notification: of another user only what may be shown.
type Actor struct {
	UserID      string
	DisplayName string
	AvatarURL   *string
}

// NewActor returns the actor of that id with the account's name and picture, or with the id as its
// name where account is nil.
func NewActor(userID string, account *Account) *Actor {
	if account == nil {
		return &Actor{UserID: userID, DisplayName: userID}
	}
	return &Actor{UserID: userID, DisplayName: account.DisplayName, AvatarURL: account.AvatarURL}
}

// AccountInput is an account as the host application sends it. It replaces all that was there.
type AccountInput struct {
	UserID      string
	Email       *string
	DisplayName string
	AvatarURL   *string
	// CreatedAt nil keeps what is stored, or takes the server's time.
	CreatedAt *time.Time
}

// The limits of an account, in bytes.
const (
	maxEmail       = 320
	maxDisplayName = 256
)

// Check returns what is wrong with the account, nil where nothing is.
func (in AccountInput) Check(now time.Time) []*UserError {
	var c checker
	c.userID(in.UserID, "input", "userId")
	c.line(in.DisplayName, 1, maxDisplayName, "input", "displayName")
	if in.Email != nil {
		c.line(*in.Email, 3, maxEmail, "input", "email")
		if i := strings.LastIndexByte(*in.Email, '@'); i < 1 || i == len(*in.Email)-1 {
			c.invalid("not an e-mail address", "input", "email")
		}
	}
	c.url(in.AvatarURL, "input", "avatarUrl")
	c.instant(in.CreatedAt, now, "input", "createdAt")
	return c.errors
}
