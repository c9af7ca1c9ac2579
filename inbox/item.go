package inbox

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// Item is something that a user keeps, found by its tags.
type Item struct {
	UserID    string
	CreatedAt time.Time
	// ID is ItemUUID of ItemID.
	ID UUID
	// ItemID is the host application's own.
	ItemID string
	Title  string
	URL    *string
	Data   json.RawMessage
	// Tags are distinct and in the order given.
	Tags []string
}

// Cursor returns the item's place in every list that holds it.
func (i *Item) Cursor() Cursor { return Cursor{i.CreatedAt, i.ID} }

// ItemEdge is an item in a list.
type ItemEdge struct{ Edge[*Item] }

// NodeID returns the opaque id.
func (i *Item) NodeID() string {
	return NodeID{Kind: KindItem, UserID: i.UserID, Position: Cursor{ID: i.ID}}.String()
}

// AppendNodeID appends the opaque id.
func (i *Item) AppendNodeID(b []byte) []byte {
	return NodeID{Kind: KindItem, UserID: i.UserID, Position: Cursor{ID: i.ID}}.Append(b)
}

// ItemUUID returns the id under which an item is stored: the SHA-256 of the host application's own, as a
// UUID of version 8 (RFC 9562, section 5.8). Whoever knows the one has the other, so an item is found
// without an index of its own.
func ItemUUID(itemID string) UUID {
	sum := sha256.Sum256([]byte(itemID))
	u := UUID(sum[:len(UUID{})])
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	return u
}

// The limits of an item.
const (
	maxItemID = 128 // bytes
	maxTags   = 50
	maxTag    = 64 // characters
)

// ItemInput is an item as the host application sends it. It replaces all that was there.
type ItemInput struct {
	UserID string
	ItemID string
	Title  string
	URL    *string
	Data   json.RawMessage
	// Tags are in NFC and without white space around them; repeats count once.
	Tags []string
	// CreatedAt nil keeps what is stored, or takes the server's time.
	CreatedAt *time.Time
}

// Check returns what is wrong with the item, nil where nothing is.
func (in *ItemInput) Check(now time.Time) []*UserError {
	var c checker
	c.userID(in.UserID, "input", "userId")
	c.line(in.ItemID, 1, maxItemID, "input", "itemId")
	c.line(in.Title, 1, maxTitle, "input", "title")
	c.url(in.URL, "input", "url")
	c.json(in.Data, "input", "data")
	in.checkTags(&c)
	c.instant(in.CreatedAt, now, "input", "createdAt")
	return c.errors
}

func (in *ItemInput) checkTags(c *checker) {
	if len(in.Tags) == 0 {
		c.invalid("at least one tag is required", "input", "tags")
	}
	if n := len(in.DistinctTags()); n > maxTags {
		c.tooLarge(fmt.Sprintf("has %d tags, at most %d are allowed", n, maxTags), "input", "tags")
		return
	}
	for i, tag := range in.Tags {
		c.tag(tag, "input", "tags", strconv.Itoa(i))
	}
}

// DistinctTags returns the tags in the order of their first mention.
func (in *ItemInput) DistinctTags() []string { return distinct(in.Tags) }

// tag wants a normalised tag of 1 to maxTag characters.
func (c *checker) tag(tag string, field ...string) {
	switch {
	case tag == "":
		c.invalid("a tag must not be empty", field...)
	case !utf8.ValidString(tag) || hasControl(tag):
		c.invalid("a tag must be UTF-8 without control characters", field...)
	case utf8.RuneCountInString(tag) > maxTag:
		c.tooLarge(fmt.Sprintf("a tag has at most %d characters", maxTag), field...)
	}
}

// CheckTag returns a BadUserInput error where no item can have the tag, which must be normalised: a list by
// such a tag is a mistake, not an empty list.
func CheckTag(tag string) error {
	var c checker
	if c.tag(tag); len(c.errors) > 0 {
		return BadArgument("tag", "%s", c.errors[0].Message)
	}
	return nil
}
