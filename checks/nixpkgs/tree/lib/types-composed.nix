# The types that are made of other types.
{ lib }:
let
  inherit (builtins)
    concatLists
    head
    isAttrs
    isList
    ;
  inherit (lib) mergeDefinitions showFiles showOption;
  inherit (lib.types) mkOptionType;

  # The definitions of each attribute, conditions pushed inwards.
  perName =
    defs:
    builtins.zipAttrsWith (_: values: values) (
      lib.concatMap (
        def:
        map (lib.mapAttrs (_: value: { inherit (def) file; inherit value; })) (lib.pushDown def.value)
      ) defs
    );

  attrs =
    name: description: strict: element:
    mkOptionType {
      inherit name description;
      check = isAttrs;
      merge =
        loc: defs:
        let
          each = lib.mapAttrs (name: mergeDefinitions (loc ++ [ name ]) element) (perName defs);
        in
        if strict then
          lib.mapAttrs (_: merged: merged.mergedValue) (lib.filterAttrs (_: merged: merged.isDefined) each)
        else
          lib.mapAttrs (_: merged: merged.optionalValue.value or element.emptyValue.value) each;
      emptyValue.value = { };
      nestedTypes.elemType = element;
    };

  submoduleWith =
    {
      modules,
      specialArgs ? { },
      shorthandOnlyDefinesConfig ? false,
      description ? "submodule",
      class ? null,
    }@settings:
    let
      asModule =
        def:
        if isAttrs def.value && shorthandOnlyDefinesConfig then
          {
            _file = def.file;
            config = def.value;
          }
        else
          lib.setDefaultModuleLocation def.file def.value;
    in
    mkOptionType {
      name = "submodule";
      inherit description;
      check = value: isAttrs value || lib.isFunction value || builtins.isPath value;
      merge =
        loc: defs:
        (lib.evalModules {
          modules = modules ++ [ { _module.args.name = lib.last loc; } ] ++ map asModule defs;
          inherit specialArgs class;
          prefix = loc;
        }).config;
      emptyValue.value = { };
      inherit settings;
      extend = other: submoduleWith (settings // { modules = modules ++ other.settings.modules; });
    };
in
{
  inherit submoduleWith;
  submodule =
    modules:
    submoduleWith {
      shorthandOnlyDefinesConfig = true;
      modules = lib.toList modules;
    };
  deferredModule = mkOptionType {
    name = "deferredModule";
    description = "module";
    check = value: isAttrs value || lib.isFunction value || builtins.isPath value;
    merge = _: defs: {
      imports = map (def: lib.setDefaultModuleLocation def.file def.value) defs;
    };
  };

  attrsOf = element: attrs "attrsOf" "attribute set of ${element.description}" true element;
  lazyAttrsOf =
    element: attrs "lazyAttrsOf" "lazy attribute set of ${element.description}" false element;
  attrs = mkOptionType {
    name = "attrs";
    description = "attribute set";
    check = isAttrs;
    merge = _: defs: lib.mergeAttrsList (map (def: def.value) defs);
    emptyValue.value = { };
  };

  listOf =
    element:
    mkOptionType {
      name = "listOf";
      description = "list of ${element.description}";
      check = isList;
      merge =
        loc: defs:
        lib.concatMap (merged: lib.optional merged.isDefined merged.mergedValue) (
          concatLists (
            lib.imap1 (
              n: def:
              lib.imap1 (
                m: value:
                mergeDefinitions (loc ++ [ "[definition ${toString n}-entry ${toString m}]" ]) element [
                  {
                    inherit (def) file;
                    inherit value;
                  }
                ]
              ) def.value
            ) defs
          )
        );
      emptyValue.value = [ ];
      nestedTypes.elemType = element;
    };
  nonEmptyListOf =
    element:
    let
      list = lib.types.listOf element;
    in
    list
    // {
      description = "non-empty ${list.description}";
      check = value: list.check value && value != [ ];
    };

  nullOr =
    element:
    mkOptionType {
      name = "nullOr";
      description = "null or ${element.description}";
      check = value: value == null || element.check value;
      merge =
        loc: defs:
        let
          nulls = lib.filter (def: def.value == null) defs;
        in
        if nulls == [ ] then
          element.merge loc defs
        else if builtins.length nulls == builtins.length defs then
          null
        else
          throw "The option `${showOption loc}' is defined both null and not null, in ${
            showFiles (map (def: def.file) defs)
          }.";
      emptyValue.value = null;
      nestedTypes.elemType = element;
    };

  either =
    left: right:
    mkOptionType {
      name = "either";
      description = "${left.description} or ${right.description}";
      check = value: left.check value || right.check value;
      merge =
        loc: defs:
        if lib.all (def: left.check def.value) defs then
          left.merge loc defs
        else if lib.all (def: right.check def.value) defs then
          right.merge loc defs
        else
          (lib.types.uniq lib.types.raw).merge loc defs;
      nestedTypes = { inherit left right; };
    };
  oneOf = types: builtins.foldl' lib.types.either (head types) (builtins.tail types);

  coercedTo =
    from: coerce: to:
    mkOptionType {
      name = "coercedTo";
      description = "${to.description} or ${from.description} convertible to it";
      check = value: (from.check value && to.check (coerce value)) || to.check value;
      merge =
        loc: defs:
        to.merge loc (
          map (
            def: if from.check def.value then def // { value = coerce def.value; } else def
          ) defs
        );
      nestedTypes.finalType = to;
    };

  functionTo =
    result:
    mkOptionType {
      name = "functionTo";
      description = "function that evaluates to a(n) ${result.description}";
      check = lib.isFunction;
      merge =
        loc: defs: argument:
        (mergeDefinitions (loc ++ [ "<function body>" ]) result (
          map (def: def // { value = def.value argument; }) defs
        )).mergedValue;
    };

  uniq =
    type:
    type
    // {
      inherit (lib.types.raw) merge;
    };
  unique = _: lib.types.uniq;
  addCheck = type: check: type // { check = value: type.check value && check value; };
}
