package legacy

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// As is what an attribute is.
type As struct {
	Required, Optional, Computed, Sensitive, WriteOnly bool
	ForceNew                                           bool
	Idle                                               bool       // a stand-in reads it and refuses to set it
	Default                                            attr.Value // nil is none
}

// ID is the attribute that every resource of such a provider has.
var ID = As{Optional: true, Computed: true}

// String is an attribute that holds a text.
func String(a As) schema.StringAttribute {
	s := schema.StringAttribute{
		Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly,
		PlanModifiers: []planmodifier.String{kept(a)},
	}
	if a.ForceNew {
		s.PlanModifiers = append(s.PlanModifiers, stringplanmodifier.RequiresReplace())
	}
	if a.Idle {
		s.Validators = []validator.String{idle{}}
	}
	return s
}

// Bool is one that is true or false.
func Bool(a As) schema.BoolAttribute {
	s := schema.BoolAttribute{Optional: a.Optional, Computed: a.Computed, PlanModifiers: []planmodifier.Bool{kept(a)}}
	if a.ForceNew {
		s.PlanModifiers = append(s.PlanModifiers, boolplanmodifier.RequiresReplace())
	}
	if a.Idle {
		s.Validators = []validator.Bool{idle{}}
	}
	return s
}

// Int is one that holds a number.
func Int(a As) schema.Int64Attribute {
	s := schema.Int64Attribute{Optional: a.Optional, Computed: a.Computed, PlanModifiers: []planmodifier.Int64{kept(a)}}
	if a.Idle {
		s.Validators = []validator.Int64{idle{}}
	}
	return s
}

// List is one that holds texts.
func List(a As) schema.ListAttribute {
	s := schema.ListAttribute{ElementType: types.StringType, Optional: a.Optional, Computed: a.Computed, PlanModifiers: []planmodifier.List{kept(a)}}
	if a.Idle {
		s.Validators = []validator.List{idle{}}
	}
	return s
}

// Set is one that holds texts in no order.
func Set(a As) schema.SetAttribute {
	s := schema.SetAttribute{ElementType: types.StringType, Optional: a.Optional, Computed: a.Computed, PlanModifiers: []planmodifier.Set{kept(a)}}
	if a.Idle {
		s.Validators = []validator.Set{idle{}}
	}
	return s
}

// Map is one that holds texts by their names.
func Map(a As) schema.MapAttribute {
	return schema.MapAttribute{ElementType: types.StringType, Optional: a.Optional, Computed: a.Computed, PlanModifiers: []planmodifier.Map{kept(a)}}
}

// kept plans what nobody declared: what is there, if that says as much as the default.
type kept As

func (kept) Description(context.Context) string             { return "plans as the older SDK does" }
func (k kept) MarkdownDescription(c context.Context) string { return k.Description(c) }

// plan gives the value that is planned, or nil to leave it. A resource that is made
// has no prior value, which is another thing than one that is not set.
func (k kept) plan(made bool, config, prior attr.Value) attr.Value {
	switch {
	case !config.IsNull(), made && k.Default == nil:
		return nil
	case made:
		return k.Default
	case k.Computed, empty(prior) && (k.Default == nil || empty(k.Default)):
		return prior
	case k.Default == nil:
		return emptied(prior)
	}
	return k.Default
}

// emptied is what is planned where a value is to go: a collection is empty then, and
// all else is not set.
func emptied(v attr.Value) attr.Value {
	switch v.(type) {
	case types.List:
		return types.ListValueMust(types.StringType, nil)
	case types.Set:
		return types.SetValueMust(types.StringType, nil)
	case types.Map:
		return types.MapValueMust(types.StringType, nil)
	case types.Bool:
		return types.BoolNull()
	case types.Int64:
		return types.Int64Null()
	}
	return types.StringNull()
}

func empty(v attr.Value) bool {
	switch v := v.(type) {
	case types.String:
		return v.ValueString() == ""
	case types.Bool:
		return !v.ValueBool()
	case types.Int64:
		return v.ValueInt64() == 0
	case interface{ Elements() []attr.Value }:
		return len(v.Elements()) == 0
	case types.Map:
		return len(v.Elements()) == 0
	}
	return v.IsNull()
}

// put takes over what is planned.
func put[V attr.Value](k kept, made bool, config, prior V, into *V) {
	if v, ok := k.plan(made, config, prior).(V); ok {
		*into = v
	}
}

func (k kept) PlanModifyString(_ context.Context, q planmodifier.StringRequest, r *planmodifier.StringResponse) {
	put(k, q.State.Raw.IsNull(), q.ConfigValue, q.StateValue, &r.PlanValue)
}

func (k kept) PlanModifyBool(_ context.Context, q planmodifier.BoolRequest, r *planmodifier.BoolResponse) {
	put(k, q.State.Raw.IsNull(), q.ConfigValue, q.StateValue, &r.PlanValue)
}

func (k kept) PlanModifyInt64(_ context.Context, q planmodifier.Int64Request, r *planmodifier.Int64Response) {
	put(k, q.State.Raw.IsNull(), q.ConfigValue, q.StateValue, &r.PlanValue)
}

func (k kept) PlanModifyList(_ context.Context, q planmodifier.ListRequest, r *planmodifier.ListResponse) {
	put(k, q.State.Raw.IsNull(), q.ConfigValue, q.StateValue, &r.PlanValue)
}

func (k kept) PlanModifySet(_ context.Context, q planmodifier.SetRequest, r *planmodifier.SetResponse) {
	put(k, q.State.Raw.IsNull(), q.ConfigValue, q.StateValue, &r.PlanValue)
}

func (k kept) PlanModifyMap(_ context.Context, q planmodifier.MapRequest, r *planmodifier.MapResponse) {
	put(k, q.State.Raw.IsNull(), q.ConfigValue, q.StateValue, &r.PlanValue)
}

// idle refuses what a stand-in would not do.
type idle struct{}

func (idle) Description(context.Context) string             { return "is idle" }
func (i idle) MarkdownDescription(c context.Context) string { return i.Description(c) }

func refuse(at path.Path, v attr.Value, to *diag.Diagnostics) {
	if !v.IsNull() {
		to.AddAttributeError(at, "a stand-in", "it has this attribute for what is read alone: have it set what the real provider would, or leave it out")
	}
}

func (idle) ValidateString(_ context.Context, q validator.StringRequest, r *validator.StringResponse) {
	refuse(q.Path, q.ConfigValue, &r.Diagnostics)
}

func (idle) ValidateBool(_ context.Context, q validator.BoolRequest, r *validator.BoolResponse) {
	refuse(q.Path, q.ConfigValue, &r.Diagnostics)
}

func (idle) ValidateInt64(_ context.Context, q validator.Int64Request, r *validator.Int64Response) {
	refuse(q.Path, q.ConfigValue, &r.Diagnostics)
}

func (idle) ValidateList(_ context.Context, q validator.ListRequest, r *validator.ListResponse) {
	refuse(q.Path, q.ConfigValue, &r.Diagnostics)
}

func (idle) ValidateSet(_ context.Context, q validator.SetRequest, r *validator.SetResponse) {
	refuse(q.Path, q.ConfigValue, &r.Diagnostics)
}
