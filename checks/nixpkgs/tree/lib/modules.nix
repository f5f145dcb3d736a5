# The module system: modules in, options with their values out.
{ lib }:
let
  inherit (builtins)
    addErrorContext
    concatLists
    filter
    functionArgs
    isAttrs

    length
    mapAttrs
    toJSON
    zipAttrsWith
    ;
  inherit (lib)
    concatMap
    isFunction
    mapAttrsToList
    showDefs
    showFiles
    showOption
    ;

  # The attributes a module may have beside `options` and `config`.
  structure = [
    "_class"
    "_file"
    "config"
    "freeformType"
    "imports"
    "key"
    "meta"
    "options"
  ];

  # A module as { key, file, imports, options, config }, whatever its form was.
  normalise =
    file: key: module:
    let
      structured = module ? config || module ? options;
      odd = builtins.attrNames (removeAttrs module structure);
      config =
        if !structured then
          removeAttrs module [
            "_class"
            "_file"
            "freeformType"
            "imports"
            "key"
          ]
        else if module ? meta then
          lib.mkMerge [
            (module.config or { })
            { inherit (module) meta; }
          ]
        else
          module.config or { };
    in
    if structured && odd != [ ] then
      throw "Module `${toString key}' has an unsupported attribute `${builtins.head odd}'. A module with `options' or `config' keeps its definitions in `config'."
    else
      {
        key = toString (module.key or key);
        file = toString (module._file or file);
        imports = module.imports or [ ];
        options = module.options or { };
        config =
          if module ? freeformType then
            lib.mkMerge [
              config
              { _module.freeformType = module.freeformType; }
            ]
          else
            config;
      };

  # All modules that a list of modules brings in, each once.
  collect =
    args: config: modules:
    let
      apply =
        key: f:
        let
          argument =
            name: _:
            addErrorContext "while evaluating the module argument `${name}' in `${key}':" (
              args.${name}
                or (config._module.args.${name} or (throw "The module argument `${name}' is given by nobody."))
            );
        in
        f (args // mapAttrs argument (f.__functionArgs or (functionArgs f)));
      load =
        file: key: module:
        if isFunction module then
          load file key (apply key module)
        else if isAttrs module && module._type or "module" == "module" then
          normalise file key module
        else if builtins.isPath module || builtins.isString module then
          load (toString module) (toString module) (import module)
        else
          throw "`${toString file}' imports something that is no module: ${lib.generators.toPretty { } module}";
      node = module: {
        inherit (module) key;
        inherit module;
      };
      children =
        parent:
        lib.imap1 (n: child: node (load parent.file "${parent.key}:anon-${toString n}" child)) parent.imports;
    in
    map (n: n.module) (
      builtins.genericClosure {
        startSet = children {
          file = "<unknown-file>";
          key = "";
          imports = modules;
        };
        operator = n: children n.module;
      }
    );

  sets =
    loc: def:
    map (
      set:
      if isAttrs set then
        mapAttrs (_: value: {
          inherit (def) file;
          inherit value;
        }) set
      else
        throw "A value of type `${builtins.typeOf set}' was given where options are: `${showOption loc}' is a set of options. It is defined in `${def.file}'."
    ) (lib.pushDown def.value);

  # Options and definitions of all modules, brought together level by level:
  # { options, config, unmatched }, unmatched being definitions of no option.
  mergeTree =
    prefix: declarations: definitions:
    let
      all = _: values: values;
      declared = zipAttrsWith all (
        map (d: mapAttrs (_: options: d // { inherit options; }) d.options) declarations
      );
      defined = zipAttrsWith all (concatMap (sets prefix) definitions);
      level = mapAttrs (
        name: here:
        let
          loc = prefix ++ [ name ];
          defs = defined.${name} or [ ];
          leaves = filter (d: lib.isOption d.options) here;
          option = evalOption loc (merged loc here) defs;
        in
        if leaves == [ ] then
          mergeTree loc here defs
        else if length leaves == length here then
          {
            options = option;
            config = option.value;
            unmatched = [ ];
          }
        else
          throw "The option `${showOption loc}' in ${showFiles (map (d: d.file) leaves)} is the parent of options declared elsewhere."
      ) declared;
      stray = removeAttrs defined (builtins.attrNames declared);
    in
    {
      options = mapAttrs (_: node: node.options) level;
      config = mapAttrs (_: node: node.config) level;
      unmatched =
        concatLists (mapAttrsToList (_: node: node.unmatched) level)
        ++ concatLists (
          mapAttrsToList (name: map (def: def // { path = prefix ++ [ name ]; })) stray
        );
    };

  # One option from its declarations. More than one is allowed where they add
  # to each other without contradiction.
  merged =
    loc: declarations:
    let
      merge =
        left: right:
        if left == { } then
          right.options // { declarations = [ right.file ]; }
        else if
          (left.type.name == "submodule" && right.options.type.name == "submodule")
          && !(left ? default && right.options ? default)
        then
          right.options
          // left
          // {
            type = left.type.extend right.options.type;
            declarations = left.declarations ++ [ right.file ];
          }
        else
          throw "The option `${showOption loc}' in `${right.file}' is already declared in ${showFiles left.declarations}.";
    in
    builtins.foldl' merge { } declarations;

  evalOption =
    loc: option: defs:
    let
      fallback = lib.optional (option ? default) {
        file = lib.last option.declarations;
        value = lib.mkOptionDefault option.default;
      };
      result =
        if option.readOnly or false && length defs > (if option ? default then 0 else 1) then
          throw "The option `${showOption loc}' is read-only, but it's set multiple times. Definition values:${showDefs defs}"
        else
          mergeDefinitions loc option.type (defs ++ fallback);
      value = (option.apply or lib.id) result.mergedValue;
    in
    option
    // {
      inherit loc;
      value = addErrorContext "while evaluating the option `${showOption loc}':" value;
      inherit (result.filtered) highestPrio;
      inherit (result) isDefined;
      definitions = map (def: def.value) result.defs;
      definitionsWithLocations = result.defs;
      files = map (def: def.file) result.defs;
      __toString = _: showOption loc;
    };

  mergeDefinitions =
    loc: type: definitions:
    rec {
      filtered = lib.filterOverrides (
        concatMap (def: map (value: def // { inherit value; }) (lib.discharge def.value)) definitions
      );
      defs = lib.sortProperties filtered.values;
      isDefined = defs != [ ];
      mergedValue =
        if !isDefined then
          throw "The option `${showOption loc}' was accessed but has no value defined. Try setting the option."
        else if lib.all (def: type.check def.value) defs then
          type.merge loc defs
        else
          let
            wrong = filter (def: !type.check def.value) defs;
          in
          throw "A definition for option `${showOption loc}' is not of type `${type.description}', but ${lib.concatMapStringsSep " and " (def: kind def.value) wrong}. Definition values:${showDefs wrong}";
      optionalValue = lib.optionalAttrs isDefined { value = mergedValue; };
    };

  kind =
    value:
    {
      bool = "a Boolean";
      float = "a floating point number";
      int = "an integer";
      lambda = "a function";
      list = "a list";
      null = "null";
      path = "a path";
      set = if lib.isDerivation value then "a package" else "an attribute set";
      string = "a string";
    }
    .${builtins.typeOf value};

  unknownOption =
    options: unmatched:
    let
      first = builtins.head unmatched;
      siblings = lib.attrByPath (lib.init first.path) { } options;
      name = lib.last first.path;
      close = filter (entry: entry.distance <= 3) (
        map (other: {
          inherit other;
          distance = lib.levenshtein name other;
        }) (builtins.attrNames (if lib.isOption siblings then { } else siblings))
      );
      guesses = lib.take 3 (map (entry: entry.other) (lib.sortOn (entry: entry.distance) close));
      hint = lib.concatMapStringsSep "' or `" (other: showOption (lib.init first.path ++ [ other ])) guesses;
    in
    throw "The option `${showOption first.path}' does not exist. Definition values:${
      showDefs (filter (def: def.path == first.path) unmatched)
    }${lib.optionalString (guesses != [ ]) "\n\nDid you mean `${hint}'?"}";
in
{
  inherit mergeDefinitions;

  evalModules =
    {
      modules,
      specialArgs ? { },
      prefix ? [ ],
      class ? null,
    }@settings:
    let
      internal = {
        _file = "lib/modules.nix";
        options._module = {
          args = lib.mkOption {
            type = lib.types.lazyAttrsOf lib.types.raw;
            description = "Arguments of the modules, beside those that come with the evaluation.";
          };
          check = lib.mkOption {
            type = lib.types.bool;
            default = true;
            description = "Whether a definition of an option that nobody declared is an error.";
          };
          freeformType = lib.mkOption {
            type = lib.types.nullOr lib.types.raw;
            default = null;
            description = "The type of what is defined beside the declared options.";
          };
        };
        config._module.args = { inherit extendModules; };
      };
      args = {
        inherit lib specialArgs;
        config = whole;
        inherit (tree) options;
      }
      // specialArgs;
      all = collect args whole ([ internal ] ++ modules);
      tree = mergeTree prefix (map (m: { inherit (m) file options; }) all) (
        map (m: {
          inherit (m) file;
          value = m.config;
        }) all
      );
      inherit (tree.config._module) freeformType;
      whole =
        if freeformType == null || tree.unmatched == [ ] then
          tree.config
        else
          lib.recursiveUpdate (freeformType.merge prefix (
            map (def: {
              inherit (def) file;
              value = lib.setAttrByPath (lib.drop (length prefix) def.path) def.value;
            }) tree.unmatched
          )) tree.config;
      check =
        if freeformType == null && tree.config._module.check && tree.unmatched != [ ] then
          unknownOption (lib.setAttrByPath prefix tree.options) tree.unmatched
        else
          null;
      extendModules =
        extension:
        lib.evalModules (
          settings
          // extension
          // {
            modules = modules ++ extension.modules or [ ];
            specialArgs = specialArgs // extension.specialArgs or { };
          }
        );
    in
    {
      _type = "configuration";
      inherit (tree) options;
      config = builtins.seq check (removeAttrs whole [ "_module" ]);
      inherit class extendModules;
      inherit (tree.config) _module;
    };

  setDefaultModuleLocation = file: module: {
    _file = file;
    imports = [ module ];
  };
}
