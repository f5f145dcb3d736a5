package main

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

type deviceModel struct {
	Name       types.String      `tfsdk:"name"`
	Type       types.String      `tfsdk:"type"`
	Properties map[string]string `tfsdk:"properties"`
}

func deviceBlock() schema.SetNestedBlock {
	return schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
		"name": schema.StringAttribute{Required: true},
		"type": schema.StringAttribute{Required: true, Validators: []validator.String{oneOf(
			"none", "disk", "nic", "unix-char", "unix-block", "usb", "gpu", "infiniband", "proxy", "unix-hotplug", "tpm", "pci",
		)}},
		"properties": schema.MapAttribute{Required: true, ElementType: types.StringType, Validators: []validator.Map{allFilled}},
	}}}
}

// written are devices as the server has them.
func written(all []deviceModel) map[string]map[string]string {
	devices := map[string]map[string]string{}
	for _, d := range all {
		properties := maps.Clone(d.Properties)
		if properties == nil {
			properties = map[string]string{}
		}
		properties["type"] = d.Type.ValueString()
		devices[d.Name.ValueString()] = properties
	}
	return devices
}

// read are those of the server.
func read(there map[string]map[string]string) []deviceModel {
	var all []deviceModel
	for name, properties := range there {
		kind := properties["type"]
		delete(properties, "type")
		all = append(all, deviceModel{types.StringValue(name), types.StringValue(kind), properties})
	}
	return all
}
