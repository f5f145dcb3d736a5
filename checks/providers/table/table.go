// Package table tells what the stand-ins for providers are held to: the schemas of
// the real ones, what of their behaviour is imitated, and where they are known to
// differ, as of the day on which both were compared.
//
// A type is followed by required, optional, computed, sensitive and write-only as in
// "tofu providers schema -json" of the real provider; by "replaces" where another
// value has the resource made again, which that does not say; and by "idle" where
// the stand-in reads alone, and refuses to be told.
package table

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	providerschema "github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

//go:embed table.json
var text []byte

// Provider is a row.
type Provider struct {
	Source        string    `json:"source"`
	Version       string    `json:"version"`
	Compared      string    `json:"compared"` // the day
	Imitated      []string  `json:"imitated"`
	Differs       []string  `json:"differs"`
	Configuration Schema    `json:"configuration"` // what a stand-in has of it
	Resources     Resources `json:"resources"`
}

// Schema says what attributes are, by their paths.
type Schema map[string]string

// Resources are the schemas of kinds of resources.
type Resources map[string]Schema

// All are all rows.
func All() ([]Provider, error) {
	var all []Provider
	return all, json.Unmarshal(text, &all)
}

// Of is the row of a provider, by its source.
func Of(source string) (Provider, error) {
	all, err := All()
	for _, p := range all {
		if p.Source == source {
			return p, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("table.json: no row of %s", source)
	}
	return Provider{}, err
}

// Read describes a stand-in as the table does.
func Read(ctx context.Context, p provider.Provider) (Schema, Resources) {
	var own provider.SchemaResponse
	p.Schema(ctx, provider.SchemaRequest{}, &own)
	configuration := Schema{}
	for name, a := range own.Schema.Attributes {
		configuration.add(name, a)
	}
	for name, b := range own.Schema.Blocks {
		configuration[name] = kind(b)
		if list, ok := b.(providerschema.ListNestedBlock); ok {
			for inner, a := range list.NestedObject.Attributes {
				configuration.add(name+"."+inner, a)
			}
		}
	}
	all := Resources{}
	for _, make := range p.Resources(ctx) {
		r := make()
		var named resource.MetadataResponse
		var shaped resource.SchemaResponse
		r.Metadata(ctx, resource.MetadataRequest{}, &named)
		r.Schema(ctx, resource.SchemaRequest{}, &shaped)
		all[named.TypeName] = of(shaped.Schema)
	}
	return configuration, all
}

func of(s schema.Schema) Schema {
	all := Schema{}
	for name, a := range s.Attributes {
		all.add(name, a)
	}
	for name, b := range s.Blocks {
		all[name] = kind(b)
		if set, ok := b.(schema.SetNestedBlock); ok {
			for inner, a := range set.NestedObject.Attributes {
				all.add(name+"."+inner, a)
			}
		}
	}
	return all
}

// attribute is what attributes of providers and of resources have in common.
type attribute interface {
	GetType() attr.Type
	IsRequired() bool
	IsOptional() bool
	IsComputed() bool
	IsSensitive() bool
	IsWriteOnly() bool
}

func (s Schema) add(name string, a attribute) {
	words := []string{kind(a)}
	for _, has := range []struct {
		word string
		is   bool
	}{
		{"required", a.IsRequired()},
		{"optional", a.IsOptional()},
		{"computed", a.IsComputed()},
		{"sensitive", a.IsSensitive()},
		{"write-only", a.IsWriteOnly()},
	} {
		if has.is {
			words = append(words, has.word)
		}
	}
	s[name] = strings.Join(words, ", ") + marks(a)
	switch nested := a.(type) {
	case schema.SingleNestedAttribute:
		for inner, a := range nested.Attributes {
			s.add(name+"."+inner, a)
		}
	case schema.MapNestedAttribute:
		for inner, a := range nested.NestedObject.Attributes {
			s.add(name+"."+inner, a)
		}
	}
}

// kind is the type as OpenTofu writes it.
func kind(a any) string {
	switch a := a.(type) {
	case schema.SetNestedBlock:
		return "block set" + marks(a)
	case providerschema.ListNestedBlock:
		return "block list"
	case schema.SingleNestedAttribute:
		return "nested single"
	case schema.MapNestedAttribute:
		return "nested map"
	case attribute:
		return strings.ToLower(strings.ReplaceAll(a.GetType().TerraformType(context.Background()).String(), "tftypes.", ""))
	}
	return fmt.Sprintf("%T", a)
}

// describer is a plan modifier or a validator.
type describer interface {
	Description(ctx context.Context) string
}

// marks are what plan modifiers and validators say of themselves.
func marks(a any) string {
	replaces, idle := "", ""
	v := reflect.ValueOf(a)
	for n := range v.NumMethod() {
		name := v.Type().Method(n).Name
		if !strings.HasSuffix(name, "PlanModifiers") && !strings.HasSuffix(name, "Validators") {
			continue
		}
		list := v.Method(n).Call(nil)[0]
		for i := range list.Len() {
			d, _ := reflect.TypeAssert[describer](list.Index(i))
			switch said := d.Description(context.Background()); {
			case strings.Contains(said, "destroy and recreate"):
				replaces = ", replaces"
			case said == "is idle":
				idle = ", idle"
			}
		}
	}
	return replaces + idle
}
