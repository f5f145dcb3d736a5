package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

type fileModel struct {
	Content       types.String `tfsdk:"content"`
	Source        types.String `tfsdk:"source_path"`
	Target        types.String `tfsdk:"target_path"`
	UID           types.Int64  `tfsdk:"uid"`
	GID           types.Int64  `tfsdk:"gid"`
	Mode          types.String `tfsdk:"mode"`
	DirectoryMode types.String `tfsdk:"directory_mode"`
	Create        types.Bool   `tfsdk:"create_directories"`
	Append        types.Bool   `tfsdk:"append"`
}

func fileBlock() schema.SetNestedBlock {
	return schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
		"content":     schema.StringAttribute{Optional: true},
		"source_path": schema.StringAttribute{Optional: true, Validators: []validator.String{idle}},
		"target_path": schema.StringAttribute{Required: true},
		"uid":         schema.Int64Attribute{Optional: true},
		"gid":         schema.Int64Attribute{Optional: true},
		"mode": schema.StringAttribute{
			Optional: true, Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"directory_mode":     schema.StringAttribute{Optional: true},
		"create_directories": schema.BoolAttribute{Optional: true},
		"append":             schema.BoolAttribute{Computed: true, Default: booldefault.StaticBool(false)},
	}}}
}

// same reports whether a file needs not be sent again. A file that is is deleted
// first, or it would keep its mode and its owner.
func (f fileModel) same(before fileModel) bool {
	return f.Content.ValueString() == before.Content.ValueString() && f.Mode.ValueString() == before.Mode.ValueString() &&
		f.UID.ValueInt64() == before.UID.ValueInt64() && f.GID.ValueInt64() == before.GID.ValueInt64()
}

func byTarget(all []fileModel) map[string]fileModel {
	files := map[string]fileModel{}
	for _, f := range all {
		files[f.Target.ValueString()] = f
	}
	return files
}

// refresh brings the files of an instance in line with those that are planned: what
// is gone is deleted, what differs is deleted and sent.
func (i *instance) refresh(ctx context.Context, m *instanceModel, before, after []fileModel) error {
	was, is := byTarget(before), byTarget(after)
	for target := range was {
		if _, ok := is[target]; !ok {
			if err := i.remove(ctx, m, target); err != nil {
				return err
			}
		}
	}
	for target, f := range is {
		old, ok := was[target]
		if ok && f.same(old) {
			continue
		}
		if ok {
			if err := i.remove(ctx, m, target); err != nil {
				return err
			}
		}
		if err := i.send(ctx, m, f); err != nil {
			return err
		}
	}
	return nil
}

func (m *instanceModel) at(target string) url.Values {
	query := m.query()
	if query == nil {
		query = url.Values{}
	}
	query.Set("path", target)
	return query
}

func (i *instance) remove(ctx context.Context, m *instanceModel, target string) error {
	err := i.server.call(ctx, http.MethodDelete, m.path("/files"), m.at(target), nil, nil, nil)
	if errors.Is(err, errAbsent) {
		return nil
	}
	return err
}

// send puts a file into the instance.
func (i *instance) send(ctx context.Context, m *instanceModel, f fileModel) error {
	target := f.Target.ValueString()
	put := func(name, kind, mode string, content []byte) error {
		return i.server.call(ctx, http.MethodPost, m.path("/files"), m.at(name), http.Header{
			"X-Incus-Type": {kind}, "X-Incus-Mode": {mode}, "X-Incus-Uid": {strconv.FormatInt(f.UID.ValueInt64(), 10)}, "X-Incus-Gid": {strconv.FormatInt(f.GID.ValueInt64(), 10)},
		}, content, nil)
	}
	if f.Create.ValueBool() {
		for at, c := range target {
			if c != '/' || at == 0 {
				continue
			}
			err := put(target[:at], "directory", or(f.DirectoryMode.ValueString(), "0755"), nil)
			if err != nil && !strings.Contains(err.Error(), "exists") {
				return err
			}
		}
	}
	return put(target, "file", or(f.Mode.ValueString(), "0755"), []byte(f.Content.ValueString()))
}

func or(text, standard string) string {
	if text == "" {
		return standard
	}
	return text
}
