package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// refusal says what is refused before anything is planned, and of a value why; with
// nothing it is taken.
type refusal struct {
	what string
	why  func(attr.Value) string
}

func (f refusal) Description(context.Context) string         { return f.what }
func (f refusal) MarkdownDescription(context.Context) string { return f.what }

func (f refusal) judge(at path.Path, v attr.Value, to *diag.Diagnostics) {
	if v.IsNull() || v.IsUnknown() {
		return
	}
	if why := f.why(v); why != "" {
		to.AddAttributeError(at, "Invalid Attribute Value", why)
	}
}

func (f refusal) ValidateString(_ context.Context, q validator.StringRequest, r *validator.StringResponse) {
	f.judge(q.Path, q.ConfigValue, &r.Diagnostics)
}

func (f refusal) ValidateList(_ context.Context, q validator.ListRequest, r *validator.ListResponse) {
	f.judge(q.Path, q.ConfigValue, &r.Diagnostics)
}

func (f refusal) ValidateMap(_ context.Context, q validator.MapRequest, r *validator.MapResponse) {
	f.judge(q.Path, q.ConfigValue, &r.Diagnostics)
}

func (f refusal) ValidateObject(_ context.Context, q validator.ObjectRequest, r *validator.ObjectResponse) {
	f.judge(q.Path, q.ConfigValue, &r.Diagnostics)
}

func (f refusal) ValidateSet(_ context.Context, q validator.SetRequest, r *validator.SetResponse) {
	f.judge(q.Path, q.ConfigValue, &r.Diagnostics)
}

func (f refusal) ValidateBool(_ context.Context, q validator.BoolRequest, r *validator.BoolResponse) {
	f.judge(q.Path, q.ConfigValue, &r.Diagnostics)
}

// idle is an attribute of the real provider that the stand-in does nothing by.
var idle = refusal{"is idle", func(attr.Value) string { return "a stand-in: it does nothing by this attribute" }}

// idleBlock is a block of that sort, of which there is always a set.
var idleBlock = refusal{"is idle", func(v attr.Value) string {
	if set, _ := v.(types.Set); len(set.Elements()) > 0 {
		return idle.why(v)
	}
	return ""
}}

func plain(v attr.Value) string {
	s, _ := v.(types.String)
	return s.ValueString()
}

var filled = refusal{"is not empty", func(v attr.Value) string {
	if plain(v) == "" {
		return "string length must be at least 1, got: 0"
	}
	return ""
}}

// allFilled are texts of which none is empty.
var allFilled = refusal{"holds nothing empty", func(v attr.Value) string {
	var all []attr.Value
	switch v := v.(type) {
	case types.List:
		all = v.Elements()
	case types.Map:
		for _, one := range v.Elements() {
			all = append(all, one)
		}
	}
	for _, one := range all {
		if !one.IsNull() && !one.IsUnknown() && plain(one) == "" {
			return "string length must be at least 1, got: 0"
		}
	}
	return ""
}}

func oneOf(all ...string) refusal {
	return refusal{"is one of " + strings.Join(all, ", "), func(v attr.Value) string {
		if slices.Contains(all, plain(v)) {
			return ""
		}
		return fmt.Sprintf("value must be one of: %q, got: %q", all, plain(v))
	}}
}

// ofTheUser are settings of which none is the server's alone.
var ofTheUser = refusal{"holds nothing of the server", func(v attr.Value) string {
	m, _ := v.(types.Map)
	for name := range m.Elements() {
		if strings.HasPrefix(name, "volatile.") || strings.HasPrefix(name, "image.") {
			return fmt.Sprintf("Config key cannot have %q or %q prefix. Got: %q.", "volatile.", "image.", name)
		}
	}
	return ""
}}
