// Package zoo has the types of the generator's test.
package zoo

import (
	"time"

	"github.com/99designs/gqlgen/graphql"
)

type Cage struct {
	Name   string
	Opened time.Time
	Weight *int
	Height float64
	Cats   []Cat
	Rows   [][]int32
	Next   *Cage
}

func (Cage) ID() string                         { return "" }
func (Cage) AppendID(b []byte) []byte           { return b }
func (Cage) Label() string                      { return "" }
func (Cage) AppendLabel(b []byte, _ int) []byte { return b }

type Animal interface{ IsAnimal() }

type Cat struct {
	Name  string
	Lives int32
}

func (Cat) IsAnimal() {}

type Dog struct{}

func (*Dog) IsAnimal()             {}
func (*Dog) IsAny()                {}
func (*Dog) Name() (string, error) { return "", nil }

type Ape struct{}

func (*Ape) IsAnimal()              {}
func (*Ape) IsAny()                 {}
func (*Ape) Name(loud *bool) string { return "" }

type Owl struct{ Name string }

func (*Owl) IsAnimal() {}

func MarshalDate(time.Time) graphql.Marshaler { return graphql.Null }
func UnmarshalDate(any) (time.Time, error)    { return time.Time{}, nil }
func AppendDate(b []byte, _ time.Time) []byte { return b }

func MarshalWeight(int) graphql.Marshaler { return graphql.Null }
func UnmarshalWeight(any) (int, error)    { return 0, nil }
